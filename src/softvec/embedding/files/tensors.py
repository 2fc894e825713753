"""Vectors as safetensors, the pickle-free tensor file of Hugging Face.

Tensors: ``vectors`` (n, d) float32; ``names`` (UTF-8 bytes) and ``name_offsets``, or ``name_ids`` (int64) for
integers, or ``name_*`` for the other arrays of ``Names.to_arrays``; ``sizes`` if known; the second side, if
any, likewise with the prefix ``context_``. The provenance is JSON in the metadata.

A file of another program is read if it holds exactly one two-dimensional tensor of floats.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError, optional_package, printable
from softvec.core.files import atomic_write
from softvec.core.untrusted import reading
from softvec.embedding.core import Embedding
from softvec.embedding.files.arrow import checked_metadata
from softvec.embedding.files.formats import require_finite, title, written
from softvec.names import Names
from softvec.read.arrays import stored_names

_KEY = "softvec"
_FLOATS = ("F16", "F32", "F64")  # NumPy has no BF16 and no 8-bit floats
_TENSOR_OF = {"utf8": "names", "integers": "name_ids"}
_KEY_OF = {tensor: key for key, tensor in _TENSOR_OF.items()}


def _package() -> Any:
    needs = "the safetensors format needs the package safetensors: pip install 'softvec[safetensors]'"
    optional_package("safetensors.numpy", needs)
    return optional_package("safetensors", needs)


def write(emb: Embedding, path: str | os.PathLike[str]) -> list[Path]:
    """Write vectors as one file, atomically."""
    package = _package()
    tensors = {"vectors": np.ascontiguousarray(emb.vectors), **_name_tensors(emb.names, "")}
    if emb.sizes is not None:
        tensors["sizes"] = np.ascontiguousarray(emb.sizes)
    if emb.context_vectors is not None and emb.context_names is not None:
        tensors["context_vectors"] = np.ascontiguousarray(emb.context_vectors)
        tensors |= _name_tensors(emb.context_names, "context_")
    meta = {"version": 1, "provenance": emb.provenance}
    data = package.numpy.save(tensors, {_KEY: json.dumps(meta, allow_nan=False)})
    with atomic_write(path, "wb") as file:
        file.write(data)
    return written(path)


def _name_tensors(names: Names, prefix: str) -> dict[str, NDArray[Any]]:
    arrays = names.to_arrays()
    if "range" in arrays:  # written out, so that other programs see the names
        arrays = {"integers": np.arange(len(names), dtype=np.int64)}
    return {
        prefix + _TENSOR_OF.get(key, f"name_{key}"): np.ascontiguousarray(array)
        for key, array in arrays.items()
    }


def read(source: Path | io.BytesIO) -> Embedding:
    """Read a file written by :func:`write`, or the only matrix of floats in that of another program."""
    package = _package()
    if isinstance(source, io.BytesIO):  # the package opens only paths
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "vectors.safetensors"
            copy.write_bytes(source.getbuffer())
            return _read(package, copy, title(source))
    return _read(package, source, title(source))


def _read(package: Any, path: Path, name: str) -> Embedding:
    with (
        reading(name, "safetensors file"),
        package.safe_open(os.fspath(path), framework="numpy") as file,
    ):
        header = _header(path, name)
        meta = checked_metadata((file.metadata() or {}).get(_KEY), name)
        if not meta:
            vectors = _matrix(file, _only_matrix(header, name), name)
            return Embedding(vectors, copy=False)
        keys = set(file.keys())
        vectors = _matrix(file, "vectors", name)
        names = _names(file, "", len(vectors), name)
        sizes = file.get_tensor("sizes") if "sizes" in keys else None
        if sizes is not None and (sizes.shape != (len(vectors),) or sizes.dtype != np.float64):
            raise InputError(f"{name} is damaged: its sizes are {sizes.dtype} of shape {sizes.shape}")
        context = context_names = None
        if "context_vectors" in keys:
            context = _matrix(file, "context_vectors", name)
            context_names = _names(file, "context_", len(context), name)
        return Embedding(
            vectors,
            names,
            context_vectors=context,
            context_names=context_names,
            sizes=sizes,
            provenance=meta["provenance"],
            copy=False,
        )


def _header(path: Path, name: str) -> dict[str, Any]:
    """Return the header's entry of each tensor; the package has checked the offsets."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        if len(entries) < len(pairs):  # the package takes the last
            raise InputError(f"{name} is damaged: two entries of its header have the same name")
        return entries

    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size), object_pairs_hook=unique)
    header.pop("__metadata__", None)
    return dict(header)


def _only_matrix(header: dict[str, Any], name: str) -> str:
    """Return the only tensor of another program's file that can be the vectors."""
    kinds = {key: (header[key]["dtype"], header[key]["shape"]) for key in sorted(header)}
    matrices = [key for key, (dtype, shape) in kinds.items() if dtype in _FLOATS and len(shape) == 2]
    if len(matrices) == 1:
        return matrices[0]
    if matrices:
        shown = ", ".join(f"{printable(key)!r} {tuple(kinds[key][1])}" for key in matrices[:5])
        more = f" and {len(matrices) - 5:,} more" if len(matrices) > 5 else ""
        raise InputError(
            f"{name} holds {len(matrices):,} matrices of floats ({shown}{more}): which are the vectors? "
            "Take one with softvec.Embedding(safetensors.numpy.load_file(path)[tensor])"
        )
    shown = ", ".join(
        f"{printable(key)!r} {dtype} {tuple(shape)}" for key, (dtype, shape) in [*kinds.items()][:5]
    )
    raise InputError(
        f"{name} holds no matrix of 16-, 32- or 64-bit floats; its tensors: {shown or 'none'}. "
        "Save the vectors as one float32 tensor of shape (n, d)"
    )


def _matrix(file: Any, key: str, name: str) -> NDArray[np.float32]:
    if key not in list(file.keys()):
        raise InputError(f"{name} is damaged: the tensor {key!r} is missing")
    part = file.get_slice(key)
    dtype, shape = part.get_dtype(), tuple(part.get_shape())
    if dtype not in _FLOATS or len(shape) != 2 or 0 in shape:
        raise InputError(
            f"{name}: the tensor {printable(key)!r} is {dtype} of shape {shape}; expected rows of floats"
        )
    with np.errstate(over="ignore"):  # what is too large for float32 is refused as infinite
        vectors = file.get_tensor(key).astype(np.float32, copy=False)
    require_finite(vectors, name)
    return vectors


def _names(file: Any, prefix: str, n: int, name: str) -> Names:
    starts = (f"{prefix}names", f"{prefix}name_")
    keys = [key for key in sorted(file.keys()) if key.startswith(starts)]
    tensors = {key.removeprefix(prefix): file.get_tensor(key) for key in keys}
    arrays = {_KEY_OF.get(key, key.removeprefix("name_")): array for key, array in tensors.items()}
    names = stored_names(arrays, name)
    if len(names) != n:
        raise InputError(f"{name} is damaged: {len(names):,} names for {n:,} vectors")
    return names

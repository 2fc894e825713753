"""Vectors as safetensors, the pickle-free tensor file of Hugging Face.

Tensors: ``vectors`` (n, d) float32; ``names`` (UTF-8 bytes) and ``name_offsets``, or ``name_ids`` (int64) for
integers, or ``name_*`` for the other arrays of ``Names.to_arrays``; ``sizes`` and ``extra_*``, arrays of the
fit, if known; the second side, if any, likewise with the prefix ``context_``. The provenance is JSON in the
metadata.

A file of another program is read if it holds exactly one two-dimensional tensor of floats.
"""

from __future__ import annotations

import json
import os
import shutil
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
from softvec.embedding.files.common import MOST_JSON, Json, Options, check_json, require_finite, written
from softvec.embedding.files.content import arrays_of, embedding_of
from softvec.read.streams import Source

_KEY = "softvec"
_MOST_HEADER = 2 * MOST_JSON  # JSON within JSON: quotes are escaped
_FLOATS = ("F16", "F32", "F64")  # NumPy has no BF16 and no 8-bit floats
_PARTS = {"names/utf8": "names", "names/integers": "name_ids", "names/": "name_", "extras/": "extra_"}


def _package() -> Any:
    needs = "the safetensors format needs the package safetensors: pip install 'softvec[safetensors]'"
    optional_package("safetensors.numpy", needs)
    return optional_package("safetensors", needs)


def write(emb: Embedding, path: str | os.PathLike[str], options: Options) -> list[Path]:
    """Write vectors as one file, atomically."""
    package = _package()
    tensors = {_tensor_name(key): np.ascontiguousarray(array) for key, array in arrays_of(emb).items()}
    for prefix, names in (("", emb.names), ("context_", emb.context_names)):
        if tensors.pop(f"{prefix}name_range", None) is not None and names is not None:
            tensors[f"{prefix}name_ids"] = names.to_numpy()  # so that other programs see the names
    meta = {"version": 1, "provenance": emb.provenance}
    data = package.numpy.save(tensors, {_KEY: check_json(json.dumps(meta, allow_nan=False))})
    with atomic_write(path, "wb") as file:
        file.write(data)
    return written(path)


def _tensor_name(key: str) -> str:
    """Return the name of a tensor: ``names/utf8`` is ``names``, ``context_names/offsets`` is
    ``context_name_offsets``, ``extras/classes`` is ``extra_classes``.
    """
    for part, written_as in _PARTS.items():
        key = key.replace(part, written_as)
    return key


def _key(tensor: str) -> str:
    """Return the key of a tensor, the reverse of :func:`_tensor_name`."""
    if tensor in ("names", "context_names"):
        return f"{tensor}/utf8"
    tensor = tensor.replace("name_ids", "names/integers")
    return tensor.replace("name_", "names/").replace("extra_", "extras/")


def read(source: Source, options: Options) -> Embedding:
    """Read a file written by :func:`write`, or the only matrix of floats in that of another program."""
    package = _package()
    if source.path is not None and source.compression is None:
        return _read(package, source.path, source.name)
    with tempfile.TemporaryDirectory() as folder, source.seekable() as file:  # the package opens only paths
        copy = Path(folder) / "vectors.safetensors"
        with copy.open("wb") as out:
            shutil.copyfileobj(file, out)
        return _read(package, copy, source.name)


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
        tensors = {_key(tensor): tensor for tensor in file.keys()}  # noqa: SIM118 - not a mapping

        def load(key: str) -> NDArray[Any]:
            if key.endswith("vectors"):
                return _matrix(file, key, name)
            array: NDArray[Any] = file.get_tensor(tensors[key])
            return array

        return embedding_of(tensors, load, meta["provenance"], name)


def _header(path: Path, name: str) -> Json:
    """Return the header's entry of each tensor; the package has checked the offsets."""

    def unique(pairs: list[tuple[str, Any]]) -> Json:
        entries = dict(pairs)
        if len(entries) < len(pairs):  # the package takes the last
            raise InputError(f"{name} is damaged: two entries of its header have the same name")
        return entries

    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > _MOST_HEADER:
            raise InputError(f"{name} is damaged: its header has {size:,} bytes")
        header = json.loads(file.read(size), object_pairs_hook=unique)
    header.pop("__metadata__", None)
    return dict(header)


def _only_matrix(header: Json, name: str) -> str:
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
    if dtype not in _FLOATS or len(shape) != 2 or not shape[1]:
        raise InputError(
            f"{name}: the tensor {printable(key)!r} is {dtype} of shape {shape}; expected rows of floats"
        )
    with np.errstate(over="ignore"):  # what is too large for float32 is refused as infinite
        vectors = file.get_tensor(key).astype(np.float32, copy=False)
    require_finite(vectors, name)
    return vectors

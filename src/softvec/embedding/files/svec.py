"""softvec's own vector file: a NumPy ``.npz`` whose arrays can be memory-mapped, and a JSON description.

A zip archive of stored (never compressed) members, in this order::

    softvec.json            {"format": "softvec-vectors", "version": 1, "shape": [n, d],
                            "context_shape": [m, d] or null, "softvec": "0.1.0", "provenance": {...}}
    vectors.npy             (n, d) little-endian float32, its data at a multiple of 64 bytes from the start
    names/*.npy             what Names.to_arrays returns
    sizes.npy               (n,) float64, sizes of the items, if known
    context_vectors.npy     the second side, if there is one
    context_names/*.npy
    extras/*.npy            arrays of the fit that adding items and stability need, if kept

``numpy.load`` opens it too. The reader trusts nothing: no pickle, only the members and types above,
every size checked against the bytes in the file.
"""

from __future__ import annotations

import json
import os
import struct
import zipfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec._version import __version__
from softvec.core.checks import Json
from softvec.core.errors import InputError
from softvec.core.files import atomic_write
from softvec.core.untrusted import one_line
from softvec.embedding.core import Embedding
from softvec.embedding.fields import EXTRAS
from softvec.embedding.files.common import (
    MOST_JSON,
    check_format,
    check_json,
    checked_embedding,
    npy_chunks,
    parse_json,
    require_finite,
)
from softvec.names import Names
from softvec.read.arrays import length_of, map_array, read_array, stored_names
from softvec.read.streams import Source

FORMAT = "softvec-vectors"
VERSION = 1
_HEAD = "softvec.json"
_ALIGN = 64
_PADDING_ID = 0xD935  # the extra-field id that zipalign uses for padding
_MAX_MEMBERS = 64


def write(emb: Embedding, path: str | os.PathLike[str], format: str) -> None:
    """Write vectors as one file, atomically."""
    head: Json = {
        "format": FORMAT,
        "version": VERSION,
        "softvec": __version__,
        "shape": list(emb.vectors.shape),
        "context_shape": None if emb.context_vectors is None else list(emb.context_vectors.shape),
        "provenance": emb.provenance,
    }
    described = check_json(json.dumps(head, indent=1, allow_nan=False))
    with atomic_write(path, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, _HEAD, [described.encode()])
        for key, array in _arrays(emb):
            header, chunks = npy_chunks(array)
            _add(archive, f"{key}.npy", chain([header], chunks), len(header))


def _arrays(emb: Embedding) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield all arrays of an embedding."""
    rows = ("", emb.vectors, emb.names, emb.sizes)
    for side, V, names, sizes in (rows, ("context_", emb.context_vectors, emb.context_names, None)):
        if V is not None and names is not None:
            yield f"{side}vectors", V
            yield from ((f"{side}names/{key}", np.asarray(part)) for key, part in names.to_arrays().items())
        if sizes is not None:
            yield "sizes", sizes
    yield from ((f"extras/{key}", array) for key, array in emb.extras.items())


def _add(archive: zipfile.ZipFile, name: str, chunks: Iterable[Any], header: int = 0) -> None:
    """Store a member so that its byte ``header`` lies at a multiple of 64 in the file."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.external_attr = 0o644 << 16
    zip64 = 20  # force_zip64 appends a field of 20 bytes to the local header
    start = archive.fp.tell() + 30 + len(name.encode()) + zip64 + 6 + header  # type: ignore[union-attr]
    pad = -start % _ALIGN
    info.extra = struct.pack("<HHH", _PADDING_ID, 2 + pad, _ALIGN) + bytes(pad)
    with archive.open(info, "w", force_zip64=True) as member:
        for chunk in chunks:
            member.write(chunk)


def read(source: Source, format: str, mmap: bool) -> Embedding:
    """Read a file written by :func:`write`."""
    mapped = source.path if mmap and source.compression is None else None
    with source.seekable() as file:
        try:
            with zipfile.ZipFile(file) as archive:
                head = _head(archive, source.name)
                return _embedding(head, _Arrays(archive, source.name, mapped))
        except zipfile.BadZipFile as error:
            raise InputError(f"{source.name} is damaged or truncated: {one_line(error)}") from error


def _head(archive: zipfile.ZipFile, name: str) -> Json:
    """Return the description, checked."""
    members = {info.filename: info for info in archive.infolist()}
    if _HEAD not in members:
        what = "a SciPy sparse matrix" if {"indptr.npy", "shape.npy"} & set(members) else "an archive"
        raise InputError(f"{name} is {what}, not a file of vectors written by softvec")
    if len(archive.infolist()) > _MAX_MEMBERS or len(members) != len(archive.infolist()):
        raise InputError(f"{name} is damaged: it has too many members or two of one name")
    info = members[_HEAD]
    if info.file_size > MOST_JSON or info.compress_type != zipfile.ZIP_STORED:
        raise InputError(f"{name} is damaged: its description has {info.file_size:,} bytes")
    head = parse_json(archive.read(info), f"{name} is damaged: its description")
    check_format(head, FORMAT, VERSION, f"{name} is not a file of vectors", name)
    if not isinstance(head.get("provenance"), dict) or not isinstance(head.get("shape"), list):
        raise InputError(f"{name} is damaged: its description lacks the shape or the provenance")
    return head


def _embedding(head: Json, arrays: _Arrays) -> Embedding:
    """Return what the file holds, all of it checked."""
    sides = ["", "context_"] if "context_vectors" in arrays else [""]
    vectors = [arrays.vectors(f"{side}vectors", head.get(f"{side}shape")) for side in sides]
    names = [arrays.names(f"{side}names/") for side in sides]
    plain = {"sizes": np.float64, **{f"extras/{key}": dtype for key, (_, dtype) in EXTRAS.items()}}
    others = {key: arrays[key] for key in plain if key in arrays}
    for key, array in others.items():
        if array.dtype != np.dtype(plain[key]):
            raise InputError(f"{arrays.name} is damaged: its {key} are {array.dtype}")
    return checked_embedding(
        arrays.name, vectors, names, others.pop("sizes", None), head["provenance"],
        {key.removeprefix("extras/"): array for key, array in others.items()},
    )  # fmt: skip


class _Arrays:
    """The arrays of an open file; vectors are mapped if ``mapped`` is its path."""

    def __init__(self, archive: zipfile.ZipFile, name: str, mapped: Path | None):
        self._archive, self.name, self._mapped = archive, name, mapped
        self._members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}

    def __contains__(self, key: str) -> bool:
        return key in self._members

    def names(self, folder: str) -> Names:
        keys = [key for key in sorted(self._members) if key.startswith(folder)]
        return stored_names({key.removeprefix(folder): self[key] for key in keys}, self.name)

    def vectors(self, key: str, shape: Any) -> NDArray[np.float32]:
        V = self[key]
        if V.ndim != 2 or list(V.shape) != shape or V.dtype != np.dtype("<f4"):
            raise InputError(
                f"{self.name} is damaged: its vectors are {V.dtype} of shape {V.shape}, "
                f"its description says float32 of shape {shape}"
            )
        if not isinstance(V, np.memmap):  # a mapped file is left unread
            require_finite(V, self.name)
        return V

    def __getitem__(self, key: str) -> NDArray[Any]:
        """Read one npy member, or map it; it must fill the bytes that the archive claims."""
        name, info = self.name, self._members.get(key)
        if info is None:
            raise InputError(f"{name} is damaged: {key} is missing")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 0x1:
            raise InputError(f"{name} is damaged: {info.filename} is compressed or encrypted")
        if info.header_offset + info.file_size > length_of(self._archive.fp):  # type: ignore[arg-type]
            raise InputError(
                f"{name} is truncated: {info.filename} has {info.file_size:,} bytes in its directory"
            )
        with self._archive.open(info) as member:  # which leaves the file where the member begins
            if self._mapped is not None and key.endswith("vectors"):
                start = self._archive.fp.tell()  # type: ignore[union-attr]
                array = map_array(self._mapped, f"{name}, {key!r}", start, start + info.file_size)
            else:
                array = read_array(member, info.file_size, f"{name}, {info.filename!r}")
                if member.read(1):
                    raise InputError(f"{name} is damaged: {info.filename} is longer than its array")
        if array.dtype.kind not in "iuf" or array.ndim > 2:
            raise InputError(f"{name} is damaged: {info.filename} has type {array.dtype}")
        return array

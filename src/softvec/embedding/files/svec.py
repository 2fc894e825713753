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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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
        _add(archive, "softvec.json", [described.encode()])
        for key, array in _arrays(emb):
            header, chunks = npy_chunks(array)
            _add(archive, f"{key}.npy", chain([header], chunks), len(header))


def _arrays(emb: Embedding) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield all arrays of an embedding."""
    yield "vectors", emb.vectors
    for key, value in emb.names.to_arrays().items():
        yield f"names/{key}", np.asarray(value)
    if emb.sizes is not None:
        yield "sizes", emb.sizes
    if emb.context_vectors is not None and emb.context_names is not None:
        yield "context_vectors", emb.context_vectors
        for key, value in emb.context_names.to_arrays().items():
            yield f"context_names/{key}", np.asarray(value)
    for key, value in emb.extras.items():
        yield f"extras/{key}", value


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
                return _Archive(archive, source.name, mapped, _members(archive, source.name)).embedding()
        except zipfile.BadZipFile as error:
            raise InputError(f"{source.name} is damaged or truncated: {one_line(error)}") from error


def _members(archive: zipfile.ZipFile, name: str) -> dict[str, zipfile.ZipInfo]:
    members = {info.filename: info for info in archive.infolist()}
    if "softvec.json" not in members:
        what = "a SciPy sparse matrix" if {"indptr.npy", "shape.npy"} & set(members) else "an archive"
        raise InputError(f"{name} is {what}, not a file of vectors written by softvec")
    if len(archive.infolist()) > _MAX_MEMBERS or len(members) != len(archive.infolist()):
        raise InputError(f"{name} is damaged: it has too many members or two of one name")
    return members


@dataclass(frozen=True)
class _Archive:
    """An open file; its vectors are mapped if ``mapped`` is its path."""

    archive: zipfile.ZipFile
    name: str
    mapped: Path | None
    members: Mapping[str, zipfile.ZipInfo]

    def embedding(self) -> Embedding:
        """Return what the file holds, all of it checked."""
        head = self._head()
        vectors = self._vectors("vectors", head["shape"])
        context = context_names = None
        if "context_vectors.npy" in self.members:
            context = self._vectors("context_vectors", head.get("context_shape"))
            context_names = self._names("context_names/", len(context))
        plain = {"sizes": np.float64, **{f"extras/{key}": dtype for key, (_, dtype) in EXTRAS.items()}}
        arrays = {key: self._array(key) for key in plain if f"{key}.npy" in self.members}
        for key, array in arrays.items():
            if array.dtype != np.dtype(plain[key]):
                raise InputError(f"{self.name} is damaged: its {key} are {array.dtype}")
        return checked_embedding(
            self.name, vectors, self._names("names/", len(vectors)),
            context_vectors=context, context_names=context_names,
            sizes=arrays.pop("sizes", None), provenance=head["provenance"],
            extras={key.removeprefix("extras/"): array for key, array in arrays.items()},
        )  # fmt: skip

    def _head(self) -> Json:
        name, info = self.name, self.members["softvec.json"]
        if info.file_size > MOST_JSON or info.compress_type != zipfile.ZIP_STORED:
            raise InputError(f"{name} is damaged: its description has {info.file_size:,} bytes")
        head = parse_json(self.archive.read(info), f"{name} is damaged: its description")
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise InputError(f"{name} is not a file of vectors written by softvec")
        version = head.get("version")
        if not isinstance(version, int) or version > VERSION:
            raise InputError(
                f"{name} has version {version!r} of the format; softvec {__version__} reads up to {VERSION}: "
                "install a newer softvec"
            )
        if not isinstance(head.get("provenance"), dict) or not isinstance(head.get("shape"), list):
            raise InputError(f"{name} is damaged: its description lacks the shape or the provenance")
        return head

    def _names(self, folder: str, n: int) -> Names:
        keys = [key.removesuffix(".npy") for key in sorted(self.members) if key.startswith(folder)]
        names = stored_names({key.removeprefix(folder): self._array(key) for key in keys}, self.name)
        if len(names) != n:
            raise InputError(f"{self.name} is damaged: {len(names):,} names for {n:,} vectors")
        return names

    def _vectors(self, key: str, shape: Any) -> NDArray[np.float32]:
        V = self._array(key, self.mapped)
        if V.ndim != 2 or list(V.shape) != shape or V.dtype != np.dtype("<f4"):
            raise InputError(
                f"{self.name} is damaged: its vectors are {V.dtype} of shape {V.shape}, "
                f"its description says float32 of shape {shape}"
            )
        if not isinstance(V, np.memmap):  # a mapped file is left unread
            require_finite(V, self.name)
        return V

    def _array(self, key: str, mapped: Path | None = None) -> NDArray[Any]:
        """Read one npy member, or map it; it must fill the bytes that the archive claims."""
        name, info = self.name, self.members.get(f"{key}.npy")
        if info is None:
            raise InputError(f"{name} is damaged: {key} is missing")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 0x1:
            raise InputError(f"{name} is damaged: {info.filename} is compressed or encrypted")
        if info.header_offset + info.file_size > length_of(self.archive.fp):  # type: ignore[arg-type]
            raise InputError(
                f"{name} is truncated: {info.filename} has {info.file_size:,} bytes in its directory"
            )
        if mapped is not None:
            array = map_array(mapped, f"{name}, {info.filename!r}", *self._span(mapped, info))
        else:
            with self.archive.open(info) as member:
                array = read_array(member, info.file_size, f"{name}, {info.filename!r}")
                if member.read(1):
                    raise InputError(f"{name} is damaged: {info.filename} is longer than its array")
        if array.dtype.kind not in "iuf" or array.ndim > 2:
            raise InputError(f"{name} is damaged: {info.filename} has type {array.dtype}")
        return array

    def _span(self, path: Path, info: zipfile.ZipInfo) -> tuple[int, int]:
        """Return where the bytes of a member begin and end."""
        with open(path, "rb") as file:
            file.seek(info.header_offset)
            local = file.read(30)
        if len(local) < 30 or local[:4] != b"PK\x03\x04":
            raise InputError(f"{self.name} is damaged: {info.filename} is not where the archive says")
        start = info.header_offset + 30 + sum(struct.unpack("<HH", local[26:30]))
        return start, start + info.file_size

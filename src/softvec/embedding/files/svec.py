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
    index.npy               a usearch index as bytes, if saved with one

``numpy.load`` opens it too. The reader trusts nothing: no pickle, only the members and types above,
every size checked against the bytes in the file.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zipfile
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from softvec._version import __version__
from softvec.core.errors import InputError
from softvec.core.files import atomic_write
from softvec.core.untrusted import one_line
from softvec.embedding.core import Embedding
from softvec.embedding.files.common import (
    MOST_JSON,
    Json,
    Options,
    check_json,
    npy_chunks,
    opened,
    parse_json,
    require_finite,
    written,
)  # fmt: skip
from softvec.embedding.files.content import arrays_of, embedding_of
from softvec.embedding.search import restore_index
from softvec.read.arrays import length_of, read_header
from softvec.read.streams import Source

FORMAT = "softvec-vectors"
VERSION = 1
_ALIGN = 64
_PADDING_ID = 0xD935  # the extra-field id that zipalign uses for padding
_MAX_MEMBERS = 64


def write(emb: Embedding, path: str | os.PathLike[str], options: Options) -> list[Path]:
    """Write vectors as one file, atomically."""
    head: Json = {
        "format": FORMAT,
        "version": VERSION,
        "softvec": __version__,
        "shape": list(emb.vectors.shape),
        "context_shape": None if emb.context_vectors is None else list(emb.context_vectors.shape),
        "provenance": emb.provenance,
    }
    arrays = arrays_of(emb)
    if options.index:
        arrays["index"], head["index"] = emb.index.to_bytes()
    described = check_json(json.dumps(head, indent=1, allow_nan=False))
    with atomic_write(path, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, "softvec.json", [described.encode()], _ALIGN)
        for key, array in arrays.items():
            header, chunks = npy_chunks(array)
            _add(archive, f"{key}.npy", chain([header], chunks), _ALIGN, len(header))
    return written(path)


def _add(archive: zipfile.ZipFile, name: str, chunks: Iterable[Any], align: int, header: int = 0) -> None:
    """Store a member so that its byte ``header`` lies at a multiple of ``align`` in the file."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.external_attr = 0o644 << 16
    zip64 = 20  # force_zip64 appends a field of 20 bytes to the local header
    start = archive.fp.tell() + 30 + len(name.encode()) + zip64 + 6 + header  # type: ignore[union-attr]
    pad = -start % align
    info.extra = struct.pack("<HHH", _PADDING_ID, 2 + pad, align) + bytes(pad)
    with archive.open(info, "w", force_zip64=True) as member:
        for chunk in chunks:
            member.write(chunk)


def read(source: Source, options: Options) -> Embedding:
    """Read a file written by :func:`write`."""
    mapped = source.path if options.mmap and source.compression is None else None
    with opened(source, ".svec file") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _read_archive(archive, source.name, mapped, options.index)
        except zipfile.BadZipFile as error:
            raise InputError(f"{source.name} is damaged or truncated: {one_line(error)}") from error


def _read_archive(archive: zipfile.ZipFile, name: str, mapped: Path | None, index: bool) -> Embedding:
    members = _members(archive, name)
    head = _header(archive, members["softvec.json"], name)

    def load(key: str) -> NDArray[Any]:
        info = members.get(f"{key}.npy")
        if info is None:
            raise InputError(f"{name} is damaged: {key} is missing")
        if not key.endswith("vectors"):
            return _array(archive, info, name, None)
        shape = head["shape" if key == "vectors" else "context_shape"]
        return _checked(_array(archive, info, name, mapped), shape, name)

    keys = {member.removesuffix(".npy") for member in members}
    emb = embedding_of(keys, load, head["provenance"], name)
    if index and "index.npy" in members:
        emb.__dict__["index"] = restore_index(load("index"), head.get("index"), emb.shape)
    return emb


def _members(archive: zipfile.ZipFile, name: str) -> dict[str, zipfile.ZipInfo]:
    members = {info.filename: info for info in archive.infolist()}
    if "softvec.json" not in members:
        what = "a SciPy sparse matrix" if {"indptr.npy", "shape.npy"} & set(members) else "an archive"
        raise InputError(f"{name} is {what}, not a file of vectors written by softvec")
    if len(archive.infolist()) > _MAX_MEMBERS or len(members) != len(archive.infolist()):
        raise InputError(f"{name} is damaged: it has too many members or two of one name")
    return members


def _header(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> Json:
    if info.file_size > MOST_JSON or info.compress_type != zipfile.ZIP_STORED:
        raise InputError(f"{name} is damaged: its description has {info.file_size:,} bytes")
    head = parse_json(archive.read(info), f"{name} is damaged: its description")
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


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, mapped: Path | None) -> NDArray[Any]:
    """Read one npy member, or map it; its size must be exactly what its own header says."""
    if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 0x1:
        raise InputError(f"{name} is damaged: {info.filename} is compressed or encrypted")
    if info.header_offset + info.file_size > length_of(archive.fp):  # type: ignore[arg-type]
        raise InputError(
            f"{name} is truncated: {info.filename} has {info.file_size:,} bytes in its directory"
        )
    with archive.open(info) as member:
        shape, dtype, header = _npy_header(member, info, name)
        size = math.prod(shape) * dtype.itemsize
        if header + size != info.file_size:
            raise InputError(
                f"{name} is damaged: {info.filename} holds {info.file_size - header:,} bytes, "
                f"not the {size:,} of a {dtype} array of shape {shape}"
            )
        if mapped is not None and size:
            return _map(mapped, info, header, shape, dtype, name)
        array = np.empty(shape, dtype)
        view = array.reshape(-1).view(np.uint8).data
        done = 0
        while done < size:
            got = member.readinto(  # type: ignore[attr-defined]
                view[done : done + (1 << 24)]
            )
            if not got:
                raise InputError(f"{name} is truncated: {info.filename} ends after {done:,} bytes")
            done += got
        if member.read(1):
            raise InputError(f"{name} is damaged: {info.filename} is longer than it says")
    return array


def _npy_header(
    member: IO[bytes], info: zipfile.ZipInfo, name: str
) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    shape, fortran, dtype = read_header(member, info.file_size, f"{name}, {info.filename!r}")
    if fortran or dtype.kind not in "iuf" or len(shape) > 2:
        raise InputError(f"{name} is damaged: {info.filename} has type {dtype} and shape {shape}")
    return shape, dtype, member.tell()


def _map(
    path: Path, info: zipfile.ZipInfo, header: int, shape: tuple[int, ...], dtype: np.dtype[Any], name: str
) -> NDArray[Any]:
    with open(path, "rb") as file:
        file.seek(info.header_offset)
        local = file.read(30)
        total = os.fstat(file.fileno()).st_size
    if len(local) < 30 or local[:4] != b"PK\x03\x04":
        raise InputError(f"{name} is damaged: {info.filename} is not where the archive says")
    name_length, extra_length = struct.unpack("<HH", local[26:30])
    offset = info.header_offset + 30 + name_length + extra_length + header
    if offset + math.prod(shape) * dtype.itemsize > total:
        raise InputError(f"{name} is truncated: {info.filename} ends beyond the file")
    return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape)


def _checked(vectors: NDArray[Any], shape: Any, name: str) -> NDArray[np.float32]:
    if vectors.ndim != 2 or list(vectors.shape) != shape or vectors.dtype != np.dtype("<f4"):
        raise InputError(
            f"{name} is damaged: its vectors are {vectors.dtype} of shape {vectors.shape}, "
            f"its description says float32 of shape {shape}"
        )
    if not isinstance(vectors, np.memmap):  # a mapped file is left unread
        require_finite(vectors, name)
    return vectors

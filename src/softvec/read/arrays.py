"""NumPy's .npy arrays and .npz archives from untrusted files.

Every size is checked against the size of the file before anything is allocated; nothing is unpickled.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.errors import InputError
from softvec.core.untrusted import check_expanded, one_line, reading
from softvec.names import Names
from softvec.names.storage import DuplicateName
from softvec.operators.sparse import checked_csr

_BLOCK = 1 << 24
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_MAX_HEADER = 10_000


def length_of(stream: IO[bytes]) -> int:
    """Return the size of a seekable stream in bytes."""
    at = stream.tell()
    end = stream.seek(0, os.SEEK_END)
    stream.seek(at)
    return end


def read_header(stream: IO[bytes], size: int, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of a .npy file of ``size`` bytes; raise an error if the array does not fit in it."""
    with reading(name, ".npy file"):
        version = np.lib.format.read_magic(stream)
        if version not in _HEADERS:
            raise InputError(f"{name}: unknown version {version} of the .npy format; save it again")
        shape, fortran, dtype = _HEADERS[version](stream, max_header_size=_MAX_HEADER)
    if dtype.hasobject:
        raise InputError(
            f"{name} holds Python objects, which are never unpickled; save plain numbers or text"
        )
    if dtype.kind not in "biufcUS" or dtype.subdtype is not None:
        raise InputError(f"{name} holds entries of type {dtype}; expected numbers or text")
    if min(shape, default=0) < 0:
        raise InputError(f"{name} is damaged: its header declares the shape {shape}")
    shape = tuple(int(side) for side in shape)  # NumPy accepts True as a size
    nbytes = math.prod(shape) * max(1, dtype.itemsize)
    left = size - stream.tell()
    if nbytes > left:
        raise InputError(
            f"{name} is damaged or truncated: its header declares {dtype} of shape {shape}, "
            f"{nbytes:,} bytes, but {left:,} follow"
        )
    return shape, fortran, dtype


def read_array(stream: IO[bytes], size: int, name: str) -> NDArray[Any]:
    """Read a .npy array from a stream of ``size`` bytes."""
    shape, fortran, dtype = read_header(stream, size, name)
    flat: NDArray[Any] = np.empty(math.prod(shape), dtype)
    if flat.size and dtype.itemsize:
        view: memoryview = flat.view(np.uint8).data
        done = 0
        while done < len(view):
            count = stream.readinto(view[done : done + _BLOCK])  # type: ignore[attr-defined]
            if not count:
                raise InputError(f"{name} is truncated: its array ends after {done:,} of {len(view):,} bytes")
            done += count
    if dtype.kind == "U" and flat.size and dtype.itemsize:
        codes = flat.view(np.uint32 if dtype.isnative else np.dtype(np.uint32).newbyteorder())
        if codes.max() > 0x10FFFF:
            raise InputError(f"{name} is damaged: its text holds {codes.max():#x}, which is not a character")
    if not dtype.isnative:
        flat = flat.astype(dtype.newbyteorder("="))
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)


def map_array(path: Path, name: str, start: int = 0, stop: int = 1 << 62) -> NDArray[Any]:
    """Memory-map the array of a .npy file, or of one that lies between two bytes of an archive."""
    with open(path, "rb") as stream:
        stream.seek(start)
        shape, fortran, dtype = read_header(stream, min(stop, length_of(stream)), name)
        at = stream.tell()
    if not math.prod(shape) or not dtype.itemsize:
        return np.empty(shape, dtype)
    return np.memmap(path, dtype, "r", at, shape, "F" if fortran else "C")


def read_archive(stream: IO[bytes], name: str) -> dict[str, NDArray[Any]]:
    """Read all arrays of a .npz archive; raise an error before unpacking one that expands too far."""
    stored = length_of(stream)
    arrays: dict[str, NDArray[Any]] = {}
    with reading(name, ".npz file"), zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        check_expanded(sum(info.file_size for info in members), stored, name, "its arrays")
        for info in members:
            key = info.filename.removesuffix(".npy")
            if key in arrays:
                raise InputError(f"{name} is damaged: it holds two arrays named {key!r}")
            with archive.open(info) as member:
                arrays[key] = read_array(member, info.file_size, f"{name}, {info.filename!r}")
    return arrays


def sparse_matrix(arrays: dict[str, NDArray[Any]], stored: int, name: str) -> sparse.csr_array:
    """Return a matrix written by ``scipy.sparse.save_npz``, with its indices checked."""
    with reading(name, "sparse matrix"):
        kind = arrays["format"].item()
        kind = kind.decode("ascii") if isinstance(kind, bytes) else str(kind)
        shape = tuple(int(side) for side in arrays["shape"].reshape(-1).tolist())
        check_shape(shape, stored, name)
        data = _plain_numbers(arrays["data"], name)
        for key in {"indices", "indptr", "row", "col", "offsets", "shape"} & set(arrays):
            if arrays[key].dtype.kind not in "iu":
                raise InputError(f"{name} is damaged: its {key} are {arrays[key].dtype}, not integers")
        if kind == "dia":
            check_expanded(2 * data.nbytes, stored, name, "its diagonals")
            return checked_csr(sparse.dia_array((data, arrays["offsets"]), shape=shape))
        if kind == "coo":
            return checked_csr(sparse.coo_array((data, (arrays["row"], arrays["col"])), shape=shape))
        if kind not in ("csr", "csc", "bsr"):
            raise InputError(f"{name} holds a sparse matrix in the unknown format {kind!r}")
        make = {"csr": sparse.csr_array, "csc": sparse.csc_array, "bsr": sparse.bsr_array}[kind]
        return checked_csr(make((data, arrays["indices"], arrays["indptr"]), shape=shape))


def _plain_numbers(data: NDArray[Any], name: str) -> NDArray[Any]:
    """Return values in a type and byte order that SciPy's compiled code accepts."""
    if data.dtype.kind not in "biufc":
        raise InputError(f"{name} holds a sparse matrix of {data.dtype}; expected numbers")
    if data.dtype.itemsize > 16 or data.dtype == np.float16:
        return data.astype(np.float64)
    return data.astype(data.dtype.newbyteorder("="), copy=False)


def check_shape(shape: tuple[int, ...], stored: int, name: str) -> None:
    """Raise an error if a file declares implausibly many rows and columns for its size."""
    if len(shape) != 2 or min(shape) < 0:
        raise InputError(f"{name} declares a matrix of shape {shape}; expected rows and columns")
    # pointers, sums, scales and their copies: about 64 bytes per row or column, however few the entries
    check_expanded(64 * sum(shape), stored, name, f"its matrix of {shape[0]:,} x {shape[1]:,}")


def stored_names(arrays: Mapping[str, NDArray[Any]], name: str) -> Names:
    """Return names stored by ``Names.to_arrays``, with every offset and code checked."""
    try:
        for key, array in arrays.items():
            if key.endswith(("integers", "codes", "range")) and array.dtype.kind not in "iu":
                raise ValueError(f"{key} of type {array.dtype}")
            if key.endswith("offsets"):
                _check_strings(arrays[key.removesuffix("offsets") + "utf8"], array)
        names = Names.from_arrays(arrays)
        codes = arrays.get("codes")
        if codes is not None and codes.size:
            names[int(np.argmax(codes[0]))], names[int(np.argmax(codes[1]))]  # out of range: IndexError
            if codes.min() < 0:
                raise ValueError("negative code")
        return names
    except DuplicateName:
        raise
    except (KeyError, ValueError, IndexError, TypeError, OverflowError, RecursionError) as error:
        raise InputError(f"{name} is damaged: its names cannot be read ({one_line(error)})") from error


def _check_strings(data: NDArray[Any], offsets: NDArray[Any]) -> None:
    if data.dtype != np.uint8 or data.ndim != 1 or offsets.dtype.kind != "i" or offsets.ndim != 1:
        raise ValueError("strings of the wrong type")
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(data) or (np.diff(offsets) < 0).any():
        raise ValueError("string offsets out of order")
    data.tobytes().decode("utf-8", "surrogatepass")
    starts = offsets[offsets < len(data)]
    if (data[starts] & 0xC0 == 0x80).any():
        raise ValueError("a string that starts within a character")

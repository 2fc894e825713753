"""Allocation of large arrays: in memory, or memory-mapped from temporary files on disk.

Readers and fits allocate arrays the size of the edges or of the vectors with :func:`empty`. Within
:func:`large_arrays_in` a folder, the system pages them to disk as needed. The files are unlinked, so nothing
is left of them however the process ends. Their space is reserved up front, so that a full disk is an error
and not a crash when a page is written.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError, Option

Array = NDArray[Any]
_SMALL = 1 << 20  # bytes below which an array stays in memory
_ZEROS = bytes(1 << 20)
_folder: ContextVar[Path | None] = ContextVar("folder of large arrays", default=None)


@contextmanager
def large_arrays_in(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    """Back the large arrays that this thread allocates in the block by files in a folder; None: no change.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, large_arrays_in(folder):
    ...     X = empty((1000, 1000), np.float32)
    ...     X[:] = 1
    ...     os.listdir(folder), float(X.sum())
    ([], 1000000.0)
    """
    if folder is None:
        yield
        return
    path = Path(folder)
    if not path.is_dir():
        raise InputError.of("scratch", os.fspath(folder), "an existing folder")
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(Option("scratch"), f" is {path}, which is not writable; name another folder")
    token = _folder.set(path)
    try:
        yield
    finally:
        _folder.reset(token)


def on_disk() -> bool:
    """Whether large arrays are currently backed by files."""
    return _folder.get() is not None


def empty(shape: int | tuple[int, ...], dtype: Any, *, random: bool = False) -> Array:
    """Return an uninitialised array, backed by a file if it is large and :func:`large_arrays_in` is active.

    ``random`` turns read-ahead off, for arrays whose rows are read in random order.
    """
    folder, kind = _folder.get(), np.dtype(dtype)
    size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * kind.itemsize
    if folder is None or size < _SMALL:
        return np.empty(shape, kind)
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            _reserve(file, size)
            pages = mmap.mmap(file.fileno(), size)  # shared: the file's own pages, not memory of the process
    except OSError as error:
        raise _no_room(folder, size, error) from error
    if random and hasattr(mmap, "MADV_RANDOM"):
        pages.madvise(mmap.MADV_RANDOM)
    return np.ndarray(shape, kind, buffer=pages)


def copied(array: Array, dtype: Any) -> Array:
    """Return a copy with another dtype, allocated by :func:`empty`."""
    copy = empty(array.shape, dtype)
    copy[...] = array
    return copy


def kept(array: Array, keep: Array) -> Array:
    """Return the rows where ``keep`` is true, allocated by :func:`empty`."""
    rows = empty((int(np.count_nonzero(keep)), *array.shape[1:]), array.dtype)
    return np.compress(keep, array, axis=0, out=rows)


class Segments:
    """Rows collected in large pieces of equal length, which avoids memory fragmentation.

    Segments with equally many rows are cut at the same rows.
    """

    ROWS = 1 << 22  # 32 MB at 8 bytes per row: the allocator returns pieces of this size to the system
    ROWS_ON_DISK = 1 << 24  # each piece is an open file, and a process may only open about a thousand

    def __init__(self) -> None:
        self.parts: list[NDArray[Any]] = []
        self._used = self._rows = 0

    def add(self, block: NDArray[Any]) -> None:
        """Append rows; a wider dtype widens the current piece."""
        done = 0
        while done < len(block):
            if self._used == self._rows:
                self._rows = self.ROWS_ON_DISK if on_disk() and len(self.parts) > 3 else self.ROWS
                self.parts.append(empty((self._rows, *block.shape[1:]), block.dtype))
                self._used = 0
            wide = np.promote_types(self.parts[-1].dtype, block.dtype)
            if wide != self.parts[-1].dtype:
                grown = empty(self.parts[-1].shape, wide)
                grown[: self._used] = self.parts[-1][: self._used]
                self.parts[-1] = grown
            size = min(len(block) - done, self._rows - self._used)
            self.parts[-1][self._used : self._used + size] = block[done : done + size]
            self._used += size
            done += size

    def finish(self) -> list[NDArray[Any]]:
        """Return the pieces and reset this object."""
        parts, self.parts = self.parts, []
        if parts:
            parts[-1] = parts[-1][: self._used]
        self._used = self._rows = 0
        return parts


def free_space(folder: str | os.PathLike[str]) -> int:
    """Return the free bytes on a folder's disk."""
    return shutil.disk_usage(folder).free


def is_memory(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder is on a file system in memory (tmpfs); False where the system does not tell."""
    device = os.stat(folder).st_dev
    try:
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        numbers = f"{os.major(device)}:{os.minor(device)}"
    except (OSError, AttributeError):  # not Linux
        return False
    return any(
        line.split()[2] == numbers and line.split(" - ")[-1].split()[0] in ("tmpfs", "ramfs")
        for line in mounts
        if len(line.split()) > 2
    )


def _reserve(file: IO[bytes], size: int) -> None:
    """Extend a file to ``size`` bytes and reserve the disk space."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for at in range(0, size, len(_ZEROS)):  # macOS and Windows
        file.write(_ZEROS[: size - at])


def _no_room(folder: Path, size: int, error: OSError) -> InputError:
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        if not folder.is_dir():
            return InputError(f"cannot create a file in {folder}: the folder is gone; name another with ",
                              Option("scratch", ...))  # fmt: skip
        reason = error.strerror or error
        return InputError(f"cannot create a file of {size / 2**30:,.2f} GiB in {folder}: {reason}")
    free = free_space(folder) / 2**30
    return InputError(
        f"{folder} has no room for an array of {size / 2**30:,.2f} GiB ({error.strerror}, {free:,.2f} GiB "
        "are free); name a folder on a larger disk with ",
        Option("scratch", ...),
    )

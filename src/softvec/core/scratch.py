"""Where large arrays lie: in memory, or in files of a folder on disk, mapped into memory.

Readers and fits ask :func:`empty` for the arrays whose size is that of the edges or of the vectors. Within
:func:`large_arrays_in` a folder, the system writes them to disk and reads them back as memory allows. The
files have no names: nothing is left of them, whatever ends the process. Their space is reserved when they are
made, so that a full disk is an error then and not a crash when a page is written.
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
    """Put large arrays that this thread makes meanwhile into files of a folder; None changes nothing.

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
    token = _folder.set(checked_folder(folder))
    try:
        yield
    finally:
        _folder.reset(token)


def checked_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the folder if files can be made in it."""
    path = Path(folder)
    if not path.is_dir():
        raise InputError.of("scratch", os.fspath(folder), "an existing folder")
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(Option("scratch"), f" is {path}, which is not writable; name another folder")
    return path


def on_disk() -> bool:
    """Whether large arrays are put into files at the moment."""
    return _folder.get() is not None


def empty(shape: int | tuple[int, ...], dtype: Any, *, random: bool = False) -> Array:
    """Return an array to overwrite, in memory or, if it is large and so asked, in a file.

    ``random`` says that single rows are read from all over it: the system then reads no pages ahead.
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


def copied(array: Array, dtype: Any, *, random: bool = False) -> Array:
    """Return a copy of another type, made as by :func:`empty`."""
    copy = empty(array.shape, dtype, random=random)
    copy[...] = array
    return copy


def kept(array: Array, keep: Array) -> Array:
    """Return the rows where ``keep`` is true, made as by :func:`empty`."""
    rows = empty((int(np.count_nonzero(keep)), *array.shape[1:]), array.dtype)
    return np.compress(keep, array, axis=0, out=rows)


def free_space(folder: str | os.PathLike[str]) -> int:
    """Return the bytes that may still be written to the disk of a folder."""
    return shutil.disk_usage(folder).free


def is_memory(folder: str | os.PathLike[str]) -> bool:
    """Whether the files of a folder are held in memory (tmpfs), as far as the system tells."""
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
    """Make a file so long, its space on the disk taken."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for at in range(0, size, len(_ZEROS)):  # macOS and Windows
        file.write(_ZEROS[: size - at])


def _no_room(folder: Path, size: int, error: OSError) -> InputError:
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        reason = error.strerror or error
        return InputError(f"cannot create a file of {size / 2**30:,.2f} GiB in {folder}: {reason}")
    free = free_space(folder) / 2**30
    return InputError(
        f"{folder} has no room for an array of {size / 2**30:,.2f} GiB ({error.strerror}, {free:,.2f} GiB "
        "are free); name a folder on a larger disk with ",
        Option("scratch", ...),
    )

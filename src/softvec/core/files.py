"""Atomic writes: to a temporary file beside the target, which is then renamed over it.

A reader never sees half a file, and an error, Ctrl-C or a full disk leaves the old file intact.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from softvec.core.errors import InputError

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be deleted
    fcntl = None  # type: ignore[assignment]

_SUFFIX = ".part"
_RANDOM = r"[a-z0-9_]{8}"  # mkstemp's random part
_FULL = {None, errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EROFS}


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a temporary file in the directory of ``path``; rename it to ``path`` if the block succeeds.

    Parameters
    ----------
    path : path-like
        The file to create or replace; ``-`` is standard output. A symbolic link is followed: its target
        is replaced. An existing file keeps its permissions.
    mode : {"wb", "w"}
        Binary or text.
    options
        Passed to :func:`open` (``encoding``, ``newline``).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
    >>> with atomic_write(target, "w") as file:
    ...     _ = file.write("hello")
    >>> target.read_text()
    'hello'
    """
    if mode not in ("w", "wb"):
        raise ValueError(f"mode is {mode!r}; expected 'w' or 'wb'")
    if os.fspath(path) == "-":
        yield sys.stdout if mode == "w" else sys.stdout.buffer
        (sys.stdout if mode == "w" else sys.stdout.buffer).flush()
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(f"{path} is a directory; give the name of a file")
    if target.exists() and not target.is_file():  # a device or a pipe cannot be renamed over
        with _clear_errors(path), open(target, mode, **options) as stream:
            yield stream
        return
    remove_stale(target.parent, re.escape(_prefix(target)))
    handle, temporary = _temporary(path, target)
    held = os.dup(handle) if fcntl is not None else None  # keeps the lock until the rename
    try:
        with _clear_errors(path), open(handle, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with _clear_errors(path, renaming=True):
            os.chmod(temporary, _permissions(target))
            os.replace(temporary, target)
        _sync_directory(target.parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        if held is not None:
            os.close(held)


def _temporary(path: str | os.PathLike[str], target: Path) -> tuple[int, str]:
    """Create and lock a temporary file beside the target."""
    while True:
        try:
            handle, temporary = tempfile.mkstemp(prefix=_prefix(target), suffix=_SUFFIX, dir=target.parent)
        except FileNotFoundError as error:
            if target.parent.is_dir():  # such as /proc
                raise InputError(f"cannot write {path}: cannot create a file in {target.parent}") from error
            raise InputError(f"cannot write {path}: the directory {target.parent} does not exist") from None
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror or error}") from error
        with suppress(OSError):  # a file system without locks
            _lock(handle)
        if os.fstat(handle).st_nlink:  # else another process deleted it as stale before it was locked
            return handle, temporary
        os.close(handle)


@contextmanager
def _clear_errors(path: str | os.PathLike[str], *, renaming: bool = False) -> Iterator[None]:
    """Turn write errors into a one-line InputError; errors from reading other files pass through."""
    try:
        yield
    except OSError as error:
        # NumPy reports a full disk without an errno: "1000 requested and 0 written"
        if not renaming and error.errno not in _FULL:
            raise
        reason = error.strerror or f"the disk or a limit is full ({error})"
        if renaming and not Path(os.path.realpath(path)).parent.is_dir():
            reason = "its directory was deleted meanwhile"
        raise InputError(f"cannot write {path}: {reason}; an existing file is unchanged") from error


def refuse_input_as_output(source: Any, target: str | os.PathLike[str]) -> None:
    """Raise an error if writing to ``target``, a file or a folder, would touch a file that is read.

    ``source`` may be anything; a path, a folder and a pattern (``edges/*.csv``) are checked.
    """
    if not isinstance(source, str | os.PathLike) or "-" in (os.fspath(source), os.fspath(target)):
        return
    where = os.fspath(source)
    inputs = glob.glob(where, recursive=True) if not os.path.exists(where) else [where]
    output = Path(os.path.realpath(target))
    for each in (Path(os.path.realpath(path)) for path in inputs):
        same = output == each or (output.exists() and each.exists() and output.samefile(each))
        if same or output in each.parents or (output.is_file() and each == output.parent):
            kind = "is the folder of" if each.is_file() and output.is_dir() else "would replace"
            raise InputError(f"the output {target} {kind} the input {source}; choose another output")


@contextmanager
def locked(folder: str | os.PathLike[str], *, wait: bool) -> Iterator[None]:
    """Hold an exclusive lock on a folder, if its file system has locks.

    If another process or thread holds it, wait; without ``wait``, raise an error.
    """
    if fcntl is None:
        yield
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # a folder that may be written to but not listed
        yield
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise InputError(
                f"another process is writing to {os.fspath(folder)}; wait until it is done, or give "
                "another folder"
            ) from None
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(handle)


def _prefix(target: Path) -> str:
    return f".{os.fsencode(target.name)[:200].decode(errors='ignore')}."  # file names have at most 255 bytes


def remove_stale(folder: Path, prefix: str) -> None:
    """Delete the unlocked temporary files in a folder, which killed processes left behind.

    ``prefix`` is a regular expression for the start of their names.
    """
    stale = re.compile(f"{prefix}{_RANDOM}{re.escape(_SUFFIX)}")
    with suppress(OSError):
        for entry in list(os.scandir(folder)):
            if not stale.fullmatch(entry.name):
                continue
            with suppress(OSError), open(entry.path, "rb") as file:
                _lock(file.fileno())
                os.unlink(entry.path)


def _lock(handle: int) -> None:
    """Lock a file until it is closed or the process ends; OSError if another process holds the lock."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync_directory(directory: Path) -> None:
    """Make a rename survive a power cut, on systems that can open directories."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _permissions(target: Path) -> int:
    """Return the mode of the file to be replaced, or the one ``open`` would give a new file."""
    try:
        return target.stat().st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask

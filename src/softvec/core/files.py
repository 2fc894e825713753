"""Whole files or none: write beside the target, then rename over it.

A reader never sees half a file, and an error, Ctrl-C or a full disk leaves the old file as it was.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from softvec.core.errors import InputError


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a temporary file in the directory of ``path``; rename it to ``path`` if the block succeeds.

    Parameters
    ----------
    path : path-like
        The file to make or replace; ``-`` is standard output. A symbolic link is followed: its target
        is replaced. An existing file keeps its permissions.
    mode : {"wb", "w"}
        Binary or text.
    options
        Passed on to :func:`open` (``encoding``, ``newline``).

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
        raise ValueError(f"mode is {mode!r}; atomic_write writes a whole file, so it is 'w' or 'wb'")
    if os.fspath(path) == "-":
        yield sys.stdout if mode == "w" else sys.stdout.buffer
        (sys.stdout if mode == "w" else sys.stdout.buffer).flush()
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(f"{path} is a directory; give the name of a file")
    if target.exists() and not target.is_file():  # a device or a pipe cannot be renamed over
        with open(target, mode, **options) as stream:
            yield stream
        return
    try:
        handle, temporary = tempfile.mkstemp(
            prefix=f".{target.name[:200]}.", suffix=".part", dir=target.parent
        )
    except FileNotFoundError as error:
        if target.parent.is_dir():  # such as /proc
            raise InputError(f"cannot write {path}: no file can be made in {target.parent}") from error
        raise InputError(f"cannot write {path}: the directory {target.parent} does not exist") from None
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        with open(handle, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _permissions(target))
        os.replace(temporary, target)
        _sync_directory(target.parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _sync_directory(directory: Path) -> None:
    """Make a rename outlast a power cut, on systems that can open directories."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _permissions(target: Path) -> int:
    """Return the mode of the file to be replaced, or what ``open`` would give a new one."""
    try:
        return target.stat().st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask

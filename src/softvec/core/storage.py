"""A folder on a disk, or at a URL that fsspec knows, such as ``s3://bucket/run``."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from softvec.core.errors import InputError
from softvec.core.files import atomic_write
from softvec.core.untrusted import one_line

__all__ = ["Storage", "is_url", "open_url", "written_to"]


def is_url(path: Any) -> bool:
    """Whether fsspec reads and writes a path.

    >>> is_url("s3://bucket/edges.csv"), is_url("edges.csv")
    (True, False)
    """
    return isinstance(path, str) and re.match(r"[a-z][a-z0-9+.-]+://", path) is not None


@contextmanager
def _one_line(what: str, url: str) -> Iterator[None]:
    """Turn any error of a file system, such as missing credentials, into one line."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"cannot {what} {url}: it does not exist") from None
    except InputError:
        raise
    except Exception as error:  # each file system has its own
        raise InputError(f"cannot {what} {url}: {one_line(error)}") from error


def open_url(url: str) -> IO[bytes]:
    """Open a URL for reading."""
    with _one_line("read", url):
        files, path = Storage(url)._remote()
        return files.open(path, "rb")


@contextmanager
def written_to(url: str) -> Iterator[Path]:
    """Yield a file in a temporary folder; all files written beside it then go to where the URL is."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder, url.rstrip("/").rpartition("/")[2])
        with _one_line("write", url):
            files, path = Storage(url.rpartition("/")[0])._remote()
            for file in Path(folder).iterdir():
                files.put_file(str(file), f"{path}/{file.name}")


@dataclass(frozen=True)
class Storage:
    """Files by their names in a folder; a name may have folders in front."""

    path: str

    @property
    def is_url(self) -> bool:
        """Whether fsspec reads and writes it."""
        return is_url(self.path)

    def _remote(self, name: str = "") -> tuple[Any, str]:
        """Return the file system of fsspec and the path of a file in it."""
        try:
            import fsspec
        except ImportError as error:
            raise InputError(
                f"{self.path} is a URL, which needs fsspec: pip install fsspec; or name a folder"
            ) from error
        try:
            files, root = fsspec.core.url_to_fs(self.path)
        except (ImportError, ValueError) as error:  # s3fs is not installed; an unknown scheme
            raise InputError(f"cannot open {self.path}: {one_line(error)}") from error
        return files, f"{root}/{name}" if name else root

    def check_writable(self) -> None:
        """Raise an error, before any work, if files cannot be written here."""
        if self.is_url:
            self._remote()
            return
        folder, parent = os.path.abspath(self.path), os.path.dirname(os.path.abspath(self.path))
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise InputError(f"{self.path} is a file; name a folder")
        if not os.path.isdir(parent):
            raise InputError(f"cannot write {self.path}: the directory {parent} does not exist")
        if not os.access(folder if os.path.isdir(folder) else parent, os.W_OK | os.X_OK):
            raise InputError(f"cannot write {self.path}: no permission to write there")

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        if not self.is_url:
            return os.path.exists(os.path.join(self.path, name))
        files, path = self._remote(name)
        return bool(files.exists(path))

    def names(self) -> list[str]:
        """Return the names of the files and folders in it; none if it does not exist."""
        with suppress(FileNotFoundError):
            if not self.is_url:
                return os.listdir(self.path)
            files, path = self._remote()
            files.invalidate_cache()  # of listings: other processes write here
            return [name.rstrip("/").rpartition("/")[2] for name in files.ls(path, detail=False)]
        return []

    def open(self, name: str) -> IO[bytes]:
        """Open a file for reading."""
        if not self.is_url:
            return open(os.path.join(self.path, name), "rb")
        files, path = self._remote(name)
        return files.open(path, "rb")

    def write(self, name: str, write: Callable[[IO[bytes]], Any], *, whole: bool = False) -> None:
        """Write a file by a function; ``whole`` replaces it at once, also at a URL."""
        if self.is_url:
            files, path = self._remote(name)
            files.makedirs(os.path.dirname(path), exist_ok=True)
            draft = f"{path}.part" if whole else path
            with files.open(draft, "wb") as stream:
                write(stream)
            if whole:
                files.mv(draft, path)
            return
        target = Path(self.path, name)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write {target}: {error.strerror or error}") from error
        with atomic_write(target) as stream:
            write(stream)

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with its files."""
        if self.is_url:
            files, path = self._remote(name)
            with suppress(FileNotFoundError):  # another worker removed it
                files.rm(path, recursive=True)
            return
        target = Path(self.path, name)
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            with suppress(FileNotFoundError, NotADirectoryError):  # a file is in the way of its folder
                target.unlink()

    def remove_if_empty(self) -> None:
        """Remove the folder itself, if nothing is left in it."""
        if not self.is_url:
            with suppress(OSError):  # not empty, or gone
                os.rmdir(self.path)

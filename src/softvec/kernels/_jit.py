"""Numba's ``njit`` with a cache that may be missing, full, or shared by several processes.

Numba refuses to create a cached function if neither the package's folder nor the user's cache is writable,
and fails if the disk is full. Here the function is then compiled in every process.

Numba numbers the files of compiled code 1, 2, ... and writes their index first. Two processes that compile at
the same time can take the same number for different types, and after a change of the source the index briefly
points at old code: a third process then runs code compiled for something else. Here a file is named after
what it was compiled from, and is written before the index.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import Any

import numba


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return the decorator ``numba.njit(**options)``, without a cache if none can be written."""

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            kernel = numba.njit(**options)(function)
        except RuntimeError:  # "no locator available for file"
            return numba.njit(**{**options, "cache": False})(function)
        cache = kernel._cache
        with suppress(AttributeError):
            name_data_by_contents(cache._cache_file)
        save = cache.save_overload

        def save_if_possible(*overload: Any) -> None:
            with suppress(OSError):
                save(*overload)

        with suppress(AttributeError):  # do not fail if the cache cannot be written later on
            cache.save_overload = save_if_possible
        return kernel

    return decorate


def name_data_by_contents(file: Any) -> None:
    """Make a Numba cache safe for several processes that write at the same time."""

    def save(key: Any, data: Any) -> None:
        base = file._index_name.removesuffix(".nbi")
        origin = repr((file._version, file._source_stamp, key)).encode()
        name = f"{base}.{sha256(origin).hexdigest()[:20]}.nbc"
        file._save_data(name, data)
        overloads = file._load_index()
        if not overloads:  # of another version or source
            for old in glob.glob(glob.escape(file._data_path(base)) + ".*.nbc"):
                if os.path.basename(old) != name:
                    with suppress(OSError):
                        os.unlink(old)
        file._save_index({**overloads, key: name})

    file.save = save

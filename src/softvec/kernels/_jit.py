"""Numba's ``njit`` with a cache where there is a place for one.

Numba refuses to make a function that is to be cached when neither the package's folder nor the user's cache
can be written to, and fails when the disk is full. Then the function is compiled in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return the decorator ``numba.njit(**options)``, without a cache where none can be written."""

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            kernel = numba.njit(**options)(function)
        except RuntimeError:  # "no locator available for file"
            return numba.njit(**{**options, "cache": False})(function)
        cache = kernel._cache
        save = cache.save_overload

        def save_if_possible(*overload: Any) -> None:
            with suppress(OSError):
                save(*overload)

        with suppress(AttributeError):  # a cache that cannot be written to later on is no reason to fail
            cache.save_overload = save_if_possible
        return kernel

    return decorate

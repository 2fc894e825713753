"""Deprecated import paths, which work for one more release."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any


def forward(old: str, *homes: str, renamed: Mapping[str, str] = MappingProxyType({})) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that looks names up in ``homes``, with a deprecation warning."""

    def getattr_(name: str) -> Any:
        new = renamed.get(name, name)
        if not name.startswith("__"):
            for home in homes:
                try:
                    value = getattr(import_module(home), new)
                except AttributeError:
                    continue
                warnings.warn(f"{old}.{name} is now {home}.{new}", DeprecationWarning, stacklevel=2)
                return value
        raise AttributeError(f"module {old!r} has no attribute {name!r}")

    return getattr_

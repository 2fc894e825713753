"""Old import paths, which work for one release and say where the name lives now."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any


def forward(old: str, *homes: str) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that looks a name up in ``homes`` and warns."""

    def getattr_(name: str) -> Any:
        if not name.startswith("__"):
            for home in homes:
                try:
                    value = getattr(import_module(home), name)
                except AttributeError:
                    continue
                warnings.warn(f"{old}.{name} is now {home}.{name}", DeprecationWarning, stacklevel=2)
                return value
        raise AttributeError(f"module {old!r} has no attribute {name!r}")

    return getattr_

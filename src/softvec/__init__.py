"""softvec turns affinities (graphs, pairs, contacts, text) into vectors, in linear time.

The names below are loaded on first use, so that ``import softvec`` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from softvec._version import __version__

if TYPE_CHECKING:
    from softvec import affinity, evaluate, normalizers, operators, plotting
    from softvec.affinity import Affinity
    from softvec.api import embed
    from softvec.core.errors import InputError
    from softvec.embedding import Embedding
    from softvec.estimator import EDRep
    from softvec.names import Names

_HOMES = {
    "Affinity": "softvec.affinity",
    "EDRep": "softvec.estimator",
    "Embedding": "softvec.embedding",
    "InputError": "softvec.core.errors",
    "Names": "softvec.names",
    "embed": "softvec.api",
}
_MODULES = ("affinity", "evaluate", "normalizers", "operators", "plotting")

__all__ = [
    "Affinity",
    "EDRep",
    "Embedding",
    "InputError",
    "Names",
    "__version__",
    "affinity",
    "embed",
    "evaluate",
    "normalizers",
    "operators",
    "plotting",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(f"softvec.{name}")
    else:
        raise AttributeError(f"module 'softvec' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

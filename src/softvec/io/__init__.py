"""Readers and writers. Names are looked up when asked for, so that importing one costs only that one."""

from importlib import import_module
from typing import Any

_HOME = {
    "as_affinity": "reading",
    "load_corpus": "reading",
    "read": "reading",
    "read_contacts": "reading",
    "read_corpus": "reading",
    "read_features": "reading",
    "read_graph": "reading",
    "read_names": "reading",
    "read_temporal": "reading",
    "write": "writing",
    "write_names": "writing",
}
__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"softvec.io.{_HOME[name]}"), name)
    raise AttributeError(f"module 'softvec.io' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

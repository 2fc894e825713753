"""Algorithm 1 of the paper, with its options and extensions."""

from importlib import import_module
from typing import Any

# Loaded on first use: the command line needs only the settings, without NumPy and the compiled loops.
_MODULES = {
    **dict.fromkeys(("Callback", "Settings"), "settings"),
    **dict.fromkeys(("Engine", "Loss"), "engine"),
    **dict.fromkeys(("Fit", "fit", "optimize", "prepared"), "run"),
    **dict.fromkeys(("compact", "find_classes", "given_start", "power_start", "random_start"), "problem"),
    "Diagnosis": "diagnose",
    **dict.fromkeys(("Problem", "State"), "problem"),
}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

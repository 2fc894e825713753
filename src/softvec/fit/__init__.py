"""Algorithm 1 of the paper, with its options and extensions."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softvec.fit.diagnose import Diagnosis
    from softvec.fit.engine import Engine, Loss
    from softvec.fit.loop import State, optimize
    from softvec.fit.problem import Problem
    from softvec.fit.run import Fit, fit, prepared
    from softvec.fit.settings import CONSTRAINTS, GRADIENTS, NORMALIZERS, Callback, Settings
    from softvec.fit.start import compact, find_classes, given_start, power_start, random_start

__all__ = [
    "CONSTRAINTS",
    "GRADIENTS",
    "NORMALIZERS",
    "Callback",
    "Diagnosis",
    "Engine",
    "Fit",
    "Loss",
    "Problem",
    "Settings",
    "State",
    "compact",
    "find_classes",
    "fit",
    "given_start",
    "optimize",
    "power_start",
    "prepared",
    "random_start",
]

# Loaded on first use: the command line needs only the settings, without NumPy and the compiled loops.
_MODULES = {
    **dict.fromkeys(("CONSTRAINTS", "Callback", "GRADIENTS", "NORMALIZERS", "Settings"), "settings"),
    **dict.fromkeys(("Engine", "Loss"), "engine"),
    **dict.fromkeys(("Fit", "fit", "prepared"), "run"),
    **dict.fromkeys(("State", "optimize"), "loop"),
    **dict.fromkeys(("compact", "find_classes", "given_start", "power_start", "random_start"), "start"),
    "Diagnosis": "diagnose",
    "Problem": "problem",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

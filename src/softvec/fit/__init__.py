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

# Loaded when first used: the command line reads the settings alone, without NumPy and the compiled loops.
_MODULES = {
    "CONSTRAINTS": "settings",
    "Callback": "settings",
    "Diagnosis": "diagnose",
    "Engine": "engine",
    "Fit": "run",
    "GRADIENTS": "settings",
    "Loss": "engine",
    "NORMALIZERS": "settings",
    "Problem": "problem",
    "Settings": "settings",
    "State": "loop",
    "compact": "start",
    "find_classes": "start",
    "fit": "run",
    "given_start": "start",
    "optimize": "loop",
    "power_start": "start",
    "prepared": "run",
    "random_start": "start",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

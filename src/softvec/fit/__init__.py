"""Algorithm 1 of the paper, with its options and extensions."""

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

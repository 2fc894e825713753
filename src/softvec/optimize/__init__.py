"""Algorithm 1 of the paper, with its options and extensions."""

from softvec.optimize.diagnose import Diagnosis
from softvec.optimize.engine import Engine, Loss
from softvec.optimize.fitting import Fit, Options, fit, prepared
from softvec.optimize.loop import Callback, State, optimize
from softvec.optimize.problem import CONSTRAINTS, GRADIENTS, NORMALIZERS, Problem, Schedule
from softvec.optimize.start import compact, find_classes, given_start, power_start, random_start

__all__ = [
    "CONSTRAINTS",
    "GRADIENTS",
    "NORMALIZERS",
    "Callback",
    "Diagnosis",
    "Engine",
    "Fit",
    "Loss",
    "Options",
    "Problem",
    "Schedule",
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

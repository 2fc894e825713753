"""Algorithm 1 of the paper, with its options and extensions."""

from softvec.optimize.engine import Engine, Loss
from softvec.optimize.loop import Callback, State, optimize
from softvec.optimize.problem import CONSTRAINTS, GRADIENTS, NORMALIZERS, Problem, Schedule
from softvec.optimize.start import compact, find_classes, given_start, power_start, random_start

__all__ = [
    "CONSTRAINTS",
    "GRADIENTS",
    "NORMALIZERS",
    "Callback",
    "Engine",
    "Loss",
    "Problem",
    "Schedule",
    "State",
    "compact",
    "find_classes",
    "given_start",
    "optimize",
    "power_start",
    "random_start",
]

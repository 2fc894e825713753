"""Normalisers of the softmax: log Z_i = log sum_a exp(beta x_i.y_a) for queries x_i and items y_a.

All share one protocol (:class:`Normalizer`): ``fit(Y)``, ``log_partition(X)``, ``log_softmax(X, pairs)``,
``std_error(X)`` if the method has one, and ``estimate(X)``. :func:`select` measures and chooses.
"""

from softvec.normalizers.base import Estimate, Normalizer
from softvec.normalizers.control_variate import ControlVariate
from softvec.normalizers.exact import Exact
from softvec.normalizers.moments import GaussianMixture
from softvec.normalizers.selection import Measurement, Selection, select

__all__ = [
    "ControlVariate",
    "Estimate",
    "Exact",
    "GaussianMixture",
    "Measurement",
    "Normalizer",
    "Selection",
    "select",
]

"""Normalisers of the softmax: log Z_i = log sum_a exp(beta x_i.y_a) for queries x_i and items y_a.

All share one protocol (:class:`Normalizer`): ``fit(Y)``, ``log_partition(X)``, ``log_softmax(X, pairs)``,
``std_error(X)`` if the method has one, ``estimate(X)`` and ``cost``. :func:`select` measures and chooses.
"""

from softvec.normalizers.base import Cost, Estimate, Normalizer
from softvec.normalizers.comparison import Compared, ErrorQuantiles, compare
from softvec.normalizers.control_variate import ControlVariate
from softvec.normalizers.exact import Exact
from softvec.normalizers.gaussian_mixture import GaussianMixture
from softvec.normalizers.report import report, rescale
from softvec.normalizers.rivals.adaptive_sampling import AdaptiveSampling
from softvec.normalizers.rivals.nystrom import Nystrom
from softvec.normalizers.rivals.positive_random_features import PositiveRandomFeatures
from softvec.normalizers.rivals.random_features import RandomFeatures
from softvec.normalizers.rivals.sampling import Sampling
from softvec.normalizers.rivals.top_k import TopK
from softvec.normalizers.selection import Measurement, Selection, select

__all__ = [
    "AdaptiveSampling",
    "Compared",
    "ControlVariate",
    "Cost",
    "ErrorQuantiles",
    "Estimate",
    "Exact",
    "GaussianMixture",
    "Measurement",
    "Normalizer",
    "Nystrom",
    "PositiveRandomFeatures",
    "RandomFeatures",
    "Sampling",
    "Selection",
    "TopK",
    "compare",
    "report",
    "rescale",
    "select",
]

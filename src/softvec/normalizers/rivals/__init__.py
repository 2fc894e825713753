"""Competing normalisers that the paper compares with."""

from softvec.normalizers.rivals.adaptive_sampling import AdaptiveSampling
from softvec.normalizers.rivals.nystrom import Nystrom
from softvec.normalizers.rivals.positive_random_features import PositiveRandomFeatures
from softvec.normalizers.rivals.random_features import RandomFeatures
from softvec.normalizers.rivals.sampling import Sampling
from softvec.normalizers.rivals.top_k import TopK

__all__ = [
    "AdaptiveSampling",
    "Nystrom",
    "PositiveRandomFeatures",
    "RandomFeatures",
    "Sampling",
    "TopK",
]

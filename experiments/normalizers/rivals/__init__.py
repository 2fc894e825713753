"""Competing normalisers that the paper compares with."""

from experiments.normalizers.rivals import tree
from experiments.normalizers.rivals.adaptive_sampling import AdaptiveSampling
from experiments.normalizers.rivals.nystrom import Nystrom
from experiments.normalizers.rivals.positive_random_features import PositiveRandomFeatures
from experiments.normalizers.rivals.random_features import RandomFeatures
from experiments.normalizers.rivals.sampling import Sampling
from experiments.normalizers.rivals.top_k import TopK

__all__ = [
    "AdaptiveSampling",
    "Nystrom",
    "PositiveRandomFeatures",
    "RandomFeatures",
    "Sampling",
    "TopK",
    "tree",
]

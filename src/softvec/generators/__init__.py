"""Random graphs, random walks and epidemics with known ground truth."""

from softvec.generators.dcsbm import BlockGraph, BlockModel, dcsbm, paper_theta
from softvec.generators.epidemics import Epidemic, sir
from softvec.generators.random_p import negative_binomial
from softvec.generators.rmat import rmat
from softvec.generators.walks import random_walks

__all__ = [
    "BlockGraph",
    "BlockModel",
    "Epidemic",
    "dcsbm",
    "negative_binomial",
    "paper_theta",
    "random_walks",
    "rmat",
    "sir",
]

"""Random graphs and epidemics with known ground truth."""

from experiments.generators.dcsbm import BlockGraph, BlockModel, dcsbm, paper_theta
from experiments.generators.epidemics import Epidemic, sir

__all__ = [
    "BlockGraph",
    "BlockModel",
    "Epidemic",
    "dcsbm",
    "paper_theta",
    "sir",
]

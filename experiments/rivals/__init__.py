"""The methods that softvec is compared with."""

from experiments.rivals.als import implicit_als
from experiments.rivals.edrep import authors_edrep
from experiments.rivals.skipgram import deepwalk, skipgram_pairs

__all__ = ["authors_edrep", "deepwalk", "implicit_als", "skipgram_pairs"]

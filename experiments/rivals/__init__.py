"""The methods that softvec is compared with."""

from experiments.rivals.edrep import authors_edrep
from experiments.rivals.skipgram import deepwalk, skipgram_pairs

__all__ = ["authors_edrep", "deepwalk", "skipgram_pairs"]

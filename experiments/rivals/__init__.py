"""The methods that softvec is compared with."""

from experiments.rivals.als import implicit_als
from experiments.rivals.edrep import authors_edrep
from experiments.rivals.printed import printed_edrep, row_stochastic
from experiments.rivals.skipgram import deepwalk, skipgram_pairs

__all__ = ["authors_edrep", "deepwalk", "implicit_als", "printed_edrep", "row_stochastic", "skipgram_pairs"]

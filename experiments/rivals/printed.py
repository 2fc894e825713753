"""EDRep as the paper prints it: Eq. grad with kappa = 1, beta 1 and the regulariser, by softvec's kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from experiments.common import timed
from softvec import EDRep
from softvec.operators import Powers, Sparse

OPTIONS = {"gradient": "paper", "beta": 1.0, "regularization": 1.0}


def row_stochastic(A: Any) -> sp.csr_array:
    """Return A with rows that sum to 1; a row without entries points to itself."""
    A = sp.csr_array(A, dtype=np.float64)
    sums = np.asarray(A.sum(axis=1)).ravel()
    ends = sp.diags_array((sums == 0).astype(float))
    return sp.csr_array(sp.diags_array(1.0 / np.where(sums > 0, sums, 1.0)) @ A + ends)


def printed_edrep(
    P: sp.csr_array, d: int, *, walk_length: int = 1, n_epochs: int = 30, eta: float = 0.7, seed: int = 0
) -> tuple[np.ndarray, dict[str, float]]:
    """Return the vectors of Algorithm 1 with the printed gradient, and the seconds of the fit.

    P is row-stochastic; a walk length above 1 asks for the mean of its powers. The paper gives 0.7 as the
    first learning rate in one experiment and none for its use cases, and no number of epochs.
    """
    operator = Sparse(P) if walk_length == 1 else Powers(Sparse(P), walk_length)
    model = EDRep(d, n_epochs=n_epochs, learning_rate=eta, random_state=seed, **OPTIONS)
    fitted, times = timed(lambda: model.fit(operator))
    return fitted.embedding_, times

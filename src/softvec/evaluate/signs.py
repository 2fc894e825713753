"""Sign prediction: tell hidden positive links from hidden negative ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from softvec.core.checks import number, recorded
from softvec.core.errors import InputError
from softvec.core.progress import progress
from softvec.embedding import Embedding
from softvec.embedding.logistic import decision, fit_one_vs_rest
from softvec.evaluate.common import Scores, as_vectors, collect, repeat_seeds, standardized
from softvec.operators import checked_csr

# Of the regression. Products of vectors tell camps, but those of known links were fitted: they count less
# than sums, which tell whom others trust; those of the axes of camps are few, and count more. C and the first
# share were chosen on Bitcoin OTC, the last on simulated camps, too.
_C, _PRODUCTS, _PRODUCTS_OF_CAMPS = 0.01, 0.2, 1.0


def sign_prediction(
    embed: Callable[[sp.csr_array], Any],
    A: sp.sparray | sp.spmatrix,
    *,
    fraction: float = 0.2,
    repeats: int = 5,
    random_state: int | np.random.Generator | None = 0,
    verbose: bool = False,
) -> Scores:
    """Hide links, embed the others, and predict the signs of the hidden ones.

    The score of a link is a logistic regression on the sum and the products of the vectors of its ends,
    fitted to the links that are not hidden.

    Parameters
    ----------
    embed : callable
        Takes the remaining links, a CSR matrix with signs, and returns vectors of shape (n, d) or an
        Embedding.
    A : sparse matrix of shape (n, n)
        Signed links; of a symmetric matrix each link counts once.
    fraction : float
        Share of the links to hide.
    repeats : int
        Number of splits, each embedded separately.
    random_state : int, Generator or None
        Seed of the splits.
    verbose : bool
        Show a progress bar.

    Returns
    -------
    Scores
        ``auc``: the probability that a hidden positive link has a higher score than a hidden negative one.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> rng = np.random.default_rng(0)
    >>> camp = np.repeat([1, 0], 50)
    >>> links = sparse.csr_array(np.triu(rng.random((100, 100)) < 0.2, 1) * np.where(camp, 1, -1))
    >>> sign_prediction(lambda known: np.eye(2)[camp], links, repeats=2)["auc"] > 0.6
    True
    """
    A = sp.csr_array(checked_csr(A))
    mutual = A.shape[0] == A.shape[1] and not abs(A - A.T).nnz
    links = (sp.triu(A, 1) if mutual else A).tocoo()
    positive = links.data > 0
    if min(positive.sum(), (~positive).sum()) < 2:
        raise InputError("A needs at least two positive and two negative links")
    number("fraction", fraction, above=0, most=0.9)
    rows = []
    for rng in progress(repeat_seeds(random_state, repeats), verbose, "sign prediction"):
        hidden = _hidden(positive, fraction, rng)
        kept = (links.data[~hidden], (links.row[~hidden], links.col[~hidden]))
        rest = sp.csr_array(sp.coo_array(kept, A.shape))
        made = embed(sp.csr_array(rest + rest.T) if mutual else rest)
        X = as_vectors(made)
        if len(X) != A.shape[0]:
            raise InputError(f"{len(X):,} vectors for {A.shape[0]:,} nodes")
        a, b = X[links.row], X[links.col]
        F = np.hstack([standardized(a + b, ~hidden), _weights(made, X) * standardized(a * b, ~hidden)])
        weights = fit_one_vs_rest(F[~hidden], positive[~hidden, None], C=_C)
        scores = decision(F[hidden], weights)[:, 0]
        rows.append({"auc": float(roc_auc_score(positive[hidden], scores))})
    return collect("sign prediction", rows, fraction=fraction, repeats=repeats, n_hidden=int(hidden.sum()))


def _weights(made: Any, X: np.ndarray) -> np.ndarray:
    """Return how much the product of each coordinate counts."""
    weights = np.full(X.shape[1], _PRODUCTS)
    if isinstance(made, Embedding):
        weights[len(weights) - recorded(made, "parameters").get("camps", 0) :] = _PRODUCTS_OF_CAMPS
    return weights


def _hidden(positive: np.ndarray, fraction: float, rng: np.random.Generator) -> np.ndarray:
    """Choose a share of the links of each sign, at least one and not all."""
    hidden = np.zeros(len(positive), bool)
    for sign in (True, False):
        links = rng.permutation(np.flatnonzero(positive == sign))
        hidden[links[: min(max(1, round(fraction * len(links))), len(links) - 1)]] = True
    return hidden

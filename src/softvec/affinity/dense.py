"""Dense P: kept, sparsified, or factorised into non-negative sparse factors, with its relative error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.affinity.base import Affinity, name_sides
from softvec.affinity.matrices import mean_of_powers
from softvec.core.checks import integer, number
from softvec.core.errors import InputError
from softvec.operators import Operator, Product, Sparse, Sum, checked_csr, row_normalize
from softvec.read.objects import Graph

Matrix = NDArray[np.float64]


def from_dense(
    P: Any,
    *,
    threshold: float | None = None,
    top_k: int | None = None,
    rank: int | None = None,
    n_factors: int = 2,
    entries_per_row: int | None = None,
    n_iter: int = 50,
    normalize: bool = True,
    names: Any = None,
    column_names: Any = None,
    length: int = 1,
    dangling: str = "zero",
    random_state: int = 0,
) -> Affinity:
    """Build an affinity from a dense non-negative matrix, optionally approximated by a cheaper one.

    The cost of an epoch is proportional to the number of entries of P. To reduce it, keep only the large
    entries (``threshold``, ``top_k``), or approximate P by a product of sparse factors (``rank``): Le
    Magoarou and Gribonval's multi-layer factorisation by alternating projected gradients, with non-negative
    factors that are also sparse with ``entries_per_row``. With both ``rank`` and ``top_k``, the ``top_k``
    largest remainders of each row are added to the product. The summary and ``error`` give the relative
    error, the Frobenius norm of the change divided by that of P, both after normalisation.

    Parameters
    ----------
    P : array_like of shape (n, m)
        Finite, non-negative.
    threshold : float, optional
        Drop entries below this.
    top_k : int, optional
        Keep this many of the largest entries of each row.
    rank : int, optional
        Inner dimension of the factors.
    n_factors, n_iter : int
        Number of factors, at least 2, and of sweeps over them.
    entries_per_row : int, optional
        Entries kept in each row of each factor; by default all non-zero ones.
    normalize : bool
        Divide rows by their sums.
    names, column_names : sequence, optional
        Names of rows and columns. A square P without column names has one set of items.
    length, dangling
        As in :func:`random_walk`.
    random_state : int

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[0.6, 0.3, 0.1], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]])
    >>> from_dense(P, top_k=2).summary
    '3 x 3 dense, 6 of 9 entries kept, relative error 0.176'
    """
    if isinstance(P, Graph):
        P, names = P.matrix, P.names if names is None else names
    dense = _check(P)
    n, m = dense.shape
    if rank is None and entries_per_row is not None:
        raise InputError("entries_per_row applies to factors only; also pass rank")
    dense = _normalized(dense) if normalize else dense
    counts = _sparsify(dense, threshold, top_k) if rank is None else None
    if rank is None:
        operator: Operator = Sparse(counts)
        kept = f"{operator.nnz:,} of {dense.size:,} entries kept"
    else:
        operator = _factorize(dense, rank, n_factors, entries_per_row, top_k, threshold, n_iter, random_state)
        kept = f"{n_factors} factors of rank {rank}, {operator.nnz:,} entries for {dense.size:,}"
    operator = row_normalize(operator, dangling) if normalize else operator
    error = _error(dense, operator)
    rows, columns = name_sides(dense.shape, names, column_names)
    operator = mean_of_powers(operator, length, rows is columns)
    summary = f"{n:,} x {m:,} dense, {kept}, relative error {error:.3g}"
    parameters: dict[str, Any] = {
        "threshold": threshold, "top_k": top_k, "rank": rank, "n_factors": n_factors, "length": length,
        "entries_per_row": entries_per_row, "normalize": normalize, "dangling": dangling,
    }  # fmt: skip
    return Affinity(operator, rows, columns, "dense", summary, counts, parameters, error=error)


def _check(P: Any) -> Matrix:
    try:
        dense = np.asarray(checked_csr(P).todense() if sparse.issparse(P) else P, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"P is not a matrix of numbers: {error}") from None
    if dense.ndim != 2 or 0 in dense.shape:
        raise InputError(f"P has shape {dense.shape}; expected a matrix with rows and columns")
    bad = ~(dense >= 0) | ~np.isfinite(dense)
    if bad.any():
        i, j = np.unravel_index(int(np.argmax(bad)), bad.shape)
        raise InputError(f"P[{i}, {j}] is {dense[i, j]}; affinities must be finite and >= 0")
    return dense


def _largest(values: Matrix, k: int) -> NDArray[np.bool_]:
    """Mark the k largest positive entries of each row."""
    keep = np.zeros(values.shape, dtype=bool)
    k = min(k, values.shape[1])
    np.put_along_axis(keep, np.argpartition(-values, k - 1, axis=1)[:, :k], True, axis=1)
    return keep & (values > 0)


def _normalized(dense: Matrix) -> Matrix:
    """Divide the rows by their sums; first by their largest entries if a sum would overflow."""
    top = dense.max(axis=1, initial=0.0, keepdims=True)
    if (top > np.finfo(dense.dtype).max / dense.shape[1]).any():
        dense = np.divide(dense, top, out=np.zeros_like(dense), where=top > 0)
    sums = dense.sum(axis=1, keepdims=True)
    return np.divide(dense, sums, out=np.zeros_like(dense), where=sums > 0)


def _sparsify(dense: Matrix, threshold: float | None, top_k: int | None) -> sparse.csr_array:
    keep = dense > 0
    if threshold is not None:
        keep &= dense >= number("threshold", threshold, 0)
    if top_k is not None:
        keep &= _largest(dense, integer("top_k", top_k))
    return sparse.csr_array(np.where(keep, dense, 0.0))


def _factorize(
    dense: Matrix,
    rank: int,
    n_factors: int,
    entries: int | None,
    top_k: int | None,
    threshold: float | None,
    n_iter: int,
    seed: int,
) -> Operator:
    rank = integer("rank", rank, most=min(dense.shape), of="the smaller side of P")
    n_factors = integer("n_factors", n_factors, 2)
    entries = integer("entries_per_row", entries) if entries is not None else None
    factors = sparse_factors(dense, rank, n_factors, entries, integer("n_iter", n_iter), seed)
    product = Product([Sparse(sparse.csr_array(factor)) for factor in factors])
    if top_k is None and threshold is None:
        return product
    remainder = np.maximum(dense - _multiply(factors), 0.0)
    return Sum([product, Sparse(_sparsify(remainder, threshold, top_k))])


def _multiply(factors: list[Matrix]) -> Matrix:
    out = factors[-1]
    for factor in reversed(factors[:-1]):
        out = factor @ out
    return out


def sparse_factors(
    P: Matrix, rank: int, n_factors: int = 2, entries: int | None = None, n_iter: int = 50, seed: int = 0
) -> list[Matrix]:
    """Factorise P ~ S_1 S_2 ... S_J into non-negative factors with ``entries`` entries per row.

    P is split into S_1 R, then R is split in turn. After each split all factors are refined by projected
    gradient steps, one factor at a time, with the step 1 / Lipschitz constant (PALM).
    """
    from sklearn.decomposition import NMF

    factors = [P]
    scale = np.abs(P).max() or 1.0
    for _ in range(n_factors - 1):
        last = factors.pop()
        r = min(rank, *last.shape)
        split = NMF(r, init="nndsvda", random_state=seed, max_iter=200, tol=1e-3)
        left = _quietly(split, last / scale)
        factors += [left, split.components_ * scale]
        _refine(P, factors, entries, n_iter)
    return factors


def _quietly(split: Any, target: Matrix) -> Matrix:
    """Fit an NMF without convergence warnings, as its factors are refined afterwards."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return split.fit_transform(target)


def _refine(P: Matrix, factors: list[Matrix], entries: int | None, n_iter: int) -> None:
    """Take ``n_iter`` sweeps of projected gradient steps over the factors, in place."""
    for j in range(len(factors)):
        factors[j] = _project(factors[j], entries)
    for _ in range(n_iter):
        for j, factor in enumerate(factors):
            left = _multiply([*factors[:j]]) if j else None
            right = _multiply(factors[j + 1 :]) if j + 1 < len(factors) else None
            whole = factor if left is None else left @ factor
            gradient = (whole if right is None else whole @ right) - P
            gradient = gradient if left is None else left.T @ gradient
            gradient = gradient if right is None else gradient @ right.T
            bound = _square_norm(left) * _square_norm(right)
            if bound > 0:
                factors[j] = _project(factor - gradient / (1.001 * bound), entries)
        _balance(factors)


def _square_norm(matrix: Matrix | None) -> float:
    if matrix is None:
        return 1.0
    gram = matrix.T @ matrix if matrix.shape[0] > matrix.shape[1] else matrix @ matrix.T
    return float(np.linalg.norm(gram, 2))


def _project(factor: Matrix, entries: int | None) -> Matrix:
    factor = np.maximum(factor, 0.0)
    return np.where(_largest(factor, entries), factor, 0.0) if entries is not None else factor


def _balance(factors: list[Matrix]) -> None:
    """Give all factors the same norm, for steps of the same size; the product is unchanged."""
    norms = [float(np.linalg.norm(factor)) for factor in factors]
    if min(norms) > 0:
        common = float(np.exp(np.mean(np.log(norms))))
        for j, norm in enumerate(norms):
            factors[j] = factors[j] * (common / norm)


def _error(dense: Matrix, operator: Operator) -> float:
    """Return the relative Frobenius distance of the operator from the dense matrix, in blocks of columns."""
    m = dense.shape[1]
    gap = 0.0
    for lo in range(0, m, 512):
        hi = min(lo + 512, m)
        unit = np.zeros((m, hi - lo))
        unit[np.arange(lo, hi), np.arange(hi - lo)] = 1.0
        gap += float(np.sum((operator @ unit - dense[:, lo:hi]) ** 2))
    size = float(np.sum(dense**2))
    return float(np.sqrt(gap / size)) if size > 0 else 0.0

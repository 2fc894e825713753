"""Checks of the entries, row normalisation, and rows and columns without entries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.checks import choice
from softvec.core.errors import InputError, Option
from softvec.core.threads import row_blocks
from softvec.operators.base import Array, Operator, Sum, as_operator
from softvec.operators.sparse import SAFE, Sparse

DANGLING = ("zero", "self", "error")


def check_nonnegative(P: Operator, name: str = "P") -> None:
    """Raise :class:`InputError` if a stored entry of ``P`` is negative, NaN or infinite."""
    for part in P.leaves():
        if isinstance(part, Sparse):
            for values in (part._row_scale, part._col_scale, *([] if part._checked else [part._values])):
                _check_values(values, part, name)
            part._checked = True


def _check_values(values: Array, part: Sparse, name: str) -> None:
    with np.errstate(over="ignore"):  # finite values may have an infinite sum
        if not len(values) or (values.min() >= 0 and np.isfinite(values.sum(dtype=np.float64))):
            return
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if not len(bad):
        return
    where = f"position {bad[0]}"
    if values is part._values:
        row = int(np.searchsorted(part._indptr, bad[0], side="right")) - 1
        where = f"row {row}, column {part._indices[bad[0]]}"
    value = values[bad[0]]
    kind = "Negative values" if value < 0 else "NaN or infinite values"
    raise InputError(
        f"{kind} in data: {name} has {len(bad):,} such entries (first: {value} at {where}); "
        "affinities must be finite and >= 0"
    )


def check_range(P: Operator, name: str = "P") -> None:
    """Raise :class:`InputError` if a row of ``P`` has a sum outside the range of float32."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        sums = P.row_sums()
    far = ~((sums >= SAFE[0]) & (sums <= SAFE[1]) | (sums == 0))
    if far.any():
        row = int(np.argmax(far))
        raise InputError(
            f"{name} has {far.sum():,} rows whose sums are outside the range of single precision (first: "
            f"row {row} with {sums[row]:.3g}); rescale them to between {SAFE[0]:g} and {SAFE[1]:g}"
        )


def row_normalize(P: Any, dangling: str = "zero") -> Operator:
    """Divide each row by its sum, without a copy of the matrix.

    Parameters
    ----------
    P : anything :func:`as_operator` takes
    dangling : {"zero", "self", "error"}
        A row that sums to 0 stays zero and is ignored by the loss, points to itself (square P only), or
        raises an error.

    Examples
    --------
    >>> import numpy as np
    >>> row_normalize(np.array([[1.0, 3.0], [0.0, 0.0]]), dangling="self").row_sums()
    array([1., 1.])
    """
    choice("dangling", dangling, DANGLING)
    operator = as_operator(P)
    if operator._normal and dangling == "zero":
        return operator
    check_nonnegative(operator)
    operator = operator.balanced() if isinstance(operator, Sparse) else operator
    check_range(operator)
    sums = operator.row_sums()
    empty = sums <= 0
    if dangling == "error" and empty.any():
        raise InputError(
            f"P has {empty.sum():,} rows that sum to 0 (first: row {int(np.argmax(empty))}); pass ",
            Option("dangling", "self"),
            " or ",
            Option("dangling", "zero"),
            ", or drop them",
        )
    if np.all(empty | (np.abs(sums - 1) < 1e-9)):
        normal = operator  # already stochastic, as products and means of walks are: scaling costs a pass
    else:
        normal = operator.scale_rows(np.divide(1.0, sums, out=np.zeros_like(sums), where=~empty))
    normal._normal = True
    if dangling == "self" and empty.any():
        if operator.shape[0] != operator.shape[1]:
            raise InputError('dangling="self" needs a square P; pass "zero" for a rectangular one')
        loops = sparse.diags_array(empty.astype(np.float64), format="csr")
        loops.eliminate_zeros()
        return Sum([normal, Sparse(loops, symmetric=True)])
    return normal


def isolated_nodes(matrix: sparse.csr_array, symmetric: bool = False) -> NDArray[np.int64]:
    """Return the nodes of a square matrix without entries in their row and column."""
    rows = np.flatnonzero(np.diff(matrix.indptr) == 0)
    return np.intersect1d(rows, isolated_items(matrix)[1]) if len(rows) and not symmetric else rows


def isolated_items(matrix: sparse.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows and the columns of a matrix without entries."""
    reached = np.zeros(matrix.shape[1], dtype=bool)
    for lo, hi in row_blocks(matrix.nnz, 1 << 20):  # as NumPy converts each index to 8 bytes
        reached[matrix.indices[lo:hi]] = True
    return np.flatnonzero(np.diff(matrix.indptr) == 0), np.flatnonzero(~reached)

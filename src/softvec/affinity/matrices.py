"""The end of most builders: from coded edges or a matrix to an affinity, by the rules for edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.affinity.base import Affinity, name_rows, name_sides
from softvec.affinity.compress import compress, loop_notes, off_diagonal, pattern
from softvec.core.checks import check_weighted, choice, counted, integer
from softvec.core.errors import InputError, Option, guess
from softvec.kernels import worth_compiling
from softvec.names import Names
from softvec.operators import DANGLING, Operator, Powers, Sparse, checked_csr, row_normalize
from softvec.operators.normalize import isolated_items, isolated_nodes
from softvec.read.columns import negative_remedy
from softvec.read.edges import NEGATIVE, Edges
from softvec.read.table import MISSING_ROWS

_CHOICES: Mapping[str, Sequence[str | None]] = {
    "self_loops": ("drop", "keep"),
    "duplicates": (None, "sum", "merge", "error"),
    "negative": NEGATIVE,
    "isolated": ("keep", "drop"),
    "dangling": DANGLING,
    "missing": MISSING_ROWS,
}
SIGNED_DIRECTED = (
    "signed links are fitted without direction; leave out ", Option("directed"), ", or pass ",
    Option("negative", "abs")
)  # fmt: skip

SIGNED_TWO_SIDED = (
    "signs are for links between items of one kind; pass ", Option("negative", "drop"), " or ",
    Option("negative", "abs"),
)  # fmt: skip


@dataclass(frozen=True)
class EdgeRules:
    """What becomes of edges, or of the entries of a matrix; see :func:`random_walk`."""

    kind: str = "graph"
    directed: bool | None = None
    weighted: bool | None = None
    self_loops: str = "drop"
    duplicates: str | None = None
    isolated: str = "keep"
    length: int = 1
    dangling: str = "zero"
    negative: str = "auto"
    normalize: bool = True
    missing: str = "error"

    def __post_init__(self) -> None:
        check_weighted(self.weighted)
        for name, allowed in _CHOICES.items():
            choice(name, getattr(self, name), allowed)

    @classmethod
    def of(cls, affinity: Affinity) -> EdgeRules:
        """Return the rules that make a matrix of the same nodes an affinity like this one."""
        names = ("length", "dangling", "normalize")
        kept = {name: affinity.parameters[name] for name in names if name in affinity.parameters}
        return cls(affinity.kind, **kept)


def from_edges(edges: Edges, rules: EdgeRules, names: Any = None) -> Affinity:
    """Build the random walk on a list of edges."""
    use, merge = merging(edges.weights is not None, rules)
    two_sided = edges.two_sided
    both = not rules.directed and not two_sided
    matrix, found = compress(
        edges, both=both, weighted=use, self_loops=rules.self_loops == "keep", merge=merge
    )  # fmt: skip
    rows = edges.rows if two_sided else name_rows(edges.rows, names)
    columns = edges.columns if two_sided else rows
    notes = [*edges.notes, *found]
    if use and matrix.nnz and matrix.data.min() <= 0:  # 0: links of both signs that cancel
        if rules.directed:
            raise InputError(*SIGNED_DIRECTED)
        cancelled = int(np.count_nonzero(matrix.data == 0)) // (1 + both)
        notes += [f"{counted(cancelled, 'link')} of both signs left out"] if cancelled else []
        matrix = canonical(matrix, rules.negative)
        _say_signed(matrix, rules.negative)
    return assemble(matrix, rows, columns, rules, both or None, notes)


def merging(has_weights: bool, rules: EdgeRules) -> tuple[bool, str]:
    """Return whether to use the weights of edges, and how to merge duplicates."""
    if rules.weighted and not has_weights:
        raise InputError("weighted is True, but the edges have no weights")
    use = has_weights if rules.weighted is None else bool(rules.weighted)
    return use, rules.duplicates or ("sum" if use or rules.kind == "pairs" else "merge")


def assemble(
    matrix: sparse.csr_array,
    rows: Names,
    columns: Names,
    rules: EdgeRules,
    symmetric: bool | None,
    notes: Sequence[str] = (),
    column_weight: NDArray[np.float64] | None = None,
) -> Affinity:
    """Build an affinity from a canonical matrix: weight its columns, normalise it, describe it.

    ``symmetric`` tells whether the matrix equals its transpose; None to find out.
    """
    if matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise InputError("nothing to embed: the data has no edges (0 nodes, 0 edges)")
    one_sided = rows is columns
    if rules.isolated == "drop":
        matrix, rows, columns, dropped = _drop_isolated(matrix, rows, columns)
        notes = [*notes, f"{counted(dropped, 'isolated node')} dropped"] if dropped else notes
    if symmetric is None:
        symmetric = one_sided and is_symmetric(matrix)
    signed = None
    if has_signs(matrix):
        if not one_sided:
            raise InputError(*SIGNED_TWO_SIDED)
        signed, matrix = matrix, abs(matrix)
        matrix = pattern(matrix) if (matrix.data == 1).all() else matrix
        notes = [*notes, f"signed: {_negative_share(signed)} negative"]
    operator: Operator
    if column_weight is None:
        operator = Sparse(matrix, symmetric=symmetric)
    else:
        operator = Sparse(matrix, col_scale=column_weight)
    if rules.normalize:
        operator = row_normalize(operator, rules.dangling)
    operator = mean_of_powers(operator, rules.length, one_sided)
    summary = _describe(matrix, one_sided, symmetric, notes)
    parameters = {name: getattr(rules, name) for name in ("length", "dangling", "isolated", "normalize")}
    return Affinity(
        operator, rows, columns, rules.kind, summary, matrix, parameters,
        directed=one_sided and not symmetric, weighted=matrix.dtype != bool, signed=signed,
    )  # fmt: skip


def has_signs(matrix: sparse.csr_array) -> bool:
    """Whether some entries of a matrix are negative."""
    return matrix.dtype.kind in "fi" and bool(matrix.nnz) and bool(matrix.data.min() < 0)


def _negative_share(signed: sparse.csr_array) -> str:
    return f"{np.count_nonzero(signed.data < 0) / signed.nnz:.0%}"


def _say_signed(matrix: sparse.csr_array, negative: str) -> None:
    """Say that negative weights are taken for signs, unless the user did; refuse links without contrast."""
    if not has_signs(matrix):
        return
    if matrix.data.max() < 0:
        raise InputError("all weights are negative; pass ", Option("negative", "abs"), " to ignore the sign")
    if negative == "auto":
        guess(
            f"{_negative_share(matrix)} of the links are negative, and are fitted as signs; ",
            Option("negative", "abs"),
            " to ignore the sign",
        )


def by_sign(affinity: Affinity) -> list[Affinity]:
    """Return the affinities of the positive and of the negative links, over the same names.

    Examples
    --------
    >>> from softvec.affinity import pairs
    >>> friends, foes = by_sign(pairs([("a", "b", 1), ("b", "c", -2)], negative="sign"))
    >>> foes.matrix.toarray()
    array([[0., 0., 0.],
           [0., 0., 2.],
           [0., 2., 0.]])
    """
    assert affinity.signed is not None
    rows, rules = affinity.rows, EdgeRules.of(affinity)
    parts = [canonical(sign * affinity.signed, "drop") for sign in (1, -1)]
    return [assemble(part if affinity.weighted else pattern(part), rows, rows, rules, True) for part in parts]


def mean_of_powers(operator: Operator, length: int, one_sided: bool) -> Operator:
    """Return the mean of the powers 1..length of an operator whose rows and columns are the same items."""
    if length == 1:
        return operator
    if not one_sided:
        raise InputError(f"length is {length}, but walks need the same items as rows and columns")
    return Powers(operator, integer("length", length))


def _describe(matrix: sparse.csr_array, one_sided: bool, symmetric: bool, notes: Sequence[str]) -> str:
    """Describe a matrix in one line."""
    values = "weighted" if matrix.dtype != bool else "unweighted"
    n, m = matrix.shape
    if one_sided:
        diagonal = int(np.count_nonzero(matrix.diagonal())) if symmetric else 0
        edges = (matrix.nnz + diagonal) // 2 if symmetric else matrix.nnz
        way = "undirected" if symmetric else "directed"
        head = f"{counted(n, 'node')}, {counted(edges, 'edge')}, {way}, {values}"
        alone = len(isolated_nodes(matrix, symmetric))
        notes = [*notes, f"{counted(alone, 'isolated node')} (zero vectors)"] if alone else notes
    else:
        head = f"{counted(n, 'row')}, {counted(m, 'column')}, {counted(matrix.nnz, 'pair')}, {values}"
    return "; ".join([head, ", ".join(notes)] if notes else [head])


def _drop_isolated(
    matrix: sparse.csr_array, rows: Names, columns: Names
) -> tuple[sparse.csr_array, Names, Names, int]:
    one_sided = rows is columns
    alone = (isolated_nodes(matrix),) * 2 if one_sided else isolated_items(matrix)
    dropped = len(alone[0]) + (0 if one_sided else len(alone[1]))
    if not dropped:
        return matrix, rows, columns, 0
    keep, kept = (np.setdiff1d(np.arange(size), gone) for size, gone in zip(matrix.shape, alone))
    named = rows.take(keep)
    return matrix[keep][:, kept], named, named if one_sided else columns.take(kept), dropped


def is_symmetric(matrix: sparse.csr_array) -> bool:
    """Whether a canonical square CSR matrix equals its transpose, up to rounding."""
    if matrix.shape[0] != matrix.shape[1]:
        return False
    largest = np.abs(matrix.data).max(initial=0) if matrix.dtype.kind == "f" else 0
    rounding = float(16 * np.finfo(matrix.dtype).eps * largest) if largest else 0.0
    if worth_compiling(matrix.nnz):
        from softvec.kernels import graph

        cursor = matrix.indptr[:-1].astype(np.int64)
        values = matrix.data if matrix.dtype != bool else matrix.data[:0]
        return bool(graph.is_symmetric(matrix.indptr, matrix.indices, values, cursor, rounding))
    flipped = matrix.T.tocsr()
    return (
        np.array_equal(flipped.indptr, matrix.indptr)
        and np.array_equal(flipped.indices, matrix.indices)
        and (matrix.dtype == bool or np.allclose(flipped.data, matrix.data, rtol=0, atol=rounding))
    )


def from_matrix(
    matrix: Any,
    rules: EdgeRules,
    *,
    names: Any = None,
    column_names: Any = None,
    notes: Sequence[str] = (),
) -> Affinity:
    """Build an affinity from a sparse or dense matrix; a rectangular one is always two-sided."""
    clean, weighted = canonical(matrix, rules.negative), rules.weighted
    square, signed = clean.shape[0] == clean.shape[1], has_signs(clean) and weighted is not False
    if not square and rules.directed is False:
        raise InputError(f"directed is False, but the matrix has shape {clean.shape}: it is two-sided")
    if rules.missing == "drop":
        raise InputError("a matrix or a graph has no rows with missing values; leave out ", Option("missing"))
    notes = [*notes, *_negative_notes(matrix, rules.negative)]
    if weighted is False or (weighted is None and clean.nnz and np.all(clean.data == 1)):
        clean = pattern(clean)
    rows, columns = name_sides(clean.shape, names, column_names, rules.kind == "bipartite")
    if rows is not columns:
        return assemble(clean, rows, columns, rules, False, notes)
    clean, symmetric, more = _links(clean, rules, signed, not weighted)
    return assemble(clean, rows, columns, rules, symmetric, [*notes, *more])


def _links(
    matrix: sparse.csr_array, rules: EdgeRules, signed: bool, undoubted: bool
) -> tuple[sparse.csr_array, bool | None, list[str]]:
    """Return a square matrix as links, whether it is known to be symmetric, and notes on what was changed."""
    loops = int(np.count_nonzero(diagonal := matrix.diagonal()))
    rounded = bool(loops) and diagonal.max() < 1e-9 * matrix.data.max()
    matrix = off_diagonal(matrix) if loops and rules.self_loops == "drop" else matrix
    notes = loop_notes(loops, rules.self_loops == "keep")
    if not signed:
        _check_meaning(matrix, undoubted and (rounded or not loops), rules.directed is None)
    if (signed or rules.directed is False) and not is_symmetric(matrix):
        matrix = canonical(matrix + matrix.T, "sign" if signed else "error")
        notes.append("made symmetric")
    _say_signed(matrix, rules.negative)
    return matrix, True if signed else None if rules.directed is None else not rules.directed, notes


def _negative_notes(matrix: Any, negative: str) -> list[str]:
    """Return a note on what became of negative values."""
    if negative not in ("drop", "abs"):
        return []
    count = int(np.count_nonzero(canonical(matrix, "sign").data < 0))
    done = {"drop": "dropped", "abs": "made positive"}[negative]
    return [f"{counted(count, 'negative value')} {done}"] if count else []


def _check_meaning(matrix: sparse.csr_array, undoubted: bool, undecided: bool) -> None:
    """Refuse distances, and warn of what may be one half of a symmetric matrix."""
    if undoubted and look_like_distances(matrix):
        raise InputError(
            "the matrix looks like distances (0 on the diagonal, triangle inequality), but affinities are "
            "large where items are close; pass np.exp(-((D / np.median(D)) ** 2)), or the features that the "
            "distances come from, or ", Option("weighted", True), " if these are affinities"
        )  # fmt: skip
    if undecided and _is_half(matrix):
        guess(
            "all entries of the matrix are on one side of the diagonal, and are read as directed edges; ",
            Option("directed", False),
            " if it is one half of a symmetric matrix",
        )


def look_like_distances(matrix: sparse.csr_array) -> bool:
    """Whether a symmetric matrix, full but for its diagonal, satisfies the triangle inequality.

    The roots of squared Euclidean distances and of 1 - correlation satisfy it, too.
    """
    n = matrix.shape[0]
    if n < 3 or matrix.nnz < 0.9 * n * (n - 1) or matrix.dtype == bool:  # points may stand twice
        return False
    sample = np.linspace(0, n - 1, min(n, 100)).astype(np.int64)
    D = np.abs(matrix[sample][:, sample].toarray().astype(float))  # (k, k)
    np.fill_diagonal(D, 0)
    return np.allclose(D, D.T) and (_has_triangles(D, 2) or _has_triangles(np.sqrt(D), 4))


def _has_triangles(D: np.ndarray, ratio: int) -> bool:
    """Whether no detour is shorter; if no value is ``ratio`` times another, this tells too little."""
    if not D.any() or D.max() <= ratio * D[D > 0].min():
        return False
    detours = (D[:, :, None] + D[None, :, :]).min(axis=1)  # via a third point, which may be an end
    return bool(np.all(detours * (1 + 1e-6) >= D))


def _is_half(matrix: sparse.csr_array) -> bool:
    """Whether all entries of a matrix are on one side of its diagonal."""
    if matrix.nnz < 2:
        return False
    filled = np.flatnonzero(np.diff(matrix.indptr))
    first = matrix.indices[matrix.indptr[filled]]  # sorted in each row
    last = matrix.indices[matrix.indptr[filled + 1] - 1]
    return bool(np.all(first > filled) or np.all(last < filled))


def canonical(matrix: Any, negative: str = "error") -> sparse.csr_array:
    """Return a matrix as sorted CSR without duplicates or stored zeros; never modifies its argument."""
    choice("negative", negative, NEGATIVE)
    if not sparse.issparse(matrix):
        dense = np.asarray(matrix)
        if dense.ndim != 2 or dense.dtype.kind not in "fiub":
            raise InputError(
                f"data of dtype {dense.dtype} and shape {dense.shape}; expected a numeric matrix"
            )
        matrix = sparse.csr_array(dense.astype(np.float32) if dense.dtype == np.float16 else dense)
    if matrix.dtype.kind not in "fiub":
        raise InputError(f"a matrix of dtype {matrix.dtype} is not numeric; convert it to float")
    csr = sparse.csr_array(checked_csr(matrix))
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if negative in ("drop", "abs") and csr.nnz and csr.dtype.kind in "fi" and csr.data.min() < 0:
        csr = csr.copy()
        csr.data = np.abs(csr.data) if negative == "abs" else np.maximum(csr.data, 0)
    if csr.nnz and not np.all(csr.data):
        csr = csr.copy()
        csr.eliminate_zeros()
    _check_entries(csr, negative)
    return csr


def _check_entries(csr: sparse.csr_array, negative: str) -> None:
    if csr.dtype.kind in "ub" or not csr.nnz:
        return
    finite = np.isfinite(csr.data)
    signs = negative == "sign" or (negative == "auto" and np.array_equal(csr.data, np.round(csr.data)))
    bad = np.flatnonzero(~finite if signs else ~((csr.data > 0) & finite))
    if len(bad):
        row = int(np.searchsorted(csr.indptr, bad[0], side="right")) - 1
        value = csr.data[bad[0]]
        what = "negative" if value < 0 else "NaN or infinite"
        text = (
            f"the matrix has {what} values: {value} at row {row}, column {csr.indices[bad[0]]} "
            f"({counted(len(bad), 'such entry', 'such entries')}); affinities must be finite and >= 0"
        )
        if value < 0 and np.isfinite(value):
            raise InputError(text, *negative_remedy(negative))
        raise InputError(text)

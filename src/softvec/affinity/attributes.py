"""Attributes of nodes as one matrix: numbers standardised, categories one-hot, words weighted by rarity."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.affinity.base import Affinity, check_graph
from softvec.affinity.matrices import EdgeRules, assemble
from softvec.core.checks import counted
from softvec.core.errors import InputError, Option, guess
from softvec.names import Names
from softvec.names.align import rows_by_name
from softvec.operators import checked_csr
from softvec.read.attributes import table_of
from softvec.read.table import is_missing

Array = NDArray[Any]
_MOST_WORDS = 50_000  # of a column
_FEW_WORDS = 3  # a column whose values have fewer words on average holds categories


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table, or a whole matrix, and how its values become numbers.

    Attributes
    ----------
    title : str
        Its name; empty for a matrix and for sets of keywords.
    kind : {"number", "category", "words"}
        Numbers are standardised; a category is 1 or 0; words are weighted by rarity, rows of length 1.
    values : tuple of str
        Categories, words, or titles of the columns of a matrix.
    mean, scale : ndarray
        A value x counts as (x - mean) * scale.
    """

    title: str
    kind: str
    values: tuple[str, ...]
    mean: Array
    scale: Array

    @property
    def names(self) -> list[str]:
        """Names of the attributes: ``age``, ``club=chess``, ``title: graph``."""
        if self.kind == "number" or not self.title:
            return [self.title or value for value in self.values]
        join = "=" if self.kind == "category" else ": "
        return [f"{self.title}{join}{value}" for value in self.values]

    def encode(self, cells: Any) -> Any:
        """Return the values of rows as a matrix, dense for numbers and sparse otherwise; missing is 0."""
        width = getattr(cells, "shape", (0,))[1:]
        if width and width[0] != len(self.values):
            raise InputError(f"attributes have {width[0]:,} columns; expected {len(self.values):,}")
        if self.kind == "number" and not sparse.issparse(cells):
            numbers = np.asarray(cells, np.float64).reshape(len(cells), len(self.values))
            return np.nan_to_num((numbers - self.mean) * self.scale).astype(np.float32)
        raw = cells if sparse.issparse(cells) else self._counts(cells)
        raw = sparse.csr_array(raw @ sparse.diags_array(self.scale))
        if self.kind == "words":
            length = np.sqrt(np.asarray(raw.multiply(raw).sum(axis=1)).reshape(-1))
            raw = sparse.diags_array(1 / np.maximum(length, 1e-12)) @ raw
        return sparse.csr_array(raw).astype(np.float32)

    def _counts(self, cells: Any) -> Any:
        """Return how often each row holds each value."""
        if isinstance(cells, np.ndarray) and cells.ndim == 2:
            return sparse.csr_array(cells)
        code = {value: at for at, value in enumerate(self.values)}
        entries = [
            (i, code[w]) for i, words in enumerate(_bags(cells, self.kind)) for w in words if w in code
        ]
        rows, columns = np.array(entries, np.int64).reshape(-1, 2).T
        return sparse.coo_array((np.ones(len(rows)), (rows, columns)), (len(cells), len(code))).tocsr()

    @classmethod
    def of(cls, title: str, cells: Any, titles: Sequence[str] | None = None) -> Column | None:
        """Decide how a column is encoded; None if it tells no two nodes apart or none together."""
        if sparse.issparse(cells) or isinstance(cells, np.ndarray):
            return cls._of_numbers(title, cells, titles)
        given = [cell for cell in cells if not is_missing(cell)]
        kind = _kind_of_cells(given)
        held = Counter(word for bag in _bags(cells, kind) for word in set(bag))
        shared = sorted((-count, word) for word, count in held.items() if 1 < count < len(cells))
        values = sorted(word for _, word in shared[:_MOST_WORDS])
        if not values:
            return None
        scale = np.array([_rarity(len(given), held[word]) if kind == "words" else 1.0 for word in values])
        return cls(title, kind, tuple(values), np.zeros(len(values)), scale)

    @classmethod
    def _of_numbers(cls, title: str, cells: Any, titles: Sequence[str] | None) -> Column | None:
        p = cells.shape[1] if cells.ndim == 2 else 1
        values = tuple(map(str, range(p) if titles is None else titles))
        if _are_counts(cells, title):
            held = np.bincount(sparse.csr_array(cells).indices, minlength=p)
            scale = _rarity(cells.shape[0], held)
            return cls(title, "words", values, np.zeros(p), scale) if held.any() else None
        mean, spread = _mean_and_spread(cells, p)
        constant = spread <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
        if constant.all():
            return None
        return cls(title, "number", values, mean, np.where(constant, 0.0, 1 / np.where(constant, 1, spread)))


def _are_counts(cells: Any, title: str) -> bool:
    """Whether numbers are a table of counts, mostly zeros; refuse infinite ones."""
    data = cells.data if sparse.issparse(cells) else cells
    if sparse.issparse(cells) and not np.isfinite(data).all():
        raise InputError("attributes hold NaN or infinite values; a sparse matrix has zeros for missing")
    if np.isinf(data).any():
        raise InputError(f"attributes hold infinite values{f' (column {title!r})' if title else ''}")
    if cells.ndim != 2 or cells.shape[1] == 1:
        return False
    zeros = 1 - np.count_nonzero(data) / max(np.prod(cells.shape), 1)
    return bool(zeros > 0.5 and not (data < 0).any() and not np.isnan(data).any())


def _kind_of_cells(given: list[Any]) -> str:
    """Return whether cells hold words, or a category each."""
    if any(isinstance(cell, set | frozenset | list | tuple) for cell in given):
        return "words"
    values = len(set(given))
    many = values > 2 and sum(len(_words(cell)) for cell in given) >= _FEW_WORDS * len(given)
    return "words" if many or values > len(given) / 2 else "category"


def _mean_and_spread(cells: Any, p: int) -> tuple[Array, Array]:
    """Return mean and standard deviation of each column; about 0 for a sparse matrix."""
    if sparse.issparse(cells):
        squares = np.asarray(cells.multiply(cells).mean(axis=0), np.float64).reshape(-1)
        return np.zeros(p), np.sqrt(squares)
    known = np.asarray(cells, np.float64).reshape(len(cells), p)
    count = np.maximum(np.isfinite(known).sum(axis=0), 1)
    mean = np.nansum(known, axis=0) / count
    return mean, np.sqrt(np.nansum((known - mean) ** 2, axis=0) / count)


def _rarity(n: int, held: Any) -> Any:
    """Return the weight of a word that ``held`` of n rows hold: the rarer, the larger."""
    return np.log((1 + n) / (1 + held)) + 1


def _words(cell: Any) -> list[str]:
    return re.findall(r"\w+", str(cell).lower())


def _bags(cells: Iterable[Any], kind: str) -> Iterable[list[str]]:
    """Return the words, keywords or category of each row; nothing if it is missing."""
    for cell in cells:
        if isinstance(cell, set | frozenset | list | tuple):
            yield [str(word) for word in cell if not is_missing(word)]
        elif is_missing(cell):
            yield []
        else:
            yield _words(cell) if kind == "words" else [str(cell)]


@dataclass(frozen=True, eq=False)
class Attributes:
    """Attributes of the nodes of a graph.

    Attributes
    ----------
    columns : tuple of Column
    matrix : csr_array or ndarray of shape (n, p)
    known : ndarray of bool of shape (n,)
        Which nodes have attributes.
    note : str
    """

    columns: tuple[Column, ...]
    matrix: Any
    known: NDArray[np.bool_]
    note: str


def encode(columns: Sequence[Column], cells: Mapping[str, Any], n: int) -> Any:
    """Return the columns of a table of n rows side by side, (n, p); a missing column counts as unknown."""
    parts = [
        column.encode(cells[column.title])
        if column.title in cells
        else sparse.csr_array((n, len(column.values)), dtype=np.float32)
        for column in columns
    ]
    if any(sparse.issparse(part) for part in parts):
        return sparse.csr_array(sparse.hstack(parts, format="csr"))
    return np.hstack(parts)


def attach(affinity: Affinity, given: Any, data: Any = None) -> Affinity:
    """Return the affinity of a graph with attributes of its nodes.

    Nodes that are only in the table of attributes are added, without edges.

    Parameters
    ----------
    given : frame, mapping, matrix, AnnData, path, or list of str
        See :func:`softvec.embed`.
    data : object
        What the affinity was read from: a list of str names attributes of a networkx or igraph graph.
    """
    if affinity.signed is not None:
        raise InputError(Option("attributes"), " are not for signed links; pass ", Option("negative", "abs"))
    check_graph(affinity, "attributes")
    table = table_of(given, affinity.rows, data)
    at, extra = _matched(table.keys, affinity.rows)
    columns, left_out = [], []
    for title, cells in table.cells.items():
        column = Column.of(title, cells, table.titles)
        columns.append(column) if column is not None else left_out.append(title)
    if not columns:
        raise InputError("no attribute is shared by two nodes and missing from another; nothing to learn")
    if left_out:
        guess(f"left out of the attributes, as all values are equal or all differ: {', '.join(left_out)}")
    grown = _grown(affinity, [table.keys[row] for row in extra])
    rows = np.full(len(grown.rows), -1, np.int64)
    rows[: len(at)], rows[len(at) :] = at, extra
    encoded = encode(columns, table.cells, len(table.keys))
    known = rows >= 0
    matrix = encoded[np.maximum(rows, 0)]
    if not known.all():
        matrix = sparse.csr_array(sparse.diags_array(known.astype(np.float32)) @ matrix)
    filled = np.diff(matrix.indptr) > 0 if sparse.issparse(matrix) else (matrix != 0).any(axis=1)
    known &= filled  # a row without any value says nothing
    note = _note(columns, int(np.count_nonzero(~known[: len(at)])), len(extra))
    attributes = Attributes(tuple(columns), matrix, known, note)
    return replace(grown, attributes=attributes, summary=f"{affinity.summary}; {note}")


def _note(columns: Sequence[Column], without: int, only: int) -> str:
    """Describe attributes: '2 numbers, 5 categories, 1 node without attributes'."""
    kinds: Counter[str] = Counter()
    for column in columns:
        kinds[column.kind] += len(column.values)
    plurals = {"category": "categories"}
    notes = [counted(count, kind.removesuffix("s"), plurals.get(kind)) for kind, count in kinds.items()]
    notes += [f"{counted(without, 'node')} without attributes"] if without else []
    notes += [f"{counted(only, 'node')} with attributes only"] if only else []
    return f"attributes: {', '.join(notes)}"


def _matched(keys: Sequence[Hashable], names: Names) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the row of the table of each name, -1 where there is none, and the rows of other names."""
    rows = rows_by_name(keys, names, "attributes")
    extra = np.setdiff1d(np.arange(len(keys)), rows)
    if len(extra) > len(keys) / 2:
        guess(
            f"{len(extra):,} of {len(keys):,} rows of the attributes are nodes without edges (first: "
            f"{keys[int(extra[0])]!r}); check that names are written as in the edges"
        )
    return rows, extra


def _grown(affinity: Affinity, more: list[Hashable]) -> Affinity:
    """Return the affinity with more nodes, which have no edges."""
    counts = affinity.counts
    if not more or counts is None:
        return affinity
    first = affinity.rows[0]
    if isinstance(first, str) or isinstance(more[0], str):
        more = [type(first)(name) for name in more]  # type: ignore[call-arg]
    rows = affinity.rows.append(more)
    starts = np.concatenate([counts.indptr, np.full(len(more), counts.indptr[-1], counts.indptr.dtype)])
    matrix = sparse.csr_array((counts.data, counts.indices, starts), shape=(len(rows), len(rows)))
    return assemble(checked_csr(matrix), rows, rows, EdgeRules.of(affinity), not affinity.directed)

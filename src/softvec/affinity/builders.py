"""Builders for graphs, pairs and bipartite data, from any object that holds edges or a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from softvec.affinity.base import Affinity
from softvec.affinity.compress import duplicate_notes
from softvec.affinity.matrices import SIGNED_DIRECTED, EdgeRules, from_edges, from_matrix, merging
from softvec.core.errors import InputError, guess
from softvec.read import frames, objects
from softvec.read.edges import EdgeBuilder, Edges


def random_walk(
    graph: Any,
    length: int = 1,
    *,
    directed: bool | None = None,
    weighted: bool | None = None,
    self_loops: str = "drop",
    duplicates: str | None = None,
    isolated: str = "keep",
    dangling: str = "zero",
    names: Any = None,
    columns: Any = None,
    weight: Any = None,
    negative: str = "auto",
    missing: str = "error",
    key: str | None = None,
) -> Affinity:
    """Build P from a graph: the mean of the powers 1..length of its random walk ``D^-1 A``.

    Parameters
    ----------
    graph : SciPy sparse, ndarray, networkx, igraph, PyTorch Geometric, frame or iterable of edges, Affinity
    length : int
        Steps of the walk; more steps relate nodes further apart. Powers are never formed.
    directed : bool, optional
        By default that of the graph; a matrix is undirected if it is symmetric, a list of edges is
        undirected. False makes a matrix symmetric by adding its transpose.
    weighted : bool, optional
        By default weights are used if present; False ignores them.
    self_loops : {"drop", "keep"}
        Edges from a node to itself; the summary counts them.
    duplicates : {None, "sum", "merge", "error"}
        Repeated edges: by default summed if weighted, merged into one if not.
    isolated : {"keep", "drop"}
        Nodes without edges.
    dangling : {"zero", "self", "error"}
        Empty rows of P: ignored by the loss, a step to itself, or an error.
    names : sequence, optional
        Names of the nodes of a matrix, or of the integer ids 0, 1, ... of a list of edges.
    columns : sequence or mapping, optional
        Columns of a frame: (source, target[, weight]), or a mapping from role to column.
    weight : str, optional
        The attribute of edges, or the column of a frame, that holds the weights; ``"weight"`` by default.
    negative : {"auto", "sign", "error", "drop", "abs"}
        Negative weights: signs of links, an error, left out, or made positive. By default whole numbers are
        signs, and others, such as correlations, an error. A signed graph has no direction.
    missing : {"error", "drop"}
        Rows of a frame or list that lack an end or the weight: an error, or left out and counted.
    key : str, optional
        Which graph in ``obsp`` of an AnnData; ``"connectivities"`` by default.

    Examples
    --------
    >>> import numpy as np
    >>> P = random_walk(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]), length=2)
    >>> P.summary
    '3 nodes, 2 edges, undirected, unweighted'
    >>> P.operator @ np.eye(3)
    array([[0.5 , 0.25, 0.25],
           [0.5 , 0.25, 0.25],
           [0.5 , 0.25, 0.25]])
    """
    rules = EdgeRules(
        "graph", directed, weighted, self_loops, duplicates, isolated, length, dangling, negative,
        missing=missing,
    )  # fmt: skip
    graph = graph if key is None else objects.from_anndata(graph, key)
    source = _source_of(graph, rules, columns, weight)
    if isinstance(source, Edges):
        return from_edges(source, rules, names)
    shape = source.matrix.shape
    if shape[0] != shape[1]:
        raise InputError(
            f"the matrix has shape {shape}; a graph is square; for two kinds of items use bipartite"
        )
    names = source.names if names is None else names
    rules, notes = replace(rules, directed=source.directed if directed is None else directed), list[str]()
    if source.parallel:
        use, merge = merging(not source.counts, rules)
        notes = duplicate_notes(source.parallel, merge, use)
        rules = replace(rules, weighted=False if merge == "merge" else weighted)
    walk = from_matrix(source.matrix, rules, names=names, notes=notes)
    if directed and walk.signed is not None:
        raise InputError(*SIGNED_DIRECTED)
    if not isinstance(graph, Affinity) or walk.shape != graph.shape:
        return walk
    return replace(
        walk, kind=graph.kind, frequency=graph.frequency, contacts=graph.contacts, error=graph.error
    )


def pairs(
    pairs: Any,
    *,
    directed: bool = False,
    weighted: bool | None = None,
    self_loops: str = "drop",
    duplicates: str = "sum",
    isolated: str = "keep",
    length: int = 1,
    dangling: str = "zero",
    names: Any = None,
    columns: Any = None,
    weight: Any = None,
    negative: str = "auto",
    missing: str = "error",
) -> Affinity:
    """Build P from a list of pairs; a pair listed twice counts twice.

    Parameters
    ----------
    pairs : iterable of (a, b) or (a, b, weight), array of shape (m, 2) or (m, 3), frame
    directed : bool
        Whether (a, b) differs from (b, a).
    weighted, self_loops, duplicates, isolated, length, dangling, names, columns, weight, negative, missing
        As in :func:`random_walk`, but duplicates are summed by default.

    Examples
    --------
    >>> P = pairs([("TP53", "MDM2"), ("TP53", "MDM2"), ("TP53", "ATM")])
    >>> P.rows.to_list()
    ['ATM', 'MDM2', 'TP53']
    >>> P.matrix.toarray()
    array([[0., 0., 1.],
           [0., 0., 2.],
           [1., 2., 0.]])
    """
    rules = EdgeRules(
        "pairs", directed, weighted, self_loops, duplicates, isolated, length, dangling, negative,
        missing=missing,
    )  # fmt: skip
    return from_edges(edges_of(pairs, rules, columns, weight), rules, names)


def bipartite(
    data: Any,
    *,
    weighted: bool | None = None,
    duplicates: str = "sum",
    isolated: str = "keep",
    dangling: str = "zero",
    names: Any = None,
    column_names: Any = None,
    columns: Any = None,
    weight: Any = None,
    negative: str = "error",
    missing: str = "error",
) -> Affinity:
    """Build the two-sided P of two kinds of items, such as users and products.

    Parameters
    ----------
    data : sparse or dense matrix of shape (n, m), iterable of (row, column[, weight]), frame
    weighted, duplicates, isolated, dangling, columns, weight, negative, missing
        As in :func:`pairs`.
    names, column_names : sequence, optional
        Names of the rows and of the columns of a matrix.

    Examples
    --------
    >>> P = bipartite([("ann", "tea"), ("bob", "tea"), ("bob", "rum")])
    >>> P.rows.to_list(), P.columns.to_list()
    (['ann', 'bob'], ['rum', 'tea'])
    >>> P.summary
    '2 rows, 2 columns, 3 pairs, unweighted'
    """
    rules = EdgeRules(
        "bipartite", weighted=weighted, duplicates=duplicates, isolated=isolated, dangling=dangling,
        negative=negative, missing=missing,
    )  # fmt: skip
    source = _source_of(data, rules, columns, weight)
    if isinstance(source, Edges):
        return from_edges(source, rules)
    names = source.names if names is None else names
    column_names = source.column_names if column_names is None else column_names
    return from_matrix(source.matrix, rules, names=names, column_names=column_names)


def _source_of(data: Any, rules: EdgeRules, columns: Any, weight: Any) -> Edges | objects.Graph:
    """Return the edges or the matrix of any object."""
    if isinstance(data, objects.Graph | Edges):
        return data
    data, two_sided = frames.in_memory(data), rules.kind == "bipartite"
    if isinstance(data, Affinity):
        return _counts_of(data)
    if frames.is_frame(data):
        if columns is None and weight is None:
            table = frames.square_frame(data) if not two_sided else None
            if two_sided and frames.kind_of_wide(data) is not None:
                table = frames.matrix_of_frame(data)
            if table is not None:
                return table
        return edges_of(data, rules, columns, weight)
    graph = _of_library(data, rules, weight)
    if graph is not None:
        return graph
    return objects.Graph(data) if _is_matrix(data, two_sided) else edges_of(data, rules, columns, weight)


def _is_matrix(data: Any, two_sided: bool) -> bool:
    """Whether an object is a matrix, not edges; say it of three columns of numbers and two sides."""
    if not isinstance(data, np.ndarray) or data.ndim != 2:
        return bool(sparse.issparse(data))
    if not objects.is_edge_array(data):
        return True
    doubtful = two_sided and data.shape[1] == 3 and data.dtype.kind in "iuf"
    if doubtful:
        guess("an array of 3 columns is read as a matrix; pass a list if it holds row, column and weight")
    return doubtful


def _counts_of(affinity: Affinity) -> objects.Graph:
    """Return the matrix that an affinity was made from."""
    if affinity.counts is None:
        raise InputError(f"this {affinity.kind} affinity has no matrix for random walks")
    own = None if affinity.rows is affinity.columns else affinity.columns
    matrix = affinity.counts if affinity.signed is None else affinity.signed
    return objects.Graph(matrix, affinity.rows, True if affinity.directed else None, own)


def _of_library(data: Any, rules: EdgeRules, weight: Any) -> objects.Graph | None:
    """Return the graph of an object of networkx, igraph, anndata or PyTorch Geometric; None for others."""
    told, two_sided = rules.weighted is not None, rules.kind == "bipartite"
    if objects.is_networkx(data):
        graph = objects.from_networkx(data, weight, told)
        return objects.two_sided(graph, data.nodes(data=True)) if two_sided else graph
    if objects.is_igraph(data) and not two_sided:
        return objects.from_igraph(data, weight, told)
    _refuse_weight(data, weight)
    if objects.is_anndata(data):
        if two_sided:
            return objects.Graph(data.X, list(data.obs_names), None, list(data.var_names))
        return objects.from_anndata(data)
    is_torch = objects.is_torch_geometric(data) and not two_sided
    return objects.from_torch_geometric(data) if is_torch else None


def _refuse_weight(data: Any, weight: Any) -> None:
    if weight is not None:
        raise InputError(f"weight is {weight!r}, but {type(data).__name__} has no attributes or columns")


def edges_of(data: Any, rules: EdgeRules, columns: Any = None, weight: Any = None) -> Edges:
    """Return the edges in a frame, an array, an iterable of rows, or a mapping of pairs to weights."""
    if isinstance(data, Edges):
        return data
    data, timed = frames.in_memory(data), rules.kind == "temporal"
    builder = EdgeBuilder(rules.kind == "bipartite", rules.negative, rules.missing, timed=timed)
    if frames.is_frame(data):
        return frames.edges_of_frame(data, builder, columns, weight, told=rules.weighted is not None)
    _refuse_weight(data, weight)
    if isinstance(data, np.ndarray) and data.ndim != 1:
        return objects.edges_of_array(data, builder)
    if isinstance(data, Mapping):  # as a Counter
        values = list(data.values())
        if not all(isinstance(value, int | float | np.number) for value in values):
            raise InputError(
                "a mapping must map pairs to weights, or names to columns; for a mapping of nodes to "
                "neighbours pass networkx.Graph(mapping)"
            )
        rows = ((*pair, w) if isinstance(pair, tuple) else pair for pair, w in data.items())
        return objects.edges_of_rows(rows, builder)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes):
        return objects.edges_of_rows(data, builder)
    expected = "a list of contacts (t, i, j)" if timed else "a graph, a matrix, a frame or a list of pairs"
    raise InputError(f"{type(data).__name__} is not {expected}")


def temporal_edges(data: Any, *, columns: Any = None, weight: Any = None) -> Edges:
    """Return temporal edges from (t, i, j[, weight]) rows, an array, or a frame with a time column."""
    return edges_of(data, EdgeRules("temporal", negative="error"), columns, weight)

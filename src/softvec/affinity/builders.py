"""Builders for graphs, pairs and bipartite data, from any object that holds edges or a matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from softvec.affinity.base import Affinity
from softvec.affinity.compress import Report, refuse_duplicates
from softvec.affinity.matrices import (
    SIGNED_DIRECTED,
    EdgeRules,
    from_edges,
    from_matrix,
    merging,
    report_notes,
)
from softvec.core.errors import InputError
from softvec.read import frames, objects
from softvec.read.edges import Edges
from softvec.read.kinds import is_edge_array


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
        "graph", directed, weighted, self_loops, duplicates, isolated, length, dangling, negative
    )  # fmt: skip
    graph = graph if key is None else objects.from_anndata(graph, key)
    source = _graph_source(graph, columns, False, negative, weight, weighted is not None)
    if isinstance(source, Edges):
        return from_edges(source, rules, names)
    shape = source.matrix.shape
    if shape[0] != shape[1]:
        raise InputError(
            f"the matrix has shape {shape}; a graph is square; for two kinds of items use bipartite"
        )
    names = source.names if names is None else names
    rules, notes = replace(rules, directed=source.directed if directed is None else directed), []
    if source.parallel:
        use, merge = merging(not source.counts, rules)
        refuse_duplicates(source.parallel, merge, use)
        rules = replace(rules, weighted=False if merge == "merge" else weighted)
        notes = report_notes(Report(duplicates=source.parallel), self_loops, merge)
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
    weights: Any = None,
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
) -> Affinity:
    """Build P from a list of pairs; a pair listed twice counts twice.

    Parameters
    ----------
    pairs : iterable of (a, b) or (a, b, weight), array of shape (m, 2) or (m, 3), frame
    weights : array_like, optional
        Weight or count of each pair.
    directed : bool
        Whether (a, b) differs from (b, a).
    weighted, self_loops, duplicates, isolated, length, dangling, names, columns, weight, negative
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
        "pairs", directed, weighted, self_loops, duplicates, isolated, length, dangling, negative
    )  # fmt: skip
    edges = _edge_source(pairs, weights, columns, False, negative, weight, weighted is not None)
    return from_edges(edges, rules, names)


def bipartite(
    data: Any,
    *,
    weights: Any = None,
    weighted: bool | None = None,
    duplicates: str = "sum",
    isolated: str = "keep",
    dangling: str = "zero",
    names: Any = None,
    column_names: Any = None,
    columns: Any = None,
    weight: Any = None,
    negative: str = "error",
) -> Affinity:
    """Build the two-sided P of two kinds of items, such as users and products.

    Parameters
    ----------
    data : sparse or dense matrix of shape (n, m), iterable of (row, column[, weight]), frame
    weights : array_like, optional
        One weight for each pair.
    weighted, duplicates, isolated, dangling, columns, weight, negative
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
        negative=negative,
    )  # fmt: skip
    data = frames.in_memory(data)
    if objects.is_networkx(data):
        data, weight = objects.two_sided(
            objects.from_networkx(data, weight, weighted is not None), data.nodes(data=True)
        ), None  # fmt: skip
    elif objects.is_anndata(data):
        data = objects.Graph(data.X, list(data.obs_names), None, list(data.var_names))
    elif frames.is_frame(data) and columns is None and weight is None and frames.is_wide(data):
        data = frames.matrix_of_frame(data)
    if isinstance(data, Affinity | objects.Graph) or (_is_matrix(data) and not is_edge_array(data)):
        source = _graph_source(data, None, True, negative)
        assert isinstance(source, objects.Graph)
        names = source.names if names is None else names
        column_names = source.column_names if column_names is None else column_names
        return from_matrix(
            source.matrix, rules, names=names, column_names=column_names, two_sided=True
        )  # fmt: skip
    return from_edges(
        _edge_source(data, weights, columns, True, negative, weight, weighted is not None), rules
    )


def _is_matrix(data: Any) -> bool:
    return sparse.issparse(data) or (isinstance(data, np.ndarray) and data.ndim == 2)


def _graph_source(
    data: Any, columns: Any, two_sided: bool, negative: str, weight: Any = None, told: bool = False
) -> Edges | objects.Graph:
    """Return the edges or the matrix of any object; ``told``: whether the user set ``weighted``."""
    if isinstance(data, objects.Graph | Edges):
        return data
    data = frames.in_memory(data)
    if isinstance(data, Affinity):
        if data.counts is None:
            raise InputError(f"this {data.kind} affinity has no matrix for random walks")
        own = None if data.rows is data.columns else data.columns
        matrix = data.counts if data.signed is None else data.signed
        return objects.Graph(matrix, data.rows, True if data.directed else None, own)
    if frames.is_frame(data):
        square = frames.square_frame(data) if columns is None and weight is None else None
        return square or _edge_source(data, None, columns, two_sided, negative, weight, told)
    graph = _of_library(data, weight, told)
    if graph is not None:
        return graph
    if _is_matrix(data) and not is_edge_array(data):
        return objects.Graph(data)
    return _edge_source(data, None, columns, two_sided, negative)


def _of_library(data: Any, weight: Any, told: bool) -> objects.Graph | None:
    """Return the graph of an object of networkx, igraph, anndata or PyTorch Geometric; None for others."""
    if objects.is_networkx(data):
        return objects.from_networkx(data, weight, told)
    if objects.is_igraph(data):
        return objects.from_igraph(data, weight, told)
    if weight is not None:
        raise InputError(f"weight is {weight!r}, but {type(data).__name__} has no attributes or columns")
    if objects.is_anndata(data):
        return objects.from_anndata(data)
    return objects.from_torch_geometric(data) if objects.is_torch_geometric(data) else None


def _edge_source(
    data: Any, weights: Any, columns: Any, two_sided: bool, negative: str, weight: Any = None,
    told: bool = False,
) -> Edges:  # fmt: skip
    if isinstance(data, Edges):
        return data
    data = frames.in_memory(data)
    options: dict[str, Any] = {"two_sided": two_sided, "negative": negative}
    if frames.is_frame(data):
        if weights is not None:
            data = {**frames.frame_columns(data), "weight": weights}
        return frames.edges_of_frame(data, columns=columns, weight=weight, told=told, **options)
    if weight is not None:
        raise InputError(f"weight is {weight!r}, but {type(data).__name__} has no attributes or columns")
    if isinstance(data, np.ndarray):
        if weights is None:
            return objects.edges_of_array(data, **options)
        return objects.edges_of_rows(data.tolist(), weights=weights, **options)
    if isinstance(data, Mapping):  # from pairs to weights, as a Counter
        values = list(data.values())
        if weights is not None or not all(isinstance(value, int | float | np.number) for value in values):
            raise InputError(
                "a mapping must map pairs to weights, or names to columns; for a mapping of nodes to "
                "neighbours pass networkx.Graph(mapping)"
            )
        return objects.edges_of_rows(data, weights=values, **options)
    if isinstance(data, Iterable) and not isinstance(data, str | bytes):
        return objects.edges_of_rows(data, weights=weights, **options)
    raise InputError(f"{type(data).__name__} is not a graph, a matrix, a frame or a list of pairs")


def temporal_edges(
    data: Any, *, columns: Any = None, weight: Any = None, negative: str = "error", told: bool = False
) -> Edges:
    """Return temporal edges from (t, i, j[, weight]) rows, an array, or a frame with a time column."""
    if isinstance(data, Edges):
        return data
    data = frames.in_memory(data)
    if frames.is_frame(data):
        return frames.edges_of_frame(
            data, columns=columns, weight=weight, negative=negative, timed=True, told=told
        )
    if isinstance(data, np.ndarray) and data.dtype.kind in "iuf":
        return objects.edges_of_array(data, timed=True, negative=negative)
    if not isinstance(data, Iterable) or isinstance(data, str | bytes):
        raise InputError(f"{type(data).__name__} is not a list of contacts (t, i, j)")
    return objects.edges_of_rows(data, timed=True, negative=negative)

"""Convert any object to an Affinity: detect its kind of data and call the builder of that kind."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from softvec.affinity.base import Affinity
from softvec.affinity.corpus import Corpus
from softvec.affinity.kinds import KINDS, Defaults, check_kind, check_options
from softvec.affinity.relations import is_edge_array
from softvec.affinity.temporal import Contacts
from softvec.core.errors import InputError, Option, guess
from softvec.names import Names
from softvec.operators import Operator
from softvec.read import frames, objects
from softvec.read.edges import Edges
from softvec.read.folders import is_path_list
from softvec.read.kinds import guess_kind


def from_object(
    data: Any, *, kind: str | None = None, defaults: Defaults | None = None, **options: Any
) -> Affinity:
    """Build an affinity from an object of any kind.

    Parameters
    ----------
    data : object
        An Affinity or Operator; a SciPy sparse or dense matrix; a networkx, igraph or PyTorch
        Geometric graph; a pandas, polars or Arrow table of edges, or a square one; an iterable of pairs
        or triples; a list of texts. For files see :func:`softvec.affinity.read`.
    kind : {"graph", "pairs", "bipartite", "temporal", "corpus", "features", "dense"}, optional
        Kind of data. Default: a square matrix is a graph, a rectangular one bipartite, or features if it is
        dense and does not hold counts; pairs are edges of a graph; texts are a corpus; a table with a time
        column is temporal, one with columns named like users and items is bipartite.
    defaults : mapping, optional
        Default options by kind.
    options
        Passed to the builder of that kind: :func:`random_walk`, :func:`pairs`, :func:`bipartite`,
        :func:`supra_adjacency`, :func:`cooccurrence`, :func:`neighbors`, :func:`from_dense`.

    Examples
    --------
    >>> from_object([("a", "b"), ("b", "c"), ("b", "c")])
    <Affinity from graph: 3 nodes, 2 edges, undirected, unweighted; 1 duplicate merged>
    """
    if isinstance(data, Operator):
        return _from_operator(data, **options)
    if isinstance(data, Affinity) and kind is None and not options:
        return data
    if is_path_list(data) and kind != "corpus":
        from softvec.affinity.files import read

        return read(data, kind=kind, defaults=defaults, **options)
    if isinstance(data, str | os.PathLike):
        raise InputError(f"{os.fspath(data)!r} is a path; read it with softvec.affinity.read")
    if hasattr(data, "reset_index") and not hasattr(data, "columns") and data.index.nlevels > 1:
        data = data.reset_index(name=data.name or "weight")  # a Series indexed by pairs, as from groupby
    data = frames.in_memory(data)
    kind = _guess(data, options) if kind is None else check_kind(kind)
    options = {**(defaults or {}).get(kind, {}), **options}
    check_options(kind, options)
    return KINDS[kind].build(data, **options)


def _from_operator(operator: Operator, names: Any = None, column_names: Any = None) -> Affinity:
    n, m = operator.shape
    rows = Names.range(n) if names is None else Names(names)
    columns = rows
    if n != m or column_names is not None:
        columns = Names.range(m) if column_names is None else Names(column_names)
    return Affinity(operator, rows, columns, "operator", f"operator of {n:,} x {m:,}")


def _guess(data: Any, options: Mapping[str, Any]) -> str:
    if isinstance(data, Contacts):
        return "temporal"
    if isinstance(data, Corpus):
        return "corpus"
    if isinstance(data, Edges):
        return "temporal" if data.times is not None else "bipartite" if data.two_sided else "graph"
    if sparse.issparse(data):
        return "graph" if data.shape[0] == data.shape[1] else "bipartite"
    if isinstance(data, np.ndarray) and data.ndim == 2 and not is_edge_array(data):
        if data.shape[0] == data.shape[1]:
            return "graph"
        if data.shape[0] == 2 and data.shape[1] > 3 and data.dtype.kind in "iu":
            guess(
                "an array of 2 rows is read as a matrix of 2 items; if its columns are edges, as in an "
                "edge_index, pass its transpose"
            )
        return "bipartite" if data.dtype.kind in "iub" and not (data < 0).any() else "features"
    if frames.is_frame(data):
        return _guess_frame(data, options.get("columns"), options.get("weight"))
    if objects.is_anndata(data):
        if options.get("key") is not None:
            return "graph"
        graph = "connectivities" in (getattr(data, "obsp", None) or {})
        if graph:
            guess(
                "the AnnData is read as the graph obsp['connectivities']; ",
                "pass ", Option("key", ...), " for another graph, or ", Option("kind", "features"), " for X"
            )  # fmt: skip
        else:
            guess(
                "the AnnData is read as the features X; ", Option("kind", "bipartite"), " takes X as counts"
            )
        return "graph" if graph else "features"
    if isinstance(data, list | tuple) and data and isinstance(data[0], str):
        return "corpus"
    if isinstance(data, list | tuple) and data and isinstance(data[0], list) and len(data[0]) > 3:
        return "corpus" if all(isinstance(word, str) for word in data[0]) else "features"
    return "graph"


def _guess_frame(frame: Any, columns: Any, weight: Any) -> str:
    if columns is None and weight is None:
        if frames.square_kind(frame):
            return "graph"
        wide = frames.wide_frame(frame)
        if wide is not None:
            return wide
    if columns is not None and not isinstance(columns, Mapping) and len(columns) > 2:
        return "graph"
    layout = frames.frame_layout(frame, columns, weight)
    kind, remarks = guess_kind(layout, "the frame")
    for text in remarks:
        guess(text)
    return kind

"""Convert any object to an Affinity: detect its kind of data and call the builder of that kind."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from softvec.affinity.base import Affinity
from softvec.affinity.kinds import KINDS, Defaults, check_kind, check_options
from softvec.affinity.sets import is_hypergraph
from softvec.core.errors import InputError
from softvec.names import Names
from softvec.operators import Operator
from softvec.read import frames, objects
from softvec.read.folders import is_path_list
from softvec.read.kinds import kind_of_object


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
    kind : {"graph", "pairs", "bipartite", "temporal", "corpus", "features", "dense", "sets"}, optional
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
    if frames.is_frame(data):
        return frames.kind_of_frame(data, options.get("columns"), options.get("weight"))
    if is_hypergraph(data):
        return "sets"
    if objects.is_anndata(data):
        return objects.kind_of_anndata(data, options.get("key"))
    return kind_of_object(data)

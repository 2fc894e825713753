"""An opened source to its contents: edges or a matrix, whatever the format."""

from __future__ import annotations

from typing import Any

from softvec.core.errors import InputError, Option, guess, optional_package
from softvec.core.untrusted import reading
from softvec.read import matrices, tables
from softvec.read.detect import ARROW
from softvec.read.edgelist import read_edges
from softvec.read.edges import Edges
from softvec.read.kinds import wide_kind
from softvec.read.matrix_market import read_matrix_market
from softvec.read.objects import Graph, edges_of_rows
from softvec.read.opened import Opened


def read_contents(opened: Opened, variable: str | None = None) -> Edges | Graph:
    """Read what the builder of the kind takes; ``variable`` names that of a MATLAB file."""
    if opened.kind == "temporal" and opened.format not in ("text", *ARROW):
        raise InputError(
            f"{opened.name} is {opened.format}, which has no times; temporal edges come as a table"
        )
    if opened.kind == "temporal" and opened.format == "text":
        return read_edges(opened)
    if opened.kind == "features" and opened.format == "text":
        return matrices.read_text(opened)
    if opened.kind == "features" and opened.format in ARROW:
        return Graph(*tables.numeric_columns(opened.source, opened.format))
    data = _edges_or_matrix(opened, variable)
    if opened.kind == "features" and isinstance(data, Edges):
        raise InputError(
            f"{opened.name} holds edges, not feature vectors; read it with ", Option("kind", "graph")
        )
    if opened.kind == "dense" and isinstance(data, Edges):
        raise InputError(f"{opened.name} holds edges, not a dense matrix")
    return data


def _edges_or_matrix(opened: Opened, variable: str | None) -> Edges | Graph:
    source, format, options = opened.source, opened.format, opened.options
    if format == "text":
        return matrices.read_text(opened) if is_matrix(opened) else read_edges(opened)
    if format == "adjlist":
        return edges_of_rows(matrices.read_adjacency_list(source, options), two_sided=options.two_sided)
    if format in ARROW:
        return tables.edges_of_arrow(opened)
    if format == "mtx":
        return read_matrix_market(source)
    if format == "npz":
        return matrices.read_npz(source)
    if format == "npy":
        return Graph(matrices.read_npy(source))
    if format == "mat":
        return matrices.read_mat(source, variable)
    return matrices.read_network(source, format, options.weight)


def is_matrix(opened: Opened) -> bool:
    """Whether a text is a matrix rather than edges: a square one, or a wide one of two kinds of items."""
    assert opened.text is not None
    if opened.kind == "dense":
        return True
    if opened.options.columns is not None or opened.options.weight is not None:
        return False
    square = opened.text.square
    if square is False and opened.kind == "graph":
        guess(
            f"{opened.name} is read as a square matrix; if its lines are edges, name two with ",
            Option("columns", ...),
        )
    return square is not None or (
        opened.kind == "bipartite" and wide_kind(opened.text.table.layout) is not None
    )


def read_anndata(opened: Opened) -> Any:
    """Read an .h5ad file by the library anndata."""
    if opened.source.path is None or opened.source.compression is not None:
        raise InputError(f"{opened.name} is AnnData, which is read from an uncompressed file only")
    needs = f"{opened.name} is AnnData, which needs the package anndata: pip install anndata"
    anndata = optional_package("anndata", needs)
    with reading(opened.name, "AnnData file"):
        return anndata.read_h5ad(opened.source.path)

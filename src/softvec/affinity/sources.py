"""From any source to an affinity: its kind is found, and the builder of this kind called, from one table."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from softvec.affinity.base import Affinity, name_sides
from softvec.affinity.builders import bipartite, pairs, random_walk
from softvec.affinity.cooccurrence import cooccurrence
from softvec.affinity.dense import from_dense
from softvec.affinity.features import neighbors
from softvec.affinity.sets import is_hypergraph, sets
from softvec.affinity.temporal import supra_adjacency
from softvec.core.checks import Json
from softvec.core.errors import InputError, Message, Option, did_you_mean
from softvec.core.storage import is_url
from softvec.operators import Operator
from softvec.read import frames, objects
from softvec.read.kinds import kind_unread
from softvec.read.reader import Contents, is_path_list, read_names, read_source, several_files
from softvec.read.streams import Source
from softvec.read.table import TABLE_OPTIONS

Defaults = Mapping[str, Mapping[str, Any]]  # default options, by kind
_OF_READER = {*TABLE_OPTIONS, "format", "variable", "pattern"} - {"weighted"}
_OF_TEXT_READER = {"encoding", "pattern"}
_OF_SQUARE = {"directed": None, "self_loops": "drop", "length": 1}  # with their defaults


@dataclass(frozen=True)
class Kind:
    """A kind of data.

    Attributes
    ----------
    build : callable
        Builds an :class:`Affinity` from an object; its other parameters are the options of this kind.
    accepts : str
        Short description of the data.
    """

    build: Callable[..., Affinity]
    accepts: str

    @cached_property
    def options(self) -> list[str]:
        """Names of the options of this kind."""
        return list(inspect.signature(self.build).parameters)[1:]


KINDS: Mapping[str, Kind] = {
    "graph": Kind(random_walk, "nodes and edges"),
    "pairs": Kind(pairs, "pairs that may repeat"),
    "bipartite": Kind(bipartite, "two kinds of items"),
    "temporal": Kind(supra_adjacency, "temporal contacts"),
    "corpus": Kind(cooccurrence, "text"),
    "features": Kind(neighbors, "feature vectors"),
    "dense": Kind(from_dense, "a dense matrix of affinities"),
    "sets": Kind(sets, "sets of items"),
}


def check_kind(kind: str) -> str:
    """Return ``kind`` if it is a kind of data."""
    if kind not in KINDS:
        listed = ", ".join(f"{name} ({row.accepts})" for name, row in KINDS.items())
        raise InputError.of("kind", kind, f"one of {listed}")
    return kind


def takes(name: str) -> list[str]:
    """Return the kinds of data that have this option."""
    return [kind for kind, row in KINDS.items() if name in row.options]


def check_options(kind: str, options: Iterable[str], data: str = "") -> None:
    """Raise an error for options that a kind does not have."""
    known = KINDS[kind].options
    unknown = [name for name in options if name not in known]
    if not unknown:
        return
    hint: Message = Message(did_you_mean(unknown[0], known))
    if elsewhere := takes(unknown[0]):
        hint = Message(f"; for {' or '.join(elsewhere)} data, pass ", Option("kind", ...))
    several = "s" * (len(unknown) > 1)
    raise InputError(
        f"unknown option{several} {', '.join(map(repr, unknown))} for {data or kind} data; expected one of "
        f"{', '.join(known)}",
        hint,
    )


def read(
    where: Any, *, kind: str | None = None, defaults: Defaults | None = None, **options: Any
) -> Affinity:
    """Read any file into an affinity.

    Parameters
    ----------
    where : path, "-" or binary file
        The format is detected from the content and the extension; ``.gz``, ``.zst``, ``.bz2`` and ``.xz``
        are decompressed. ``-`` is standard input. A folder, a pattern such as ``"edges/*.parquet"``, or a
        list of paths stands for several files: tables of edges of one layout, or a corpus of documents.
    kind : {"graph", "pairs", "bipartite", "temporal", "corpus", "features", "dense", "sets"}, optional
        Kind of data. Default: a matrix or a list of edges is a graph, a table with a time column is
        temporal, one with columns named like users and items is bipartite, lines of words are a corpus,
        a table of decimals holds features.
    defaults : mapping, optional
        Default options by kind.
    format : str, optional
        One of text, adjlist, mtx, npz, npy, mat, parquet, arrow, graphml, gml, h5ad (default: detected,
        except adjlist: lines of a node and its neighbours).
    delimiter, header, comment, encoding : optional
        Layout of a text (default: detected): column separator, whether there is a header, the characters
        that start a comment (default ``#%``; None for none), the encoding (default UTF-8).
    columns : sequence or mapping, optional
        ([time,] source, target[, weight]), names or positions from 0; or a mapping from role to column.
    weight : str or int, optional
        The column, or the attribute of a GraphML or GML file, that holds the weights.
    decimal : {".", ","}, optional
        Decimal mark of the numbers of a text (default: detected).
    missing : {"error", "drop"}
        What to do with rows of a table that lack an end, the weight or the time.
    min_weight : float, optional
        Leave out edges of a table with smaller weights.
    ids : {"auto", "integer", "string"}
        Integers stay integers if all ids of a text are; ``"string"`` keeps them as text.
    names, column_names : sequence or path, optional
        Names of the rows and columns of a matrix, or of the integer ids 0, 1, ...; a file has one name per
        line.
    variable : str, optional
        The variable of a MATLAB file.
    pattern : str, optional
        Which files of a folder, such as ``"*.txt"``; subfolders are searched too, hidden files are skipped.
    options
        Of the builder of that kind, see :mod:`softvec.affinity`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "friends.txt"
    >>> _ = path.write_text("# who knows whom\\nann bob\\nbob cyd\\n")
    >>> read(path)
    <Affinity from graph: 3 nodes, 2 edges, undirected, unweighted>
    """
    likely = kind_unread(where, options) if kind is None else check_kind(kind)
    if likely == "sets":
        check_options("sets", options)
        return sets(where, **options)
    contents = read_source(where, options, kind=kind, likely=likely)
    try:
        return _build(contents, options, defaults or {})
    except InputError as error:
        if not contents.guessed:
            raise
        raise InputError(
            f"{contents.name} is read as text: ", error.message, "; if it is something else, pass ",
            Option("kind", ...)
        ) from None  # fmt: skip


def as_affinity(
    data: Any, *, kind: str | None = None, defaults: Defaults | None = None, **options: Any
) -> Affinity:
    """Build an affinity from a file (see :func:`read`) or from an object of any kind.

    Parameters
    ----------
    data : object
        A path or binary file; an Affinity or Operator; a SciPy sparse or dense matrix; a networkx, igraph or
        PyTorch Geometric graph; a pandas, polars or Arrow table of edges, or a square one; an iterable of
        pairs or triples; a list of texts.
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
    >>> as_affinity([("a", "b"), ("b", "c"), ("b", "c")])
    <Affinity from graph: 3 nodes, 2 edges, undirected, unweighted; 1 duplicate merged>
    """
    if _is_file(data) or (is_path_list(data) and kind != "corpus"):
        return read(data, kind=kind, defaults=defaults, **options)
    options = _with_names(options)
    if isinstance(data, Operator):
        return _from_operator(data, **options)
    if isinstance(data, Affinity) and kind is None and not options:
        return data
    if hasattr(data, "reset_index") and not hasattr(data, "columns") and data.index.nlevels > 1:
        data = data.reset_index(name=data.name or "weight")  # a Series indexed by pairs, as from groupby
    if type(data).__name__ == "Series":
        data = data.to_list()  # of texts, or of pairs
    data = frames.in_memory(data)
    kind = _kind_of(data, options) if kind is None else check_kind(kind)
    options = {**(defaults or {}).get(kind, {}), **options}
    check_options(kind, options)
    return KINDS[kind].build(data, **options)


def refuse_missing(data: Any) -> None:
    """Refuse files that do not exist, before any other work."""
    if not isinstance(data, str | os.PathLike) and not is_path_list(data):
        return
    for path in several_files(data) or [data]:
        if os.fspath(path) != "-" and not is_url(path) and not os.path.exists(path):
            raise InputError(f"{path} does not exist")


def _is_file(data: Any) -> bool:
    is_open = hasattr(data, "read") and not hasattr(data, "shape")
    return is_open or isinstance(data, str | os.PathLike | Source)


def _build(contents: Contents, options: Mapping[str, Any], defaults: Defaults) -> Affinity:
    """Build an affinity from what was read, with the options that are not of the reader alone."""
    if contents.format == "h5ad":
        own = {name: value for name, value in options.items() if name != "format"}
        return as_affinity(contents.data, kind=contents.kind, defaults=defaults, **own)
    assert contents.kind is not None
    kind, used_up = contents.kind, _OF_TEXT_READER if contents.kind == "corpus" else _OF_READER
    options = {**defaults.get(kind, {}), **_with_names(options)}
    if isinstance(contents.data, objects.Graph):
        used_up = used_up - {"columns"}
        kind = _kind_of_matrix(contents, options)
        used_up |= _OF_SQUARE.keys() if kind != contents.kind else set()
    known = KINDS[kind].options
    kept = {name: value for name, value in options.items() if name in known or name not in used_up}
    check_options(kind, kept, contents.kind)
    return KINDS[kind].build(contents if kind == "corpus" else contents.data, **kept)


def _with_names(options: Mapping[str, Any]) -> Json:
    """Return options with the names that are in files."""
    files = {key: options.get(key) for key in ("names", "column_names")}
    read = {key: read_names(file) for key, file in files.items() if isinstance(file, str | os.PathLike)}
    return {**options, **read}


def _kind_of_matrix(contents: Contents, options: Mapping[str, Any]) -> str:
    """Return the kind whose builder takes a matrix: bipartite for a rectangular one."""
    name, shape, kind = contents.name, contents.data.matrix.shape, contents.kind
    if kind == "pairs":
        raise InputError(f"{name} is a matrix, not a list of pairs; pass ", Option("kind", "graph"))
    if kind != "graph" or shape[0] == shape[1]:
        return str(kind)
    for option, default in _OF_SQUARE.items():
        if options.get(option) not in (None, default):
            raise InputError(f"{name} is a matrix of shape {shape}; {option} does not apply")
    return "bipartite"


def _from_operator(operator: Operator, names: Any = None, column_names: Any = None) -> Affinity:
    (n, m), sides = operator.shape, name_sides(operator.shape, names, column_names)
    return Affinity(operator, *sides, "operator", f"operator of {n:,} x {m:,}")


def _kind_of(data: Any, options: Mapping[str, Any]) -> str:
    if frames.is_frame(data):
        return frames.kind_of_frame(data, options.get("columns"), options.get("weight"))
    if is_hypergraph(data):
        return "sets"
    if objects.is_anndata(data):
        return objects.kind_of_anndata(data, options.get("key"))
    return objects.kind_of_object(data)

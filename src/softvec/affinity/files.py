"""Affinities from files: :func:`read` for any file, and one function for each kind of data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from softvec.affinity.base import Affinity
from softvec.affinity.cooccurrence import cooccurrence
from softvec.affinity.corpus import Corpus
from softvec.affinity.kinds import KINDS, Defaults, check_kind, check_options
from softvec.affinity.objects import from_object
from softvec.affinity.sets import is_set_file, sets
from softvec.core.checks import choice
from softvec.core.errors import InputError, Option
from softvec.read.edges import Edges
from softvec.read.kinds import kind_of_options
from softvec.read.objects import Graph
from softvec.read.options import TABLE_OPTIONS
from softvec.read.reader import Contents, read_names, read_source, read_text
from softvec.read.streams import Source

_OF_READER = ("format", "variable", "pattern")


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
    options
        Of the reader (see :func:`read_graph`, :func:`read_corpus`, :func:`read_temporal`,
        :func:`read_features`) and of the builder of that kind (see :mod:`softvec.affinity`).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "friends.txt"
    >>> _ = path.write_text("# who knows whom\\nann bob\\nbob cyd\\n")
    >>> read(path)
    <Affinity from graph: 3 nodes, 2 edges, undirected, unweighted>
    """
    likely = kind_of_options(options) if kind is None else check_kind(kind)
    if kind == "sets" or (kind is None and is_set_file(where)):
        check_options("sets", options)
        return sets(where, **options)
    return build(read_source(where, options, kind=kind, likely=likely), options, defaults)


def as_affinity(data: Any, *, kind: str | None = None, **options: Any) -> Affinity:
    """Build an affinity from a file (see :func:`read`) or from an object.

    Examples
    --------
    >>> as_affinity([("a", "b"), ("b", "c")]).shape
    (3, 3)
    """
    is_file = hasattr(data, "read") and not hasattr(data, "shape")
    if isinstance(data, str | os.PathLike | Source) or is_file:
        return read(data, kind=kind, **options)
    if isinstance(options.get("names"), str | os.PathLike):
        options["names"] = read_names(options["names"])
    return from_object(data, kind=kind, **options)


def build(contents: Contents, options: Mapping[str, Any], defaults: Defaults | None = None) -> Affinity:
    """Build an affinity from what was read; options as in :func:`read`."""
    defaults = defaults or {}
    if contents.format == "h5ad":
        own = {name: value for name, value in options.items() if name != "format"}
        return from_object(contents.data, kind=contents.kind, defaults=defaults, **own)
    assert contents.kind is not None
    options = {**defaults.get(contents.kind, {}), **options}
    if contents.kind == "corpus":
        return _from_text_or_say(contents, options)
    unread = {name: value for name, value in options.items() if name not in (*TABLE_OPTIONS, *_OF_READER)}
    kind, build_options = contents.kind, {**unread, **contents.names}
    shared = ["weighted", *(name for name in ("n_jobs", "negative") if name in KINDS[kind].options)]
    if isinstance(contents.data, Graph):
        shared += ["columns"]
        kind = _kind_of_matrix(contents, kind, build_options)
    build_options |= {name: options[name] for name in shared if name in options}
    check_options(kind, build_options, contents.kind)
    return KINDS[kind].build(contents.data, **build_options)


def _from_text_or_say(contents: Contents, options: Mapping[str, Any]) -> Affinity:
    """Build the affinity of text; an error tells that it is one, if nobody said so."""
    try:
        return _from_text(contents, **options)
    except InputError as error:
        if not contents.guessed:
            raise
        raise InputError(
            f"{contents.name} is read as text: ", error.message, "; if it is something else, pass ",
            Option("kind", ...)
        ) from None  # fmt: skip


def _kind_of_matrix(contents: Contents, kind: str, options: dict[str, Any]) -> str:
    """Return the kind whose builder takes a matrix: bipartite for a rectangular one."""
    name, shape = contents.name, contents.data.matrix.shape
    if kind == "pairs":
        raise InputError(f"{name} is a matrix, not a list of pairs; pass ", Option("kind", "graph"))
    if kind != "graph" or shape[0] == shape[1]:
        return kind
    for key in ("directed", "self_loops", "length"):
        if options.pop(key, None) not in (None, "drop", 1):
            raise InputError(f"{name} is a matrix of shape {shape}; {key} does not apply")
    return "bipartite"


def read_graph(where: Any, *, kind: str = "graph", **options: Any) -> Affinity:
    """Read a graph, pairs or bipartite data: edge lists, matrices, graph files, tables.

    Parameters
    ----------
    where : path, "-" or binary file
    kind : {"graph", "pairs", "bipartite", "dense"}
    format : str, optional
        One of text, adjlist, mtx, npz, npy, mat, parquet, arrow, graphml, gml, h5ad (default: detected,
        except adjlist: lines of a node and its neighbours).
    delimiter, header, comment, encoding : optional
        Layout of a text (default: detected): column separator, whether there is a header, the characters
        that start a comment (default ``#%``; None for none), the encoding (default UTF-8).
    columns : sequence or mapping, optional
        (source, target[, weight]), names or positions from 0; or a mapping from role to column.
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
    names : sequence or path, optional
        Names of the rows of a matrix, or of the integer ids 0, 1, ...; a file has one name per line.
    column_names : sequence or path, optional
        Names of the columns of a two-sided matrix.
    variable : str, optional
        The variable of a MATLAB file.
    options
        Of the builder: directed, weighted, self_loops, duplicates, isolated, length, dangling, negative.
    """
    choice("kind", kind, ("graph", "pairs", "bipartite", "dense"))
    return build(read_source(where, options, kind=kind), options)


def read_temporal(where: Any, **options: Any) -> Affinity:
    """Read temporal edges, ``t i j [weight]``, or a table with a time column, and build the supra-adjacency.

    Parameters
    ----------
    where : path, "-" or binary file
    columns : sequence or mapping, optional
        (time, source, target[, weight]), or a mapping from role to column.
    delimiter, header, comment, encoding, ids, format
        As in :func:`read_graph`.
    options
        Of :func:`softvec.affinity.supra_adjacency`: window, n_windows, equal, self_weight, directed, ...
    """
    return build(read_source(where, options, kind="temporal"), options)


def read_contacts(where: Any, **options: Any) -> Edges:
    """Read temporal edges without building anything; options as in :func:`read_temporal`."""
    unknown = [name for name in options if name not in (*TABLE_OPTIONS, "format")]
    if unknown:
        raise InputError(
            f"unknown option {', '.join(map(repr, unknown))} for reading contacts; expected one of "
            f"{', '.join(TABLE_OPTIONS)}, format"
        )
    edges = read_source(where, options, kind="temporal").data
    assert isinstance(edges, Edges)
    return edges


def read_corpus(where: Any, *, encoding: str | None = None, pattern: str = "*", **options: Any) -> Affinity:
    """Read text and count which words occur near each other.

    Parameters
    ----------
    where : path, "-" or binary file
        One document per line; or a directory or a pattern such as ``"texts/*.txt"``, where each file is one
        document. Hidden files are skipped.
    encoding : str, optional
        UTF-8 by default.
    pattern : str
        Which files of a directory, such as ``"*.txt"``; subdirectories are searched too.
    options
        Of :func:`softvec.affinity.cooccurrence`: window, weighting, min_count, subsample, max_vocab,
        tokenizer, lowercase, ...
    """
    text = {"encoding": encoding, "pattern": pattern}
    return _from_text(read_text(where, text), **text, **options)


def _from_text(contents: Contents, *, encoding: Any = None, pattern: Any = None, **options: Any) -> Affinity:
    """Build the affinity of words; the first two options belong to the reader."""
    check_options("corpus", options)
    of_corpus = {name: options[name] for name in ("tokenizer", "lowercase", "n_jobs") if name in options}
    return cooccurrence(_corpus_of(contents, **of_corpus), **options)


def load_corpus(
    where: Any,
    *,
    encoding: str | None = None,
    pattern: str = "*",
    tokenizer: str = "words",
    lowercase: bool = True,
    n_jobs: int | None = None,
) -> Corpus:
    """Read text into a :class:`~softvec.affinity.Corpus` in one pass; see :func:`read_corpus`."""
    contents = read_text(where, {"encoding": encoding, "pattern": pattern})
    return _corpus_of(contents, tokenizer, lowercase, n_jobs)


def _corpus_of(
    contents: Contents, tokenizer: str = "words", lowercase: bool = True, n_jobs: int | None = None
) -> Corpus:
    corpus = Corpus(tokenizer=tokenizer, lowercase=lowercase)
    corpus.add_blocks(contents.data, n_jobs)
    if corpus.n_words == 0:
        raise InputError(f"{contents.name} is empty: it has no words")
    return corpus


def read_features(where: Any, **options: Any) -> Affinity:
    """Read feature vectors (.npy, a text or Arrow table) and link each row to its nearest neighbours.

    Parameters
    ----------
    where : path, "-" or binary file
        Rows are items; in a table, the first column, if it is text, has their names.
    delimiter, header, comment, encoding, format
        As in :func:`read_graph`.
    names : sequence or path, optional
        Names of the rows.
    options
        Of :func:`softvec.affinity.neighbors`: n_neighbors, metric, weights, ...
    """
    return build(read_source(where, options, kind="features"), options)


__all__ = [
    "as_affinity",
    "load_corpus",
    "read",
    "read_contacts",
    "read_corpus",
    "read_features",
    "read_graph",
    "read_names",
    "read_temporal",
]

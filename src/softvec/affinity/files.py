"""Files to affinities: :func:`read` for any file, and one function for each kind of data."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from softvec.affinity.base import Affinity
from softvec.affinity.convert import (
    KINDS,
    bipartite,
    check_options,
    check_weighted,
    from_object,
    random_walk,
)
from softvec.affinity.convert import pairs as pairs_of
from softvec.affinity.corpus import Corpus, cooccurrence
from softvec.affinity.features import neighbors
from softvec.affinity.temporal import supra_adjacency
from softvec.core.errors import InputError, guess
from softvec.read import lines, matrices, tables
from softvec.read.edgelist import TextOptions, find_layout, read_edges
from softvec.read.edges import Edges
from softvec.read.formats import find_format, square_names, text_kind
from softvec.read.kinds import guess_kind, wide_kind
from softvec.read.matrix_market import read_matrix_market
from softvec.read.objects import Graph, edges_of_rows
from softvec.read.streams import Source, open_source, text_blocks

_TEXT = {field.name for field in fields(TextOptions)} - {"two_sided", "timed", "comments"} | {"comment"}


def read(where: Any, *, kind: str | None = None, **options: Any) -> Affinity:
    """Read any file into an affinity.

    Parameters
    ----------
    where : path, "-" or binary file
        The format is found from the content and the extension; ``.gz``, ``.zst``, ``.bz2`` and ``.xz``
        are seen through. ``-`` is standard input. A directory is a corpus, one text file a document.
    kind : {"graph", "pairs", "bipartite", "temporal", "corpus", "features", "dense"}, optional
        What the data is. Default: a matrix or a list of edges is a graph, a table with a time column is
        temporal, one with columns named like users and items is bipartite, a text of lines of words is a
        corpus, a table of decimals is one of features.
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
    if kind is not None and kind not in KINDS:
        raise InputError(f"kind is {kind!r}; expected one of {', '.join(KINDS)}")
    if isinstance(where, str | os.PathLike) and os.fspath(where) != "-" and Path(where).is_dir():
        if kind not in (None, "corpus"):
            raise InputError(
                f"{where} is a directory, which is read as a corpus; give a file for {kind} data"
            )
        return read_corpus(where, **options)
    source = open_source(where)
    kind = kind or _guess_kind(source, options)
    readers = {"temporal": read_temporal, "corpus": read_corpus, "features": read_features}
    if kind in readers:
        return readers[kind](source, **options)
    return read_graph(source, kind=kind, **options)


def as_affinity(data: Any, *, kind: str | None = None, **options: Any) -> Affinity:
    """Build an affinity from a file or an object: :func:`read` for paths, else
    :func:`softvec.affinity.as_affinity`.

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


def _guess_kind(source: Source, options: dict[str, Any]) -> str:
    if {"window", "n_windows"} & set(options) and {"min_count", "weighting"} & set(options):
        return "corpus"
    if {"n_windows", "self_weight"} & set(options):
        return "temporal"
    format = find_format(source, options.get("format"))
    if format == "npy":
        array = matrices.read_npy(source)
        return "graph" if array.shape[0] == array.shape[1] else "features"
    if format in ("parquet", "arrow"):
        layout, _ = tables.table_layout(source, format, options.get("columns"), False)
        if options.get("columns") is None and wide_kind(layout) is not None:
            return "graph" if tables.is_square(source, format) else str(wide_kind(layout))
        known = len(layout.guesses)
        kind = guess_kind(layout, source.name)
        for text in layout.guesses[known:]:
            guess(text)
        return kind
    if format != "text":
        return "graph"
    chosen, _ = _text_options(options)
    sample, table = _sample(source, chosen)
    return text_kind(sample, table, source.suffix, source.name)


def _sample(source: Source, options: TextOptions) -> tuple[list[bytes], lines.Table | None]:
    try:
        table, sample = find_layout(source, options, keep_time=True)
    except InputError:
        blocks = text_blocks(source, encoding=options.encoding, whole_lines=False, block=1 << 16)
        sample = lines.sample_lines(next(blocks, (b"", 1))[0], options.comments)
        if len(sample) == 0 or lines.modal_fields(sample, 0)[0] <= 3:
            raise  # too few words a line for a text: what is wrong with the table is the better message
        return sample, None
    return sample, table


def _text_options(options: dict[str, Any], **more: Any) -> tuple[TextOptions, dict[str, Any]]:
    """Split options into those of the text reader and those of the builder."""
    mine = {name: value for name, value in options.items() if name in _TEXT}
    rest = {name: value for name, value in options.items() if name not in _TEXT and name != "format"}
    if "comment" in mine:
        comment = mine.pop("comment")
        mine["comments"] = b"" if comment is None else str(comment).encode()
    check_weighted(mine.get("weighted"))
    for shared in ("weighted", "columns", "negative"):
        if shared in mine:
            rest[shared] = mine[shared]
    return TextOptions(**mine, **more), rest


def read_graph(where: Any, *, kind: str = "graph", **options: Any) -> Affinity:
    """Read a graph, pairs or bipartite data: edge lists, matrices, graph files, tables.

    Parameters
    ----------
    where : path, "-" or binary file
    kind : {"graph", "pairs", "bipartite", "dense"}
    format : str, optional
        One of text, adjlist, mtx, npz, npy, mat, parquet, arrow, graphml, gml; found out by default, but for
        adjlist, lines of a node and its neighbours.
    delimiter, header, comment, encoding : optional
        Layout of a text, found out by default: the character between columns, whether there is a header,
        the characters that open comments (default ``#%``; None for none), the encoding (default UTF-8).
    columns : sequence or mapping, optional
        (source, target[, weight]), names or positions from 0; or a mapping from role to column.
    weight : str or int, optional
        The column, or the attribute of a GraphML or GML file, that holds the weights.
    decimal : {".", ","}, optional
        The decimal mark of the numbers of a text, found out by default.
    ids : {"auto", "integer", "string"}
        Integers stay integers if all ids of a text are; ``"string"`` keeps them as text.
    names : sequence or path, optional
        Names of the rows of a matrix, or of integer ids 0, 1, ...; a file has one name a line.
    column_names : sequence or path, optional
        Names of the columns of a two-sided matrix.
    variable : str, optional
        The variable of a MATLAB file.
    options
        Of the builder: directed, weighted, self_loops, duplicates, isolated, length, dangling, negative.
    """
    source = open_source(where)
    for key in ("names", "column_names"):
        if isinstance(options.get(key), str | os.PathLike):
            options[key] = read_names(options[key])
    variable = options.pop("variable", None)
    format = find_format(source, options.get("format"))
    chosen, rest = _text_options(options, two_sided=kind == "bipartite")
    data = _read_edges_or_matrix(source, format, chosen, variable, kind)
    if isinstance(data, Edges):
        rest.pop("columns", None)
        rest.pop("negative", None)
    rest.pop("weight", None)
    builders: dict[str, Any] = {"graph": random_walk, "pairs": pairs_of, "bipartite": bipartite}
    if kind == "dense":
        if isinstance(data, Edges):
            raise InputError(f"{source.name} holds edges, not a dense matrix")
        return from_object(
            np.asarray(_dense(data.matrix)), kind="dense", names=rest.pop("names", data.names), **rest
        )
    builder = builders[kind]
    if kind == "graph" and isinstance(data, Graph) and data.matrix.shape[0] != data.matrix.shape[1]:
        builder = bipartite  # a rectangular matrix has two sides
        for key in ("directed", "self_loops", "length"):
            if rest.get(key) not in (None, "drop", 1):
                raise InputError(f"{source.name} is a matrix of shape {data.matrix.shape}; it takes no {key}")
            rest.pop(key, None)
    if kind == "pairs" and isinstance(data, Graph):
        raise InputError(f"{source.name} is a matrix, not a list of pairs; read it with kind='graph'")
    check_options(builder, rest, kind)
    return builder(data, **rest)


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def _read_edges_or_matrix(
    source: Source, format: str, options: TextOptions, variable: str | None, kind: str
) -> Edges | Graph:
    if format == "text":
        if kind == "dense":
            return matrices.read_text(source, options)
        if options.columns is None and options.weight is None and _is_matrix(source, options, kind):
            return matrices.read_text(source, options)
        return read_edges(source, options)
    if format == "adjlist":
        return edges_of_rows(matrices.read_adjacency_list(source, options), two_sided=options.two_sided)
    if format in ("parquet", "arrow"):
        return tables.edges_of_arrow(source, format, options)
    if format == "mtx":
        return read_matrix_market(source)
    if format == "npz":
        return matrices.read_npz(source)
    if format == "npy":
        return Graph(matrices.read_npy(source))
    if format == "mat":
        return matrices.read_mat(source, variable)
    return matrices.read_network(source, format, options.weight)


def _is_matrix(source: Source, options: TextOptions, kind: str) -> bool:
    """Whether a text is a matrix rather than edges: a square one, or a wide one of two kinds of items."""
    sample, table = _sample(source, options)
    if table is None:
        return False
    square = square_names(table, sample)
    if square is False and kind == "graph":
        guess(f"{source.name} is read as a square matrix; if its lines are edges, name two with columns=")
    return square is not None or (kind == "bipartite" and wide_kind(table.layout) is not None)


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
    edges, rest = _temporal_edges(where, options)
    check_options(supra_adjacency, rest, "temporal")
    return supra_adjacency(edges, **rest)


def read_contacts(where: Any, **options: Any) -> Edges:
    """Read temporal edges without building anything; options as in :func:`read_temporal`."""
    edges, rest = _temporal_edges(where, options)
    if rest:
        raise InputError(f"{', '.join(map(repr, rest))} is no option for reading contacts")
    return edges


def _temporal_edges(where: Any, options: dict[str, Any]) -> tuple[Edges, dict[str, Any]]:
    source = open_source(where)
    format = find_format(source, options.get("format"))
    chosen, rest = _text_options(options, timed=True)
    if format in ("parquet", "arrow"):
        edges: Any = tables.edges_of_arrow(source, format, chosen)
    elif format == "text":
        edges = read_edges(source, chosen)
    else:
        raise InputError(f"{source.name} is {format}, which has no times; temporal edges come as a table")
    rest.pop("columns", None)
    rest.pop("negative", None)
    return edges, rest


def read_corpus(where: Any, *, encoding: str | None = None, pattern: str = "*", **options: Any) -> Affinity:
    """Read text and count which words stand near each other.

    Parameters
    ----------
    where : path, "-" or binary file
        One document a line; or a directory, each of whose files is one document.
    encoding : str, optional
        UTF-8 by default.
    pattern : str
        Which files of a directory, such as ``"*.txt"``; subdirectories are searched too.
    options
        Of :func:`softvec.affinity.cooccurrence`: window, weighting, min_count, subsample, max_vocab,
        tokenizer, lowercase, ...
    """
    check_options(cooccurrence, options, "corpus")
    corpus = load_corpus(
        where,
        encoding=encoding,
        pattern=pattern,
        tokenizer=options.get("tokenizer", "words"),
        lowercase=options.get("lowercase", True),
        n_jobs=options.get("n_jobs"),
    )
    return cooccurrence(corpus, **options)


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
    corpus = Corpus(tokenizer=tokenizer, lowercase=lowercase)
    if isinstance(where, str | os.PathLike) and os.fspath(where) != "-" and Path(where).is_dir():
        files = sorted(path for path in Path(where).rglob(pattern) if path.is_file())
        if not files:
            raise InputError(f"{where} holds no files that match {pattern!r}")
        corpus.add_blocks(_documents(files, encoding), n_jobs)
    else:
        blocks = text_blocks(open_source(where), encoding=encoding, whole_lines=False)
        corpus.add_blocks((block for block, _ in blocks), n_jobs)
    if corpus.n_words == 0:
        raise InputError(f"{getattr(where, 'name', where)} is empty: there are no words in it")
    return corpus


def _documents(files: Sequence[Path], encoding: str | None) -> Iterator[bytes]:
    """Yield each file as one document: its line ends become blanks, and one ends it."""
    for path in files:
        for block, _ in text_blocks(open_source(path), encoding=encoding, whole_lines=False):
            yield block.replace(b"\n", b" ")
        yield b"\n"


def read_features(where: Any, **options: Any) -> Affinity:
    """Read feature vectors (.npy, a text or Arrow table) and link each row to its nearest neighbours.

    Parameters
    ----------
    where : path, "-" or binary file
        Rows are items; in a table, a first column of text has their names.
    delimiter, header, comment, encoding, format
        As in :func:`read_graph`.
    names : sequence or path, optional
        Names of the rows.
    options
        Of :func:`softvec.affinity.neighbors`: n_neighbors, metric, weights, ...
    """
    source = open_source(where)
    names = options.pop("names", None)
    if isinstance(names, str | os.PathLike):
        names = read_names(names)
    format = find_format(source, options.get("format"))
    chosen, rest = _text_options(options)
    n_jobs = chosen.n_jobs
    if format == "npy":
        matrix, found = matrices.read_npy(source), None
    elif format in ("parquet", "arrow"):
        matrix, found = tables.numeric_columns(source, format)
    elif format == "text":
        table = matrices.read_text(source, chosen)
        matrix, found = table.matrix, table.names
    else:
        graph = (
            matrices.read_npz(source)
            if format == "npz"
            else _read_edges_or_matrix(source, format, chosen, None, "features")
        )
        assert isinstance(graph, Graph)
        matrix, found = graph.matrix, graph.names
    check_options(neighbors, rest, "features")
    return neighbors(matrix, names=found if names is None else names, n_jobs=n_jobs, **rest)


def read_names(where: Any, *, encoding: str | None = None) -> list[str]:
    """Read names, one a line; only line feeds (and a carriage return before one) end a line.

    Examples
    --------
    >>> import io
    >>> read_names(io.BytesIO(b"ada\\nbob\\n"))
    ['ada', 'bob']
    """
    source = open_source(where)
    text = b"".join(block for block, _ in text_blocks(source, encoding=encoding)).decode("utf-8")
    names = text.split("\n")
    if names and names[-1] == "":
        names.pop()
    if names and all(name.endswith("\r") for name in names):
        names = [name[:-1] for name in names]
    if not names:
        raise InputError(f"{source.name} is empty: there are no names in it")
    return names


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

"""Files to affinities: :func:`read` for any file, and one function for each kind of data."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from softvec.affinity.base import Affinity
from softvec.affinity.convert import from_object
from softvec.affinity.corpus import Corpus, cooccurrence
from softvec.affinity.kinds import KINDS, Defaults, check_kind, check_options, kind_of_options
from softvec.core.checks import choice, counted
from softvec.core.errors import InputError, Option
from softvec.read.contents import read_anndata, read_contents
from softvec.read.detect import detect
from softvec.read.edges import Edges
from softvec.read.folders import text_files
from softvec.read.objects import Graph
from softvec.read.opened import TEXT_OPTIONS, Opened, TextOptions
from softvec.read.streams import Source, open_source, text_blocks


def read(
    where: Any, *, kind: str | None = None, defaults: Defaults | None = None, **options: Any
) -> Affinity:
    """Read any file into an affinity.

    Parameters
    ----------
    where : path, "-" or binary file
        The format is detected from the content and the extension; ``.gz``, ``.zst``, ``.bz2`` and ``.xz``
        are decompressed. ``-`` is standard input. A directory, or a pattern such as ``"texts/*.txt"``, is a
        corpus, one file per document.
    kind : {"graph", "pairs", "bipartite", "temporal", "corpus", "features", "dense"}, optional
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
    if kind is not None:
        check_kind(kind)
    told = kind or kind_of_options(options)
    if (files := text_files(where, options.get("pattern", "*"), kind)) is not None:
        if kind not in (None, "corpus"):
            raise InputError(
                f"{where} is a directory or a pattern of {counted(len(files), 'file')}, which is read as a "
                f"corpus; give a file for {kind} data"
            )
        told = "corpus"
    return _read(where, told, options, defaults or {})


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


def _read(where: Any, kind: str | None, options: dict[str, Any], defaults: Defaults) -> Affinity:
    """Open, detect, read, build."""
    if kind == "corpus":
        return read_corpus(where, **{**defaults.get(kind, {}), **options})
    opened = detect(where, TextOptions.of(options), kind=kind, format=options.get("format"))
    if opened.format == "h5ad":
        options.pop("format", None)
        return from_object(read_anndata(opened), kind=kind, defaults=defaults, **options)
    kind = opened.kind
    options = {**defaults.get(kind, {}), **options}
    if kind == "corpus":
        try:
            return read_corpus(opened.source, **options)
        except InputError as error:
            raise InputError(
                f"{opened.name} is read as text: ", error.message, "; if it is not, say what it is with ",
                Option("kind", ...),
            ) from None  # fmt: skip
    rest = {name: value for name, value in options.items() if name not in (*TEXT_OPTIONS, "format")}
    for key in ("names", "column_names"):
        if isinstance(rest.get(key), str | os.PathLike):
            rest[key] = read_names(rest[key])
    data = read_contents(opened, rest.pop("variable", None))
    shared = ["weighted", "n_jobs"] if "n_jobs" in KINDS[kind].options else ["weighted"]
    if isinstance(data, Graph):
        shared += ["columns", "negative"]
        kind = _kind_of_matrix(opened, data, rest)
    rest |= {name: options[name] for name in shared if name in options}
    check_options(kind, rest, opened.kind)
    return KINDS[kind].build(data, **rest)


def _kind_of_matrix(opened: Opened, data: Graph, rest: dict[str, Any]) -> str:
    """Return the kind by which a matrix is built: a rectangular one has two kinds of items."""
    shape = data.matrix.shape
    if opened.kind == "pairs":
        raise InputError(
            f"{opened.name} is a matrix, not a list of pairs; read it with ", Option("kind", "graph")
        )
    if opened.kind != "graph" or shape[0] == shape[1]:
        return opened.kind
    for key in ("directed", "self_loops", "length"):
        if rest.pop(key, None) not in (None, "drop", 1):
            raise InputError(f"{opened.name} is a matrix of shape {shape}; {key} does not apply")
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
    ids : {"auto", "integer", "string"}
        Integers stay integers if all ids of a text are; ``"string"`` keeps them as text.
    names : sequence or path, optional
        Names of the rows of a matrix, or of integer ids 0, 1, ...; a file has one name per line.
    column_names : sequence or path, optional
        Names of the columns of a two-sided matrix.
    variable : str, optional
        The variable of a MATLAB file.
    options
        Of the builder: directed, weighted, self_loops, duplicates, isolated, length, dangling, negative.
    """
    choice("kind", kind, ("graph", "pairs", "bipartite", "dense"))
    return _read(where, kind, options, {})


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
    return _read(where, "temporal", options, {})


def read_contacts(where: Any, **options: Any) -> Edges:
    """Read temporal edges without building anything; options as in :func:`read_temporal`."""
    unknown = [name for name in options if name not in (*TEXT_OPTIONS, "format")]
    if unknown:
        raise InputError(
            f"unknown option {', '.join(map(repr, unknown))} for reading contacts; expected one of "
            f"{', '.join(TEXT_OPTIONS)}, format"
        )
    opened = detect(where, TextOptions.of(options), kind="temporal", format=options.get("format"))
    edges = read_contents(opened)
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
    check_options("corpus", options)
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
    files = text_files(where, pattern, "corpus")
    if files is not None:
        corpus.add_blocks(_documents(files, encoding), n_jobs)
    else:
        blocks = text_blocks(open_source(where), encoding=encoding, whole_lines=False)
        corpus.add_blocks((block for block, _ in blocks), n_jobs)
    if corpus.n_words == 0:
        raise InputError(f"{getattr(where, 'name', where)} is empty: it has no words")
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
        Rows are items; in a table, the first column, if it is text, has their names.
    delimiter, header, comment, encoding, format
        As in :func:`read_graph`.
    names : sequence or path, optional
        Names of the rows.
    options
        Of :func:`softvec.affinity.neighbors`: n_neighbors, metric, weights, ...
    """
    return _read(where, "features", options, {})


def read_names(where: Any, *, encoding: str | None = None) -> list[str]:
    """Read names, one per line; only line feeds (and a carriage return before one) end a line.

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
        raise InputError(f"{source.name} is empty: it has no names")
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

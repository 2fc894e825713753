"""Detect the format of a file and the kind of data in a text: by content first, then by extension."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from softvec.core.checks import choice
from softvec.core.errors import InputError, Option, guess
from softvec.read import lines
from softvec.read.foreign import refuse_foreign
from softvec.read.headers import repeats_header
from softvec.read.kinds import ends_are_named, guess_kind, wide_kind
from softvec.read.lines import Table
from softvec.read.roles import Layout, known_names, names_two_kinds
from softvec.read.streams import Source, first_bytes

FORMATS = ("text", "adjlist", "mtx", "npz", "npy", "mat", "parquet", "arrow", "graphml", "gml", "h5ad")
_TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".edges", ".edgelist", ".el", ".ncol", ".wel", ".pairs", ".sif")


def find_format(source: Source, format: str | None = None) -> str:
    """Return the format of a file, from its first bytes or, if these are text, its extension."""
    if format is not None:
        known = {"csv": "text", "tsv": "text", "txt": "text", "feather": "arrow"}.get(format, format)
        return str(choice("format", known, FORMATS))
    head = first_bytes(source)
    if not head:
        raise InputError(f"{source.name} is empty: it has no edges")
    refuse_foreign(source)
    magic = {
        b"PK\x03\x04": "npz",
        b"\x93NUMPY": "npy",
        b"PAR1": "parquet",
        b"ARROW1": "arrow",
        b"FEA1": "arrow",
        b"\xff\xff\xff\xff": "arrow",
        b"MATLAB 5.0": "mat",
        b"%%MatrixMarket": "mtx",
    }
    for start, marked in magic.items():
        if head.startswith(start):
            return marked
    if head.startswith(b"\x89HDF") and source.suffix != ".mat":
        if source.suffix == ".h5ad":
            return "h5ad"
        raise InputError(
            f"{source.name} is an HDF5 file, of which softvec reads only .h5ad (AnnData); load it and pass "
            "the matrix or the graph"
        )
    if source.suffix == ".mat":
        return "mat"  # version 4 has no magic bytes
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if b"<graphml" in head or (source.suffix == ".graphml" and text.startswith(b"<")):
        return "graphml"
    if source.suffix == ".gml" or text.startswith((b"graph [", b"graph\n[", b"Creator ")):
        return "gml"
    named = {".npz": "npz", ".npy": "npy", ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}
    if source.suffix in named:
        raise InputError(f"{source.name} is not a {source.suffix} file, despite its name; it may be damaged")
    if source.suffix == ".mtx":
        raise InputError(f"{source.name}: a Matrix Market file starts with %%MatrixMarket; this one does not")
    return "text"


def text_kind(
    sample: Sequence[bytes], table: Table | None, suffix: str, name: str, square: bool | None = None
) -> str:
    """Return the kind of a text: ``graph``, ``bipartite``, ``temporal``, ``features`` or ``corpus``.

    A table has the same number of fields on (nearly) all lines; a corpus has lines of words.

    Parameters
    ----------
    sample : sequence of bytes
        Data lines from the start of the file.
    table : Table or None
        Their layout as a table; None if they are not a table.
    suffix : str
        The extension: ``.csv``, ``.tsv``, ``.edges`` and the like are always tables.
    name : str
        For messages.
    square : bool or None
        Result of :func:`square_names` for the table.
    """
    if table is None:
        return _prose(sample, name)
    layout = table.layout
    if names_two_kinds(table.header):
        return _kind_with_warnings(layout, name)
    timed = table.header is not None and "time" in table.roles
    is_table = suffix in _TABLE_SUFFIXES or _is_table(sample, table) or timed
    if not is_table and wide_kind(layout) is None:
        return _prose(sample, name)
    if square is not None:
        return "graph"
    if lines.looks_temporal(table, sample):
        times = layout.columns[0].values
        if len(set(times)) == len(times) or any(table.numeric[3:]):
            guess(
                f"{name} is read as temporal contacts, with the times in column 0; "
                "if that column only numbers the lines, pass ",
                Option("kind", "graph"),
                " and ",
                Option("columns", ...),
            )
        return "temporal"
    wide = wide_kind(layout)
    if wide is not None:
        words = [title for title in layout.header or () if len(title) > 1]
        if known_names(words) > 1 and ends_are_named(layout):
            ends = " and ".join(layout.show(layout.roles[role]) for role in ("source", "target"))
            guess(
                f"{name} is read as a matrix of numbers; if {ends} are the ends of edges, pass ",
                Option("kind", "graph"),
            )
        _warn_wide(table, wide, name)
        return wide
    return _kind_with_warnings(layout, name)


def _warn_wide(table: Table, wide: str, name: str) -> None:
    """Warn of what is uncertain about a table of numbers without a header."""
    columns = table.layout.columns
    if table.header is not None:
        return
    if wide == "bipartite" and all(column.numeric for column in columns):
        guess(
            f"{name} is read as a matrix of counts, its rows and columns two kinds of items; ",
            Option("kind", "features"),
            " if its rows are feature vectors, ",
            Option("kind", "corpus"),
            " if they are sequences",
        )


def _kind_with_warnings(layout: Layout, name: str) -> str:
    kind, remarks = guess_kind(layout, name)
    for text in remarks:
        guess(text)
    return kind


def square_names(table: Table, sample: Sequence[bytes], name: str) -> bool | None:
    """Whether a table is a square matrix of numbers: True with names, False without; else None.

    Names of rows or columns alone are those of both if the matrix is symmetric. Without names, a table is
    only recognised as square if it is completely in the sample.
    """
    numeric = table.numeric
    rows = [lines.split(line, table.delimiter) for line in sample]
    if any(len(row) != table.n_fields for row in rows[1:]):
        return None
    if table.header is not None and table.n_fields > 2:
        body = [[row[0].decode("utf-8", "replace"), *row[1:]] for row in rows[1:]]
        if not repeats_header(table.header, body):
            return False if all(numeric) and _is_symmetric(rows[1:], table.n_fields) else None
        if any(field == b"" for row in rows[1:] for field in row[1:]):
            raise InputError(f"{name}: the matrix has empty cells; fill them with 0 or with the other half")
        return True if all(numeric[1:]) else None
    n = table.n_fields
    if table.header is None and n > 3 and all(numeric) and len(rows) == n:
        matrix = np.array([[float(f) for f in row] for row in rows])
        return False if np.array_equal(matrix, matrix.T) or set(np.unique(matrix)) <= {0.0, 1.0} else None
    if table.header is None and not numeric[0] and all(numeric[1:]):
        return False if _is_symmetric([row[1:] for row in rows], n - 1) else None
    return None


def _is_symmetric(rows: Sequence[Sequence[bytes]], n: int) -> bool:
    """Whether rows of text are a square, symmetric matrix of more than three rows."""
    return 3 < n == len(rows) and [list(row) for row in rows] == [list(row) for row in zip(*rows)]


def _prose(sample: Sequence[bytes], name: str) -> str:
    """Take a text for a corpus; say so where its lines have tabs or all the same number of words."""
    _refuse_adjacency(sample, name)
    body = list(dict.fromkeys(sample[:2000]))
    n, share = lines.modal_fields(body, 0)
    tabs = sum(b"\t" in line.strip() for line in body) > 0.8 * len(body)
    if len(body) > 9 and (tabs or (n > 2 and share > 0.95)):
        why = "have tabs" if tabs else f"all have {n} words"
        guess(
            f"{name} is read as text, though its lines {why}; ",
            Option("kind", "graph"),
            " and ",
            Option("columns", ...),
            " if it is a table, ",
            Option("kind", "corpus"),
            " if not",
        )
    return "corpus"


def _refuse_adjacency(sample: Sequence[bytes], name: str) -> None:
    """Raise an error if a text may be an adjacency list, or edges written with arrows."""
    marks = bytes.maketrans(b",;|", b"   ")
    plain = [line if b" " in line.strip() else line.translate(marks) for line in sample[:2000]]
    rows = [words for words in (lines.split(line, 0) for line in plain) if words]
    middles = {row[1] if len(row) == 3 else b"" for row in rows}
    if len(middles) == 1 and re.fullmatch(rb"[^\w\s]+", mark := middles.pop()):
        raise InputError(f"{name}: names are separated by {mark.decode()!r}; write a tab or a comma instead")
    if rows and all(row[0].endswith(b":") for row in rows):
        rows = [lines.neighbours(row) for row in rows]
    firsts = [row[0] for row in rows]
    others = [word for row in rows for word in row[1:]]
    heads = set(firsts)
    share = sum(word in heads for word in others) / max(1, len(others))
    alike = len(rows) > 2 and len(heads) == len(firsts) and share >= 0.8
    numbers = len(rows) > 2 and all(lines.INTEGER.fullmatch(word) for row in rows for word in row)
    if alike or numbers:
        raise InputError(
            f"{name} may be an adjacency list (a node and its neighbours on each line) or text; pass ",
            Option("format", "adjlist"),
            " or ",
            Option("kind", "corpus"),
        )


def _is_table(sample: Sequence[bytes], table: Table) -> bool:
    body = sample[1:] if table.header is not None else sample
    n, share = lines.modal_fields(body, table.delimiter)
    if n < 2:
        return False
    if table.delimiter != 0:
        return share >= 0.8
    if table.header is not None and ends_are_named(table.layout):
        return share >= 0.8
    ids_numeric = all(table.numeric[:2])
    columns = table.layout.columns
    if n > 2 and len(columns) > 2 and columns[2].stamps and not columns[0].stamps:
        return share >= 0.8
    if n == 2 or all(column.empty for column in columns[2:]):
        return share >= 0.8 or (share >= 0.5 and ids_numeric)
    if n == 3 and share == 1 and len(sample) > 2 and table.numeric == (False, True, False):
        return True  # a weight between two names
    third = len(table.numeric) > 2 and table.numeric[2]
    return third and share >= (0.5 if ids_numeric else 0.8)

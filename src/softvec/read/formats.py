"""Which format a file has, and what a text file holds: by content first, then by extension."""

from __future__ import annotations

from collections.abc import Sequence

from softvec.core.errors import InputError
from softvec.read import lines
from softvec.read.columns import names_two_kinds
from softvec.read.lines import NUMBER, Table
from softvec.read.streams import Source

FORMATS = ("text", "mtx", "npz", "npy", "mat", "parquet", "arrow", "graphml", "gml")
_TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".edges", ".edgelist", ".el", ".ncol", ".wel", ".pairs")


def find_format(source: Source, format: str | None = None) -> str:
    """Return the format of a file, from its first bytes or, where these are text, its extension."""
    if format is not None:
        known = {"csv": "text", "tsv": "text", "txt": "text", "feather": "arrow"}.get(format, format)
        if known not in FORMATS:
            raise InputError(f"format is {format!r}; expected one of {', '.join(FORMATS)}")
        return known
    head = source.head(4096)
    if not head:
        raise InputError(f"{source.name} is empty: there are no edges in it")
    magic = {
        b"PK\x03\x04": "npz",
        b"\x93NUMPY": "npy",
        b"PAR1": "parquet",
        b"ARROW1": "arrow",
        b"FEA1": "arrow",
        b"\xff\xff\xff\xff": "arrow",
        b"MATLAB 5.0": "mat",
        b"\x89HDF": "mat",
        b"%%MatrixMarket": "mtx",
    }
    for start, found in magic.items():
        if head.startswith(start):
            return found
    if source.suffix == ".mat":
        return "mat"  # version 4 has no mark
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if b"<graphml" in head or (source.suffix == ".graphml" and text.startswith(b"<")):
        return "graphml"
    if source.suffix == ".gml" or text.startswith((b"graph [", b"graph\n[", b"Creator ")):
        return "gml"
    named = {".npz": "npz", ".npy": "npy", ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}
    if source.suffix in named:
        raise InputError(f"{source.name} is named {source.suffix}, but is not such a file; it may be damaged")
    if source.suffix == ".mtx":
        raise InputError(f"{source.name}: a Matrix Market file starts with %%MatrixMarket; this one does not")
    return "text"


def text_kind(sample: Sequence[bytes], table: Table | None, suffix: str) -> str:
    """Say what a text holds: ``graph``, ``bipartite``, ``temporal``, ``features`` or ``corpus``.

    A table has the same number of fields on (nearly) all lines; a corpus has lines of words.

    Parameters
    ----------
    sample : sequence of bytes
        Data lines from the start of the file.
    table : Table or None
        Their layout as a table; None if they have none.
    suffix : str
        The extension: ``.csv``, ``.tsv``, ``.edges`` and the like are always tables.
    """
    if table is None:
        return "corpus"
    if names_two_kinds(table.header):
        return "bipartite"
    if "time" in table.roles and table.header is not None and table.n_fields > 2:
        return "temporal"
    if _is_features(sample, table):
        return "features"
    if suffix not in _TABLE_SUFFIXES and not _is_table(sample, table):
        return "corpus"
    return "temporal" if lines.looks_temporal(table, sample) else "graph"


def _is_table(sample: Sequence[bytes], table: Table) -> bool:
    n, share = lines.modal_fields(sample, table.delimiter)
    if n < 2:
        return False
    if table.delimiter != 0:
        return share >= 0.8
    ids_numeric = all(table.numeric[:2])
    if n == 2:
        return share >= 0.8 or (share >= 0.5 and ids_numeric)
    third = len(table.numeric) > 2 and table.numeric[2]
    return third and share >= (0.5 if ids_numeric else 0.8)


def _is_features(sample: Sequence[bytes], table: Table) -> bool:
    """Whether all columns (but perhaps the first) are numbers, four or more, and mostly not integers."""
    if table.n_fields < 4 or not all(table.numeric[1:]):
        return False
    rows = [lines.split(line, table.delimiter) for line in sample[1:200] or sample]
    fields = [field for row in rows for field in row[1:] if len(row) == table.n_fields]
    whole = sum(bool(lines.INTEGER.fullmatch(field)) for field in fields)
    numbers = sum(bool(NUMBER.fullmatch(field)) for field in fields)
    return len(fields) > 0 and numbers == len(fields) and whole < 0.5 * len(fields)

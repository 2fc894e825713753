"""The format of a file, by content first, then by extension; helpful errors for those not supported."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from softvec.core.checks import choice
from softvec.core.errors import InputError, Option
from softvec.read.streams import Source, first_bytes

FORMATS = ("text", "adjlist", "mtx", "npz", "npy", "mat", "parquet", "arrow", "json", "graphml", "gml",
           "pajek", "gexf", "h5ad")  # fmt: skip
ARROW = ("parquet", "arrow", "json")
_READ = {
    b"PK\x03\x04": "npz",
    b"\x93NUMPY": "npy",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"FEA1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"MATLAB 5.0": "mat",
    b"%%MatrixMarket": "mtx",
}
_LOAD = "load it and pass the object"
_EDGES = "write it as an edge list, GraphML or GML"
_MAGIC = {
    b"%PDF-": ("a PDF document", "extract its text"),
    b"\xd0\xcf\x11\xe0": ("an old Excel or Word file", "save it as CSV or text"),
    b"SQLite format 3": ("an SQLite database", "query it and pass the table"),
    b"RDX": ("an R workspace", "write a CSV with write.csv"),
    b"\x80\x02": ("a Python pickle, which may run code", _LOAD),
    b"\x80\x03": ("a Python pickle, which may run code", _LOAD),
    b"\x80\x04": ("a Python pickle, which may run code", _LOAD),
    b"\x80\x05": ("a Python pickle, which may run code", _LOAD),
    b">>graph6<<": ("a graph6 file", "convert it with networkx.read_graph6"),
    b">>sparse6<<": ("a sparse6 file", "convert it with networkx.read_sparse6"),
}
_TEXTS = (
    (rb"<(\?xml|!doctype|html|head|body|[a-z]+:?[a-z]* xmlns)\b", "an XML or HTML file",
     "extract its table or text"),
    (rb"(strict\s+)?(di)?graph\b[^\[\n]*\{", "a Graphviz file", _EDGES),
    (rb"(c\b[^\n]*\n\s*)*p\s+(edge|col|sp|max|cut|aux\s+\w+)\s+[0-9]", "a DIMACS file", _EDGES),
    (rb"#1\.[23]\s*\n[0-9]+\t[0-9]", "a GCT file", "remove its first two lines and the column Description"),
    (rb"([+-]?[0-9.]+( +[0-9]+:[0-9.eE+-]+)+ *\r?\n){2}|[+-]?[0-9.]+( +[0-9]+:[0-9.eE+-]+){20}",
     "a LibSVM file", "load it with sklearn.datasets.load_svmlight_file and pass the matrix"),
    (rb"(#[^\n]*\n)*(@prefix\s|@base\s|(<[^>\s]+>|_:\w+)\s+<[^>\s]+>\s+[<_\"])", "an RDF file",
     "load it with rdflib and write subjects and objects as a table"),
    (rb"# *\S+\r?\n(\S+\r?\n)+# *\S+\r?\n\S|(# *\S+\r?\n(\S+( [-+0-9.e]+)?\r?\n)+){2}# *\S+\r?\n",
     "an LGL file",
     "load it with igraph.Graph.Read_Lgl and pass the graph"),
    (rb"(#[^\n]*\n)*chr\w+\t\d+\t\d+\b", "a BED or BEDPE file",
     "write a table of two columns, such as chr1:1000 and chr2:5000"),
    (rb"(WEBVTT\b|[0-9]+\s*\n[0-9:]+,[0-9]+ --> )", "a subtitle file", "remove its numbers and times"),
    (rb"(#[^\n]*\n)*1(\t[^\t\n]+){2}\t(a(dj|dp|dv|ux)|cconj|det|intj|noun|num|part|pron|propn|punct|sconj|sym|"
     rb"verb|x)(\t[^\t\n]+){6}\n", "a CoNLL-U file", "write the words of each sentence on one line"),
)  # fmt: skip
_READ_TEXTS = (
    (rb'\{\s*"|\[\s*\{|\{\s*\}|\[\s*\[\s*["\d\[\]{-]|\[[^\n\[\]]+\]\r?\n\[', "json"),
    (rb"\*(vertices|network)\b", "pajek"),
    (rb"(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<gexf\b", "gexf"),
    (rb".*<graphml", "graphml"),
    (rb"graph\s*\[|Creator ", "gml"),
)
_READ_NAMES = {
    ".npz": "npz", ".npy": "npy", ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".mat": "mat", ".mtx": "mtx", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".graphml": "graphml",
    ".gml": "gml", ".gexf": "gexf", ".h5ad": "h5ad",
}  # fmt: skip
_COLONS = ": columns are separated by '::'; write a tab or a comma instead"
_QUOTES = ": names are in single quotes; write double quotes, or none"
# (pattern, share of the lines that it must exceed, whether it applies to a delimiter and cut lines, message)
_LAYOUTS: tuple[tuple[re.Pattern[bytes], float, Callable[[int, bool], bool], str], ...] = (
    (re.compile(rb"\{'"), 0.5, lambda delimiter, cut: True,
     " holds the data of edges as {{'weight': ...}}; write it with networkx.write_weighted_edgelist, or pass "
     "the graph itself"),
    (re.compile(rb"^\d+::[^:]+::"), 0.9, lambda delimiter, cut: delimiter != 58, _COLONS),
    (re.compile(rb"::"), 0.9, lambda delimiter, cut: delimiter != 58 and not cut, _COLONS),
    (re.compile(rb"^\s*[(\[][^()\[\],]*,[^()\[\]]*[)\]][,;]?\s*$"), 0.9, lambda delimiter, cut: True,
     ": lines such as {shown!r} have brackets; remove them"),
    (re.compile(rb'(^|[^"])"[^"]*[^"\\]\\"[^",;|\t\r\n ]'), 0.01, lambda delimiter, cut: delimiter != 0,
     ': quotes within fields are written \\"; double them instead'),
    (re.compile(rb"^'[^']*+'( *+[,;\t|] *+('[^']*+' *+|[^',;\t|]*+))*+\s*$"), 0.7, lambda delimiter, cut: cut,
     _QUOTES),
    (re.compile(rb"^'[^']*+'( ++('[^']*+'|[0-9.eE+-]++))++\s*$"), 0.7, lambda delimiter, cut: cut, _QUOTES),
)  # fmt: skip


class ForeignLayout(InputError):
    """Lines in a form that is known not to be read; they are not text either."""


def find_format(source: Source, format: str | None = None) -> str:
    """Return the format of a file, from its first bytes or, if these are text, its extension."""
    if format is not None:
        known = {"csv": "text", "tsv": "text", "txt": "text", "feather": "arrow"}.get(format, format)
        return str(choice("format", known, FORMATS))
    head = first_bytes(source)
    if not head:
        raise InputError(f"{source.name} is empty: it has no edges")
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    marks = [marked for start, marked in _READ.items() if head.startswith(start)]
    in_text = [marked for pattern, marked in _READ_TEXTS if re.match(pattern, text, re.I | re.S)]
    _refuse_foreign(source, head, text, told=bool(in_text))
    if marks or in_text:
        return [*marks, *in_text][0]
    if head.startswith(b"\x89HDF") and source.suffix not in (".mat", ".h5ad"):
        raise InputError(
            f"{source.name} is an HDF5 file, of which softvec reads only .h5ad (AnnData); load it and pass "
            "the matrix or the graph"
        )
    by_name = _READ_NAMES.get(source.suffix, "text")
    if by_name == "mtx":
        raise InputError(f"{source.name}: a Matrix Market file starts with %%MatrixMarket; this one does not")
    if by_name in ("npz", "npy", "parquet", "arrow", "json") or (
        by_name in ("graphml", "gexf") and not text.startswith(b"<")
    ):
        raise InputError(f"{source.name} is not a {source.suffix} file, despite its name; it may be damaged")
    return by_name


def _refuse_foreign(source: Source, head: bytes, text: bytes, *, told: bool) -> None:
    """Raise an error with a remedy if a file has a known unsupported format, which its text has not told."""
    for magic, (what, remedy) in _MAGIC.items():
        if head.startswith(magic):
            raise InputError(f"{source.name} is {what}; {remedy}")
    if head.startswith(b"PK\x03\x04") and source.suffix != ".npz":
        _refuse_archive(source.name, head)
    for pattern, what, remedy in () if told else _TEXTS:
        if re.match(pattern, text, re.I | re.S):
            raise _not_read(source.name, what, remedy)
    first = re.match(rb"(%[^\n]*\n)*[0-9]+ +[0-9]+( +[0-9]+){0,2}\s*\n", text)
    if (first and source.suffix in (".metis", ".graph")) or (source.whole and _is_metis(source.start)):
        raise _not_read(source.name, "a METIS file", _EDGES)


def _is_metis(text: bytes) -> bool:
    """Whether the text is a METIS graph: a line with n and m, then n lines with 2 m neighbours in total."""
    rows = [line.split() for line in text.rstrip(b"\n").split(b"\n") if not line.startswith(b"%")]
    if len(rows) < 4 or len(rows[0]) != 2 or not all(word.isdigit() for row in rows for word in row):
        return False
    n, m = map(int, rows[0])
    words = [int(word) for row in rows[1:] for word in row]
    return len(rows) == n + 1 and len(words) == 2 * m and min(words) >= 1 and max(words) <= n


def _not_read(name: str, what: str, remedy: str) -> InputError:
    return InputError(
        f"{name} is {what}, which softvec does not read; {remedy}, or pass ",
        Option("format", "text"),
        " if it is a table or text",
    )


def _refuse_archive(name: str, head: bytes) -> None:
    """Raise an error for a zip file that is not a NumPy .npz archive, by its first member."""
    length = int.from_bytes(head[26:28], "little")
    member = head[30 : 30 + length].decode("utf-8", "replace")
    if member.endswith(".npy"):
        return
    if member.startswith(("[Content_Types]", "xl/", "_rels/", "docProps/", "mimetype")):
        raise InputError(f"{name} is an office document; save the sheet as CSV, or the text as plain text")
    raise InputError(f"{name} is a zip archive that holds {member!r}; unpack it and pass the file inside")


def refuse_layout(lines: Sequence[bytes], delimiter: int, name: str, cut: bool) -> None:
    """Refuse lines in the form of another program, and a first comment of another style.

    ``cut`` says whether the delimiter cuts the lines at all.
    """
    shown = lines[0].strip()[:40].decode("utf-8", "replace")
    for pattern, least, applies, what in _LAYOUTS:
        if applies(delimiter, cut) and sum(map(bool, map(pattern.search, lines))) > least * len(lines):
            raise ForeignLayout(f"{name}{what.format(shown=shown)}")
    first, last = (re.match(rb"\s*(//|--|;|!) *\w", lines[at]) for at in (0, -1))
    if first and not last and first[1] != bytes([delimiter]):
        raise InputError(
            f"{name}: {shown!r} looks like a comment; remove it, or pass ", Option("comment", shown[0])
        )

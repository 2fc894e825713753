"""Options of ``softvec embed`` for reading the data."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from softvec.cli.options import columns_of
from softvec.core.errors import InputError

_flag = partial(typer.Option, rich_help_panel="Data")
_DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}

Kind = Annotated[
    str | None,
    _flag(
        "--kind",
        "-k",
        help="Kind of data: graph, pairs, bipartite, temporal, corpus, features, dense (default: detected).",
    ),
]
Attributes = Annotated[
    str | None,
    _flag(
        "--attributes",
        metavar="FILE",
        help="Table of node attributes, matched by name (default: none).",
    ),
]
Names = Annotated[
    str | None,
    _flag(
        "--names",
        metavar="FILE",
        help="File of row names, one per line (default: those in the data, or 0, 1, ...).",
    ),
]
Directed = Annotated[
    bool | None,
    _flag(
        "--directed/--undirected",
        help="Direction of edges (default: that of a matrix or graph file, else undirected).",
        show_default=False,
    ),
]
Weighted = Annotated[
    bool | None,
    _flag("--weighted/--unweighted", help="Use weights (default: if present).", show_default=False),
]
Signed = Annotated[
    bool | None,
    _flag(
        "--signed/--unsigned",
        help="Negative weights as signs of links, or as positive ones (default: signs if all are whole).",
        show_default=False,
    ),
]
Weight = Annotated[
    str | None,
    _flag("--weight", metavar="COLUMN", help="Column or attribute of the weights (default: detected)."),
]
Columns = Annotated[
    str | None, _flag("--columns", help="Columns of a table, e.g. from,to,weight or 0,1 (default: detected).")
]
Delimiter = Annotated[str | None, _flag("--delimiter", help="Column separator (default: detected).")]
Header = Annotated[
    bool | None,
    _flag("--header/--no-header", help="Whether line 1 is a header (default: detected).", show_default=False),
]
InputFormat = Annotated[
    str | None,
    _flag(
        "--input-format", help="Format: text, mtx, npz, npy, mat, parquet, graphml, ... (default: detected)."
    ),
]
DropMissing = Annotated[
    bool, _flag("--drop-missing", help="Leave out rows of a table with missing values, and count them.")
]
MinWeight = Annotated[
    float | None,
    _flag("--min-weight", help="Leave out edges of a table with smaller weights (default: none)."),
]
Window = Annotated[
    str | None,
    _flag(
        "--window",
        help="Text: words on each side (default: 5). Contacts: length of a time window, e.g. 900, or 15min "
        "for dates (default: none).",
    ),
]
MinCount = Annotated[
    int | None, _flag("--min-count", help="Text: minimum number of occurrences of a word (default: 5).")
]
More = Annotated[
    list[str] | None,
    _flag(
        "--set", metavar="NAME=VALUE", help="Any other option of the reader or of the fit (default: none)."
    ),
]


def reading_options(
    *,
    weight: str | None,
    columns: str | None,
    delimiter: str | None,
    window: str | None,
    drop_missing: bool = False,
    **others: Any,
) -> dict[str, Any]:
    """Return the options that the user set, as the library takes them."""
    options = {
        "weight": int(weight) if weight is not None and weight.isdigit() else weight,
        "columns": columns_of(columns),
        "delimiter": _DELIMITERS.get(delimiter or "", delimiter),
        "window": _window(window),
        "missing": "drop" if drop_missing else None,
        **others,
    }
    return {name: value for name, value in options.items() if value is not None}


def _window(text: str | None) -> float | str | None:
    """Return a number, or a duration such as 15min as text, which only contacts with dates take."""
    from softvec.core.dates import duration

    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        duration("--window", text)
        return text
    if not 0 < value < float("inf"):
        raise InputError(f"--window is {value:g}; expected a number above 0")
    return int(value) if value == int(value) else value

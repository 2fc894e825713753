"""Flags of ``softvec embed``: those of the data, and those of the fit, most of them from its settings."""

from __future__ import annotations

from dataclasses import Field, dataclass, field, fields, make_dataclass
from functools import partial
from typing import Annotated, Any

import typer

from softvec.cli.options import columns_of
from softvec.core.errors import InputError
from softvec.fit.settings import OPTIONS, Flag

_data = partial(typer.Option, rich_help_panel="Data")
_fit = partial(typer.Option, rich_help_panel="Fit")
_DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}


@dataclass(frozen=True)
class DataFlags:
    """How the data is read."""

    kind: Annotated[
        str | None,
        _data(
            "--kind",
            "-k",
            help="Kind of data: graph, pairs, bipartite, temporal, corpus, features, dense, sets "
            "(default: detected).",
        ),
    ] = None
    names: Annotated[
        str | None,
        _data(
            "--names",
            metavar="FILE",
            help="File of row names, one per line (default: those in the data, or 0, 1, ...).",
        ),
    ] = None
    attributes: Annotated[
        str | None,
        _data(
            "--attributes", metavar="FILE", help="Table of node attributes, matched by name (default: none)."
        ),
    ] = None
    types: Annotated[
        str | None,
        _data("--types", metavar="FILE", help="Types of nodes: lines of name and type (default: none)."),
    ] = None
    directed: Annotated[
        bool | None,
        _data(
            "--directed/--undirected",
            help="Direction of edges (default: that of a matrix or graph file, else undirected).",
            show_default=False,
        ),
    ] = None
    weighted: Annotated[
        bool | None,
        _data("--weighted/--unweighted", help="Use weights (default: if present).", show_default=False),
    ] = None
    signed: Annotated[
        bool | None,
        _data(
            "--signed/--unsigned",
            help="Negative weights as signs of links, or as positive ones (default: signs if all are whole).",
            show_default=False,
        ),
    ] = None
    weight: Annotated[
        str | None,
        _data("--weight", metavar="COLUMN", help="Column or attribute of the weights (default: detected)."),
    ] = None
    columns: Annotated[
        str | None,
        _data("--columns", help="Columns of a table, e.g. from,to,weight or 0,1 (default: detected)."),
    ] = None
    delimiter: Annotated[str | None, _data("--delimiter", help="Column separator (default: detected).")] = (
        None
    )
    header: Annotated[
        bool | None,
        _data(
            "--header/--no-header", help="Whether line 1 is a header (default: detected).", show_default=False
        ),
    ] = None
    format: Annotated[
        str | None,
        _data(
            "--input-format",
            help="Format: text, mtx, npz, npy, mat, parquet, graphml, ... (default: detected).",
        ),
    ] = None
    drop_missing: Annotated[
        bool,
        _data("--drop-missing", help="Leave out rows of a table with missing values, and count them."),
    ] = False
    min_weight: Annotated[
        float | None,
        _data("--min-weight", help="Leave out edges of a table with smaller weights (default: none)."),
    ] = None
    window: Annotated[
        str | None,
        _data(
            "--window",
            help="Text: words on each side (default: 5). Contacts: length of a time window, e.g. 900, or "
            "15min for dates (default: none).",
        ),
    ] = None
    min_count: Annotated[
        int | None,
        _data("--min-count", help="Text: minimum number of occurrences of a word (default: 5)."),
    ] = None
    more: Annotated[
        list[str] | None,
        _data(
            "--set",
            metavar="NAME=VALUE",
            help="Any other option of the reader or of the fit (default: none).",
        ),
    ] = None

    def options(self) -> dict[str, Any]:
        """Return the options of the reader and the builder that the user set, as the library takes them."""
        taken = ("kind", "attributes", "drop_missing", "more")
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in taken}
        weight = self.weight
        values |= {
            "weight": int(weight) if weight is not None and weight.isdigit() else weight,
            "columns": columns_of(self.columns),
            "delimiter": _DELIMITERS.get(self.delimiter or "", self.delimiter),
            "window": _window(self.window),
            "missing": "drop" if self.drop_missing else None,
        }
        return {name: value for name, value in values.items() if value is not None}


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


def _flag(setting: Field[Any]) -> tuple[str, Any, Any]:
    """Return the flag of a setting as a field of a dataclass."""
    flag: Flag = setting.metadata["flag"]
    option = typer.Option(
        *flag.names.split(), help=flag.help, metavar=flag.metavar, min=flag.least, max=flag.most,
        rich_help_panel=flag.panel,
    )  # fmt: skip
    number = "int" if flag.least is not None else str(setting.type)
    kind = {"int": int, "float": float}.get(number, str)
    return setting.name, Annotated[kind | None, option], field(default=None)


_SettingFlags = make_dataclass(
    "_SettingFlags",
    [_flag(setting) for setting in OPTIONS if setting.metadata["flag"] is not None],
    frozen=True,
)


@dataclass(frozen=True)
class FitFlags(_SettingFlags):  # type: ignore[misc, valid-type]
    """How the data is fitted: a flag for each setting that has one, and these."""

    two_sided: Annotated[
        bool,
        _fit(
            "--two-sided",
            help="Separate vectors for columns (default: if rows and columns are different items).",
        ),
    ] = False
    init: Annotated[
        str | None,
        _fit(
            "--init",
            metavar="VECTORS",
            help="Vectors of an earlier version of the data to start from (default: random).",
        ),
    ] = None
    repeats: Annotated[
        int,
        _fit(
            "--repeats",
            help="Number of seeds; more than one measures the stability of neighbours and groups.",
            min=1,
        ),
    ] = 1
    cluster: Annotated[
        str | None,
        _fit(
            "--cluster",
            metavar="WORKERS",
            help="Workers that share the fit: local:4, ray://host:port, mpi or auto (default: none).",
        ),
    ] = None
    partition: Annotated[
        str | None,
        _fit(
            "--partition",
            help="With --cluster: stream renumbers items so that workers exchange less (default: none).",
        ),
    ] = None

    def options(self) -> dict[str, Any]:
        """Return the settings that the user set."""
        values = {each.name: getattr(self, each.name) for each in fields(_SettingFlags)}
        values["symmetric"] = False if self.two_sided else None
        return {name: value for name, value in values.items() if value is not None}

"""The user's options about a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from softvec.core.checks import check_weighted, choice
from softvec.read.roles import timed_columns

COMMENTS = b"#%"
IDS = ("auto", "integer", "string")
MISSING_ROWS = ("error", "drop")
MATRIX_KINDS = ("features", "dense")  # columns are numbers without roles


@dataclass(frozen=True)
class TableOptions:
    """The user's options about a table; None if to be detected."""

    delimiter: str | None = None
    header: bool | None = None
    comments: bytes = COMMENTS
    columns: Any = None
    encoding: str | None = None
    ids: str = "auto"
    weighted: bool | None = None
    weight: Any = None
    decimal: str | None = None
    negative: str = "auto"
    missing: str = "error"
    min_weight: float | None = None
    n_jobs: int | None = None
    two_sided: bool = False  # rows and columns are different items: follows from the kind
    timed: bool = False  # edges have times: follows from the kind

    def __post_init__(self) -> None:
        choice("ids", self.ids, IDS)
        choice("missing", self.missing, MISSING_ROWS)
        check_weighted(self.weighted)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> TableOptions:
        """Select the options about tables from all options of the user."""
        selected = {name: options[name] for name in TABLE_OPTIONS if name in options}
        if "comment" in selected:
            comment = selected.pop("comment")
            selected["comments"] = b"" if comment is None else str(comment).encode()
        return cls(**selected)

    def for_kind(self, kind: str) -> TableOptions:
        """Return the options, completed for the kind of data."""
        columns, weight, negative = self.columns, self.weight, self.negative
        if negative == "auto" and kind not in ("graph", "pairs"):
            negative = "error"
        if kind in MATRIX_KINDS:
            columns = weight = None
        elif kind == "temporal":
            columns = timed_columns(columns)
        return replace(
            self, two_sided=kind == "bipartite", timed=kind == "temporal", columns=columns, weight=weight,
            negative=negative,
        )  # fmt: skip

    @property
    def column_names(self) -> list[str]:
        """The column names that the user gave, which must be in the header."""
        wanted = list(self.columns.values()) if isinstance(self.columns, dict) else self.columns
        wanted = list(wanted) if isinstance(wanted, list | tuple) else []
        return [column for column in [*wanted, self.weight] if isinstance(column, str)]


_HIDDEN = ("two_sided", "timed", "comments")
TABLE_OPTIONS = (*(f.name for f in fields(TableOptions) if f.name not in _HIDDEN), "comment")

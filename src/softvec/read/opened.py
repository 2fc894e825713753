"""An opened source with its detected format, layout and kind of data, for the readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from softvec.core.checks import check_weighted, choice
from softvec.read.lines import COMMENTS, Table
from softvec.read.roles import Layout
from softvec.read.streams import Source

IDS = ("auto", "integer", "string")


@dataclass(frozen=True)
class TextOptions:
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
    negative: str = "error"
    n_jobs: int | None = None
    two_sided: bool = False  # rows and columns are different items: follows from the kind
    timed: bool = False  # edges have times: follows from the kind

    def __post_init__(self) -> None:
        choice("ids", self.ids, IDS)
        check_weighted(self.weighted)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> TextOptions:
        """Select the options about tables from all options of the user."""
        selected = {name: options[name] for name in TEXT_OPTIONS if name in options}
        if "comment" in selected:
            comment = selected.pop("comment")
            selected["comments"] = b"" if comment is None else str(comment).encode()
        return cls(**selected)


TEXT_OPTIONS = tuple(f.name for f in fields(TextOptions) if f.name not in ("two_sided", "timed", "comments"))
TEXT_OPTIONS += ("comment",)


@dataclass(frozen=True)
class TextTable:
    """The layout of a text table, and the sample of lines it was detected from."""

    table: Table
    lines: Sequence[bytes]
    square: bool | None  # a square matrix of numbers: True with names around it, False without; else None


@dataclass(frozen=True)
class ArrowTable:
    """The layout of a parquet, Arrow or Feather file."""

    names: Sequence[str]
    layout: Layout  # of the columns shown
    shown: Sequence[int]  # positions of these columns; the others are an index that pandas stored
    square: bool  # a square matrix of numbers


@dataclass(frozen=True)
class Opened:
    """A source with its format, kind of data, layout and the user's options.

    Attributes
    ----------
    source : Source
    format : str
        One of ``softvec.read.formats.FORMATS``.
    kind : str
        A kind of data, such as ``"graph"``.
    options : TextOptions
    text : TextTable or None
        Of a table in text.
    arrow : ArrowTable or None
        Of a parquet, Arrow or Feather file.
    """

    source: Source
    format: str
    kind: str
    options: TextOptions = field(default_factory=TextOptions)
    text: TextTable | None = None
    arrow: ArrowTable | None = None

    @property
    def name(self) -> str:
        """For messages."""
        return self.source.name

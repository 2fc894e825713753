"""The columns of any table: what the first rows of each hold, and their roles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from softvec.core.errors import Message, Option

_UNIX = ((6e8, 2.3e9), (6e11, 2.3e12))  # seconds and milliseconds from 1989 to 2042


@dataclass(frozen=True)
class ColumnSample:
    """Content of a column, detected from its first rows."""

    name: Any = None
    numeric: bool = False  # numbers, except for a few possible mistakes
    whole: bool = False  # all integers
    stamps: bool = False  # dates or time stamps
    values: Sequence[Any] = ()  # the sample: numbers if numeric, else text

    @property
    def empty(self) -> bool:
        """Whether it holds no values."""
        return not any(value is not None and value != "" for value in self.values)

    @property
    def running(self) -> bool:
        """Whether it numbers the rows, from 0 or 1."""
        n = len(self.values)
        return self.whole and n > 2 and list(self.values) in (list(range(n)), list(range(1, n + 1)))

    @property
    def unix(self) -> bool:
        """Whether it holds integers that look like seconds or milliseconds since 1970."""
        values = self.values
        inside = (low <= min(values) and max(values) <= high for low, high in _UNIX) if self.whole else ()
        return len(values) > 1 and any(inside)

    @property
    def holds_names(self) -> bool:
        """Whether it may name items: text or integers."""
        return not self.empty and not self.stamps and (self.whole or not self.numeric)

    @property
    def holds_words(self) -> bool:
        """Whether it may name items by text."""
        return self.holds_names and not self.numeric


@dataclass
class Table:
    """The columns of any table, their roles, and guesses about them."""

    columns: Sequence[ColumnSample]
    roles: dict[str, int]
    guesses: list[Message] = field(default_factory=list)
    index: int | None = None  # a column that only counts rows
    chosen: bool = False  # the roles are the user's

    def guess(self, *parts: str | Option) -> None:
        """Add a guess."""
        self.guesses.append(Message(*parts))

    @property
    def header(self) -> list[Any] | None:
        """Column names, if there are any."""
        return None if any(c.name is None for c in self.columns) else [c.name for c in self.columns]

    def show(self, at: int) -> str:
        """Return the name of a column, or its position."""
        name = self.columns[at].name
        return str(at) if name is None else str(name)

    @property
    def summary(self) -> str:
        """Return "columns a -> b, weight w"; empty for two columns without names."""
        if self.header is None and len(self.columns) == 2:
            return ""
        text = f"columns {self.show(self.roles['source'])} -> {self.show(self.roles['target'])}"
        for role in ("weight", "time"):
            if role in self.roles:
                text += f", {role} {self.show(self.roles[role])}"
        return text


def word_of(name: Any) -> str:
    """Return a column name in lower case, with underscores for blanks and hyphens, without marks of Neo4j."""
    plain = str(name).strip().lower()
    word = (re.sub(r"^:|\([^()]*\)$", "", plain).strip() or plain).replace(" ", "_").replace("-", "_")
    return "" if word.startswith("unnamed:_") else word

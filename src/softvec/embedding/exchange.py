"""Methods of :class:`softvec.Embedding` for pandas, polars and gensim, and for notebooks."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from softvec.core.checks import recorded
from softvec.core.errors import InputError, optional_package, printable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from softvec.embedding.core import Embedding


@overload
def to_dataframe(self: Embedding, library: Literal["pandas"] = ...) -> pd.DataFrame: ...
@overload
def to_dataframe(self: Embedding, library: Literal["polars"]) -> pl.DataFrame: ...
def to_dataframe(self: Embedding, library: str = "pandas") -> Any:
    """Return a pandas frame indexed by name, or a polars frame with a column ``name``."""
    if library == "pandas":
        pd = optional_package("pandas", "to_dataframe needs pandas: pip install 'softvec[frames]'")
        names = self.names.to_list()
        index = pd.Index(names, name="name", tupleize_cols=False)
        return pd.DataFrame(np.array(self.vectors), index=index)
    if library == "polars":
        pl = optional_package("polars", "to_dataframe needs polars: pip install 'softvec[frames]'")
        from softvec.embedding.files.plain import text_names

        whole = self.names.kind == "integer"
        column = self.names.to_numpy() if whole else text_names(self.names, spaces=True)
        columns = {str(j): np.ascontiguousarray(self.vectors[:, j]) for j in range(self.vectors.shape[1])}
        return pl.DataFrame({"name": column, **columns})
    raise InputError(f"library is {library!r}; expected 'pandas' or 'polars'")


def from_dataframe(cls: type[Embedding], frame: Any) -> Embedding:
    """Use the index (pandas) or the first non-float column as names, the float columns as vectors."""
    from softvec.embedding.files.arrow import from_arrow

    if hasattr(frame, "to_arrow"):  # polars
        return from_arrow(frame.to_arrow(), "the frame")
    if not hasattr(frame, "iloc"):
        raise InputError(f"from_dataframe takes a pandas or polars frame, not {type(frame).__name__}")
    floats = [j for j, kind in enumerate(frame.dtypes) if kind.kind == "f"]
    others = [j for j in range(frame.shape[1]) if j not in floats]
    if not floats:
        raise InputError("the frame has no column of floats")
    names = frame.iloc[:, others[0]].tolist() if others else frame.index.tolist()
    V = frame.iloc[:, floats].to_numpy(dtype=np.float32)
    return cls(V, names, copy=False)


def to_gensim(self: Embedding) -> Any:
    """Return a gensim ``KeyedVectors``; integers and strings stay keys, anything else becomes text."""
    gensim = optional_package("gensim.models", "to_gensim needs gensim: pip install 'softvec[gensim]'")
    from softvec.embedding.files.plain import text_names

    keys: list[Any] = self.names.to_list()
    if not all(isinstance(key, str | int) for key in keys):
        keys = text_names(self.names, spaces=True)
    vectors = gensim.KeyedVectors(self.vectors.shape[1], dtype=np.float32)
    vectors.add_vectors(keys, np.array(self.vectors))
    if self.sizes is not None and (self.sizes == np.floor(self.sizes)).all():
        for key, size in zip(keys, self.sizes):
            vectors.set_vecattr(key, "count", int(size))
    return vectors


def from_gensim(cls: type[Embedding], vectors: Any) -> Embedding:
    """Convert a gensim ``KeyedVectors``, or a model that has one as ``wv``."""
    vectors = getattr(vectors, "wv", vectors)
    if not hasattr(vectors, "index_to_key"):
        raise InputError(f"from_gensim takes KeyedVectors, not {type(vectors).__name__}")
    return cls(np.array(vectors.vectors, np.float32), vectors.index_to_key, copy=False)


def to_html(emb: Embedding, rows: int = 5, columns: int = 6) -> str:
    """Return a small HTML table: the first names and numbers."""
    n, d = emb.vectors.shape
    shown = range(min(n, rows))
    dots = "<td>…</td>" if d > columns else ""
    lines = []
    for i in shown:
        cells = "".join(f"<td>{value:.3f}</td>" for value in emb.vectors[i, :columns].tolist())
        lines.append(f"<tr><th>{html.escape(printable(str(emb.names[i])))}</th>{cells}{dots}</tr>")
    if n > rows:
        lines.append(
            f'<tr><th>…</th><td colspan="{min(d, columns) + bool(dots)}">{n - rows:,} more</td></tr>'
        )
    summary = recorded(emb, "data").get("summary", "")
    note = f"<div>{html.escape(str(summary))}</div>" if summary else ""
    return f"<div>{html.escape(repr(emb))}</div>{note}<table>{''.join(lines)}</table>"

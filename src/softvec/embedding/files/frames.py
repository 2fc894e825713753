"""Named vectors as the objects of other libraries: pandas, polars, gensim, and HTML for notebooks."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from softvec.core.checks import recorded
from softvec.core.errors import InputError, optional_package, printable
from softvec.embedding.core import Embedding


def to_dataframe(emb: Embedding, library: str = "pandas") -> Any:
    """Return a pandas frame indexed by name, or a polars frame with a first column ``name``."""
    if library == "pandas":
        pd = optional_package("pandas", "to_dataframe needs pandas: pip install 'softvec[frames]'")
        names = emb.names.to_list()
        index = pd.Index(names, name="name", tupleize_cols=False)
        return pd.DataFrame(np.array(emb.vectors), index=index)
    if library == "polars":
        pl = optional_package("polars", "to_dataframe needs polars: pip install 'softvec[frames]'")
        from softvec.embedding.files.word2vec import text_names

        arrays = emb.names.to_arrays()
        whole = "range" in arrays or "integers" in arrays
        column = emb.names.to_numpy() if whole else text_names(emb.names, spaces=True)
        columns = {str(j): np.ascontiguousarray(emb.vectors[:, j]) for j in range(emb.vectors.shape[1])}
        return pl.DataFrame({"name": column, **columns})
    raise InputError(f"library is {library!r}; expected 'pandas' or 'polars'")


def from_dataframe(frame: Any) -> Embedding:
    """Read a pandas or polars frame: floats are coordinates, the rest (or the index) names."""
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
    return Embedding(V, names, copy=False)


def to_gensim(emb: Embedding) -> Any:
    """Return a gensim ``KeyedVectors``; integers and strings stay keys, anything else becomes text."""
    gensim = optional_package("gensim.models", "to_gensim needs gensim: pip install 'softvec[gensim]'")
    from softvec.embedding.files.word2vec import text_names

    keys: list[Any] = emb.names.to_list()
    if not all(isinstance(key, str | int) for key in keys):
        keys = text_names(emb.names, spaces=True)
    vectors = gensim.KeyedVectors(emb.vectors.shape[1], dtype=np.float32)
    vectors.add_vectors(keys, np.array(emb.vectors))
    if emb.sizes is not None and (emb.sizes == np.floor(emb.sizes)).all():
        for key, size in zip(keys, emb.sizes):
            vectors.set_vecattr(key, "count", int(size))
    return vectors


def from_gensim(vectors: Any) -> Embedding:
    """Read a gensim ``KeyedVectors``, or the ``wv`` of a model."""
    vectors = getattr(vectors, "wv", vectors)
    if not hasattr(vectors, "index_to_key"):
        raise InputError(f"from_gensim takes KeyedVectors, not {type(vectors).__name__}")
    return Embedding(np.array(vectors.vectors, np.float32), vectors.index_to_key, copy=False)


def to_html(emb: Embedding, caption: str, rows: int = 5, columns: int = 6) -> str:
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
    return f"<div>{html.escape(caption)}</div>{note}<table>{''.join(lines)}</table>"

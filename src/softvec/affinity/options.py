"""Reader and builder options of :func:`softvec.embed` with their types, for completion in editors."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Kind = Literal["graph", "pairs", "bipartite", "temporal", "corpus", "features", "dense"]


class DataOptions(TypedDict, total=False):
    """Options of the builders of :mod:`softvec.affinity` and of the file readers."""

    # graphs, pairs, two-sided data
    directed: bool | None
    weighted: bool | None
    weight: Any
    weights: Any
    self_loops: Literal["drop", "keep"]
    duplicates: Literal["sum", "merge", "error"] | None
    isolated: Literal["keep", "drop"]
    negative: Literal["auto", "sign", "error", "drop", "abs"]
    signed: bool | None
    dangling: Literal["zero", "self", "error"]
    length: int
    names: Any
    column_names: Any
    columns: Any
    key: str | None
    # temporal contacts, text
    window: Any
    n_windows: int | None
    equal: Literal["time", "stamps"]
    self_weight: float
    min_count: int
    max_vocab: int | None
    weighting: str
    subsample: float | None
    context_subsample: float | None
    tokenizer: Any
    lowercase: bool
    # features, dense matrices
    n_neighbors: int | None
    metric: str
    mutual: bool
    method: str
    normalize: bool
    threshold: float | None
    top_k: int | None
    rank: int | None
    n_factors: int
    n_iter: int
    entries_per_row: int | None
    # files
    format: str
    delimiter: str
    header: bool
    comment: str | None
    encoding: str
    ids: Literal["auto", "integer", "string"]
    decimal: str
    missing: Literal["error", "drop"]
    min_weight: float | None
    variable: str
    pattern: str

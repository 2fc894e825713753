"""The contents of an embedding as named arrays, for formats that hold everything.

``vectors``, ``names/*`` (what ``Names.to_arrays`` returns), ``sizes``, ``context_vectors``,
``context_names/*`` and ``extras/*``; all but the first two only if the embedding has them. The provenance is
JSON beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softvec.core.errors import InputError
from softvec.embedding.checks import EXTRAS
from softvec.embedding.core import Embedding
from softvec.names import Names
from softvec.names.storage import DuplicateName
from softvec.read.arrays import stored_names


def arrays_of(emb: Embedding) -> dict[str, NDArray[Any]]:
    """Return all arrays of an embedding."""
    arrays: dict[str, NDArray[Any]] = {"vectors": emb.vectors}
    arrays |= {f"names/{key}": np.asarray(value) for key, value in emb.names.to_arrays().items()}
    if emb.sizes is not None:
        arrays["sizes"] = emb.sizes
    if emb.context_vectors is not None and emb.context_names is not None:
        arrays["context_vectors"] = emb.context_vectors
        names = emb.context_names.to_arrays()
        arrays |= {f"context_names/{key}": np.asarray(value) for key, value in names.items()}
    return arrays | {f"extras/{key}": value for key, value in emb.extras.items()}


def embedding_of(
    keys: Collection[str],
    load: Callable[[str], NDArray[Any]],
    provenance: Mapping[str, Any],
    name: str,
) -> Embedding:
    """Return the embedding of the arrays that a file holds, each read by ``load`` and checked."""
    vectors = load("vectors")
    context = load("context_vectors") if "context_vectors" in keys else None
    return checked_embedding(
        name,
        vectors,
        _names(keys, "names/", load, len(vectors), name),
        context_vectors=context,
        context_names=None if context is None else _names(keys, "context_names/", load, len(context), name),
        sizes=_plain(load("sizes"), "sizes", np.float64, name) if "sizes" in keys else None,
        provenance=provenance,
        extras={
            key: _plain(load(f"extras/{key}"), key, dtype, name)
            for key, (_, dtype) in EXTRAS.items()
            if f"extras/{key}" in keys
        },
    )


def checked_embedding(name: str, vectors: ArrayLike, names: Names, **contents: Any) -> Embedding:
    """Return an embedding of what a file holds; an error says that the file is damaged."""
    try:
        return Embedding(vectors, names, copy=False, **contents)
    except DuplicateName:
        raise
    except InputError as error:
        raise InputError(f"{name} is damaged: {error}") from error


def _plain(array: NDArray[Any], key: str, dtype: Any, name: str) -> NDArray[Any]:
    if array.dtype != np.dtype(dtype):
        raise InputError(f"{name} is damaged: its {key} are {array.dtype} of shape {array.shape}")
    return array


def _names(
    keys: Collection[str], prefix: str, load: Callable[[str], NDArray[Any]], n: int, name: str
) -> Names:
    stored = {key.removeprefix(prefix): load(key) for key in sorted(keys) if key.startswith(prefix)}
    names = stored_names(stored, name)
    if len(names) != n:
        raise InputError(f"{name} is damaged: {len(names):,} names for {n:,} vectors")
    return names

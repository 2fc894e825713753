"""Align an embedding with another one of the same items, or start a fit from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import recorded
from softvec.core.errors import InputError
from softvec.core.machine import machine
from softvec.core.scratch import empty
from softvec.core.threads import row_blocks
from softvec.embedding.relations import positions

if TYPE_CHECKING:
    from softvec.affinity import Affinity
    from softvec.embedding.core import Embedding

Array = NDArray[Any]
# Parameters that a continued fit keeps by default.
CONTINUED = (
    "beta", "constraint", "gradient", "n_clusters", "regularization", "normalizer", "base_measure",
    "shrinkage",
)  # fmt: skip


def align(emb: Embedding, other: Embedding) -> Embedding:
    """Return these vectors rotated onto another embedding of the same items.

    The rotation (with reflection) brings the vectors of the common names as close together as possible, by
    orthogonal Procrustes. Cosines between these vectors do not change; cosines with vectors of ``other``
    become meaningful.

    Examples
    --------
    >>> import numpy as np
    >>> from softvec import Embedding
    >>> old = Embedding(np.eye(2), ["ada", "bob"])
    >>> new = Embedding([[0, 1], [-1, 0], [0, -1]], ["ada", "bob", "cyd"])
    >>> new.align(old).vectors.round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]
    """
    if emb.n_components != other.n_components:
        raise InputError(
            f"vectors of {emb.n_components} dimensions cannot be aligned with vectors of {other.n_components}"
        )
    rotation = _rotation(emb, other)
    record = {"aligned_with": recorded(other, "data").get("summary", f"{len(other):,} vectors")}
    context = None if emb.context_vectors is None else _rotated(emb.context_vectors, rotation)
    return emb._with(
        vectors=_rotated(emb.vectors, rotation),
        extras={**emb.extras, **_maps(emb, rotation)},
        context_vectors=context,
        provenance={**emb.provenance, **record},
    )


def _maps(emb: Embedding, rotation: Array) -> dict[str, Array]:
    """Return the maps that adding items needs, between rotated vectors."""
    maps = {}
    if "neighbours_to_vector" in emb.extras:
        maps["neighbours_to_vector"] = rotation.T @ emb.extras["neighbours_to_vector"] @ rotation
    if "attributes_to_vector" in emb.extras:
        maps["attributes_to_vector"] = emb.extras["attributes_to_vector"] @ rotation
    return maps


def _rotation(emb: Embedding, other: Embedding) -> Array:
    """Return the orthogonal matrix that best maps the common names of ``emb`` to ``other``."""
    pairs = [(emb.vectors, emb.names, other.vectors, other.names)]
    if emb.context_vectors is not None and other.context_vectors is not None:
        pairs.append((emb.context_vectors, emb.context_names, other.context_vectors, other.context_names))  # type: ignore[arg-type]
    total, common = np.zeros((emb.n_components, emb.n_components)), 0
    with machine() as pool:
        for X, names, Z, others in pairs:
            at = positions(others, names)
            mine = np.flatnonzero(at >= 0)
            common += len(mine)
            if not len(mine):
                continue

            def product(
                lo: int, hi: int, X: Array = X, Z: Array = Z, mine: Array = mine, at: Array = at
            ) -> Array:
                rows = mine[lo:hi]
                return (X[rows].T @ Z[at[rows]]).astype(np.float64)

            total += pool.fold(product, row_blocks(len(mine), 8192), np.add)
        if not common:
            raise InputError(
                f"the two embeddings have no name in common (first: {emb.names[0]!r} and {other.names[0]!r})"
            )
        U, _, Vt = np.linalg.svd(total)
    return U @ Vt


def _rotated(X: Array, rotation: Array) -> Array:
    out, R = empty(X.shape, X.dtype), rotation.astype(X.dtype)
    with machine() as pool:
        pool.map(lambda lo, hi: np.matmul(X[lo:hi], R, out=out[lo:hi]), row_blocks(len(X), 8192))
    return out


def continued(emb: Embedding) -> dict[str, Any]:
    """Return the parameters of an embedding's fit that a continued fit keeps."""
    parameters = recorded(emb, "parameters")
    return {key: parameters[key] for key in CONTINUED if parameters.get(key) is not None}


def starting_vectors(emb: Embedding, affinity: Affinity, seed: int | None) -> Array | tuple[Array, Array]:
    """Return initial vectors for a fit of ``affinity``: old ones by name, means of neighbours for new items.

    New items without an old neighbour start at random.
    """
    X, known = _matched(emb.vectors * emb._scale[:, None], positions(emb.names, affinity.rows))
    if not known.any():
        raise InputError(
            f"init and the data have no name in common (first: {emb.names[0]!r} and {affinity.rows[0]!r})"
        )
    counts, rng = affinity.counts, np.random.default_rng(seed)
    if affinity.symmetric and not emb.two_sided:
        if counts is not None and not known.all():
            new = np.flatnonzero(~known)
            X[new] = counts[new].astype(np.float32) @ X
        return _filled(X, rng)
    if not emb.two_sided:
        raise InputError("init has one set of vectors, but the data has two sides; fit without init")
    Y, _ = _matched(
        emb.context.vectors * emb.context._scale[:, None], positions(emb.context.names, affinity.columns)
    )
    if counts is not None:
        new, fresh = np.flatnonzero(~known), np.flatnonzero(~Y.any(axis=1))
        X[new] = counts[new].astype(np.float32) @ Y
        Y[fresh] = counts[:, fresh].T.astype(np.float32) @ X
    return _filled(X, rng), _filled(Y, rng)


def _matched(X: Array, rows: Array) -> tuple[Array, Array]:
    """Return these rows of X, zeros for -1, and which rows are in X."""
    known = rows >= 0
    out = np.zeros((len(rows), X.shape[1]), np.float32)
    out[known] = X[rows[known]]
    return out, known


def _filled(X: Array, rng: np.random.Generator) -> Array:
    """Return unit rows; zero rows become random ones."""
    empty = np.flatnonzero(~X.any(axis=1))
    X[empty] = rng.standard_normal((len(empty), X.shape[1]))
    return X / np.linalg.norm(X, axis=1, keepdims=True)

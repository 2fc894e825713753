"""Align an embedding with another one of the same items, or start a fit from it."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import counted, recorded
from softvec.core.errors import InputError
from softvec.core.machine import machine
from softvec.core.scratch import empty
from softvec.core.threads import row_blocks
from softvec.embedding.relations import positions
from softvec.embedding.search import unit_rows
from softvec.names import Names

if TYPE_CHECKING:
    from softvec.affinity import Affinity
    from softvec.embedding.core import Embedding

Array = NDArray[Any]
_COMPARABLE = 0.8  # mean cosine after alignment; continued fits have more, fits with another seed about 0.5
# Parameters that a continued fit keeps by default.
CONTINUED = (
    "beta", "constraint", "gradient", "n_clusters", "regularization", "normalizer", "base_measure",
    "shrinkage",
)  # fmt: skip


def align(emb: Embedding, other: Embedding) -> Embedding:
    """Return these vectors rotated onto another embedding of the same items.

    The rotation (with reflection) brings the vectors of the common names as close together as possible, by
    orthogonal Procrustes. Cosines between these vectors do not change; cosines with vectors of ``other``
    become meaningful, as far as the two fits agree: ``provenance["alignment"]`` of the result holds the
    number of common names and the mean cosine between their vectors, and a low one raises a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from softvec import Embedding
    >>> old = Embedding(np.eye(2), ["ada", "bob"])
    >>> new = Embedding([[0, 1], [-1, 0], [0, -1]], ["ada", "bob", "cyd"])
    >>> new.align(old).vectors.round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]
    >>> new.align(old).provenance["alignment"]
    {'names': 2, 'cosine': 1.0}
    """
    turned = aligned(emb, other)
    agreement = turned.provenance.get("alignment", {"cosine": 1.0})
    if agreement["cosine"] < _COMPARABLE:
        warnings.warn(
            f"after alignment, {counted(agreement['names'], 'common name')} have a mean cosine of "
            f"{agreement['cosine']:.2f} with the other vectors: the two fits differ; to compare them, "
            "continue the earlier fit: softvec.embed(data, init=other)",
            stacklevel=2,
        )
    return turned


def aligned(emb: Embedding, other: Embedding) -> Embedding:
    """Return the vectors of :func:`align`, however well they agree."""
    if emb.n_components != other.n_components:
        raise InputError(
            f"vectors of {emb.n_components} dimensions cannot be aligned with vectors of {other.n_components}"
        )
    rotation = _rotation(emb, other)
    record = {"aligned_with": recorded(other, "data").get("summary", f"{len(other):,} vectors")}
    vectors = _rotated(emb.vectors, rotation)
    return emb._with(
        vectors=vectors,
        extras={**emb.extras, **_maps(emb, rotation)},
        context_vectors=None if emb.context_vectors is None else _rotated(emb.context_vectors, rotation),
        provenance={**emb.provenance, **record, **_agreement(vectors, emb.names, other)},
    )


def _maps(emb: Embedding, rotation: Array) -> dict[str, Array]:
    """Return the maps that adding items needs, between rotated vectors."""
    maps = {}
    if "neighbours_to_vector" in emb.extras:
        maps["neighbours_to_vector"] = rotation.T @ emb.extras["neighbours_to_vector"] @ rotation
    if "attributes_to_vector" in emb.extras:
        maps["attributes_to_vector"] = emb.extras["attributes_to_vector"] @ rotation
    return maps


def _agreement(X: Array, names: Names, other: Embedding) -> dict[str, dict[str, float]]:
    """Return the number of common names and the mean cosine of their two vectors; empty if there are none."""
    mine, theirs = _common(names, other.names)
    A, B = unit_rows(X[mine]), unit_rows(other.vectors[theirs])
    compared = np.flatnonzero(A.any(axis=1) & B.any(axis=1))  # a zero vector has no direction
    if not len(compared):
        return {}
    cosines = np.einsum("ij,ij->i", A[compared], B[compared])
    cosine = round(float(cosines.mean(dtype=np.float64)), 4)
    return {"alignment": {"names": len(compared), "cosine": cosine}}


def _rotation(emb: Embedding, other: Embedding) -> Array:
    """Return the orthogonal matrix that best maps the common names of ``emb`` to ``other``."""
    sides = [(emb, other)]
    if emb.two_sided and other.two_sided:
        sides.append((emb.context, other.context))
    total, n_common = np.zeros((emb.n_components, emb.n_components)), 0
    with machine() as pool:
        for ours, theirs in sides:
            rows = _common(ours.names, theirs.names)
            product = partial(_product, ours.vectors, theirs.vectors, *rows)
            n_common += len(rows[0])
            if len(rows[0]):
                total += pool.fold(product, row_blocks(len(rows[0]), 8192), np.add)
        if not n_common:
            raise InputError(
                f"the two embeddings have no name in common (first: {emb.names[0]!r} and {other.names[0]!r})"
            )
        if not np.isfinite(total).all():
            raise InputError("the vectors hold NaN, infinite values, or numbers too large to multiply")
        U, _, Vt = np.linalg.svd(total)
    return U @ Vt


def _common(names: Names, others: Names) -> tuple[Array, Array]:
    """Return the rows of the common names, in both."""
    at = positions(others, names)
    rows = np.flatnonzero(at >= 0)
    return rows, at[rows]


def _product(X: Array, Z: Array, i: Array, j: Array, lo: int, hi: int) -> Array:
    return (X[i[lo:hi]].T @ Z[j[lo:hi]]).astype(np.float64)


def _rotated(X: Array, rotation: Array) -> Array:
    out, R = empty(X.shape, X.dtype), rotation.astype(X.dtype)
    with machine() as pool:
        pool.map(lambda lo, hi: np.matmul(X[lo:hi], R, out=out[lo:hi]), row_blocks(len(X), 8192))
    return out


def continued(emb: Embedding) -> dict[str, float | str]:
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

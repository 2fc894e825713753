"""Add items to an embedding: each gets the vector that fits its edges best; the old vectors do not change."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softvec.core.checks import choice, counted, number, recorded
from softvec.core.errors import InputError, Option
from softvec.core.machine import machine
from softvec.embedding.attributes import from_attributes
from softvec.embedding.fields import listed
from softvec.embedding.relations import positions, refuse_signed, relations, two_kinds
from softvec.names import Names

if TYPE_CHECKING:
    from softvec.embedding.core import Embedding


Array = NDArray[Any]
# New names and their edges: columns 0..m-1 are the old items, those after them the new ones.
NewRows = tuple[Names, sparse.csr_array]


def add(
    emb: Embedding,
    data: Any = None,
    *,
    names: Any = None,
    isolated: str = "error",
    beta: float | None = None,
    n_jobs: int | None = None,
    attributes: Any = None,
    **options: Any,
) -> Embedding:
    """Return an embedding with new items; the old vectors do not change.

    Each new item gets the vector that fits its edges best with all others fixed, as in
    :meth:`softvec.EDRep.transform`, also for vectors from a file. Walks have one step.

    Parameters
    ----------
    data : mapping, graph, list of edges, frame, path, or matrix of shape (k, m)
        ``{"new": ["n3", "n7"]}``, or with weights ``{"new": {"n3": 2.0, "n7": 1.0}}``; or edges, as
        :func:`softvec.embed` takes them, whose names are new or in the embedding. In two-sided data the
        new items are rows: users, with known items.
    names : sequence, optional
        Names of the rows of a matrix, whose columns are the items of the embedding in their order.
    isolated : {"error", "drop"}
        New items not connected to an item of the embedding.
    beta : float, optional
        Inverse temperature, if the vectors do not record that of their fit.
    attributes : frame or mapping, optional
        Attributes of new items, if the embedding has attributes: their columns are matched by title. With
        attributes alone no edge is needed.
    options
        Passed to the reader, such as ``columns`` or ``weighted``: see :func:`softvec.embed`.

    Examples
    --------
    >>> import softvec
    >>> friends = [("ada", "bob"), ("bob", "cyd"), ("cyd", "ada"), ("cyd", "dan")]
    >>> emb = softvec.embed(friends, n_components=4, random_state=0)
    >>> emb.add({"eve": ["ada", "bob"]})
    Embedding(5 vectors of 4 dimensions: 'ada', 'bob', 'cyd', ...)
    """
    from softvec.fit.problem import length_of
    from softvec.fit.views import degree_coordinates

    choice("isolated", isolated, ("error", "drop"))
    described = None if attributes is None else from_attributes(emb, attributes)
    if data is None:
        if described is None:
            raise InputError("nothing to add; pass edges, attributes, or both")
        return _extended(emb, described[0], sparse.csr_array((len(described[0]), len(emb))), described[1])
    columns, solve = fitted_model(emb, beta, n_jobs)
    names, edges = _connected(_new_rows(emb, data, names, options), len(columns), isolated)
    X = _fold(_subsampled(emb, edges), columns, solve)
    fit = {} if "attributes" in emb.provenance else recorded(emb, "parameters")
    if fit.get("view") == "power":  # one more step
        directions = X[:, :-2] if "degree_scale" in fit else X
        directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-12)
    if fit.get("view", "fused") != "fused":
        X *= length_of(np.diff(edges.indptr), *_shrinkage(emb)).astype(X.dtype)[:, None]
    if "degree_scale" in fit:
        unit = recorded(emb, "data").get("mean_weight", 1.0)
        degree = np.asarray(edges.sum(axis=1)).reshape(-1) / unit
        X[:, -2:] = degree_coordinates(degree, fit["degree_scale"], np.asarray(emb.sizes) / unit)
    if described is not None:
        names, edges, X = _both(names, edges, X, *described)
    return _extended(emb, names, edges, X)


def _both(
    names: Names, edges: sparse.csr_array, X: Array, others: Names, suggested: Array
) -> tuple[Names, sparse.csr_array, Array]:
    """Return new items with edges, attributes or both; the vector of both is the mean."""
    at = positions(others, names)
    X[at >= 0] = (X[at >= 0] + suggested[at[at >= 0]]) / 2
    more = np.setdiff1d(np.arange(len(others)), at)
    no_edges = sparse.csr_array((len(more), edges.shape[1]))
    edges = sparse.csr_array(sparse.vstack([edges, no_edges], format="csr"))
    return names.append(others.take(more)), edges, np.concatenate([X, suggested[more]])


def fitted_model(
    emb: Embedding, beta: float | None, n_jobs: int | None
) -> tuple[Array, Callable[[sparse.csr_array, Array], Array]]:
    """Return the vectors that edges lead to, and a function that gives new rows theirs.

    It takes edges and the vectors of their columns: those of old items, and of new ones after them. The
    model is in the provenance and the extras: a softmax, or a linear map of the mean of the neighbours.
    """
    from softvec.fit.fold_in import Fixed, fold_in
    from softvec.fit.run import prepared

    refuse_signed(emb, "new items cannot be added to")
    fit = recorded(emb, "parameters")
    fused = fit.get("view") == "fused" or "attributes" in emb.provenance
    if fused or fit.get("view") == "power":
        linear = emb.extras.get("neighbours_to_vector") if fused else np.eye(emb.n_components)
        if linear is None:
            raise InputError("these vectors lack an array that new items need; embed again and save a .svec")
        to_vector = linear.astype(np.float32)
        return emb.vectors, lambda edges, Y: ((prepared(edges, True) @ Y) @ to_vector).astype(np.float32)
    beta = fit.get("beta") if beta is None else beta
    if beta is None:
        raise InputError("these vectors do not record the beta of their fit; pass ", Option("beta", ...))
    constraint, classes = str(fit.get("constraint", "sphere")), emb.extras.get("classes")
    columns: Array = emb._columns.vectors
    if constraint == "sphere":
        columns = columns * emb._columns._scale[:, None]
    if classes is None and fit.get("n_clusters", 1) != 1 and fit.get("normalizer") != "exact":
        raise InputError(
            f"the fit had n_clusters={fit['n_clusters']}, but its classes were not saved; save a .svec "
            "with extras=True"
        )
    beta = number("beta", beta, above=0)
    softmax = Fixed(columns, beta, constraint, classes, item_weights(emb), len(columns))

    def solve(edges: sparse.csr_array, Y: Array) -> Array:
        with machine(n_jobs) as pool:
            return fold_in(prepared(edges, True), replace(softmax, Y=Y), pool)

    return columns, solve


def item_weights(emb: Embedding) -> NDArray[np.float64] | None:
    """Return the base measure of the softmax: a weight for each column, None if all are equal."""
    power = recorded(emb, "parameters").get("base_measure", 0.0)
    if not power:
        return None
    if "weights" in emb.extras:
        return emb.extras["weights"]
    if emb.sizes is None or emb.two_sided:
        raise InputError(
            f"the fit had base_measure={power:g}, but its weights were not saved; save a .svec "
            "with extras=True"
        )
    from softvec.fit.problem import base_measure

    return base_measure(emb.sizes, power)


def _shrinkage(emb: Embedding) -> tuple[float, float]:
    shrinkage = float(recorded(emb, "parameters").get("shrinkage", 0.0))
    mean = recorded(emb, "data").get("mean_neighbours", 0.0)
    if shrinkage and not mean:
        raise InputError("these vectors do not record the neighbours of items; embed the data again")
    return shrinkage, float(mean)


def _subsampled(emb: Embedding, edges: sparse.csr_array) -> sparse.csr_array:
    """Downweight frequent words as context, as in the fit of a text."""
    rate = recorded(emb, "data", "options").get("subsample")
    if not rate or emb.sizes is None:
        return edges
    weight = np.ones(edges.shape[1])
    share = emb.sizes / emb.sizes.sum()
    weight[: len(share)] = np.minimum(1.0, np.sqrt(rate / np.maximum(share, 1e-300)))
    return sparse.csr_array(edges @ sparse.diags_array(weight))


def _new_rows(emb: Embedding, data: Any, names: Any, options: Mapping[str, Any]) -> NewRows:
    from softvec.affinity.matrices import canonical

    if isinstance(data, Mapping):
        if options or names is not None:
            raise InputError("a mapping of new names to their neighbours takes no further options")
        return _of_mapping(emb, data)
    if names is None:
        if sparse.issparse(data):
            raise InputError(f"a matrix of new rows needs their names; pass names= (shape {data.shape})")
        return _of_edges(emb, data, options)
    if not sparse.issparse(data) and not isinstance(data, np.ndarray):
        raise InputError("names apply to a matrix of new rows; this data has its own names")
    names, m = Names(names), len(emb._columns)
    if data.shape != (len(names), m):
        raise InputError(
            f"the new rows have shape {data.shape}; expected ({len(names)}, {m}): one row for each name and "
            "one column for each item of the embedding"
        )
    return names, canonical(data)


def _of_mapping(emb: Embedding, data: Mapping[Any, Any]) -> NewRows:
    """Read ``{new: [neighbour, ...]}`` or ``{new: {neighbour: weight}}``."""
    taken = emb.names.known(data)
    if taken:
        raise InputError(f"{taken[0]!r} is already in the embedding; softvec.embed(..., init=emb) updates it")
    new, columns, both = Names(list(data)), emb._columns.names, not two_kinds(emb)
    others: list[Any] = []
    weights: list[float] = []
    ends = []
    for neighbours in data.values():
        if isinstance(neighbours, Mapping):
            others += neighbours
            weights += (number("weight", weight, 0) for weight in neighbours.values())
        else:
            others += listed(neighbours)
            weights += [1.0] * (len(others) - len(weights))
        ends.append(len(others))
    rows, targets = np.repeat(np.arange(len(new)), np.diff(ends, prepend=0)), columns.places(others)
    for at in np.flatnonzero(targets < 0):
        own = both and others[at] in new
        targets[at] = len(columns) + new.index(others[at]) if own else columns.index(others[at])
    shape = (len(new), len(columns) + both * len(new))
    matrix = sparse.coo_array((np.array(weights), (rows, targets)), shape=shape).tocsr()
    if both:  # edges between new items count in both directions
        block = matrix[:, len(columns) :]
        matrix = sparse.hstack([matrix[:, : len(columns)], block.maximum(block.T)], format="csr")
    matrix.eliminate_zeros()
    return new, sparse.csr_array(matrix)


def _of_edges(emb: Embedding, data: Any, options: Mapping[str, Any]) -> NewRows:
    """Read edges between new and old items; edges between old items are ignored, with a warning."""
    affinity, columns = relations(emb, data, **options), emb._columns.names
    rows = positions(emb.names, affinity.rows)
    fresh = np.flatnonzero(rows < 0)
    if not len(fresh):
        raise InputError(
            f"no new items: all {len(rows):,} names are in the embedding; "
            "softvec.embed(graph, init=emb) continues the fit with new edges"
        )
    known = positions(columns, affinity.columns)
    place, width = known.copy(), len(columns)
    if affinity.symmetric:
        place[fresh] = width + np.arange(len(fresh))  # by rank among the new
        width += len(fresh)
    unknown = np.flatnonzero(place < 0)
    if len(unknown):
        first = affinity.columns[int(unknown[0])]
        shown = f"{counted(len(unknown), 'column')} of the data (first: {first!r})"
        warnings.warn(f"{shown} not in the embedding, left out", stacklevel=4)
    matrix = affinity.matrix
    old = matrix[np.flatnonzero(rows >= 0)]
    unused = int(np.isin(old.indices, np.flatnonzero(known >= 0)).sum())
    if unused:
        pairs = unused // 2 if affinity.symmetric and not affinity.directed else unused
        warnings.warn(
            f"{counted(pairs, 'edge')} between items of the embedding not used; to fit them too: "
            "softvec.embed(graph, init=emb)",
            stacklevel=4,
        )
    chosen = matrix[fresh].tocoo()
    keep = place[chosen.col] >= 0
    entries = (chosen.data[keep], (chosen.row[keep], place[chosen.col[keep]]))
    return affinity.rows.take(fresh), sparse.csr_array(entries, shape=(len(fresh), width))


def _connected(new: NewRows, m: int, isolated: str) -> NewRows:
    """Refuse or drop new items without a path to an old item."""
    names, edges = new
    reached = _rounds(edges, m) >= 0
    if reached.all():
        return new
    alone = np.flatnonzero(~reached)
    first = names[int(alone[0])]
    if not reached.any() and isolated == "drop":
        raise InputError(
            f"no new item has an edge to an item of the embedding (first: {first!r}); check that names are "
            "written as in the embedding"
        )
    if isolated == "error":
        raise InputError(
            f"{counted(len(alone), 'new item')} without an edge to an item of the embedding "
            f"(first: {first!r}); pass ",
            Option("isolated", "drop"),
            " to leave them out",
        )
    warnings.warn(f"{counted(len(alone), 'new item')} without edges dropped (first: {first!r})", stacklevel=3)
    kept = np.flatnonzero(reached)
    columns = np.concatenate([np.arange(m), m + kept]) if edges.shape[1] > m else np.arange(m)
    return names.take(kept), sparse.csr_array(edges[kept][:, columns])


def _rounds(edges: sparse.csr_array, m: int) -> NDArray[np.int64]:
    """Return the distance of each new item to the nearest old one, minus one; -1 if there is no path."""
    old, among = edges[:, :m], edges[:, m:]
    rounds = np.where(np.diff(sparse.csr_array(old).indptr) > 0, 0, -1)
    if not among.nnz:
        return rounds
    at = 0
    while (rounds == at).any() and (rounds < 0).any():
        near = (among @ (rounds == at).astype(np.float64)) > 0
        rounds[near & (rounds < 0)] = at + 1
        at += 1
    return rounds


def _fold(
    edges: sparse.csr_array, columns: Array, solve: Callable[[sparse.csr_array, Array], Array]
) -> Array:
    """Return unit vectors of new rows.

    Rows nearest to old items are solved first; edges between new items count once both ends have a vector.
    """
    m, (k, width) = len(columns), edges.shape
    if width == m or not edges[:, m:].nnz:
        return solve(sparse.csr_array(edges[:, :m]), columns)
    X = np.zeros((k, columns.shape[1]), np.float32)
    rounds = _rounds(edges, m)
    tied = np.diff(sparse.csr_array(edges[:, m:]).indptr) > 0
    for at in range(int(rounds.max()) + 2):
        last = at > rounds.max()
        rows = np.flatnonzero(tied if last else rounds == at)
        known = np.concatenate([np.ones(m, bool), np.ones(k, bool) if last else rounds < at])
        part = sparse.csr_array(edges[rows] @ sparse.diags_array(known.astype(edges.dtype)))
        part.eliminate_zeros()
        X[rows] = solve(part, np.concatenate([columns, X]))
    return X


def _extended(emb: Embedding, names: Names, edges: sparse.csr_array, X: Array) -> Embedding:
    sizes = emb.sizes
    if sizes is not None:
        sizes = np.concatenate([sizes, np.asarray(edges.sum(axis=1), np.float64).reshape(-1)])
    extras, unknown = dict(emb.extras), {"stable_neighbours": np.nan, "stable_groups": np.nan, "types": -1}
    for key in unknown.keys() & extras.keys():
        extras[key] = np.append(extras[key], np.full(len(X), unknown[key], extras[key].dtype))
    if "classes" in extras and not emb.two_sided:
        extras["classes"] = np.append(extras["classes"], _nearest_class(emb, X))
    past = emb.provenance.get("additions", [])
    record = {"items": len(X), "edges": int(edges.nnz)}
    return emb._with(
        vectors=np.concatenate([emb.vectors, X]),
        names=emb.names.append(names),
        sizes=sizes,
        provenance={**emb.provenance, "additions": [*past, record]},
        extras=extras,
    )


def _nearest_class(emb: Embedding, X: NDArray[np.float32]) -> NDArray[np.int32]:
    classes = emb.extras["classes"]
    k = int(classes.max()) + 1
    sums = sparse.csr_array((np.ones(len(classes)), (classes, np.arange(len(classes))))) @ emb.vectors
    means = sums / np.maximum(np.bincount(classes, minlength=k), 1)[:, None]
    half = 0.5 * np.einsum("ij,ij->i", means, means)
    return np.argmax(X @ means.T - half, axis=1).astype(np.int32)

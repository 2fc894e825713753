"""Embedding: immutable named vectors, with their provenance.

Most methods are functions of the other modules, which import what is costly when they are called.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from softvec.core.checks import Json, choice, plain_json
from softvec.core.errors import InputError
from softvec.embedding import add as additions
from softvec.embedding import align as alignment
from softvec.embedding import (
    attributes,
    exchange,
    fields,
    groups,
    persons,
    projection,
    relations,
    search,
)
from softvec.embedding import links as forecasts
from softvec.embedding import predict as prediction
from softvec.embedding import recommend as recommendations
from softvec.embedding import stability as repeats
from softvec.embedding.fields import checked_names
from softvec.embedding.files import formats
from softvec.names import Names


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Embedding:
    """Named vectors.

    Parameters
    ----------
    vectors : array of shape (n, d)
        Kept as read-only float32.
    names : Names or iterable of hashable, optional
        One unique name per row; by default 0..n-1.
    context_vectors, context_names : optional
        The second side: items if the rows are users, columns if P is not symmetric.
    sizes : array of shape (n,), optional
        Size of each item: a degree, a word count. Plots show the names of the largest items.
    provenance : mapping, optional
        How the vectors were made: parameters, data, version, history. Anything JSON can hold.
    extras : mapping of str to array, optional
        Arrays of the fit that some methods need: ``classes`` and ``weights`` of the columns for :meth:`add`,
        ``context_sizes`` of the columns, their popularity,
        ``stable_neighbours`` and ``stable_groups`` of the rows for :meth:`stability`, ``types`` of the rows.
    copy : bool
        With False an array is used without a copy; it must not be written to afterwards.

    Examples
    --------
    >>> import numpy as np
    >>> emb = Embedding(np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]), ["ada", "bob", "cyd"])
    >>> emb.most_similar("ada", n=1)
    [('bob', 0.800...)]
    >>> "eve" in emb, len(emb), round(emb.similarity("bob", "cyd"), 3)
    (False, 3, 0.6)
    """

    vectors: NDArray[np.float32]
    names: Names
    context_vectors: NDArray[np.float32] | None
    context_names: Names | None
    sizes: NDArray[np.float64] | None
    provenance: fields.Provenance
    extras: Mapping[str, NDArray[Any]]

    def __init__(
        self,
        vectors: ArrayLike,
        names: Names | Iterable[Hashable] | None = None,
        *,
        context_vectors: ArrayLike | None = None,
        context_names: Names | Iterable[Hashable] | None = None,
        sizes: ArrayLike | None = None,
        provenance: Mapping[str, Any] | None = None,
        extras: Mapping[str, ArrayLike] | None = None,
        copy: bool = True,
    ):
        if context_vectors is None and context_names is not None:
            raise InputError("context_names are given without context_vectors")
        X = fields.frozen_rows(vectors, "vectors", copy)
        Y = None if context_vectors is None else fields.frozen_rows(context_vectors, "context_vectors", copy)
        if Y is not None and Y.shape[1] != X.shape[1]:
            raise InputError(f"vectors have {X.shape[1]} dimensions and context_vectors {Y.shape[1]}")
        values = {
            "vectors": X,
            "names": checked_names(names, len(X), "names"),
            "context_vectors": Y,
            "context_names": None if Y is None else checked_names(context_names, len(Y), "context_names"),
            "sizes": None if sizes is None else fields.checked_sizes(sizes, len(X)),
            "provenance": fields.Provenance(plain_json(provenance or {})),
            "extras": fields.checked_extras(extras or {}, len(X), len(X if Y is None else Y), X.shape[1]),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    # rows

    @property
    def shape(self) -> tuple[int, int]:
        """Number of vectors and of dimensions."""
        return self.vectors.shape  # type: ignore[return-value]

    @property
    def n_components(self) -> int:
        """Number of dimensions."""
        return self.vectors.shape[1]

    @property
    def two_sided(self) -> bool:
        """Whether there are context vectors."""
        return self.context_vectors is not None

    @cached_property
    def context(self) -> Embedding:
        """The second side, as an embedding."""
        if self.context_vectors is None:
            raise InputError("this embedding has one side only, no context")
        return Embedding(
            self.context_vectors,
            self.context_names,
            sizes=self.extras.get("context_sizes"),
            provenance=self.provenance,
            copy=False,
        )

    def __len__(self) -> int:
        return len(self.vectors)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.names)

    def __contains__(self, name: Hashable) -> bool:
        return name in self.names

    def __getitem__(self, key: Any) -> NDArray[np.float32]:
        """Return the vector of a name, or the matrix of a list, array or pandas Index of names.

        A slice selects by position, as of an array: ``emb[:5]``; so does ``emb[rows, ...]``, which is how
        scikit-learn takes the rows of a fold.
        """
        if fields.is_many(key):
            return self.vectors[self._rows(key)]
        if fields.is_position(key):
            return self.vectors[key]
        return self.vectors[self._row(key)]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the vectors, of shape (n, d): ``np.asarray(emb)``."""
        if copy is False and dtype is not None and np.dtype(dtype) != np.float32:
            raise ValueError(f"the vectors are float32; as {np.dtype(dtype)} they need a copy")
        return np.array(self.vectors, dtype=dtype) if copy else np.asarray(self.vectors, dtype=dtype)

    def keys(self) -> Names:
        """Return the names, in order."""
        return self.names

    def values(self) -> NDArray[np.float32]:
        """Return the vectors, in the order of the names."""
        return self.vectors

    def items(self) -> Iterator[tuple[Any, NDArray[np.float32]]]:
        """Iterate over pairs of a name and its vector."""
        return zip(self.names, self.vectors)

    def get(self, name: Hashable, default: Any = None) -> Any:
        """Return the vector of a name, or ``default`` if there is none."""
        return self.vectors[self.names.index(name)] if name in self.names else default

    _row = fields.row
    _rows = fields.rows

    # neighbours

    similarity = search.similarity
    most_similar = search.most_similar
    most_similar_batch = search.most_similar_batch
    analogy = search.analogy
    nearest = search.nearest

    @cached_property
    def _scale(self) -> NDArray[np.float32]:
        return search.inverse_norms(self.vectors)

    def _side(self, among: str) -> Embedding:
        return self if choice("among", among, ("rows", "context")) == "rows" else self.context

    @property
    def _columns(self) -> Embedding:
        """The side that rows are related to: the context, else the rows themselves."""
        return self.context if self.two_sided else self

    links = forecasts.links
    calibrate = forecasts.calibrate
    recommend = recommendations.recommend

    # new items

    add = additions.add
    align = alignment.align
    attributes_of = attributes.attributes_of
    types = property(attributes.types)

    predict = prediction.predict
    person = persons.person

    # groups and plots
    stability = repeats.stability
    cluster = groups.cluster

    layout = projection.layout
    project = projection.project
    plot = projection.plot
    map = projection.map
    annotate = projection.annotate
    _edges = relations.edges

    # files and other libraries

    def _with(self, **changes: Any) -> Embedding:
        """Return a copy with some fields changed."""
        return Embedding(**self._fields() | changes, copy=False)

    def _fields(self) -> Json:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    save = formats.save
    load = classmethod(formats.load)
    to_dataframe = exchange.to_dataframe
    from_dataframe = classmethod(exchange.from_dataframe)
    to_gensim = exchange.to_gensim
    from_gensim = classmethod(exchange.from_gensim)
    _repr_html_ = exchange.to_html

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling."""
        return partial(Embedding, **self._fields() | {"extras": dict(self.extras)}, copy=False), ()

    def __repr__(self) -> str:
        n, d = self.shape
        second = f" + {len(self.context_names):,} context" if self.context_names is not None else ""
        first = ", ".join(repr(self.names[i]) for i in range(min(3, n)))
        more = ", ..." if n > 3 else ""
        return f"Embedding({n:,}{second} vectors of {d} dimensions: {first}{more})"

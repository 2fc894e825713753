"""Embedding: immutable named vectors, with their provenance.

Methods are functions of the other modules: assigned if their module is cheap to import, called from a wrapper
if it is imported on first use. Longer than 400 lines: one public class with the documentation of its methods.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from softvec.core.checks import choice, plain_json
from softvec.core.errors import InputError
from softvec.embedding import (
    access,
    attributes,
    exchange,
    groups,
    neighbours,
    persons,
    projection,
    relations,
    search,
    types,
)
from softvec.embedding import align as alignment
from softvec.embedding import predict as prediction
from softvec.embedding import stability as repeats
from softvec.embedding.checks import checked_extras, checked_names, checked_sizes, frozen_rows
from softvec.embedding.files import formats
from softvec.names import Names

if TYPE_CHECKING:
    from softvec.embedding.links import Link


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
    provenance: access.Provenance
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
        X = frozen_rows(vectors, "vectors", copy)
        Y = None if context_vectors is None else frozen_rows(context_vectors, "context_vectors", copy)
        if Y is not None and Y.shape[1] != X.shape[1]:
            raise InputError(f"vectors have {X.shape[1]} dimensions and context_vectors {Y.shape[1]}")
        values = {
            "vectors": X,
            "names": checked_names(names, len(X), "names"),
            "context_vectors": Y,
            "context_names": None if Y is None else checked_names(context_names, len(Y), "context_names"),
            "sizes": None if sizes is None else checked_sizes(sizes, len(X)),
            "provenance": access.Provenance(plain_json(provenance or {})),
            "extras": checked_extras(extras or {}, len(X), len(X if Y is None else Y), X.shape[1]),
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
        if access.is_many(key):
            return self.vectors[self._rows(key)]
        if access.is_position(key):
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

    _row = access.row
    _rows = access.rows

    # neighbours

    similarity = neighbours.similarity
    most_similar = neighbours.most_similar
    most_similar_batch = neighbours.most_similar_batch
    analogy = neighbours.analogy
    nearest = neighbours.nearest

    @cached_property
    def _scale(self) -> NDArray[np.float32]:
        return search.inverse_norms(self.vectors)

    def _side(self, among: str) -> Embedding:
        return self if choice("among", among, ("rows", "context")) == "rows" else self.context

    def links(
        self,
        n: int = 100,
        *,
        exclude: Any = None,
        item: Any = None,
        missing: float = 0.1,
        n_jobs: int | None = None,
        **options: Any,
    ) -> list[Link]:
        """Return the most likely missing links: overall, or of one item.

        Unless :meth:`calibrate` was called, the probabilities are calibrated first: links are hidden and the
        others fitted anew, which takes as long as the fit.

        Parameters
        ----------
        n : int
            Number of links.
        exclude : graph, edges, frame, sparse matrix or path
            The known links, usually the embedded data.
        item : hashable, optional
            Only links of this item.
        missing : float
            Share of all links that the data is assumed to lack. It scales the probabilities and does not
            change the order.
        options
            Passed to the reader of ``exclude``, such as ``columns``; and ``attributes``, if the vectors were
            fitted with any. Links are then told by the graph and attributes, or by the graph alone if that
            tells hidden links better.

        Returns
        -------
        list of Link
            ``a, b, probability, expected``: see :class:`softvec.embedding.links.Link`. All pairs are
            compared, in O(n ** 2) time; a zero vector, as of an isolated node, has no links.

        Examples
        --------
        >>> import networkx as nx, softvec
        >>> graph = nx.karate_club_graph()
        >>> emb = softvec.embed(graph, n_components=8, random_state=0)
        >>> best = emb.links(3, exclude=graph)
        >>> any(graph.has_edge(link.a, link.b) for link in best), 0 < best[0].probability < 1
        (False, True)
        """
        from softvec.embedding.links import links

        return links(self, n, item, exclude, missing, n_jobs, options)

    def recommend(
        self, users: Any = None, n: int = 10, *, known: Any = None, n_jobs: int | None = None, **options: Any
    ) -> dict[Any, list[tuple[Any, float]]]:
        """Return the best new items of users, with scores; the rows are users, the second side items.

        A user is the sum of the vectors of known items; ridge regression maps it to all items. How strong the
        ridge is, is chosen on hidden pairs, with vectors fitted to the others: that takes as long as the fit.

        Parameters
        ----------
        users : name or list of names, optional
            Users in ``known``, also those without a vector (default: all).
        n : int
            Number of items of each user.
        known : edges, frame, sparse matrix or path
            The known pairs, usually the embedded data, which are left out. A user without any gets the most
            popular items.
        options
            Passed to the reader of ``known``, such as ``columns``.

        Examples
        --------
        >>> import softvec
        >>> tea = [(f"t{i}", item) for i in range(9) for item in ("pot", "cup", "leaf")[: 2 + i % 2]]
        >>> ink = [(f"i{i}", item) for i in range(9) for item in ("pen", "nib", "pad")[: 2 + i % 2]]
        >>> emb = softvec.embed(tea + ink, 4, kind="bipartite", random_state=0)
        >>> [item for item, score in emb.recommend("t0", 1, known=tea + ink)["t0"]]
        ['leaf']
        """
        from softvec.embedding.recommend import recommend

        return recommend(self, users, n, known, n_jobs, options)

    def calibrate(self, data: Any, *, n_jobs: int | None = None, **options: Any) -> Embedding:
        """Return the same vectors with calibrated probabilities of links, for :meth:`links`.

        A twentieth of the links is hidden and the others are fitted with the same settings, up to five
        times in small data; links whose loss would cut the data in two are never hidden.
        ``provenance["softmax"]`` then holds the two parameters of the softmax and what they are worth on the
        hidden links: see :class:`softvec.fit.calibrate.Calibration`.

        Parameters
        ----------
        data : graph, edges, frame, sparse matrix or path
            The embedded data.
        options
            Passed to its reader, such as ``columns``.

        Examples
        --------
        >>> import networkx as nx, softvec
        >>> graph = nx.planted_partition_graph(4, 100, 0.15, 0.01, seed=0)
        >>> emb = softvec.embed(graph, n_components=16, random_state=0).calibrate(graph)
        >>> emb.provenance["softmax"]["nats_gained"] > 0.3
        True
        """
        from softvec.embedding.links import calibrated

        return calibrated(self, data, n_jobs, **options)

    # new items

    def add(
        self,
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
        from softvec.embedding.add import add

        return add(
            self, data, names=names, isolated=isolated, beta=beta, n_jobs=n_jobs, attributes=attributes,
            **options,
        )  # fmt: skip

    align = alignment.align
    attributes_of = attributes.attributes_of
    types = property(types.types)

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
        return Embedding(**{f.name: getattr(self, f.name) for f in fields(self)} | changes, copy=False)

    save = formats.save
    load = classmethod(formats.load)
    to_dataframe = exchange.to_dataframe
    from_dataframe = classmethod(exchange.from_dataframe)
    to_gensim = exchange.to_gensim
    from_gensim = classmethod(exchange.from_gensim)
    _repr_html_ = exchange.to_html

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling."""
        values = {f.name: getattr(self, f.name) for f in fields(self)} | {"extras": dict(self.extras)}
        return partial(Embedding, **values, copy=False), ()

    def __repr__(self) -> str:
        n, d = self.shape
        second = f" + {len(self.context_names):,} context" if self.context_names is not None else ""
        first = ", ".join(repr(self.names[i]) for i in range(min(3, n)))
        more = ", ..." if n > 3 else ""
        return f"Embedding({n:,}{second} vectors of {d} dimensions: {first}{more})"

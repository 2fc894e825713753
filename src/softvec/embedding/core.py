"""Embedding: vectors, their names, and where they come from; immutable.

Longer than 400 lines because it is one public class with the documentation of its methods; the work is
done in the other modules of the package.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softvec.core.checks import choice, integer, plain_json
from softvec.core.errors import InputError
from softvec.embedding import groups, projection, search
from softvec.embedding.checks import checked_names, checked_sizes, frozen_rows
from softvec.names import Labels

if TYPE_CHECKING:
    from softvec.embedding.files.formats import VectorTable

# An index costs about as much as 20,000 exact searches of the same vectors (usearch, 2 cores, d = 128:
# 140 us to add a vector against 8 ns to score one), whatever their number.
_INDEX_QUERIES = 20_000


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Embedding:
    """Named vectors.

    Parameters
    ----------
    vectors : array of shape (n, d)
        Kept as read-only float32.
    names : Labels or iterable of hashable, optional
        One unique name a row; by default 0..n-1.
    context_vectors, context_names : optional
        The second side: items where the rows are users, columns where P is not symmetric.
    sizes : array of shape (n,), optional
        How much stands behind each row: a degree, a word count. Pictures name the largest.
    provenance : mapping, optional
        How the vectors were made: parameters, data, version, history. Anything JSON can hold.
    copy : bool
        With False an array is taken over instead of copied; nobody may write to it afterwards.

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
    names: Labels
    context_vectors: NDArray[np.float32] | None
    context_names: Labels | None
    sizes: NDArray[np.float64] | None
    provenance: Mapping[str, Any]

    def __init__(
        self,
        vectors: ArrayLike,
        names: Labels | Iterable[Hashable] | None = None,
        *,
        context_vectors: ArrayLike | None = None,
        context_names: Labels | Iterable[Hashable] | None = None,
        sizes: ArrayLike | None = None,
        provenance: Mapping[str, Any] | None = None,
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
            "provenance": MappingProxyType(plain_json(provenance or {})),
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
        """The second side as an embedding of its own."""
        if self.context_vectors is None:
            raise InputError("this embedding has one side only; there is no context")
        return Embedding(self.context_vectors, self.context_names, provenance=self.provenance, copy=False)

    def __len__(self) -> int:
        return len(self.vectors)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.names)

    def __contains__(self, name: Hashable) -> bool:
        return name in self.names

    def __getitem__(self, key: Any) -> NDArray[np.float32]:
        """Return the vector of a name, or the matrix of a list of names."""
        if isinstance(key, list | np.ndarray | Labels):
            return self.vectors[self._rows(key)]
        return self.vectors[self._row(key)]

    def _row(self, name: Hashable) -> int:
        try:
            return self.names.index(name)
        except InputError as error:
            if self.context_names is not None and name in self.context_names:
                raise InputError(f"{name!r} is on the second side of this embedding; use .context") from error
            raise

    def _rows(self, names: Iterable[Hashable]) -> NDArray[np.int64]:
        return np.fromiter((self._row(name) for name in names), dtype=np.int64)

    # neighbours

    def similarity(self, a: Any, b: Any) -> Any:
        """Return the cosine between two names; lists of names give an array, pair by pair.

        Examples
        --------
        >>> emb = Embedding([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
        >>> emb.similarity("a", "b"), emb.similarity(["a", "a"], ["a", "b"])
        (0.0, array([1., 0.], dtype=float32))
        """
        many = isinstance(a, list), isinstance(b, list)
        if many == (False, False):
            i, j = self._row(a), self._row(b)
            dot = float(np.dot(self.vectors[i], self.vectors[j]))
            return dot * float(self._scale[i]) * float(self._scale[j])
        left = self._rows(a if many[0] else [a])
        right = self._rows(b if many[1] else [b])
        if many == (True, True) and len(left) != len(right):
            raise InputError(f"similarity of {len(left)} names and {len(right)} names; give as many of each")
        dots = np.einsum("ij,ij->i", *np.broadcast_arrays(self.vectors[left], self.vectors[right]))
        return dots * self._scale[left] * self._scale[right]

    def most_similar(
        self, positive: Any, negative: Any = None, n: int = 10, *, among: str = "rows"
    ) -> list[tuple[Hashable, float]]:
        """Return the names nearest to a name, or to a sum and difference of names.

        Parameters
        ----------
        positive, negative : hashable, or list of hashable
            Unit vectors of the names in ``positive`` are added, those in ``negative`` subtracted. None of
            them is among the answers.
        n : int
            How many names.
        among : {"rows", "context"}
            Where to search. With ``"context"`` the names come from the second side: the items that go
            with a user.

        Returns
        -------
        list of (name, cosine)
        """
        plus, minus = _as_list(positive), _as_list(negative)
        if not plus and not minus:
            raise InputError("most_similar needs at least one name")
        query = sum(self._unit(name) for name in plus) - sum(self._unit(name) for name in minus)
        skip = [] if among == "context" else [self._row(name) for name in (*plus, *minus)]
        return self._answers(np.atleast_2d(query), [skip], n, among)[0]

    def most_similar_batch(
        self, names: Iterable[Hashable], n: int = 10, *, among: str = "rows"
    ) -> list[list[tuple[Hashable, float]]]:
        """Return the nearest names of each of many names, without the name itself."""
        rows = self._rows(names)
        skips = [[] if among == "context" else [int(row)] for row in rows]
        return self._answers(self.vectors[rows], skips, n, among)

    def analogy(self, a: Any, b: Any, c: Any, n: int = 10) -> list[tuple[Hashable, float]]:
        """Return what is to ``c`` as ``b`` is to ``a``: the names nearest to b - a + c."""
        return self.most_similar([b, c], [a], n)

    def nearest(
        self, vectors: ArrayLike, n: int = 10, *, among: str = "rows", method: str = "auto"
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return row numbers and cosines of the nearest vectors to any vectors.

        Parameters
        ----------
        vectors : array of shape (d,) or (q, d)
        n : int
        among : {"rows", "context"}
        method : {"auto", "exact", "index"}
            ``exact`` compares with everything. ``index`` builds a usearch graph once (:attr:`index` states
            its recall). ``auto`` is exact, except for 20,000 queries or more against more than 200,000
            vectors, or where the index is built already; without usearch it is always exact.

        Returns
        -------
        rows, cosines : ndarrays of shape (q, n), or (n,) for a single vector
        """
        Q = np.asarray(vectors, dtype=np.float32)
        if Q.ndim not in (1, 2) or Q.shape[-1] != self.n_components:
            raise InputError(f"query has shape {Q.shape}; expected ({self.n_components},) or (q, same)")
        side = self._side(among)
        rows, cosines = side._nearest(np.atleast_2d(Q), integer("n", n), method)
        return (rows, cosines) if Q.ndim == 2 else (rows[0], cosines[0])

    def _nearest(self, Q: NDArray[Any], n: int, method: str) -> tuple[NDArray[Any], NDArray[Any]]:
        choice("method", method, ("auto", "exact", "index"))
        if not np.isfinite(Q).all():
            raise InputError("the query holds NaN or infinite values")
        if method == "index" or (method == "auto" and self._index_pays(len(Q))):
            return self.index.nearest(Q, n)
        return search.exact_nearest(Q, self.vectors, n, scale=self._scale)

    def _index_pays(self, queries: int) -> bool:
        from importlib.util import find_spec

        if len(self) <= search.INDEX_FROM:
            return False
        return "index" in self.__dict__ or (queries >= _INDEX_QUERIES and find_spec("usearch") is not None)

    @cached_property
    def index(self) -> search.Index:
        """A usearch index of the vectors, built when first asked for; ``index.recall`` is measured."""
        return search.build_index(self.vectors)

    @cached_property
    def _scale(self) -> NDArray[np.float32]:
        return search.inverse_norms(self.vectors)

    def _unit(self, name: Hashable) -> NDArray[np.float32]:
        row = self._row(name)
        return self.vectors[row] * self._scale[row]

    def _side(self, among: str) -> Embedding:
        choice("among", among, ("rows", "context"))
        return self if among == "rows" else self.context

    def _answers(
        self, Q: NDArray[np.float32], skips: Sequence[list[int]], n: int, among: str
    ) -> list[list[tuple[Hashable, float]]]:
        side = self._side(among)
        extra = max(map(len, skips), default=0)
        rows, cosines = side._nearest(Q, integer("n", n) + extra, "auto")
        answers = []
        for near, scores, skip in zip(rows.tolist(), cosines.tolist(), skips):
            kept = [(row, score) for row, score in zip(near, scores) if row not in skip][:n]
            answers.append([(side.names[row], score) for row, score in kept])
        return answers

    # groups and pictures

    def cluster(
        self,
        n_clusters: int | None = None,
        *,
        random_state: int | None = 0,
        max_clusters: int | None = None,
        verbose: bool = False,
    ) -> NDArray[np.int64]:
        """Group the vectors by their directions; the groups are numbered by falling size.

        Parameters
        ----------
        n_clusters : int, optional
            Number of groups, found by k-means on the unit sphere. By default the groups and their number are
            those of largest modularity in the softmax graph of the vectors
            (:func:`softvec.embedding.groups.find_groups`).
        random_state : int or None
            Seed.
        max_clusters : int, optional
            Most groups to find when ``n_clusters`` is not given (default: no limit).
        verbose : bool
            Show a progress bar.

        Returns
        -------
        ndarray of shape (n,)
            Group of each vector; -1 for a vector of zeros, which has no direction.
        """
        return groups.find_groups(
            self.vectors, n_clusters, max_groups=max_clusters, random_state=random_state, verbose=verbose
        )

    def project(
        self, method: str = "pca", n_components: int = 2, *, random_state: int | None = 0, **options: Any
    ) -> NDArray[np.float32]:
        """Return coordinates in few dimensions, for a picture.

        Parameters
        ----------
        method : {"pca", "tsne", "umap"}
            ``umap`` needs ``pip install 'softvec[umap]'``.
        options
            Passed on to scikit-learn's ``TSNE`` or umap-learn's ``UMAP``.
        """
        return projection.project(
            self.vectors, method, n_components, random_state=random_state, options=options
        )

    def plot(self, labels: Any = None, **options: Any) -> Any:
        """Draw a two-dimensional map; see :func:`softvec.plotting.plot_map`."""
        from softvec.plotting import plot_map

        return plot_map(self, labels, **options)

    # files and other libraries

    @property
    def _table(self) -> VectorTable:
        from softvec.embedding.files.formats import VectorTable

        return VectorTable(
            self.vectors,
            self.names,
            self.context_vectors,
            self.context_names,
            self.sizes,
            dict(self.provenance),
        )

    @classmethod
    def _from_table(cls, table: VectorTable) -> Embedding:
        return cls(
            table.vectors,
            table.names,
            context_vectors=table.context_vectors,
            context_names=table.context_names,
            sizes=table.sizes,
            provenance=table.provenance,
            copy=False,
        )

    def save(
        self, path: str | os.PathLike[str], format: str | None = None, *, side: str | None = None
    ) -> None:
        """Write a file, its format told by the extension; an interrupted save leaves the old file.

        ``.svec`` (own, keeps everything), ``.parquet``, ``.feather``, ``.txt``/``.vec``/``.bin`` (word2vec),
        ``.csv``, ``.tsv`` (TensorBoard projector), ``.npy``. See
        :func:`softvec.embedding.files.formats.write_vectors`.
        """
        from softvec.embedding.files.formats import write_vectors

        write_vectors(self._table, path, format, side=side)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], format: str | None = None, *, mmap: bool = False
    ) -> Embedding:
        """Read any of the formats of :meth:`save`; ``mmap`` leaves the vectors of a ``.svec`` on disk."""
        from softvec.embedding.files.formats import read_vectors

        return cls._from_table(read_vectors(path, format, mmap=mmap))

    def to_word2vec(self, path: str | os.PathLike[str], *, binary: bool | None = None) -> None:
        """Write word2vec's format, which gensim loads; binary if the name ends in ``.bin``."""
        if binary is None:
            binary = os.fspath(path).removesuffix(".gz").endswith(".bin")
        self.save(path, "word2vec-binary" if binary else "word2vec")

    def to_dataframe(self, library: str = "pandas") -> Any:
        """Return a pandas frame indexed by name, or a polars frame with a column ``name``."""
        from softvec.embedding.files import frames

        return frames.to_dataframe(self._table, library)

    @classmethod
    def from_dataframe(cls, frame: Any) -> Embedding:
        """Take the index (pandas) or the first column that is no float as names, the floats as vectors."""
        from softvec.embedding.files import frames

        return cls._from_table(frames.from_dataframe(frame))

    def to_gensim(self) -> Any:
        """Return a gensim ``KeyedVectors``."""
        from softvec.embedding.files import frames

        return frames.to_gensim(self._table)

    @classmethod
    def from_gensim(cls, vectors: Any) -> Embedding:
        """Take the vectors of a gensim ``KeyedVectors`` or of a model that has them as ``wv``."""
        from softvec.embedding.files import frames

        return cls._from_table(frames.from_gensim(vectors))

    def __reduce__(self) -> tuple[Any, ...]:
        """Let embeddings go to other processes; an index is not taken along."""
        return Embedding._from_table, (self._table,)

    # looks

    def __repr__(self) -> str:
        n, d = self.shape
        second = f" + {len(self.context_names):,} context" if self.context_names is not None else ""
        first = ", ".join(repr(self.names[i]) for i in range(min(3, n)))
        more = ", ..." if n > 3 else ""
        recall = f", index recall {self.index.recall:.3f}" if "index" in self.__dict__ else ""
        return f"Embedding({n:,}{second} vectors of {d} dimensions: {first}{more}{recall})"

    def _repr_html_(self) -> str:
        from softvec.embedding.files import frames

        return frames.to_html(self._table, repr(self))


def _as_list(names: Any) -> list[Any]:
    if names is None:
        return []
    return list(names) if isinstance(names, list | np.ndarray | set | frozenset) else [names]

"""Read a folder of vectors part by part, to search or convert it without all vectors in memory.

The names are in memory; vectors are read from disk by row group, when they are needed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import choice
from softvec.core.errors import InputError
from softvec.core.memory import available_memory
from softvec.embedding import access, neighbours, search
from softvec.embedding.core import Embedding
from softvec.embedding.files.arrow import SIZE, decoded, matrices
from softvec.embedding.files.common import require_finite
from softvec.embedding.files.content import checked_embedding
from softvec.embedding.files.folder import Folder, open_folder
from softvec.names import Names
from softvec.read.arrays import stored_names

_BLOCK = 8 * search.ROWS  # whole blocks of the exact search, one for each of its shares
_IN_MEMORY = 256 << 20  # bytes of vectors up to which no temporary file is made


class StoredVectors:
    """The vectors of one side of a folder, of shape (n, d); slices and numbered rows are read from disk.

    The last row group is cached, so that slices in order read each group once.
    """

    dtype = np.dtype(np.float32)

    def __init__(self, folder: Folder, side: str):
        self._folder = folder
        self._parts = [part for part in folder.parts if part.side == side]
        self._starts = np.cumsum([0, *(part.rows for part in self._parts)])
        self._group = (0, np.empty((0, folder.dimensions), np.float32))  # first row, vectors
        self.shape = (int(self._starts[-1]), folder.dimensions)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        raise TypeError("the vectors of a folder are too many for one array; read them in slices")

    def __getitem__(self, key: slice | Any) -> NDArray[np.float32]:
        if not isinstance(key, slice):
            return self._take(np.asarray(key, np.int64))
        lo, hi, step = key.indices(len(self))
        if step != 1:
            raise IndexError(f"a slice with step {step}; rows of a folder are read in order")
        out = np.empty((max(0, hi - lo), self.shape[1]), np.float32)
        at = lo
        while at < hi:
            first, V = self._group_of(at)
            part = V[at - first : hi - first]
            out[at - lo : at - lo + len(part)] = part
            at += len(part)
        return out

    def _take(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        order = np.argsort(rows, kind="stable")
        ascending = rows[order]
        if len(rows) and not 0 <= ascending[0] <= ascending[-1] < len(self):
            raise IndexError(f"rows {ascending[0]} to {ascending[-1]} of {len(self):,}")
        out = np.empty((len(rows), self.shape[1]), np.float32)
        i = 0
        while i < len(rows):
            first, V = self._group_of(int(ascending[i]))
            j = int(np.searchsorted(ascending, first + len(V)))
            out[order[i:j]] = V[ascending[i:j] - first]
            i = j
        return out

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        """Yield all vectors in order."""
        for lo in range(0, len(self), _BLOCK):
            yield self[lo : lo + _BLOCK]

    def _group_of(self, row: int) -> tuple[int, NDArray[np.float32]]:
        """Return the row group that holds a row, and the number of its first row."""
        first, V = self._group
        if not first <= row < first + len(V):
            at = int(np.searchsorted(self._starts, row, side="right")) - 1
            self._group = self._read(at, row - int(self._starts[at]))
        return self._group

    def _read(self, at: int, row: int) -> tuple[int, NDArray[np.float32]]:
        part, begin = self._parts[at], int(self._starts[at])
        path = self._folder.path / part.file
        with self._folder.opened(part) as file:
            sizes = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
            starts = np.cumsum([0, *sizes])
            group = int(np.searchsorted(starts, row, side="right")) - 1
            table = file.read_row_group(group, columns=["vector"])
            table.validate(full=True)
        chunks = table.column("vector").chunks
        first = int(starts[group])
        if any(chunk.null_count or chunk.flatten().null_count for chunk in chunks):
            raise InputError(f"{path} is damaged: numbers are missing after row {first:,}")
        flat = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in chunks]
        V = (flat[0] if len(flat) == 1 else np.concatenate(flat)).reshape(-1, self.shape[1])
        if len(V) != sizes[group]:
            raise InputError(f"{path} is damaged: {len(V):,} vectors in a row group of {sizes[group]:,}")
        require_finite(V, str(path), first=first)
        return begin + first, V


@dataclass(frozen=True, eq=False)
class StoredEmbedding:
    """An embedding whose vectors stay on disk; it can be searched and written to other formats."""

    vectors: StoredVectors
    names: Names
    context_vectors: StoredVectors | None
    context_names: Names | None
    sizes: NDArray[np.float64] | None
    provenance: Mapping[str, Any]
    extras: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def n_components(self) -> int:
        """Number of dimensions."""
        return self.vectors.shape[1]

    @property
    def two_sided(self) -> bool:
        """Whether there are context vectors."""
        return self.context_vectors is not None

    @property
    def context(self) -> StoredEmbedding:
        """The second side as an embedding of its own."""
        if self.context_vectors is None or self.context_names is None:
            raise InputError("this embedding has one side only, no context")
        return StoredEmbedding(
            self.context_vectors, self.context_names, None, None, None, self.provenance, {}
        )

    _row = access.row
    _rows = access.rows
    most_similar = neighbours.most_similar
    most_similar_batch = neighbours.most_similar_batch

    def _with(self, **changes: Any) -> StoredEmbedding:
        return replace(self, **changes)

    def _side(self, among: str) -> StoredEmbedding:
        return self if choice("among", among, ("rows", "context")) == "rows" else self.context

    def _nearest(
        self, Q: NDArray[Any], n: int, method: str, by_length: bool = False
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        rows, scores = search.nearest_in_blocks(Q, self.vectors.blocks(), n, by_length=by_length)
        if not by_length:
            return rows, scores
        found, at = np.unique(rows, return_inverse=True)
        return rows, scores * search.inverse_norms(self.vectors[found])[at].reshape(rows.shape)


def open_stored(path: str | os.PathLike[str]) -> StoredEmbedding:
    """Open a folder: check the digests and read the names; vectors are read when needed."""
    folder = open_folder(path)
    folder.check_digests()
    names, columns = _columns(folder, "rows")
    context = context_names = None
    if any(part.side == "context" for part in folder.parts):
        context = StoredVectors(folder, "context")
        context_names, more = _columns(folder, "context")
        columns |= more
    sizes = columns.pop(SIZE, None)
    extras = columns | matrices(folder.described, str(path))
    provenance = folder.described["provenance"]
    return StoredEmbedding(
        StoredVectors(folder, "rows"), names, context, context_names, sizes, provenance, extras
    )


def read(path: str | os.PathLike[str], *, mmap: bool = False) -> Embedding:
    """Read a folder, one row group at a time.

    ``mmap`` copies vectors that would fill much of the memory to a temporary file and maps that: parquet
    pages have headers and levels in between, and cannot be mapped as an array.
    """
    stored = open_stored(path)
    context = stored.context_vectors
    return checked_embedding(
        str(path), _whole(stored.vectors, mmap), stored.names,
        context_vectors=None if context is None else _whole(context, mmap),
        context_names=stored.context_names, sizes=stored.sizes, provenance=stored.provenance,
        extras=stored.extras,
    )  # fmt: skip


def peek(path: str | os.PathLike[str], rows: int = 5) -> tuple[Folder, Embedding]:
    """Return the manifest and the first vectors; nothing else is read, and digests are not checked."""
    folder = open_folder(path)
    V = StoredVectors(folder, "rows")[:rows]
    columns: list[Any] = []
    for batch in _batches(folder, "rows") if len(V) else ():
        columns.append(batch.column("name").slice(0, len(V) - sum(map(len, columns))))
        if sum(map(len, columns)) == len(V):
            break
    return folder, Embedding(V, _joined(columns, folder), provenance=folder.described["provenance"])


def _batches(folder: Folder, side: str) -> Iterator[Any]:
    """Yield the columns of a side, without the vectors."""
    for part in folder.parts:
        if part.side == side:
            with folder.opened(part) as file:
                columns = [name for name in file.schema_arrow.names if name != "vector"]
                for batch in file.iter_batches(_BLOCK, columns=columns):
                    batch.validate(full=True)
                    if batch.column("name").null_count:
                        raise InputError(f"{folder.path / part.file} is damaged: names are missing")
                    yield batch


def _columns(folder: Folder, side: str) -> tuple[Names, dict[str, NDArray[Any]]]:
    """Return the names of a side, and its columns of one number for each row."""
    names: list[Any] = []
    columns: dict[str, list[NDArray[Any]]] = {}
    for batch in _batches(folder, side):
        names.append(batch.column("name"))
        for key in batch.schema.names:
            if key != "name":
                columns.setdefault(key, []).append(batch.column(key).to_numpy(zero_copy_only=False))
    joined = {key: np.concatenate(arrays) for key, arrays in columns.items()}
    n, sizes = folder.rows(side), joined.get(SIZE)
    if sizes is not None and (len(sizes) != n or not np.all((sizes >= 0) & np.isfinite(sizes))):
        raise InputError(f"{folder.path} is damaged: expected a size of 0 or more for each of {n:,} vectors")
    for key, array in joined.items():
        if len(array) != n or array.dtype.kind == "O":
            raise InputError(f"{folder.path} is damaged: expected one number of {key} for each vector")
    return _joined(names, folder), joined


def _whole(rows: StoredVectors, mmap: bool) -> NDArray[np.float32]:
    V = _allocate(*rows.shape, mmap)
    done = 0
    for block in rows.blocks():
        V[done : done + len(block)] = block
        done += len(block)
    return V


def _allocate(n: int, d: int, mmap: bool) -> NDArray[np.float32]:
    """Return an empty array: in memory, or in a mapped file if it would fill much of the free memory."""
    free = available_memory()
    size = 4 * n * d
    if not mmap or size <= max(_IN_MEMORY, (free or 0) // 4):
        return np.empty((n, d), np.float32)
    with tempfile.TemporaryFile() as file:
        try:
            _reserve(file.fileno(), size)
            return np.memmap(file, np.float32, mode="r+", shape=(n, d))
        except OSError as error:
            raise InputError(
                f"no room for {size:,} bytes in {tempfile.gettempdir()}: {error.strerror or error}; set "
                "TMPDIR to a larger disk"
            ) from error


def _reserve(file: int, size: int) -> None:
    """Set the size of a file, and reserve the disk space if the system supports that."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:
        os.truncate(file, size)


def _joined(columns: list[Any], folder: Folder) -> Names:
    """Return all names, checked to be unique."""
    import pyarrow as pa

    if not columns:
        return Names.range(0)
    if folder.names == "json":
        texts = (text for column in columns for text in column.to_pylist())
        return decoded(texts, str(folder.path))
    if folder.names == "integer":
        stored = {"integers": np.concatenate([c.to_numpy(zero_copy_only=False) for c in columns])}
    else:
        array = pa.concat_arrays([column.cast(pa.large_string()) for column in columns])
        offsets = np.frombuffer(array.buffers()[1], np.int64, len(array) + 1)
        data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
        stored = {"utf8": data[: offsets[-1]], "offsets": offsets}
    return stored_names(stored, str(folder.path))

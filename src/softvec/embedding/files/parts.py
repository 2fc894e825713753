"""Read a folder of vectors part by part, to search or convert it without all vectors in memory.

The names are in memory; vectors are read from disk by row group, when they are needed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.core.memory import available_memory
from softvec.core.threads import row_blocks
from softvec.embedding import search
from softvec.embedding.checks import OnDisk
from softvec.embedding.core import Embedding
from softvec.embedding.files.arrow import SIZE, matrix_of, names_of
from softvec.embedding.files.common import require_finite
from softvec.embedding.files.content import checked_embedding
from softvec.embedding.files.folder import Folder, open_folder
from softvec.names import Names

_IN_MEMORY = 256 << 20  # bytes of vectors up to which no temporary file is made


class StoredVectors(OnDisk):
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

    def __getitem__(self, key: slice | Any) -> NDArray[np.float32]:
        if not isinstance(key, slice):
            rows = np.asarray(key, np.int64)
            return self._take(rows.reshape(-1)).reshape(*rows.shape, self.shape[1])
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
        V, first = matrix_of(table.column("vector"), str(path)), int(starts[group])
        if len(V) != sizes[group]:
            raise InputError(f"{path} is damaged: {len(V):,} vectors in a row group of {sizes[group]:,}")
        require_finite(V, str(path), first=first)
        return begin + first, V


def open_stored(path: str | os.PathLike[str]) -> Embedding:
    """Open a folder: check the digests and read the names; vectors are read when needed.

    The embedding can be searched and written to other formats, as these take some rows at a time.
    """
    folder = open_folder(path)
    folder.check_digests()
    names, columns = _columns(folder, "rows")
    context = context_names = None
    if any(part.side == "context" for part in folder.parts):
        context = StoredVectors(folder, "context")
        context_names, more = _columns(folder, "context")
        columns |= more
    return checked_embedding(
        str(path), StoredVectors(folder, "rows"), names, context_vectors=context, context_names=context_names,
        sizes=columns.pop(SIZE, None), provenance=folder.provenance, extras=columns | dict(folder.matrices),
    )  # fmt: skip


def read(path: str | os.PathLike[str], *, mmap: bool = False) -> Embedding:
    """Read a folder, one row group at a time.

    ``mmap`` copies vectors that would fill much of the memory to a temporary file and maps that: parquet
    pages have headers and levels in between, and cannot be mapped as an array.
    """
    emb = open_stored(path)
    vectors, context = _whole(emb.vectors, mmap), emb.context_vectors
    return emb._with(vectors=vectors, context_vectors=None if context is None else _whole(context, mmap))


def peek(path: str | os.PathLike[str], rows: int = 5) -> tuple[Folder, Embedding]:
    """Return the manifest and the first vectors; nothing else is read, and digests are not checked."""
    folder = open_folder(path)
    V = StoredVectors(folder, "rows")[:rows]
    columns: list[Any] = []
    for batch in _batches(folder, "rows") if len(V) else ():
        columns.append(batch.column("name").slice(0, len(V) - sum(map(len, columns))))
        if sum(map(len, columns)) == len(V):
            break
    return folder, Embedding(V, names_of(columns, folder.names, str(path)), provenance=folder.provenance)


def _batches(folder: Folder, side: str) -> Iterator[Any]:
    """Yield the columns of a side, without the vectors."""
    for part in folder.parts:
        if part.side == side:
            with folder.opened(part) as file:
                columns = [name for name in file.schema_arrow.names if name != "vector"]
                for batch in file.iter_batches(search.BLOCK, columns=columns):
                    batch.validate(full=True)
                    if any(column.null_count for column in batch.columns):
                        raise InputError(f"{folder.path / part.file} is damaged: a name or number is missing")
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
    return names_of(names, folder.names, str(folder.path)), joined


def _whole(rows: Any, mmap: bool) -> NDArray[np.float32]:
    V = _allocate(len(rows), rows.shape[1], mmap)
    for lo, hi in row_blocks(len(rows), search.BLOCK):
        V[lo:hi] = rows[lo:hi]
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

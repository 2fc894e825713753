"""Read a folder of vectors part by part, to search or convert it without all vectors in memory.

The names are in memory; vectors are read from disk by row group, when they are needed.
"""

from __future__ import annotations

import os
import tempfile
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.core.resources import available_memory
from softvec.core.scratch import empty, free_space, large_arrays_in
from softvec.core.threads import row_blocks
from softvec.embedding import search
from softvec.embedding.core import Embedding
from softvec.embedding.fields import OnDisk
from softvec.embedding.files.arrow import embedding_of, matrix_of
from softvec.embedding.files.common import require_finite
from softvec.embedding.files.folder import Folder, open_folder

_IN_MEMORY = 256 << 20  # bytes of vectors up to which no temporary file is made


class StoredVectors(OnDisk):
    """The vectors of one side of a folder, of shape (n, d); slices and numbered rows are read from disk.

    The last row group is cached, so that slices in order read each group once.
    """

    dtype = np.dtype(np.float32)

    def __init__(self, folder: Folder, side: str):
        self._folder = folder
        self._parts = folder.side(side)
        self._starts = np.cumsum([0, *(part.rows for part in self._parts)])
        self._group = (0, np.empty((0, folder.dimensions), np.float32))  # first row, vectors
        self.shape = (int(self._starts[-1]), folder.dimensions)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: slice | Any) -> NDArray[np.float32]:
        given = np.arange(*key.indices(len(self))) if isinstance(key, slice) else np.asarray(key, np.int64)
        rows = given.reshape(-1)
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
        return out.reshape(*given.shape, self.shape[1])

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
    sides = [side for side in ("rows", "context") if folder.side(side)]
    vectors = [StoredVectors(folder, side) for side in sides]
    return embedding_of(str(path), folder.head, vectors, [_columns(folder, side) for side in sides])


def read(path: str | os.PathLike[str], *, mmap: bool = False) -> Embedding:
    """Read a folder, one row group at a time.

    ``mmap`` copies vectors that would fill much of the memory to a temporary file and maps that: parquet
    pages have headers and levels in between, and cannot be mapped as an array.
    """
    emb = open_stored(path)
    context = None if emb.context_vectors is None else _whole(emb.context_vectors, mmap)
    return emb._with(vectors=_whole(emb.vectors, mmap), context_vectors=context)


def peek(path: str | os.PathLike[str], rows: int = 5) -> tuple[Folder, Embedding]:
    """Return the manifest and the first vectors; nothing else is read, and digests are not checked."""
    import pyarrow as pa

    folder, name, columns = open_folder(path), str(path), ["name", "vector"]
    with folder.opened(folder.side("rows")[0]) as file:
        schema = pa.schema([file.schema_arrow.field(column) for column in columns])
        table = pa.Table.from_batches(islice(file.iter_batches(rows, columns=columns), 1), schema)
        table.validate(full=True)
    first = {"names": folder.head["names"], "provenance": folder.head["provenance"]}
    return folder, embedding_of(name, first, [matrix_of(table.column("vector"), name)], [table])


def _columns(folder: Folder, side: str) -> Any:
    """Return the columns of a side, without the vectors."""
    import pyarrow as pa

    tables = []
    for part in folder.side(side):
        with folder.opened(part) as file:
            columns = [name for name in file.schema_arrow.names if name != "vector"]
            tables.append(file.read(columns=columns))
            tables[-1].validate(full=True)
    return pa.concat_tables(tables)


def _whole(rows: Any, mmap: bool) -> NDArray[np.float32]:
    """Read all rows into memory, or into a mapped file if they would fill much of the free memory."""
    size = 4 * rows.shape[0] * rows.shape[1]
    spilled = mmap and size > max(_IN_MEMORY, (available_memory() or 0) // 4)
    folder = tempfile.gettempdir()
    if spilled and size > free_space(folder):
        raise InputError(f"no room for {size:,} bytes in {folder}; set TMPDIR to a larger disk")
    with large_arrays_in(folder if spilled else None):
        V = empty(rows.shape, np.float32)
    for lo, hi in row_blocks(len(rows), search.BLOCK):
        V[lo:hi] = rows[lo:hi]
    return V

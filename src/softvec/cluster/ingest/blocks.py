"""Read the pieces of files of one worker, block by block, with the readers of a single process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.cluster.ingest.files import EdgeFile, Piece
from softvec.core.errors import InputError, Option
from softvec.core.threads import Workers
from softvec.names.coding import Tokens
from softvec.read import edgelist, tables
from softvec.read.edges import EdgeBuilder
from softvec.read.ranges import lines_before, text_range
from softvec.read.streams import text_blocks

Array = NDArray[Any]


class QuotedFile(Exception):
    """A file that was cut at line ends has a quoted field: it has to be read again as a whole."""

    def __init__(self, file: int) -> None:
        super().__init__(file)
        self.file = file


@dataclass(frozen=True)
class Block:
    """Some edges of a piece: names of one or two sides, and weights."""

    piece: int  # its number among all pieces
    row: int  # edges of the piece before these
    sides: Sequence[Any]  # integers of shape (edges, columns), or Tokens
    weights: Array | None

    def __len__(self) -> int:
        side = self.sides[0]
        return len(side.starts if isinstance(side, Tokens) else side)


@dataclass
class BlockBuilder(EdgeBuilder):
    """Collects blocks of edges from a reader, without numbering their names."""

    taken: list[tuple[Sequence[Any], Array | None]] = field(default_factory=list)

    def blocks_of(self, side: int) -> type | None:
        """Return the type of a block of text: always tokens."""
        return Tokens

    def add(self, sides: Sequence[Any], weights: Array | None = None, times: Array | None = None) -> None:
        """Add a block."""
        sides, weights, _ = self.kept(sides, weights, None)
        self.taken.append((sides, weights))


class Reader:
    """Reads the pieces of one worker.

    Attributes
    ----------
    integers : bool
        Whether ids in text are parsed as integers: until any worker meets one that is not.
    """

    def __init__(self, files: Sequence[EdgeFile], pieces: Sequence[Piece], pool: Workers):
        self.files, self.pieces, self._pool = files, pieces, pool
        options = files[0].opened.options
        self.integers = options.ids != "string"
        self.builder = BlockBuilder(options.two_sided, options.negative)
        self.rows = np.zeros(len(files), np.int64)  # edges of each file

    def read(self, own: Sequence[int]) -> Iterator[Block]:
        """Yield the blocks of these pieces, by number."""
        for number in own:
            piece = self.pieces[number]
            row = 0
            for _ in self._with_places(piece):
                for sides, weights in self.builder.taken:
                    _refuse_objects(sides, self.files[piece.file].name)
                    block = Block(number, row, sides, weights)
                    row += len(block)
                    self.rows[piece.file] += len(block)
                    yield block
                self.builder.taken.clear()

    def _with_places(self, piece: Piece) -> Iterator[None]:
        """Read a piece; its errors have line and row numbers from the start of the file."""
        file = self.files[piece.file]
        read: Callable[[int], Iterator[None]]
        if file.table is None:
            read, before = lambda first: self._arrow(piece, first), self._rows_before
        elif file.by_arrow or (piece.stop < 0 and file.cuts):  # the latter has quoted fields
            read, before = lambda first: self._csv(piece), None
        else:
            read, before = lambda first: self._text(piece, first), self._lines_before
        try:
            yield from read(piece.first_row)
        except InputError:
            if before is None or piece.start == 0 or piece.first_row:
                raise
            self.builder.taken.clear()
            for _ in read(before(piece)):
                self.builder.taken.clear()
            raise

    def _lines_before(self, piece: Piece) -> int:
        return lines_before(self.files[piece.file].opened.source, piece.start)

    def _rows_before(self, piece: Piece) -> int:
        opened = self.files[piece.file].opened
        batches = tables.arrow_batches(opened.source, opened.format, range(piece.start))[1]
        return sum(map(len, batches))

    def _arrow(self, piece: Piece, first_row: int) -> Iterator[None]:
        file = self.files[piece.file]
        parts = None if piece.stop < 0 else range(piece.start, piece.stop)
        return tables.add_arrow(self.builder, file.opened, file.layout, parts, first_row)

    def _csv(self, piece: Piece) -> Iterator[None]:
        file = self.files[piece.file]
        assert file.table is not None
        return tables.add_csv(self.builder, file.opened.source, file.table, file.opened.options)

    def _text(self, piece: Piece, lines: int) -> Iterator[None]:
        file = self.files[piece.file]
        table, source, options = file.table, file.opened.source, file.opened.options
        assert table is not None
        blocks = (
            text_blocks(source, encoding=options.encoding)
            if piece.stop < 0
            else text_range(source, piece.start, piece.stop, line=lines + 1)
        )
        if table.header is not None and piece.start == 0:
            first = next(blocks, (b"", 1))
            blocks = chain([edgelist.after_header(*first, table)], blocks)

        def parse(text: bytes, line: int) -> edgelist.Parsed:
            return edgelist.parse_block(text, line, table, source.name, self.integers, options.ids)

        while batch := list(islice(blocks, self._pool.n_jobs)):
            try:
                parsed = self._pool.map(parse, batch)
            except edgelist.Quoted:
                raise QuotedFile(piece.file) from None
            for part in parsed:
                edgelist.add_parsed(self.builder, part, options)
                yield


def _refuse_objects(sides: Sequence[Any], name: str) -> None:
    if any(isinstance(side, list) for side in sides):
        raise InputError(
            f"{name}: the columns of names differ in type, or are neither integers nor text; convert them, "
            "or for integers and text pass ",
            Option("ids", "string"),
        )

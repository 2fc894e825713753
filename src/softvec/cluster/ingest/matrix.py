"""Read files of edges on several workers: number the names, and send edges to the owners of their rows."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec.affinity.compress import Report, exact_in_single, refuse_duplicates
from softvec.affinity.graphs import SELF_LOOPS, describe, merging, report_notes
from softvec.affinity.kinds import KINDS
from softvec.cluster.ingest.agree import portable, raise_first
from softvec.cluster.ingest.blocks import Block, QuotedFile, Reader
from softvec.cluster.ingest.dictionary import RECENT, Side, check_size
from softvec.cluster.ingest.files import PIECE, EdgeFile, open_files, pieces
from softvec.cluster.ingest.rows import Facts, own_rows
from softvec.cluster.ingest.shuffle import Spool
from softvec.cluster.seam import Group
from softvec.cluster.shard import Shard, balanced_bounds
from softvec.core.checks import choice
from softvec.core.errors import InputError
from softvec.core.memory import give_back
from softvec.core.threads import Workers, workers
from softvec.names import Names
from softvec.names.coding import Tokens
from softvec.read.edgelist import MISSING, warn_missing
from softvec.read.edges import dropped_note
from softvec.read.opened import TEXT_OPTIONS, TextOptions

Array = NDArray[Any]
_POSITION = 36  # bits of the position of a name in its piece
_ROW_WORK = 16  # work of a row, in entries
OPTIONS = ("directed", "self_loops", "duplicates", *TEXT_OPTIONS)


@dataclass(frozen=True)
class Ingested:
    """One worker's part of the matrix.

    Attributes
    ----------
    shard : Shard
        Its rows of the matrix; not normalised.
    rows, columns : Names
        Names of its rows and of its columns; one object if rows and columns are the same items.
    kind : str
        Kind of the data: ``"graph"``, ``"pairs"`` or ``"bipartite"``.
    summary : str
        One line on the data, the same on all workers and in a single process.
    weighted : bool
        Whether the matrix has values other than 1.
    """

    shard: Shard
    rows: Names
    columns: Names
    kind: str
    summary: str
    weighted: bool


def ingest(
    where: Any,
    group: Group,
    *,
    unit: int,
    kind: str | None = None,
    format: str | None = None,
    piece: int = PIECE,
    recent: int = RECENT,
    **options: Any,
) -> Ingested:
    """Read files of edges, shared among workers; collective.

    For any number of workers, rows, names and values are those of a single process that reads the files one
    after another. Errors are raised on all workers.

    Parameters
    ----------
    where : path, pattern such as ``"edges/*.parquet"``, folder, or list of paths
        Parquet, Arrow, Feather, csv or text. A pattern's files are read in the order of their names.
    group : Group
        The workers.
    unit : int
        Workers own multiples of this number of rows, see :func:`softvec.cluster.shard.unit_rows`.
    kind : {"graph", "pairs", "bipartite"}, optional
        By default detected from the first file.
    format : str, optional
        As in :func:`softvec.affinity.read_graph`.
    piece : int
        Approximate size, in bytes, of the pieces of files that workers read in turn.
    recent : int
        Size of a worker's cache of names.
    options
        ``directed``, ``weighted``, ``self_loops``, ``duplicates``, and how to read a table: ``columns``,
        ``weight``, ``negative``, ``ids``, ``delimiter``, ``header``, ``comment``, ``encoding``, ``decimal``,
        ``n_jobs``; as in :func:`softvec.affinity.read_graph`.
    """
    unknown = [name for name in options if name not in OPTIONS]
    if unknown:
        raise InputError(
            f"unknown option {', '.join(map(repr, unknown))} for files that workers share; expected one of "
            f"{', '.join(OPTIONS)}"
        )
    text = TextOptions.of(options)
    files = open_files(where, group, text, kind, format, piece)
    whole: set[int] = set()
    with workers(text.n_jobs) as pool:
        while True:
            try:
                reading = _Reading(group, files, whole, pool, recent)
                reading.run()
                break
            except QuotedFile as quoted:
                whole.add(quoted.file)
    return _finish(reading, unit, text, options)


class _Reading:
    """Reads the own pieces in step with the other workers, and numbers their names."""

    def __init__(
        self, group: Group, files: list[EdgeFile], whole: set[int], pool: Workers, recent: int
    ) -> None:
        self.group, self.files = group, files
        self.two_sided = files[0].opened.options.two_sided
        every = pieces(files, whole)
        self._own = range(group.rank, len(every), group.size)
        self._turns = -(-len(every) // group.size)
        self.reader = Reader(files, every, pool)
        self.sides = [Side(group, pool, recent) for _ in range(1 + self.two_sided)]
        self.switches = [-1] * len(self.sides)  # the first edge whose names are text
        self.spool = Spool()
        self.zeros = 0
        self.exact = True  # float32 holds all weights

    def run(self) -> None:
        """Read all blocks."""
        blocks = self.reader.read(self._own)
        while True:
            block: Block | None = None
            error: Exception | None = None
            names: list[Any] = [None] * len(self.sides)
            try:
                block = next(blocks, None)
                if block is not None:
                    names = [side.block(part) for side, part in zip(self.sides, block.sides)]
            except Exception as caught:
                error = caught
            types: list[Any] = [type(part) if part is not None else None for part in names]
            kept = max(max(len(side.integers), len(side.texts)) for side in self.sides)
            quoted = error if isinstance(error, QuotedFile) else None
            ranks = self.group.gather((quoted or portable(self.group, error), types, kept))
            raise_first(self.group, [failed for failed, _, _ in ranks], error)
            check_size([count for _, _, count in ranks])
            if all(part is None for _, row, _ in ranks for part in row):
                break
            self._add(block, names, [{row[at] for _, row, _ in ranks} - {None} for at in range(len(names))])
        self._start_piece(self._turns)
        self.spool.close()
        import pyarrow as pa

        pa.default_memory_pool().release_unused()
        give_back()

    def _add(self, block: Block | None, names: list[Any], types: list[set[type]]) -> None:
        per_row = 2 // len(self.sides)
        position = 0 if block is None else (block.piece << _POSITION) + per_row * block.row
        codes: list[Any] = [
            side.add(part, position, met) for side, part, met in zip(self.sides, names, types)
        ]
        self.reader.integers = self.reader.integers and not any(Tokens in side.met for side in self.sides)
        if block is None:
            return
        self._start_piece(block.piece // self.group.size + 1)
        for at, part in enumerate(names):
            if self.switches[at] < 0 and isinstance(part, Tokens):
                self.switches[at] = len(self.spool)
        both = codes[0] if len(codes) == 1 else np.hstack(codes)
        weights = block.weights
        if weights is not None and len(weights) and weights.min() == 0:
            some = weights != 0
            self.zeros += int(len(some) - np.count_nonzero(some))
            both, weights = both[some], weights[some]
        self.exact = self.exact and (weights is None or exact_in_single(weights))
        self.spool.add(both, weights)

    def _start_piece(self, turn: int) -> None:
        while len(self.spool.counts) < turn:
            self.spool.start_piece()


def _finish(reading: _Reading, unit: int, text: TextOptions, options: Mapping[str, Any]) -> Ingested:
    group, spool, opened = reading.group, reading.spool, reading.files[0].opened
    ranks = group.gather((reading.reader.rows, reading.reader.builder.dropped, reading.zeros, reading.exact,
                          spool.weighted, len(spool)))  # fmt: skip
    rows = np.sum([row[0] for row in ranks], axis=0)
    if not rows.all():
        raise InputError(f"{reading.files[int(np.argmin(rows))].name} is empty: there are no edges in it")
    defaults = {name: p.default for name, p in inspect.signature(KINDS[opened.kind].build).parameters.items()}
    asked = {**defaults, **options}
    self_loops = asked.get("self_loops", "drop")
    choice("self_loops", self_loops, SELF_LOOPS)
    weighted, merge = merging(any(row[4] for row in ranks), text.weighted, asked["duplicates"], opened.kind)
    spool.weighted = weighted
    _warn_missing(reading)
    shape = tuple(side.number() for side in reading.sides)
    give_back()
    n, m = shape[0], shape[-1]
    bounds = resolve(reading, shape, unit)
    both = not reading.two_sided and not asked.get("directed")
    loops = -1 if reading.two_sided else int(self_loops == "keep")
    counted = merge == "sum" and not weighted
    exact = weighted and all(row[3] for row in ranks)
    dtype = None if not (weighted or counted) else np.float32 if exact else np.float64
    shard, facts = own_rows(
        group, spool, (n, m), bounds, unit, both=both, loops=loops, dtype=dtype, n_jobs=text.n_jobs,
        edges=sum(row[5] for row in ranks),
    )  # fmt: skip
    refuse_duplicates(facts.duplicates, merge, weighted)
    valued = weighted or (counted and facts.duplicates > 0)
    report = Report(facts.loops, facts.duplicates, sum(row[2] for row in ranks))
    notes = [*_notes(reading.files[0]), *dropped_note(sum(row[1] for row in ranks))]
    notes += report_notes(report, self_loops, merge)
    summary = describe(
        (n, m), facts.nnz, facts.diagonal, facts.isolated, one_sided=not reading.two_sided,
        symmetric=shard.symmetric, weighted=valued, notes=notes,
    )  # fmt: skip
    names = [side.deliver(part) for side, part in zip(reading.sides, bounds)]
    return Ingested(shard, names[0], names[-1], opened.kind, summary, valued)


def _notes(file: EdgeFile) -> list[str]:
    return [file.layout.summary] if file.layout.summary or file.table is None else []


def _warn_missing(reading: _Reading) -> None:
    """Warn, on the first worker, if text files have words for missing values as names."""
    group = reading.group
    if not any(file.table is not None for file in reading.files):
        return
    met = [word for word in MISSING if any(side.texts.contains(word) for side in reading.sides)]
    words = {word for row in group.gather(met) for word in row}
    if group.rank == 0:
        for word in MISSING:
            if word in words:
                warn_missing(reading.files[0].name if len(reading.files) == 1 else "the files", word)


def resolve(reading: _Reading, shape: tuple[int, ...], unit: int) -> list[Array]:
    """Replace codes by rows, and return the bounds of each side's rows among workers; collective."""
    group, spool = reading.group, reading.spool
    work = [np.zeros(-(-n // unit), np.int64) for n in shape]
    cuts = sorted({0, len(spool), *(at for at in reading.switches if at >= 0)})
    blocks = [part for lo, hi in pairwise(cuts) for part in spool.spans(lo, hi)]
    for k in range(max(group.gather(len(blocks)))):
        at, codes = blocks[k] if k < len(blocks) else (0, None)
        for s, side in enumerate(reading.sides):
            columns = slice(None) if len(shape) == 1 else slice(s, s + 1)
            text = 0 <= reading.switches[s] <= at
            rows = side.rows(None if codes is None else codes[:, columns], text, side.met)
            if codes is not None and rows is not None:
                codes[:, columns] = rows
                work[s] += np.bincount(rows.reshape(-1) // unit, minlength=len(work[s]))
    bounds = []
    for n, part in zip(shape, work):
        rows_of = np.minimum(np.arange(1, len(part) + 1) * unit, n) - np.arange(len(part)) * unit
        total = group.fold([part], np.add) + _ROW_WORK * rows_of
        bounds.append(balanced_bounds(total, n, unit, group.size))
    return bounds


__all__ = ["Facts", "Ingested", "ingest"]

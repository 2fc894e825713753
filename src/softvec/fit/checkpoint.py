"""Checkpoints: a run saved every few epochs resumes with the same bits as an uninterrupted one.

A checkpoint is a folder, on a disk or at a URL, with ranges of rows and a manifest. Each process writes the
rows it owns. When all are written, a new manifest replaces the old one; a run that is killed in between
resumes from the older state. Rows have global numbers, so that any number of processes can read them. The
final state stays, marked as done: only the caller knows when the vectors are saved elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from math import inf
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.core.machine import Group
from softvec.core.scratch import empty
from softvec.core.storage import Storage
from softvec.core.threads import row_blocks
from softvec.fit.problem import State
from softvec.operators import Operator

__all__ = ["Checkpoint", "Manifest", "Range", "fingerprint"]

Array = NDArray[Any]
Range = tuple[int, int]  # of rows: the first, and the one after the last
_FORMAT, _MANIFEST = 1, "checkpoint.json"
_FOLDER = re.compile(r"epoch-(\d+)-of-\d+")
_PROBE = re.compile(r"shared-[0-9a-f]{16}\.probe")
_FILE = re.compile(r"epoch-\d+-of-\d+/(X|Y|labels)-\d+-\d+\.npy")  # never a path outside the folder
_BLOCK = 1 << 20


def fingerprint(parameters: Mapping[str, Any], *parts: Operator | np.ndarray | None) -> str:
    """Return a hash of the settings and of the contents of matrices and arrays.

    Arrays are hashed by CRC-32, block by block: good enough to catch mistakes and nine times as fast as a
    cryptographic hash (4 GB/s, a few percent of one epoch).
    """
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True, default=str).encode())
    for part in parts:
        for content in part.contents() if isinstance(part, Operator) else [part]:
            if isinstance(content, np.ndarray):
                digest.update(f"{content.dtype.str} {content.shape} ".encode())
                data = np.ascontiguousarray(content).reshape(-1).view(np.uint8).data
                for lo in range(0, len(data), _BLOCK):
                    digest.update(zlib.crc32(data[lo : lo + _BLOCK]).to_bytes(4, "little"))
            else:
                digest.update(f"{content} ".encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class Part:
    """A range of rows of an array: X, Y or labels, in a file of the checkpoint."""

    array: str
    rows: Range
    file: str
    crc: int

    @classmethod
    def of(cls, array: Any, rows: Any, file: Any, crc: Any) -> Part:
        """Return a part of a manifest on disk, if it is one: its file is read, and deleted at the end."""
        lo, hi = rows
        numbers = all(type(value) is int for value in (lo, hi, crc)) and 0 <= lo <= hi
        if array not in ("X", "Y", "labels") or not _FILE.fullmatch(file) or not numbers:
            raise ValueError("not a part of a checkpoint")
        return cls(array, (lo, hi), file, crc)


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint holds."""

    key: str
    epoch: int
    done: bool
    seed: int
    history: list[dict[str, float]]
    parts: tuple[Part, ...]
    format: int = _FORMAT

    @classmethod
    def of(cls, record: Any) -> Manifest:
        """Return the manifest on disk, if it is one."""
        parts = tuple(Part.of(**part) for part in record.pop("parts"))
        manifest = cls(**record, parts=parts)
        typed = isinstance(manifest.key, str) and isinstance(manifest.done, bool)
        counts = all(type(value) is int and value >= 0 for value in (manifest.epoch, manifest.seed))
        records = isinstance(manifest.history, list) and all(isinstance(r, dict) for r in manifest.history)
        whole = manifest.format == _FORMAT and "X" in {part.array for part in parts}
        if not (typed and counts and records and whole):
            raise ValueError("not a manifest of a checkpoint")
        return manifest


@dataclass(frozen=True)
class Checkpoint:
    """Where a run is saved, every how many epochs, and the fingerprint of its data and settings.

    ``path`` is a folder that all processes can reach, or a URL for fsspec such as ``s3://bucket/run``.
    """

    path: str
    every: int
    key: str

    @property
    def _files(self) -> Storage:
        return Storage(self.path)

    def manifest(self) -> Manifest | None:
        """Return the manifest of the last complete checkpoint, None if there is none."""
        self._files.check_writable()
        manifest = self._read()
        if manifest is not None and manifest.key != self.key:
            raise InputError(
                f"{self.path} is a checkpoint of other data or other settings; delete it to start again, or "
                "name another folder"
            )
        return manifest

    def _read(self) -> Manifest | None:
        if not self._files.exists(_MANIFEST):
            return None
        try:
            with self._files.open(_MANIFEST) as file:
                return Manifest.of(json.load(file))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(
                f"{self.path} is a damaged checkpoint; delete it, or name another folder"
            ) from error

    def check_shared(self, group: Group) -> None:
        """Raise an error on all processes if one of them does not see the folder. Collective."""
        if group.size == 1 or self._files.is_url:
            return
        probe = f"shared-{os.urandom(8).hex()}.probe" if group.rank == 0 else ""
        if probe:
            self._files.write(probe, lambda stream: stream.write(b"softvec"))
        probe = group.gather(probe)[0]
        hosts = group.gather("" if self._files.exists(probe) else platform.node())
        if group.rank == 0:
            self._files.remove(probe)
            self._files.remove_if_empty()
        blind = sorted({host for host in hosts if host})
        if blind:
            raise InputError(
                f"{self.path} is not the same folder on all machines ({', '.join(blind)} does not see what "
                "rank 0 writes there); name a folder on a shared disk or a URL for the checkpoint"
            )

    def save(self, state: State, seed: int, rows: Range, columns: Range, group: Group) -> None:
        """Write the rows of this process; rank 0 writes the manifest once all are written. Collective."""
        folder = f"epoch-{state.epoch:06d}-of-{group.size}"
        own = _parts(folder, state, rows, columns)
        try:
            for part, array in own.items():
                self._files.write(part.file, partial(np.save, arr=array, allow_pickle=False))
        except BaseException:  # such as a full disk: nothing is left that no manifest lists
            listed = self._read()
            if listed is None or not any(part.file.startswith(f"{folder}/") for part in listed.parts):
                # where others may still write theirs, only the files of this process
                for file in [folder] if group.size == 1 else [part.file for part in own]:
                    self._files.remove(file)
                self._files.remove_if_empty()
            raise
        all_parts = tuple(part for rank_parts in group.gather(list(own)) for part in rank_parts)
        if group.rank == 0:
            self.manifest()  # never over that of another run
            new = Manifest(self.key, state.epoch, state.done, seed, state.history, all_parts)
            text = json.dumps(asdict(new)).encode()
            self._files.write(_MANIFEST, lambda stream: stream.write(text), whole=True)
            self._remove_epochs(before=state.epoch)
        group.gather(None)  # wait for every rank

    def load(self, manifest: Manifest, rows: Range, columns: Range) -> State:
        """Return the state of these rows and columns, from parts of any size."""
        names = {part.array for part in manifest.parts}
        arrays: dict[str, Array] = {}
        for name in names:
            wanted = columns if name == "Y" or (name == "labels" and "Y" in names) else rows
            arrays[name] = self._rows(manifest, name, wanted)
        epoch, history, done = manifest.epoch, list(manifest.history), manifest.done
        return State(arrays["X"], arrays.get("Y"), arrays.get("labels"), epoch, history, done)

    def _rows(self, manifest: Manifest, name: str, wanted: Range) -> Array:
        """Read rows of an array from the parts that hold them."""
        out: Array | None = None
        found = 0
        for part in sorted((p for p in manifest.parts if p.array == name), key=lambda p: p.rows):
            lo, hi = part.rows
            if out is not None and (hi <= wanted[0] or lo >= wanted[1]):
                continue
            try:
                with self._files.open(part.file) as file:
                    out = _read_part(file, part, wanted, out)
            except (OSError, ValueError, InputError) as error:
                raise self._damaged(part.file) from error
            found += max(0, min(hi, wanted[1]) - max(lo, wanted[0]))
        if out is None or found != wanted[1] - wanted[0]:
            raise self._damaged(_MANIFEST)
        return out

    def _damaged(self, file: str) -> InputError:
        return InputError(
            f"{self.path}: {file} of the checkpoint is damaged; delete the folder to start again"
        )

    def delete(self) -> None:
        """Remove the checkpoint of any run, after its vectors are saved."""
        if self._read() is not None:
            self._files.remove(_MANIFEST)
            self._remove_epochs()
        self._files.remove_if_empty()

    def _remove_epochs(self, before: float = inf) -> None:
        """Remove earlier epochs: also those of killed processes, which no manifest lists.

        Not later ones, which another run with the same settings may be writing.
        """
        for name in self._files.names():
            epoch = _FOLDER.fullmatch(name)
            if (epoch and int(epoch[1]) < before) or _PROBE.fullmatch(name):
                self._files.remove(name)


def _parts(folder: str, state: State, rows: Range, columns: Range) -> dict[Part, Array]:
    """Return what a process writes: the entries of the manifest, and their arrays."""
    labelled = rows if state.Y is None else columns
    arrays = (("X", state.X, rows), ("Y", state.Y, columns), ("labels", state.classes, labelled))
    return {
        Part(name, (lo, hi), f"{folder}/{name}-{lo}-{hi}.npy", _crc(array)): array
        for name, array, (lo, hi) in arrays
        if array is not None
    }


def _read_part(file: IO[bytes], part: Part, wanted: Range, out: Array | None) -> Array:
    """Check a part of an array and copy its rows to those that are wanted, a block at a time."""
    from softvec.read.arrays import length_of, read_header

    (lo, hi), (first, last) = part.rows, wanted
    shape, fortran, dtype = read_header(file, length_of(file), part.file)
    kind, ndim = ("iu", 1) if part.array == "labels" else ("f", 2)
    if dtype.kind not in kind or len(shape) != ndim or shape[0] != hi - lo or fortran:
        raise ValueError("another array than the manifest says")
    if out is None:
        out = empty((last - first, *shape[1:]), dtype)
    if (out.dtype, out.shape[1:]) != (dtype, shape[1:]):
        raise ValueError("parts of different types")
    crc, width = 0, max(1, dtype.itemsize * int(np.prod(shape[1:])))
    for begin, end in row_blocks(hi - lo, max(1, _BLOCK // width)):
        block = np.frombuffer(file.read((end - begin) * width), dtype).reshape(end - begin, *shape[1:])
        crc = zlib.crc32(block.reshape(-1).view(np.uint8).data, crc)
        if not np.isfinite(block).all():
            raise ValueError("not finite")
        a, b = max(lo + begin, first), min(lo + end, last)
        if a < b:
            out[a - first : b - first] = block[a - lo - begin : b - lo - begin]
    if crc != part.crc:
        raise ValueError("wrong checksum")
    return out


def _crc(array: Array) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

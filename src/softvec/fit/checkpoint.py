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
from dataclasses import dataclass
from functools import partial
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

__all__ = ["Checkpoint", "Range", "fingerprint"]

Array = NDArray[Any]
Range = tuple[int, int]  # of rows: the first, and the one after the last
_FORMAT, _MANIFEST = 1, "checkpoint.json"
_FILE = re.compile(r"epoch-\d+-of-\d+/(X|Y|labels)-\d+-\d+\.npy")  # never a path outside the folder
_BLOCK = 1 << 20


def fingerprint(parameters: dict[str, Any], *parts: Operator | np.ndarray | None) -> str:
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

    def manifest(self) -> dict[str, Any] | None:
        """Return the manifest of the last complete checkpoint, None if there is none."""
        self._files.check_writable()
        manifest = self._read()
        if manifest is not None and manifest["key"] != self.key:
            raise InputError(
                f"{self.path} is a checkpoint of other data or other settings; delete it to start again, or "
                "name another folder"
            )
        return manifest

    def _read(self) -> dict[str, Any] | None:
        if not self._files.exists(_MANIFEST):
            return None
        try:
            with self._files.open(_MANIFEST) as file:
                manifest = json.load(file)
            _check_manifest(manifest)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(
                f"{self.path} is a damaged checkpoint; delete it, or name another folder"
            ) from error
        return manifest

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
        try:
            parts = self._write_parts(folder, state, rows, columns)
        except BaseException:  # such as a full disk: nothing is left that no manifest lists
            if folder not in _folders(self._read()):
                self._files.remove(folder)
                self._files.remove_if_empty()
            raise
        all_parts = [part for rank_parts in group.gather(parts) for part in rank_parts]
        if group.rank == 0:
            old = self.manifest()
            manifest = {
                "format": _FORMAT,
                "key": self.key,
                "epoch": state.epoch,
                "done": state.done,
                "seed": seed,
                "history": state.history,
                "parts": all_parts,
            }
            text = json.dumps(manifest).encode()
            self._files.write(_MANIFEST, lambda stream: stream.write(text), whole=True)
            for stale in _folders(old) - {folder}:
                self._files.remove(stale)
        group.barrier()

    def _write_parts(self, folder: str, state: State, rows: Range, columns: Range) -> list[dict[str, Any]]:
        """Write the rows of this process; return their entries in the manifest."""
        own = rows if state.Y is None else columns
        arrays = {"X": (state.X, rows), "Y": (state.Y, columns), "labels": (state.classes, own)}
        parts = []
        for name, (array, (lo, hi)) in arrays.items():
            if array is not None:
                file = f"{folder}/{name}-{lo}-{hi}.npy"
                self._files.write(file, partial(_write_array, array))
                parts.append({"array": name, "rows": [lo, hi], "file": file, "crc": _crc(array)})
        return parts

    def load(self, manifest: dict[str, Any], rows: Range, columns: Range) -> State:
        """Return the state of these rows and columns, from parts of any size."""
        names = {part["array"] for part in manifest["parts"]}
        arrays: dict[str, Array] = {}
        for name in names:
            wanted = columns if name == "Y" or (name == "labels" and "Y" in names) else rows
            arrays[name] = self._rows(manifest, name, wanted)
        epoch, history, done = manifest["epoch"], list(manifest["history"]), manifest["done"]
        return State(arrays["X"], arrays.get("Y"), arrays.get("labels"), epoch, history, done)

    def _rows(self, manifest: dict[str, Any], name: str, wanted: Range) -> Array:
        """Read rows of an array from the parts that hold them."""
        out: Array | None = None
        found = 0
        for part in sorted((p for p in manifest["parts"] if p["array"] == name), key=lambda p: p["rows"]):
            lo, hi = part["rows"]
            if out is not None and (hi <= wanted[0] or lo >= wanted[1]):
                continue
            try:
                with self._files.open(part["file"]) as file:
                    out = _read_part(file, part, wanted, out)
            except (OSError, ValueError, InputError) as error:
                raise self._damaged(part["file"]) from error
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
        manifest = self._read()
        if manifest is not None:
            for name in (_MANIFEST, *_folders(manifest)):
                self._files.remove(name)
        self._files.remove_if_empty()


def _read_part(file: IO[bytes], part: dict[str, Any], wanted: Range, out: Array | None) -> Array:
    """Check a part of an array and copy its rows to those that are wanted, a block at a time."""
    from softvec.read.arrays import length_of, read_header

    (lo, hi), (first, last) = part["rows"], wanted
    shape, fortran, dtype = read_header(file, length_of(file), part["file"])
    kind, ndim = ("iu", 1) if part["array"] == "labels" else ("f", 2)
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
    if crc != part["crc"]:
        raise ValueError("wrong checksum")
    return out


def _folders(manifest: dict[str, Any] | None) -> set[str]:
    """Return the folders with the parts of a manifest."""
    return set() if manifest is None else {part["file"].split("/")[0] for part in manifest["parts"]}


def _check_manifest(manifest: Any) -> None:
    """Raise an error for an invalid manifest: the files that it names are read, and deleted at the end."""
    parts = manifest["parts"]
    good = (
        manifest["format"] == _FORMAT
        and isinstance(manifest["key"], str)
        and all(type(manifest[key]) is int and manifest[key] >= 0 for key in ("epoch", "seed"))
        and isinstance(manifest["done"], bool)
        and isinstance(manifest["history"], list)
        and all(isinstance(record, dict) for record in manifest["history"])
        and isinstance(parts, list)
        and {"X"} <= {part["array"] for part in parts} <= {"X", "Y", "labels"}
        and all(_FILE.fullmatch(part["file"]) and type(part["crc"]) is int for part in parts)
        and all(type(at) is int for part in parts for at in part["rows"])
        and all(len(part["rows"]) == 2 and 0 <= part["rows"][0] <= part["rows"][1] for part in parts)
    )
    if not good:
        raise ValueError("not a manifest of a checkpoint")


def _write_array(array: Array, stream: IO[bytes]) -> None:
    np.save(stream, array, allow_pickle=False)


def _crc(array: Array) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

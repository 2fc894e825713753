"""Checkpoints of a fit on several workers: a folder with a manifest and the rows of each worker.

Each worker writes the rows it owns. When all are written, a new manifest replaces the old one; a run that is
killed in between resumes from the older state. Rows have global numbers, so that any number of workers can
read them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import InputError
from softvec.core.files import atomic_write
from softvec.core.machine import Group
from softvec.fit.loop import State
from softvec.read.arrays import length_of, read_array

Array = NDArray[Any]
Range = tuple[int, int]
_FORMAT, _MANIFEST = 1, "checkpoint.json"
_FILE = re.compile(r"epoch-\d+-of-\d+/(X|Y|labels)-\d+-\d+\.npy")  # never a path outside the folder


@dataclass(frozen=True)
class Store:
    """Where a run is saved, every how many epochs, and the key of its data and settings.

    ``path`` is a folder that all workers can reach, or a URL for fsspec such as ``s3://bucket/run``.
    """

    path: str
    every: int
    key: str

    def manifest(self) -> dict[str, Any] | None:
        """Return the manifest of the last complete checkpoint, None if there is none."""
        if "://" not in self.path and os.path.isfile(self.path):
            raise InputError(f"{self.path} is a file; the checkpoint of a cluster is a folder: name a folder")
        manifest = self._read()
        if manifest is not None and manifest["key"] != self.key:
            raise InputError(
                f"{self.path} is a checkpoint of other data or other settings; delete it to start again, or "
                "name another folder"
            )
        return manifest

    def _read(self) -> dict[str, Any] | None:
        if not self._exists(_MANIFEST):
            return None
        try:
            with self._open(_MANIFEST) as file:
                manifest = json.load(file)
            _check_manifest(manifest)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(
                f"{self.path} is a damaged checkpoint; delete it, or name another folder"
            ) from error
        return manifest

    def save(self, state: State, seed: int, rows: Range, columns: Range, group: Group) -> None:
        """Write this worker's rows; rank 0 writes the manifest once all are written. Collective."""
        folder = f"epoch-{state.epoch:06d}-of-{group.size}"
        own = rows if state.Y is None else columns
        arrays = {"X": (state.X, rows), "Y": (state.Y, columns), "labels": (state.classes, own)}
        parts = []
        for name, (array, (lo, hi)) in arrays.items():
            if array is not None:
                file = f"{folder}/{name}-{lo}-{hi}.npy"
                self._write(file, lambda stream, array=array: np.save(stream, array, allow_pickle=False))
                parts.append({"array": name, "rows": [lo, hi], "file": file, "crc": _crc(array)})
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
            self._write(_MANIFEST, lambda stream: stream.write(text))
            if old is not None:
                self._remove({part["file"].split("/")[0] for part in old["parts"]} - {folder})
        group.barrier()

    def load(self, manifest: dict[str, Any], rows: Range, columns: Range) -> State:
        """Return the state of these rows and columns, from parts of any size."""
        arrays: dict[str, Array | None] = {"X": None, "Y": None, "labels": None}
        names = {part["array"] for part in manifest["parts"]}
        for name in names:
            wanted = columns if name == "Y" or (name == "labels" and "Y" in names) else rows
            arrays[name] = self._rows(manifest, name, wanted)
        X = arrays["X"]
        assert X is not None
        return State(
            X, arrays["Y"], arrays["labels"], manifest["epoch"], list(manifest["history"]), manifest["done"]
        )

    def _rows(self, manifest: dict[str, Any], name: str, wanted: Range) -> Array:
        """Read rows of an array from the parts that hold them."""
        pieces: list[Array] = []
        for part in sorted((p for p in manifest["parts"] if p["array"] == name), key=lambda p: p["rows"]):
            lo, hi = part["rows"]
            if pieces and (hi <= wanted[0] or lo >= wanted[1]):
                continue
            try:
                with self._open(part["file"]) as file:
                    array = read_array(file, length_of(file), part["file"])
            except (OSError, InputError) as error:
                raise self._damaged(part["file"]) from error
            kind, ndim = ("iu", 1) if name == "labels" else ("f", 2)
            good = array.dtype.kind in kind and array.ndim == ndim and len(array) == hi - lo
            same = not pieces or (array.dtype, array.shape[1:]) == (pieces[0].dtype, pieces[0].shape[1:])
            if not good or not same or _crc(array) != part["crc"] or not np.isfinite(array).all():
                raise self._damaged(part["file"])
            pieces.append(array[max(0, wanted[0] - lo) : max(0, wanted[1] - lo)])
        whole = np.concatenate(pieces)
        if len(whole) != wanted[1] - wanted[0]:
            raise self._damaged(_MANIFEST)
        return whole

    def _damaged(self, file: str) -> InputError:
        return InputError(
            f"{self.path}: {file} of the checkpoint is damaged; delete the folder to start again"
        )

    def delete(self) -> None:
        """Remove the checkpoint of any run, after its vectors are saved."""
        manifest = self._read()
        if manifest is not None:
            self._remove({_MANIFEST})
            self._remove({part["file"].split("/")[0] for part in manifest["parts"]})
        if "://" not in self.path and os.path.isdir(self.path) and not os.listdir(self.path):
            os.rmdir(self.path)

    def _files(self) -> tuple[Any, str]:
        """Return a file system of fsspec and the path in it."""
        try:
            import fsspec
        except ImportError as error:
            raise InputError(
                f"{self.path} is a URL, which needs fsspec: pip install fsspec; or name a folder"
            ) from error
        return fsspec.core.url_to_fs(self.path)

    def _exists(self, name: str) -> bool:
        if "://" not in self.path:
            return os.path.exists(os.path.join(self.path, name))
        files, root = self._files()
        return bool(files.exists(f"{root}/{name}"))

    def _open(self, name: str) -> IO[bytes]:
        if "://" not in self.path:
            return open(os.path.join(self.path, name), "rb")
        files, root = self._files()
        return files.open(f"{root}/{name}", "rb")

    def _write(self, name: str, write: Any) -> None:
        if "://" in self.path:
            files, root = self._files()
            files.makedirs(os.path.dirname(f"{root}/{name}"), exist_ok=True)
            # parts count only once the manifest lists them, which is replaced as a whole
            draft = f"{root}/{name}.part" if name == _MANIFEST else f"{root}/{name}"
            with files.open(draft, "wb") as stream:
                write(stream)
            if name == _MANIFEST:
                files.mv(draft, f"{root}/{name}")
            return
        target = Path(self.path, name)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write {target}: {error.strerror or error}") from error
        with atomic_write(target) as stream:
            write(stream)

    def _remove(self, names: set[str]) -> None:
        for name in names:
            if "://" in self.path:
                files, root = self._files()
                files.rm(f"{root}/{name}", recursive=True)
            else:
                target = Path(self.path, name)
                shutil.rmtree(target, ignore_errors=True) if target.is_dir() else target.unlink(
                    missing_ok=True
                )


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


def _crc(array: Array) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

"""Save a run every few epochs, and go on from it with the bits of an uninterrupted one.

The file is an uncompressed npz (arrays and one JSON text, no pickle), replaced whole or not at all. A step
depends only on the vectors, the classes and the epoch, so these are all it holds.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softvec._atomic import atomic_write
from softvec.errors import InputError
from softvec.operators import Operator
from softvec.optimize.loop import State

_FORMAT = 1


def fingerprint(P: Operator, parameters: dict[str, Any]) -> str:
    """Return a hash of the settings and of the shape, size and row sums of P."""
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True, default=str).encode())
    digest.update(repr((P.shape, P.nnz)).encode())
    digest.update(np.round(P.row_sums(), 6).tobytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Checkpoint:
    """Where a run is saved, how often, and what it belongs to."""

    path: Path
    every: int
    key: str

    def save(self, state: State, seed: int) -> None:
        """Write the state."""
        meta = {
            "format": _FORMAT,
            "key": self.key,
            "epoch": state.epoch,
            "seed": seed,
            "history": state.history,
        }
        arrays = {"meta": np.frombuffer(json.dumps(meta).encode(), np.uint8), "X": state.X}
        if state.Y is not None:
            arrays["Y"] = state.Y
        if state.labels is not None:
            arrays["labels"] = state.labels
        with atomic_write(self.path, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    def load(self) -> tuple[State, int] | None:
        """Return the saved state and seed; None where there is no file."""
        if not self.path.exists():
            return None
        try:
            with open(self.path, "rb") as file, np.load(file, allow_pickle=False) as data:
                meta = json.loads(data["meta"].tobytes())
                arrays = {name: data[name] for name in ("X", "Y", "labels") if name in data}
            known = {"format": meta.get("format"), "key": meta.get("key")}
        except Exception as error:  # a damaged archive raises nearly anything
            raise InputError(
                f"{self.path} is not a checkpoint: no checkpoint of softvec can be read from it; "
                "delete it, or name another file"
            ) from error
        if known != {"format": _FORMAT, "key": self.key}:
            raise InputError(
                f"{self.path} is a checkpoint of another matrix or other settings; delete it to start anew, "
                "or name another file"
            )
        try:
            X, epoch, history, seed = arrays["X"], int(meta["epoch"]), meta["history"], int(meta["seed"])
            if not all(np.isfinite(array).all() for array in arrays.values()):
                raise ValueError("not finite")
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{self.path} is a damaged checkpoint; delete it, or name another file"
            ) from error
        return State(X, arrays.get("Y"), arrays.get("labels"), epoch, history), seed

    def remove(self) -> None:
        """Delete the file of a finished run."""
        if self.path.exists():
            os.remove(self.path)

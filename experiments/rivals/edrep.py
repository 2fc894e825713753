"""The authors' EDRep 0.1.2, in an environment of its own."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import environments

_CHILD = Path(__file__).with_name("edrep_child.py")


def authors_edrep(
    P: Any,
    d: int,
    *,
    walk_length: int = 1,
    n_epochs: int = 30,
    eta: float | None = None,
    k: int = 1,
    seed: int = 0,
    dtype: str = "float32",
) -> tuple[np.ndarray, dict[str, float]]:
    """Return the vectors of the authors' package and the seconds of its fit, imports and first call apart.

    P is a row-stochastic matrix; a walk length above 1 asks for the mean of its powers.
    """
    environments.ensure("edrep")
    options = {"dim": d, "n_epochs": n_epochs, "k": k, **({} if eta is None else {"eta": eta})}
    with tempfile.TemporaryDirectory() as folder:
        matrix, vectors = Path(folder) / "P.npz", Path(folder) / "X.npy"
        sp.save_npz(matrix, sp.csr_matrix(P))
        job = json.dumps({"length": walk_length, "seed": seed, "dtype": dtype, "options": options})
        command = [str(environments.python("edrep")), str(_CHILD), str(matrix), str(vectors), job]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"the authors' EDRep failed: {done.stderr.strip()[-500:]}")
        times: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
        return np.load(vectors), times

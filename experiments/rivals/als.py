"""Matrix factorisation by alternating least squares (the package implicit), in an environment of its own."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.peers import environments

_CHILD = Path(__file__).with_name("als_child.py")


def implicit_als(
    A: Any, d: int, *, seed: int = 0, **options: Any
) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    """Return row vectors, column vectors and the seconds of the fit, imports and first call apart.

    A holds confidences (counts, or weights of them); options are those of implicit's
    AlternatingLeastSquares: regularization, alpha, iterations.
    """
    environments.ensure("implicit")
    with tempfile.TemporaryDirectory() as folder:
        matrix, vectors = Path(folder) / "A.npz", Path(folder) / "vectors.npz"
        sp.save_npz(matrix, sp.csr_matrix(A))
        job = json.dumps({"factors": d, "random_state": seed, **options})
        command = [str(environments.python("implicit")), str(_CHILD), str(matrix), str(vectors), job]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"implicit failed: {done.stderr.strip()[-500:]}")
        times: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
        with np.load(vectors) as found:
            return found["rows"], found["columns"], times

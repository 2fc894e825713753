"""Fit the authors' EDRep in its own environment.

P.npz X.npy '{"length": 1, "seed": 0, "dtype": "float32", "options": {}}'
"""

import json
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp

warnings.simplefilter("ignore")
from EDRep import CreateEmbedding  # noqa: E402

matrix, vectors, job = sys.argv[1:]
job = json.loads(job)
P = sp.load_npz(matrix).astype(np.float64)
steps = [P] * job["length"]
ring = sp.csr_matrix(np.roll(np.eye(64), 1, axis=1))
CreateEmbedding([ring], verbose=False, **{**job["options"], "dim": 4, "n_epochs": 2})  # compilation, caches
np.random.seed(job["seed"])  # noqa: NPY002 (the package draws from the global state)
start, used = time.perf_counter(), time.process_time()
result = CreateEmbedding(steps, sum_partials=job["length"] > 1, verbose=False, **job["options"])
times = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - used}
np.save(vectors, np.asarray(result.X, dtype=job["dtype"]))
print(json.dumps(times))

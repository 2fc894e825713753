"""Fit implicit's ALS in its own environment: A.npz vectors.npz '{"factors": 8, "random_state": 0}'."""

import json
import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the package asks for it: its own threads do the work

import numpy as np
import scipy.sparse as sp
from implicit.als import AlternatingLeastSquares

matrix, vectors, job = sys.argv[1:]
options = json.loads(job)
A = sp.load_npz(matrix).astype(np.float32)
AlternatingLeastSquares(**{**options, "factors": 4, "iterations": 1}).fit(A[:64], show_progress=False)
start, used = time.perf_counter(), time.process_time()
model = AlternatingLeastSquares(**options)
model.fit(A, show_progress=False)
times = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - used}
np.savez(vectors, rows=np.asarray(model.user_factors), columns=np.asarray(model.item_factors))
print(json.dumps(times))

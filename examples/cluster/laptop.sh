#!/usr/bin/env bash
# Two workers on this machine, by Ray and by MPI: the same bits as one process. Takes under a minute.
# Needs: pip install 'softvec[cluster]', and for mpiexec: pip install mpich
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

python - <<'PYTHON'
import numpy as np
from scipy import sparse

rng = np.random.default_rng(0)  # eight groups, and most edges within a group
a, b = rng.integers(60_000, size=(2, 300_000))
b = np.where(rng.random(len(a)) < 0.9, a // 7_500 * 7_500 + b % 7_500, b)
A = sparse.csr_matrix((np.ones(len(a)), (a, b)), shape=(60_000, 60_000))
sparse.save_npz("graph.npz", ((A + A.T) > 0).astype(float))
PYTHON

options=(--kind graph --dim 128 --seed 0 --view walk --epochs 4 --quiet)
softvec embed graph.npz "${options[@]}" -o alone.npy
softvec embed graph.npz "${options[@]}" -o ray.npy --cluster local:2
mpiexec -n 2 softvec embed graph.npz "${options[@]}" -o mpi.npy --cluster mpi
cmp alone.npy ray.npy
cmp alone.npy mpi.npy
echo "the same bits from one process, two workers of Ray and two ranks of MPI"

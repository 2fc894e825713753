#!/usr/bin/env bash
# Two workers on this machine, by Ray and by MPI: the same bits as one process. Takes under a minute.
# Needs: pip install 'softvec[cluster]', and for mpiexec: pip install mpich
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

python - <<'PYTHON'
from scipy import sparse

from softvec.generators import dcsbm

sparse.save_npz("graph.npz", sparse.csr_matrix(dcsbm(60_000, c=10, q=8, alpha=3.0, random_state=0).adjacency))
PYTHON

options=(--kind graph --dim 128 --seed 0 --view walk --epochs 4 --quiet)
softvec embed graph.npz "${options[@]}" -o alone.npy
softvec embed graph.npz "${options[@]}" -o ray.npy --cluster local:2
mpiexec -n 2 softvec embed graph.npz "${options[@]}" -o mpi.npy --cluster mpi
cmp alone.npy ray.npy
cmp alone.npy mpi.npy
echo "the same bits from one process, two workers of Ray and two ranks of MPI"

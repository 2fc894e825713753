#!/usr/bin/env bash
#SBATCH --job-name=softvec
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --mem=0
#SBATCH --time=04:00:00
# One rank for each node, all cores as its threads. The first rank reads the edges and writes the vectors.
# A job that is cut off goes on from its checkpoint when it is submitted again, also with other --nodes.
# Usage: sbatch slurm.sh EDGES VECTORS CHECKPOINT   (the checkpoint is a folder that all nodes see)
set -euo pipefail
edges=${1:?edges to read} vectors=${2:?where to write the vectors} checkpoint=${3:?folder for the checkpoint}
export SOFTVEC_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1} OMP_NUM_THREADS=1
srun --mpi=pmi2 softvec embed "$edges" --cluster mpi --seed 0 --threads "${SLURM_CPUS_PER_TASK:-1}" \
  --checkpoint "$checkpoint" -o "$vectors"

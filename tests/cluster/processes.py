"""The command in processes of its own, and the graph that tests of a cluster share."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy import sparse

BLOCK, UNIT = 32, 4  # rows of a block, blocks of a unit: small graphs are spread over workers
SCRIPT = f"""
import sys
from softvec.core.machine import Machine
Machine.block, Machine.unit = {BLOCK}, {UNIT}
%s
from softvec.cli import main
main(sys.argv[1:])
"""


def command(*arguments, ranks=0, first="", **options):
    """Start ``softvec`` with small blocks in a process of its own, on ranks of MPI where asked.

    ``first`` is code that runs before it.
    """
    mpi = [str(Path(sys.executable).with_name("mpiexec")), "-n", str(ranks)] if ranks else []
    folder = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": folder, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*mpi, sys.executable, "-c", SCRIPT % first, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
        **options,
    )


def finished(*arguments, **options):
    """Run ``softvec`` to its end, which is a good one."""
    process = command(*arguments, **options)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, output + errors
    return output + errors


def ranks_of(process):
    """Return the processes of the ranks that a mpiexec started, by rank."""
    parents, ranks = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
    for number in parents:
        above = number
        while above in parents and above != process.pid:
            above = parents[above]
        if above != process.pid:
            continue
        environment = (Path("/proc") / str(number) / "environ").read_bytes().split(b"\0")
        words = dict(word.split(b"=", 1) for word in environment if b"=" in word)
        if b"PMI_RANK" in words:
            ranks[int(words[b"PMI_RANK"])] = number
    return ranks


def random_graph(n=700, seed=0):
    """Return an undirected graph of about six neighbours."""
    rng = np.random.default_rng(seed)
    A = sparse.coo_array(
        (np.ones(3 * n, bool), (rng.integers(n, size=3 * n), rng.integers(n, size=3 * n))), (n, n)
    )
    A = A.tocsr()
    return sparse.csr_array(A.maximum(A.T))

"""Small blocks, so that small graphs are spread over workers, and one local Ray for all tests."""

import numpy as np
import pytest

from softvec.core.machine import Machine
from tests.cluster.processes import BLOCK, UNIT


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 32 rows, units of 4 of them."""
    monkeypatch.setattr(Machine, "block", BLOCK)
    monkeypatch.setattr(Machine, "unit", UNIT)


@pytest.fixture(scope="session")
def edges(tmp_path_factory):
    """A file of a random graph of 700 nodes."""
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("graph") / "edges.txt"
    np.savetxt(path, rng.integers(700, size=(4000, 2)), fmt="%d")
    return path


@pytest.fixture(scope="session")
def ray_here():
    """Ray on this machine, started once."""
    ray = pytest.importorskip("ray")
    from softvec.cluster.ray import RayCluster

    with RayCluster(3, None, 1):
        yield ray

"""The commands add, links and predict, through the entry point, on real files."""

import json

import numpy as np
import pytest

from softvec.cli import run
from softvec.embedding import Embedding


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    """Run a command in an empty directory; return what it printed, or its one line of error."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, code=0):
        found = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert found == code, captured.err
        return captured.err if code else captured.out

    return call


@pytest.fixture
def karate(call, tmp_path):
    """Edges of the karate club and its vectors."""
    import networkx as nx

    nx.write_edgelist(nx.karate_club_graph(), tmp_path / "karate.txt", data=False)
    call("embed", "karate.txt", "--dim", 8, "--seed", 0, "-q")
    return tmp_path / "karate.svec"


def test_add(call, karate, tmp_path):
    (tmp_path / "new.txt").write_text("eve 3\neve 7\n")
    result = json.loads(call("add", karate, "new.txt", "--json"))
    assert result == {"output": "karate_added.svec", "vectors": 35, "added": 1, "edges": 2}
    old, new = Embedding.load(karate), Embedding.load("karate_added.svec")
    np.testing.assert_array_equal(new.vectors[:34], old.vectors)
    assert "eve" in new
    (tmp_path / "alone.txt").write_text("x y\n")
    assert "without an edge" in call("add", karate, "alone.txt", code=2)

"""What files say of the fit that made their vectors: checked where they are read."""

import copy

import numpy as np
import pytest

import softvec
from softvec import Embedding
from softvec.cli import main
from softvec.core.errors import InputError


@pytest.fixture(scope="module")
def graph_vectors():
    pairs = np.random.default_rng(0).integers(0, 30, (200, 2))
    edges = [(f"n{a}", f"n{b}") for a, b in pairs if a != b]
    return softvec.embed(edges, 8, random_state=0, view="walk").calibrate(edges)


def altered(emb, path, value):
    record = copy.deepcopy(dict(emb.provenance))
    *parts, last = path.split(".")
    target = record
    for part in parts:
        target = target[part]
    target[last] = value
    return emb._with(provenance=record)


@pytest.mark.parametrize(("path", "value"), [
    ("history.loss", 5),
    ("history.loss", ["a"]),
    ("parameters.base_measure", [1, "a"]),
    ("parameters.base_measure", 1e300),
    ("parameters.beta", 0),
    ("parameters.beta", True),
    ("parameters.shrinkage", None),
    ("parameters.n_clusters", "x\x1b]0;title\x07"),
    ("parameters.n_clusters", 10**30),
    ("data.kind", {}),
    ("data.mean_neighbours", "many"),
    ("data.options", []),
    ("data.options.length", -1),
    ("softmax.cosine", [1.0]),
    ("softmax.standard_error", -1),
    ("softmax.popularity", None),
    ("softmax.deciles", "ten"),
    ("diagnosis.n_rows", "all"),
    ("additions", 7),
])  # fmt: skip
@pytest.mark.parametrize("name", ["v.svec", "v.parquet", "v/"])
def test_a_wrong_record_is_refused_in_one_line(tmp_path, capsys, graph_vectors, path, value, name):
    target = f"{tmp_path}/{name}"
    altered(graph_vectors, path, value).save(target)
    with pytest.raises(InputError, match=f"is damaged: its record .*{path.split('.')[0]}"):
        Embedding.load(target)
    with pytest.raises(SystemExit) as end:
        main(["info", target])
    text = capsys.readouterr().err
    assert end.value.code == 2
    assert text.count("\n") == 1
    assert "\x1b]" not in text


def test_records_of_others_and_of_every_kind_of_fit_pass(tmp_path, graph_vectors):
    plain = Embedding(graph_vectors.vectors, provenance={"data": "mine", "history": 3, "softmax": None})
    for emb in (graph_vectors, plain):
        emb.save(tmp_path / "v.svec")
        assert Embedding.load(tmp_path / "v.svec").provenance == emb.provenance


def test_a_record_that_is_no_mapping_stops_no_update(tmp_path, graph_vectors):
    emb = graph_vectors._with(provenance={**graph_vectors.provenance, "data": "mine"})
    pairs = [(name, "n1") for name in graph_vectors.names if name != "n1"]
    assert softvec.embed(pairs, init=emb, random_state=0).n_components == 8


def test_a_graph_with_one_hidden_link_is_saved_and_read(tmp_path):
    """Its softmax has no standard error, which JSON holds as null."""
    edges = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]
    emb = softvec.embed(edges, 4, view="links", random_state=0)
    assert emb.provenance["softmax"]["standard_error"] is None
    emb.save(tmp_path / "x.svec")
    with pytest.warns(UserWarning, match="no better than popularity"):
        assert Embedding.load(tmp_path / "x.svec").links(1, exclude=edges)

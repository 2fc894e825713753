"""Maps for other programs, and the commands that write maps."""

import json
import warnings

import numpy as np
import pytest

from softvec import Embedding
from softvec.cli import run
from softvec.core.errors import InputError
from tests.map.reader import NASTY, data_of


@pytest.fixture
def emb():
    rng = np.random.default_rng(0)
    V = np.eye(6)[np.arange(60) % 3] + 0.2 * rng.standard_normal((60, 6))
    return Embedding(V, [f"n{i}" for i in range(60)], sizes=np.arange(60) + 1)


def test_parquet_for_embedding_atlas(emb, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    page = emb.map([f"g{i % 3}" for i in range(60)], metadata={"x": range(60)}, method="pca", n_neighbors=3)
    page.save(tmp_path / "map.parquet")
    table = pq.read_table(tmp_path / "map.parquet")
    assert table.column_names == ["name", "x", "y", "neighbors", "label", "community", "x_", "size"]
    records = table.to_pylist()
    assert [record["name"] for record in records] == list(emb)
    np.testing.assert_allclose([r["x"] for r in records], page.content.coordinates[:, 0], rtol=1e-6)
    near = records[7]["neighbors"]
    assert [records[j]["name"] for j in near["ids"]] == [name for name, _ in emb.most_similar("n7", n=3)]
    np.testing.assert_allclose(near["distances"], [1 - c for _, c in emb.most_similar("n7", n=3)], atol=1e-6)


@pytest.mark.parametrize("kind", ["graphml", "gexf"])
def test_graph_files_are_read_by_networkx(emb, tmp_path, kind):
    nx = pytest.importorskip("networkx")
    graph = nx.Graph()
    graph.add_weighted_edges_from((f"n{i}", f"n{(7 * i + 1) % 60}", i + 0.5) for i in range(60))
    page = emb.map([f"<g> & {i % 3}" for i in range(60)], edges=graph, method="pca")
    page.save(tmp_path / f"map.{kind}")
    found = getattr(nx, f"read_{kind}")(tmp_path / f"map.{kind}")
    assert list(found) == list(emb)
    assert {frozenset(e) for e in found.edges} == {frozenset(e) for e in graph.edges}
    for a, b, weight in graph.edges(data="weight"):
        assert found.edges[a, b]["weight"] == weight
    Z = page.content.coordinates
    for i, name in enumerate(emb):
        node = found.nodes[name]
        np.testing.assert_allclose((node["x"], node["y"]), Z[i], rtol=1e-5)
        assert (node["label"], node["group"]) == (name, f"<g> & {i % 3}")
        assert node["community"] in {"0", "1", "2"}
    if kind == "gexf":
        viz = found.nodes["n3"]["viz"]
        centred = Z - Z.mean(axis=0)
        factor = viz["position"]["x"] / centred[3, 0]
        np.testing.assert_allclose(viz["position"]["y"], centred[3, 1] * factor, rtol=1e-2, atol=0.01)


@pytest.mark.parametrize("kind", ["graphml", "gexf"])
def test_nasty_names_make_well_formed_xml(tmp_path, kind):
    nx = pytest.importorskip("networkx")
    names = [*NASTY, "a\x01b", "a\x02b"]
    emb = Embedding(np.random.default_rng(0).standard_normal((len(names), 4)), names)
    emb.map(names, metadata={"<&\x03": names}, method="pca").save(tmp_path / f"map.{kind}")
    found = getattr(nx, f"read_{kind}")(tmp_path / f"map.{kind}")
    assert len(found) == len(names)
    assert {NASTY[0], NASTY[1], "a\ufffdb", "a\ufffdb (2)"} <= set(found)


def test_annotate_copies_the_graph(emb):
    nx, ig = pytest.importorskip("networkx"), pytest.importorskip("igraph")
    graph = nx.Graph([("n1", "n2"), ("n2", "elsewhere")])
    found = emb.annotate(graph, method="pca")
    Z, groups = emb.project("pca"), emb.cluster()
    assert graph.nodes["n1"] == {}
    assert found.nodes["elsewhere"] == {}
    assert set(found.edges) == set(graph.edges)
    for i in (1, 2):
        assert found.nodes[f"n{i}"] == pytest.approx({"x": Z[i, 0], "y": Z[i, 1], "community": groups[i]})
    other = ig.Graph.TupleList([("n1", "n2"), ("n2", "elsewhere")])
    found = emb.annotate(other, coordinates=Z)
    assert "x" not in other.vs.attributes()
    assert found.vs["community"] == [groups[1], groups[2], None]
    with pytest.raises(InputError, match="no node of the graph"):
        emb.annotate(nx.path_graph(3))
    with pytest.raises(InputError, match="expected a networkx or igraph graph"):
        emb.annotate([1, 2])


def test_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.txt").write_text(
        "".join(f"n{i} n{(3 * i + j) % 20}\n" for i in range(20) for j in (1, 2))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert run(["embed", "edges.txt", "-d", "4", "--map", "first.html", "-q"]) == 0
    header, _, texts = data_of((tmp_path / "first.html").read_text())
    assert (header["title"], header["edges"]["total"] > 20) == ("edges.txt", True)
    (tmp_path / "labels.tsv").write_text("".join(f"n{i}\tgroup {i % 2}\n" for i in range(20)))
    (tmp_path / "more.csv").write_text("name,year\n" + "".join(f"n{i},{1900 + i}\n" for i in range(20)))
    arguments = [
        "map",
        "edges.svec",
        "--labels",
        "labels.tsv",
        "--metadata",
        "more.csv",
        "--edges",
        "edges.txt",
    ]
    assert run([*arguments, "--title", "A & B", "--neighbors", "3", "--theme", "dark", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"output": "edges.html", "points": 20}
    page = (tmp_path / "edges.html").read_text()
    header, array, texts = data_of(page)
    assert 'data-start="dark"' in page
    assert header["title"] == "A & B"
    assert [c["name"] for c in header["columns"]] == ["label", "community", "year", "size"]
    years = array(header["columns"][2]["array"])
    assert all(year == 1900 + int(name[1:]) for name, year in zip(texts("names"), years))
    assert run(["map", "edges.svec", "-o", "m.gexf", "-q"]) == 0
    assert (tmp_path / "m.gexf").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "map.png"], "map.png: a map is written as .html"),
        (["--metadata", "none.csv"], "none.csv: no such file"),
        (["--metadata", "bad.csv"], "bad.csv has no column 'name'"),
        (["--metadata", "v.npy"], "v.npy is npy; expected a table: text with a header"),
        (["--edges", "none.txt"], "none.txt"),
        (["--theme", "pink"], "theme is 'pink'"),
    ],
)
def test_mistakes_on_the_command_line(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    np.save("v.npy", np.eye(4))
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    assert run(["map", "v.npy", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_open_shows_the_page_in_a_browser(tmp_path, monkeypatch):
    import webbrowser

    monkeypatch.chdir(tmp_path)
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    np.save("v.npy", np.eye(4))
    assert run(["map", "v.npy", "--open", "-q"]) == 0
    assert opened == [(tmp_path / "v.html").as_uri()]

"""The map of an embedding: what is packed into the page, and what other programs read."""

import base64
import hashlib
import html
import re
import warnings

import numpy as np
import pytest

import softvec
from softvec import Embedding
from softvec.core.errors import InputError
from softvec.map.columns import labels_of
from softvec.map.page import SCRIPTS, Packer, encode, pack_cosines, script
from tests.map.reader import NASTY, data_of


@pytest.fixture
def emb():
    rng = np.random.default_rng(0)
    V = np.eye(6)[np.arange(60) % 3] + 0.2 * rng.standard_normal((60, 6))
    return Embedding(V, [f"n{i}" for i in range(60)], sizes=np.arange(60) + 1)


def test_page_holds_names_coordinates_groups_and_sizes(emb):
    Z = np.random.default_rng(1).standard_normal((60, 2))
    labels = [None if i == 5 else f"g{i % 12}" for i in range(60)]
    page = emb.map(labels, coordinates=Z, communities=False).html
    header, array, texts = data_of(page)
    assert header["n"] == 60
    assert texts("names") == list(emb)
    scale = (Z.max(axis=0) - Z.min(axis=0)).max()
    for axis, name in enumerate("xy"):
        found = np.array(array(name)) / 65535 * scale
        np.testing.assert_allclose(found - found.mean(), Z[:, axis] - Z[:, axis].mean(), atol=scale / 65535)
    column = header["columns"][0]
    assert column["groups"] == [f"g{i}" for i in range(12)]  # natural order: g2 before g10
    codes = array(column["array"])
    assert [column["groups"][c - 1] if c else None for c in codes] == labels
    assert array(header["sizes"]) == list(range(1, 61))


def test_neighbours_are_those_of_the_embedding(emb):
    header, array, texts = data_of(emb.map(method="pca", n_neighbors=4).html)
    (block,) = header["neighbours"]
    names = texts("names")
    ids = np.array(array("neighbours0")).reshape(4, 60)
    cosines = np.array(array("cosines0")).reshape(4, 60) / 1000 - 1
    assert (block["k"], block["count"]) == (4, 60)
    for i in (0, 17, 59):
        expected = emb.most_similar(names[i], n=4)
        assert [names[j] for j in ids[:, i]] == [name for name, _ in expected]
        np.testing.assert_allclose(cosines[:, i], [cosine for _, cosine in expected], atol=0.00051)


def test_an_item_is_not_its_own_neighbour_among_duplicates():
    emb = Embedding(np.ones((9, 3)), list("abcdefghi"))
    (block,) = emb.map(n_neighbors=3, coordinates=np.zeros((9, 2))).content.neighbours
    assert block.ids.shape == (9, 3)
    assert not (block.ids == np.arange(9)[:, None]).any()


def test_two_sides_have_neighbours_on_both():
    rng = np.random.default_rng(0)
    emb = Embedding(
        rng.standard_normal((8, 4)), [f"u{i}" for i in range(8)],
        context_vectors=rng.standard_normal((5, 4)), context_names=[f"v{i}" for i in range(5)],
    )  # fmt: skip
    content = emb.map({"u1": "x", "v2": "y"}, method="pca", n_neighbors=2, sides=("users", "items")).content
    assert (len(content), content.first_context, content.sides) == (13, 8, ("users", "items"))
    found = {(b.kind, b.start): b for b in content.neighbours}
    names = content.names
    expected = [name for name, _ in emb.most_similar("u3", n=2, among="context")]
    assert [names[j] for j in found["other", 0].ids[3]] == expected
    assert [names[j] for j in found["same", 8].ids[1]] == [n for n, _ in emb.context.most_similar("v1", n=2)]
    labels = content.columns[0]
    assert [labels.groups[c] if c >= 0 else None for c in labels.values[[1, 10, 0]]] == ["x", "y", None]


def test_scripts_run_under_the_policy_and_nothing_else_does(emb):
    page = emb.map(method="pca").html
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        bodies = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert len(bodies) == 1
        digest = base64.b64encode(hashlib.sha256(bodies[0].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert not re.search(r"https?://|//cdn|@import|\burl\(", page)


def test_script_writes_names_as_text_only_and_evaluates_nothing():
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(",
                      "fetch(", "XMLHttpRequest", "WebSocket", "sendBeacon", "localStorage"):  # fmt: skip
        assert forbidden not in script(), forbidden


def test_every_script_file_is_part_of_the_page_and_short():
    from importlib.resources import files

    folder = files("softvec.map")
    present = {entry.name for entry in folder.iterdir() if entry.name.endswith(".js")}
    assert present == set(SCRIPTS)
    assert all(len((folder / name).read_text().splitlines()) < 400 for name in SCRIPTS)


def test_nasty_names_stay_data():
    emb = Embedding(np.random.default_rng(0).standard_normal((len(NASTY), 4)), NASTY)
    labels = [f"<b>{name[:30]}" for name in NASTY]
    title = "</title><script>window.hacked=1</script>{{data}}{{script}}"
    page = emb.map(labels, metadata={"</script>": NASTY}, title=title, method="pca").html
    assert len(page) < 300_000
    outside = page.replace(re.search(r'id="data">([^<]*)<', page)[1], "")
    assert "hacked" not in outside.replace(html.escape(title), "")
    assert page.count("<script") == 2
    header, _, texts = data_of(page)
    names = texts("names")
    assert names[:6] == NASTY[:6]
    assert names[6] == "x" * 499 + "…"
    assert names[8:13] == NASTY[8:13]
    assert names[13] == "? alone"
    assert header["title"] == title
    assert header["notes"] == ["1 name longer than 500 characters truncated."]


def test_notebooks_get_a_sandboxed_frame(emb):
    page = emb.map(method="pca")
    shown = page._repr_html_()
    assert re.search(r'sandbox="allow-scripts allow-downloads"', shown)
    assert "allow-same-origin" not in shown
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1]) == page.html


def test_a_map_too_large_for_a_notebook_says_so(emb, monkeypatch):
    from softvec.map import map as module

    monkeypatch.setattr(module, "_NOTEBOOK_LIMIT", 1000)
    assert "too large for a notebook" in emb.map(method="pca")._repr_html_()
    assert "<iframe" not in emb.map(method="pca")._repr_html_()


def test_same_map_same_bytes_and_modest_size(tmp_path):
    rng = np.random.default_rng(0)
    V = rng.standard_normal((10_000, 16))
    emb = Embedding(V, [f"item {i}" for i in range(10_000)], sizes=rng.integers(1, 500, 10_000))
    Z = rng.standard_normal((10_000, 2))
    pages = [emb.map(rng.integers(0, 8, 10_000) * 0, coordinates=Z, communities=False).html for _ in range(2)]
    assert pages[0] == pages[1]
    assert len(pages[0]) < 900_000
    emb.map(coordinates=Z, communities=False).save(tmp_path / "map.html")
    assert (tmp_path / "map.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [path.name for path in tmp_path.iterdir()] == ["map.html"]


@pytest.mark.parametrize("values", [[0], [255], [256], [65_535, 1], [65_536], [2**24], [2**32 - 1, 0]])
def test_widths_of_packed_numbers(values):
    packer = Packer()
    packer.add("a", np.array(values))
    page = f'id="data">{encode(packer.to_bytes({}))}</script>'
    assert data_of(page)[1]("a") == values


def test_cosines_keep_three_decimals():
    cosines = np.array([-1.0, -0.1234, 0.0, 0.4996, 1.0, 1.0000001])
    found = pack_cosines(cosines) / 1000 - 1
    np.testing.assert_allclose(found, [-1, -0.123, 0, 0.5, 1, 1], atol=1e-12)


def test_labels_are_aligned_by_name(emb):
    pd = pytest.importorskip("pandas")
    by_name = {f"n{i}": i % 2 for i in range(60)}
    expected = [i % 2 for i in range(60)]
    shuffled = pd.Series(by_name).sample(frac=1, random_state=0)
    for labels in (by_name, shuffled, expected, np.array(expected), pd.Series(expected)):
        assert labels_of(emb, labels) == expected
    assert labels_of(emb, {"n3": "x"})[3:5] == ["x", None]
    with pytest.raises(InputError, match="no item has any of their names"):
        emb.map({"other": 1}, method="pca")
    with pytest.raises(InputError, match="3 labels for 60 vectors"):
        emb.map([1, 2, 3], method="pca")
    with pytest.raises(InputError, match=r"labels have shape \(60, 2\)"):
        emb.map(np.ones((60, 2)), method="pca")
    with pytest.raises(InputError, match="labels is 'groups'"):
        emb.map("groups", method="pca")


def test_labels_that_are_numbers_with_decimals_make_a_colour_bar(emb):
    content = emb.map(np.linspace(0, 1, 60), method="pca").content
    assert content.columns[0].kind == "number"
    assert emb.map(np.arange(60.0) % 4, method="pca").content.columns[0].groups == ("0", "1", "2", "3")
    negative = emb.map([-1] * 30 + [2] * 30, method="pca").content.columns[0]
    assert negative.values.tolist() == [-1] * 30 + [0] * 30


def test_metadata_of_every_kind_of_frame(emb):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    columns = {
        "year": [None if i == 2 else 1900 + i for i in range(60)],
        "town": ["Rome" if i % 2 else None for i in range(60)],
        "note": [f"text {i}" for i in range(60)],
        "id": [2**40 + i for i in range(60)],
    }
    named = {"name": [f"n{i}" for i in range(60)], **columns}
    turned = pd.DataFrame(columns, index=named["name"]).iloc[::-1]
    for frame in (columns, pd.DataFrame(columns), turned, pl.DataFrame(named), pa.table(named)):
        made = {c.name: c for c in emb.map(metadata=frame, method="pca").content.columns}
        assert np.isnan(made["year"].values[2])
        assert made["year"].values[3] == 1903
        assert (made["town"].groups, made["town"].values[:2].tolist()) == (("Rome",), [-1, 0])
        assert (made["note"].kind, made["note"].values[7]) == ("text", "text 7")
        assert made["id"].values[5] == 2**40 + 5
    twice = emb.map(metadata={"size": range(60), "community": ["a", "b"] * 30}, method="pca").content.columns
    assert [c.name for c in twice] == ["community", "size", "community (2)", "size (2)"]
    with pytest.raises(InputError, match="name 'n1' more than once"):
        emb.map(metadata={"name": ["n1", "n2", "n1"], "a": [1, 2, 3]}, method="pca")
    with pytest.warns(UserWarning, match="1 line of metadata without a vector"):
        emb.map(metadata={"name": ["n1", "zz"], "a": [1, 2]}, method="pca")
    with pytest.raises(InputError, match="metadata column 'a': labels are given by name, but no item"):
        emb.map(metadata={"name": ["yy", "zz"], "a": [1, 2]}, method="pca")
    with pytest.raises(InputError, match="metadata column 'a': 2 labels for 60"):
        emb.map(metadata={"a": [1, 2]}, method="pca")


def test_cells_of_blanks_are_missing_as_in_other_tables(emb):
    cells = {"age": [" ", *range(59)], "town": ["Rome", " "] * 30}
    made = {c.name: c for c in emb.map(metadata=cells, method="pca").content.columns}
    assert (made["age"].kind, np.isnan(made["age"].values[0])) == ("number", True)
    assert (made["town"].groups, made["town"].values[:2].tolist()) == (("Rome",), [0, -1])


def test_edges_from_graphs_matrices_and_pairs(emb, tmp_path):
    nx, ig = pytest.importorskip("networkx"), pytest.importorskip("igraph")
    pairs = [("n1", "n0"), ("n4", "n2"), ("n4", "n3")]
    graph = nx.Graph(pairs)
    graph.add_edge("n5", "n6")
    expected = {(0, 1), (2, 4), (3, 4), (5, 6)}
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in graph.edges))
    sources = [graph, ig.Graph.TupleList(graph.edges), list(graph.edges), tmp_path / "edges.csv"]
    for source in sources:
        edges = emb.map(edges=source, method="pca").content.edges
        assert {tuple(sorted(pair)) for pair in zip(edges.source.tolist(), edges.target.tolist())} == expected
    matrix = nx.to_scipy_sparse_array(nx.path_graph(60))  # no names: row i is item i
    assert len(emb.map(edges=matrix, method="pca").content.edges.source) == 59
    with pytest.warns(UserWarning, match="without a vector"):
        emb.map(edges=[("n0", "n1"), ("n0", "zz")], method="pca")
    with pytest.raises(InputError, match="none of the 2 names"):
        emb.map(edges=[("y", "z")], method="pca")


def test_names_decide_over_positions_where_both_could():
    emb = Embedding(np.eye(3), [2, 0, 1])
    edges = emb.map(edges=[(0, 1), (1, 2)], method="pca").content.edges
    assert {frozenset(p) for p in zip(edges.source.tolist(), edges.target.tolist())} == {
        frozenset({1, 2}), frozenset({2, 0})
    }  # fmt: skip


def test_the_heaviest_edges_are_drawn(emb):
    nx = pytest.importorskip("networkx")
    graph = nx.Graph()
    graph.add_weighted_edges_from((f"n{i}", f"n{i + 1}", float(i + 1)) for i in range(59))
    page = emb.map(edges=graph, max_edges=10, method="pca")
    header, array, _ = data_of(page.html)
    assert header["edges"] == {"shown": 10, "total": 59, "directed": False}
    assert sorted(array("edges.source")) == list(range(49, 59))
    assert header["notes"] == ["Only the strongest 10 of 59 edges are drawn."]
    assert len(page.content.edges.source) == 59


def test_contacts_have_times(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{20 * t} {' '.join(map(str, rng.choice(12, 2, replace=False)))}\n" for t in range(300)]
    (tmp_path / "contacts.dat").write_text("".join(lines))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        emb = softvec.embed(
            tmp_path / "contacts.dat", kind="temporal", window=600, n_components=4, random_state=0
        )
    header, array, texts = data_of(emb.map(method="pca").html)
    codes, items = array("times"), array("items")
    for i, (person, time) in enumerate(emb):
        assert header["times"][codes[i]] == time
        assert texts("names")[i] == f"{person}@{time}"
        assert items[i] == items[[name[0] for name in emb].index(person)]
    assert not header["columns"][-1]["dated"]
    given = Embedding(np.eye(3)).map(times=[5, 1, 5], method="pca").content
    assert given.times.tolist() == [5, 1, 5]
    with pytest.raises(InputError, match="times has 2 entries"):
        Embedding(np.eye(3)).map(times=[5, 1], method="pca")


def test_dated_contacts_have_dates():
    names = [(person, f"2024-03-01T{hour:02}:00") for hour in (9, 10) for person in ("ada", "bob", "eve")]
    X = np.random.default_rng(0).standard_normal((6, 3))
    emb = Embedding(X, names, provenance={"data": {"kind": "temporal"}})
    header, array, _ = data_of(emb.map(method="pca").html)
    assert header["times"] == ["2024-03-01T09:00", "2024-03-01T10:00"]
    assert list(array("times")) == [0, 0, 0, 1, 1, 1]
    column = header["columns"][-1]
    assert (column["name"], column["dated"]) == ("time", True)
    assert array(column["array"])[3] - array(column["array"])[0] == 3600
    for times in (["2024-03-01", "2024-03-02", "2024-03-01"], np.array([5, 1, 5], "M8[D]")):
        assert Embedding(np.eye(3)).map(times=times, method="pca").content.times.dtype.kind == "M"
    with pytest.raises(InputError, match="numbers or dates"):
        Embedding(np.eye(3)).map(times=["a", "b", "c"], method="pca")


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (1900 + np.arange(60), "number"),  # years, as plot draws them
        (np.arange(60), "category"),
        (np.arange(60) / 2, "number"),
        ((np.arange(60) % 7).astype(float), "category"),
    ],
)
def test_numbers_are_values_or_groups_as_in_a_picture(emb, labels, kind):
    column = emb.map(labels, method="pca", communities=False).content.columns[0]
    assert column.kind == kind
    if kind == "category":
        assert list(column.groups) == [str(i) for i in range(len(column.groups))]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_map_of_very_few(n):
    header, array, _ = data_of(Embedding(np.eye(n)).map().html)
    assert header["n"] == len(array("x")) == n


def test_neighbours_by_size(monkeypatch):
    from softvec.map import content

    monkeypatch.setattr(content, "AUTO_NEIGHBORS", 3)
    made = Embedding(np.eye(4)).map(coordinates=np.zeros((4, 2))).content
    assert made.neighbours == []
    assert "n_neighbors=10" in str(made.notes[0])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"coordinates": np.zeros((3, 2))}, r"coordinates have shape \(3, 2\); expected \(60, 2\)"),
        ({"coordinates": np.full((60, 2), np.nan)}, "NaN or infinite values"),
        ({"method": "abc"}, "method is 'abc'; expected one of"),
        ({"theme": "pink"}, "theme is 'pink'"),
        ({"n_neighbors": -1}, "n_neighbors is -1"),
        ({"sides": "ab"}, "sides is 'ab'"),
    ],
)
def test_mistakes_are_named(emb, options, match):
    with pytest.raises(InputError, match=match):
        emb.map(**options)


def test_communities_are_titled_by_their_largest_names():
    V = np.repeat(np.eye(2), 30, axis=0) + 0.01 * np.random.default_rng(0).standard_normal((60, 2))
    names = [f"{'ab'[i // 30]}-{'x' * (1 + i % 30)}"[:20] + str(i) for i in range(60)]
    made = Embedding(V, names, sizes=np.arange(60)).map("clusters", method="pca")
    column = made.content.columns[0]
    assert column.name == "community"
    assert column.groups == ("0", "1")  # as in exports
    low, high = f"{names[29]}, {names[28]}", f"{names[59]}, {names[58]}"
    assert set(column.titles) in ({f"0: {low}", f"1: {high}"}, {f"0: {high}", f"1: {low}"})
    assert data_of(made.html)[0]["columns"][0]["groups"] == list(column.titles)


def test_name_of_a_series_titles_the_colours(emb):
    pd = pytest.importorskip("pandas")
    groups = pd.Series([f"g{i % 3}" for i in range(60)], index=list(emb), name="topic")
    assert emb.map(groups, method="pca", communities=False).content.columns[0].name == "topic"
    assert emb.map(groups.rename(None), method="pca", communities=False).content.columns[0].name == "label"

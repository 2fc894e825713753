"""The command line, through its own entry point, on real files."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import softvec
from softvec.cli import run
from softvec.embedding import Embedding

ROOT = Path(__file__).parents[2]


def two_groups(n=20, seed=0):
    """Edges within two groups of n and a few between them."""
    rng = np.random.default_rng(seed)
    A = rng.random((2 * n, 2 * n)) < np.kron(np.array([[0.6, 0.02], [0.02, 0.6]]), np.ones((n, n)))
    return [(f"{'ab'[i // n]}{i}", f"{'ab'[j // n]}{j}") for i, j in zip(*np.nonzero(np.triu(A, 1)))]


@pytest.fixture
def edges(folder):
    path = folder / "edges.txt"
    path.write_text("".join(f"{a} {b}\n" for a, b in two_groups()))
    return path


@pytest.fixture
def vectors(folder):
    """A ready file of vectors: two groups, sizes, a history."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 20)
    emb = Embedding(
        np.eye(8)[group] + 0.1 * rng.standard_normal((40, 8)),
        [f"{'ab'[g]}{i}" for i, g in enumerate(group)],
        sizes=np.arange(40),
        provenance={
            "softvec": "0.1.0",
            "history": {"epoch": [0, 1], "loss": [3.0, 2.0]},
            "data": {"summary": "40 nodes"},
        },
    )
    emb.save(folder / "v.svec")
    return folder / "v.svec"


def test_embed_then_neighbors(call, edges, folder):
    report = json.loads(call("embed", edges, "-d", 8, "--seed", 1, "--json"))
    assert report["output"] == "edges.svec"
    assert report["vectors"] == 40
    assert report["dimensions"] == 8
    assert report["data"]["summary"].startswith("40 nodes")
    assert report["seconds"]["fitting"] > 0
    answer = json.loads(call("neighbors", "edges.svec", "a3", "b30", "-n", 8, "--json"))
    for key, found in answer.items():
        assert sum(row["name"][0] == key[0] for row in found) >= 7, "neighbours lie in the same group"


def test_same_seed_same_vectors_for_any_number_of_threads(call, edges, folder):
    call("embed", edges, "-d", 4, "--seed", 3, "-o", "one.npy", "--threads", 1, "-q")
    call("embed", edges, "-d", 4, "--seed", 3, "-o", "two.npy", "--threads", 2, "-q")
    assert (folder / "one.npy").read_bytes() == (folder / "two.npy").read_bytes()


@pytest.mark.parametrize(
    "file", ["o.svec", "o.txt", "o.vec.gz", "o.bin", "o.parquet", "o.csv", "o.tsv", "o.npy", "o.feather"]
)
def test_embed_to_every_format(call, edges, folder, file):
    call("embed", edges, "-d", 4, "-o", file, "-q", "--epochs", 2)
    emb = Embedding.load(folder / file)
    assert emb.shape == (40, 4)
    assert "a3" in emb


def test_embed_options_reach_the_fit(call, edges, folder):
    call(
        *("embed", edges, "-d", 4, "--epochs", 3, "--beta", 2, "--gradient", "full", "--walk-length", 2),
        *("--learning-rate", 0.5, "--clusters", 2, "--two-sided", "--set", "self_loops=keep", "-q"),
    )
    emb = Embedding.load(folder / "edges.svec")
    record = emb.provenance
    assert len(record["history"]["loss"]) == 3
    parameters = record["parameters"]
    assert (parameters["beta"], parameters["gradient"], parameters["n_clusters"]) == (2, "full", 2)
    assert record["data"]["options"]["length"] == 2
    assert emb.two_sided


def test_embed_with_names(call, folder):
    sparse.save_npz("g.npz", sparse.csr_array(np.ones((4, 4)) - np.eye(4)))
    (folder / "names.txt").write_text("ann\nbob\ncyd\ndan smith\n")
    call("embed", "g.npz", "--names", "names.txt", "-d", 2, "-q")
    assert list(Embedding.load("g.svec")) == ["ann", "bob", "cyd", "dan smith"]


def test_embed_table_columns(call, folder):
    (folder / "sales.csv").write_text("item,n,user\ntea,3,ann\nrum,1,ann\ntea,2,bob\n")
    call("embed", "sales.csv", "--kind", "bipartite", "--columns", "user,item,n", "-d", 2, "-q")
    emb = Embedding.load("sales.svec")
    assert list(emb) == ["ann", "bob"]
    assert list(emb.context) == ["rum", "tea"]
    answer = json.loads(call("neighbors", "sales.svec", "ann", "--context", "--json"))
    assert {row["name"] for row in answer["ann"]} == {"tea", "rum"}


def test_embed_contacts_and_pair_names(call, folder):
    rows = [(t, i, (i + t) % 5) for t in range(6) for i in range(5) if t % 5]
    (folder / "c.dat").write_text("".join(f"{t} {i} {j}\n" for t, i, j in rows))
    call("embed", "c.dat", "--kind", "temporal", "-d", 3, "-q")
    emb = Embedding.load("c.svec")
    assert (0, 1) in emb
    answer = call("neighbors", "c.svec", "0@1", "-n", 2)
    assert "@" in answer.splitlines()[0]


def test_embed_text(call, folder):
    text = "the cat sat on the mat\nthe dog sat on the rug\n" * 20
    (folder / "t.txt").write_text(text)
    call("embed", "t.txt", "--kind", "corpus", "--window", 2, "--min-count", 1, "-d", 4, "-q")
    assert "cat" in Embedding.load("t.svec")


def test_pipes(edges, folder):
    command = [sys.executable, "-m", "softvec"]
    made = subprocess.run(
        [*command, "embed", "-", "-o", "-", "-d", "4", "--epochs", "2"],
        input=edges.read_bytes(), capture_output=True, check=True,
    )  # fmt: skip
    assert made.stdout.startswith(b"40 4\n")
    assert b"40 vectors of 4 dimensions" in made.stderr
    found = subprocess.run(
        [*command, "neighbors", "-", "a1", "-n", "2"], input=made.stdout, capture_output=True, check=True
    )
    assert len(found.stdout.splitlines()) == 2


def test_neighbors_of_sums_and_differences(call, vectors):
    lines = call("neighbors", vectors, "a1", "a2", "--minus", "b30", "-n", 3).splitlines()
    assert len(lines) == 3
    assert all(line.startswith("a") for line in lines)
    table = call("neighbors", vectors, "a1", "a2", "-n", 1).splitlines()
    assert [line.split("\t")[0] for line in table] == ["a1", "a2"]
    assert len(call("neighbors", vectors, "a1", "a2", "--sum", "-n", 4).splitlines()) == 4


def test_integer_names(call, folder):
    Embedding(np.eye(3), [10, 20, 30]).save("i.svec")
    assert json.loads(call("neighbors", "i.svec", "10", "-n", 1, "--json"))["10"][0]["name"] in (20, 30)
    assert "10 among 3 names" not in call("neighbors", "i.svec", "10")
    assert "no item is named 99" in call("neighbors", "i.svec", "99", code=2)


def test_similarity(call, vectors, folder):
    (row,) = call("similarity", vectors, "a1", "b30").splitlines()
    a, b, cosine = row.split("\t")
    assert (a, b) == ("a1", "b30")
    assert float(cosine) == pytest.approx(Embedding.load(vectors).similarity("a1", "b30"), abs=1e-3)
    (folder / "pairs.txt").write_text("a1 a2 9\na1 b30 1\na2 b31 0\na3 a4 8\n")
    found = json.loads(call("similarity", vectors, "--pairs", "pairs.txt", "--json"))
    assert found["correlation"]["mean"]["spearman"] > 0.7


def test_communities(call, vectors, folder):
    lines = call("communities", vectors, "-k", 2).splitlines()
    groups = dict(line.split("\t") for line in lines)
    assert len({groups[f"a{i}"] for i in range(20)}) == 1
    assert groups["a0"] != groups["b20"]
    report = json.loads(call("communities", vectors, "-o", "g.tsv", "--json"))
    assert report["communities"] == 2
    assert report["sizes"] == [20, 20]
    assert len((folder / "g.tsv").read_text().splitlines()) == 40


def test_communities_report_their_modularity(call, vectors, folder):
    """Two cycles and two edges between them: 40 of 42 edges inside, half of the degrees in each group."""
    names = list(Embedding.load(vectors))
    edges = [(names[i], names[(i + 1) % 20]) for i in range(20)]
    edges += [(names[20 + i], names[20 + (i + 1) % 20]) for i in range(20)]
    edges += [(names[0], names[20]), (names[5], names[25])]
    (folder / "edges.txt").write_text("".join(f"{a} {b}\n" for a, b in edges))
    report = json.loads(call("communities", vectors, "--graph", "edges.txt", "--json"))
    assert report["modularity"] == pytest.approx(40 / 42 - 0.5)
    (folder / "other.txt").write_text("x y\ny z\n")
    assert run(["communities", str(vectors), "--graph", "other.txt"]) == 2


@pytest.mark.parametrize("kind", ["pairs", "lines", "npy", "npz", "csv"])
def test_evaluate_with_every_kind_of_labels(call, vectors, folder, kind):
    names = list(Embedding.load(vectors))
    codes = np.repeat([0, 1], 20)
    if kind == "pairs":
        path = folder / "l.txt"
        path.write_text("".join(f"{name} {name[0]}\n" for name in names))
    elif kind == "csv":
        path = folder / "l.csv"
        path.write_text("name,label\n" + "".join(f"{name},{name[0]}\n" for name in names))
    elif kind == "lines":
        path = folder / "l.txt"
        path.write_text("".join(f"{name[0]}\n" for name in names))
    elif kind == "npy":
        path = folder / "l.npy"
        np.save(path, codes)
    else:
        path = folder / "l.npz"
        both = np.eye(3)[codes]
        both[:5, 2] = 1  # some nodes have two labels
        sparse.save_npz(path, sparse.csr_array(both))
    report = json.loads(call("evaluate", vectors, path, "--repeats", 2, "--C", 1, "--json"))
    mean = report["classification"]["ratios"]["0.5"]["mean"]
    assert mean["micro_f1"] > 0.8
    if kind != "npz":
        assert report["communities"]["mean"]["nmi"] == 1
    else:
        assert "communities" not in report
    assert "micro f1" in call("evaluate", vectors, path, "--repeats", 1, "--C", 1)


def test_convert_and_info(call, vectors, folder):
    for target in ("v.txt", "v.bin", "v.parquet", "v.tsv", "v.npy", "v.csv", "w.svec"):
        call("convert", vectors, target, "-q")
        np.testing.assert_array_equal(Embedding.load(target).vectors, Embedding.load(vectors).vectors)
    assert call("convert", vectors, "-", "--to", "word2vec").startswith("40 8\n")
    known = json.loads(call("info", vectors, "--json"))
    assert known["vectors"] == 40
    assert known["approximated_loss"] == 2.0
    assert known["loss"] is None
    assert known["data"] == "40 nodes"
    assert "40 nodes" in call("info", vectors)


def test_info_about_data(call, edges):
    known = json.loads(call("info", edges, "--json"))
    assert known["holds"] == "graph"
    assert known["rows"] == 40
    assert "MiB" in known["memory_to_embed"]


@pytest.mark.parametrize("kind", ["map", "loss", "similarities"])
def test_plot(call, vectors, folder, kind):
    call("plot", vectors, "--kind", kind, "-o", "p.png", "--labels", "clusters", "-q")
    assert (folder / "p.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_plot_part_of_the_names(call, vectors, folder):
    (folder / "l.txt").write_text("".join(f"{name} {name[0]}\n" for name in Embedding.load(vectors)))
    report = json.loads(call("plot", vectors, "--labels", "l.txt", "--limit", 10, "--names", 5, "--json"))
    assert report["output"] == "v.png"
    assert (folder / "v.png").stat().st_size > 1000
    call("plot", vectors, "-o", "v.svg", "-q")
    assert "<svg" in (folder / "v.svg").read_text()


def test_plot_with_size_dpi_and_edges(call, vectors, edges, folder):
    import matplotlib.image

    call("plot", vectors, "--edges", edges, "--size", "4x3", "--dpi", 50, "-o", "p.png", "-q")
    assert matplotlib.image.imread("p.png").shape[:2] == (150, 200)
    call("plot", vectors, "--kind", "loss", "--size", "2x3", "--dpi", 50, "-o", "l.png", "-q")
    assert matplotlib.image.imread("l.png").shape[:2] == (150, 100)


@pytest.mark.parametrize("kind", ["text", "npy", "groups", "zeros"])
def test_plot_values_of_a_file(call, vectors, folder, monkeypatch, kind):
    from softvec import plotting

    drawn = []
    plot_map = plotting.plot_map
    monkeypatch.setattr(plotting, "plot_map", lambda *a, **k: drawn.append(plot_map(*a, **k)) or drawn[0])
    names = list(Embedding.load(vectors))
    path = "l.npy" if kind == "npy" else "l.txt"
    if kind == "npy":
        np.save(path, np.arange(40) / 2)
    else:
        texts = {"text": "-{}.5", "groups": "{}", "zeros": "00{}"}[kind]
        (folder / path).write_text(
            "".join(f"{name} {texts.format(i % 20)}\n" for i, name in enumerate(names))
        )
    call("plot", vectors, "--labels", path, "--method", "pca", "-o", "p.png", "-q")
    bars = [other for other in drawn[0].get_figure().axes if other is not drawn[0]]
    assert len(bars) == (kind in ("text", "npy"))
    if kind == "zeros":
        assert "007" in [text.get_text() for text in drawn[0].get_legend().get_texts()]


def test_plot_says_when_items_have_several_labels(vectors, folder, capsys):
    (folder / "l.txt").write_text("".join(f"{name} a b\n" for name in Embedding.load(vectors)))
    assert run(["plot", str(vectors), "--labels", "l.txt", "--method", "pca", "-o", "p.png"]) == 0
    assert "several labels; they get the colour of the first" in capsys.readouterr().err


def test_demo_says_first_what_it_takes_and_keeps_to_it(call, folder, monkeypatch):
    from softvec.cli import demo

    graphs = list(demo._examples())[1:]
    monkeypatch.setattr(demo, "_examples", lambda: graphs)
    text = call("demo", "--output", "out")
    first = text.split("\n\n")[0].replace("\n", " ")
    assert "under a minute, nothing to download, 2 MB in out" in first
    assert "predicted correctly" in text
    files = {path.name: path.stat().st_size for path in (folder / "out").iterdir()}
    assert {"karate.svec", "karate.png", "miserables.svec", "miserables.png"} <= set(files)
    assert sum(files.values()) < 2e6


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_demo_installs_no_tools_for_developers():
    root = Path(__file__).parents[2]
    planned = subprocess.run(
        ["make", "-n", "-W", "pyproject.toml", "demo"], cwd=root, capture_output=True, text=True, check=True
    ).stdout
    assert ".venv-demo/bin/python -m pip install" in planned
    assert "[plot,graphs]" in planned
    assert "dev" not in planned
    assert planned.count("pip install") == 1


@pytest.mark.slow
def test_demo(call, folder):
    report = json.loads(call("demo", "--output", "out", "--json"))
    assert [one["name"] for one in report["examples"]] == ["digits", "karate", "miserables"]
    digits = report["examples"][0]
    assert digits["nmi"] > 0.7
    assert digits["accuracy"] > 0.95
    for one in report["examples"]:
        for file in (one["vectors"], *one["pictures"], one["map"]):
            assert Path(file).stat().st_size > 500


def test_help_is_quick_and_has_examples():
    started = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "softvec", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "communities" in started.stdout
    loaded = {line.rsplit("|", 1)[1].strip() for line in started.stderr.splitlines() if "|" in line}
    heavy = {"numpy", "scipy", "numba", "sklearn", "pyarrow", "pandas", "matplotlib", "networkx"}
    assert not heavy & loaded, "help must not load what commands need"


@pytest.mark.parametrize(
    "command",
    ["embed", "neighbors", "similarity", "communities", "evaluate", "plot", "convert", "info", "normalizer",
     "demo"],
)  # fmt: skip
def test_every_command_has_help_with_examples(call, command):
    text = call(command, "--help")
    assert "Example" in text
    assert f"softvec {command}" in text


def test_version_and_completion(call):
    assert call("--version").startswith("softvec 0.")
    import os

    env = os.environ | {"_SOFTVEC_COMPLETE": "complete_bash", "COMP_WORDS": "softvec em", "COMP_CWORD": "1"}
    done = subprocess.run(
        [Path(sys.executable).parent / "softvec"], env=env, capture_output=True, text=True, check=False
    )
    assert "embed" in done.stdout


def test_normalizer_measures_the_softmax_that_was_fitted(call, folder):
    A = nx.to_scipy_sparse_array(nx.karate_club_graph(), weight=None, format="csr")
    errors = {}
    for shrinkage in (0, 0.5):
        softvec.embed(A, 8, kind="graph", random_state=0, shrinkage=shrinkage, n_epochs=5).save("x.svec")
        report = json.loads(call("normalizer", "x.svec", "--json"))
        errors[shrinkage] = report["methods"][0]["p95_error"]
        assert report["lengthened"] is bool(shrinkage)
    assert errors[0.5] == pytest.approx(errors[0], rel=1e-4)


def test_normalizer(call, vectors):
    report = json.loads(call("normalizer", vectors, "--beta", 1, "--rows", 20, "--json"))
    by_name = {one["method"]: one for one in report["methods"]}
    assert report["rows"] == 20
    assert by_name["GaussianMixture(1)"]["median_error"] < 0.1
    assert by_name["Exact()"]["median_error"] == 0
    lines = call("normalizer", vectors, "-q").splitlines()
    assert len(lines) == len(report["methods"])


def test_signed_links_in_power_steps(run_command, folder):
    (folder / "signed.txt").write_text("a b 1\nb c 1\nc a 1\nc d -1\nd e 1\ne f 1\nf d 1\na e -1\n")
    fit = ("embed", "signed.txt", "-d", 4, "--signed", "--effort", "fast", "-o", "z.svec")
    assert "6 vectors of 4 dimensions: 40 power steps in" in run_command(*fit).err  # 20 of each sign
    assert json.loads(run_command(*fit, "--json").out)["epochs"] == 0

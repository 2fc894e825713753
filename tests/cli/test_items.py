"""The commands add, links, recommend and predict, through the entry point, on real files."""

import json

import numpy as np
import pytest

from softvec.embedding import Embedding


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


def test_links(call, karate):
    import networkx as nx

    graph = nx.karate_club_graph()
    rows = json.loads(call("links", karate, "--graph", "karate.txt", "-n", 7, "--json"))
    assert len(rows) == 7
    assert all(not graph.has_edge(row["a"], row["b"]) and 0 < row["probability"] < 1 for row in rows)
    of = json.loads(call("links", karate, "--graph", "karate.txt", "-n", 3, "--of", 33, "--json"))
    assert [row["a"] for row in of] == [33, 33, 33]
    lines = call("links", karate, "--graph", "karate.txt", "-n", 2).splitlines()
    assert len(lines) == 2
    assert len(lines[0].split("\t")) == 4
    assert "no item is named" in call("links", karate, "--graph", "karate.txt", "--of", 99, code=2)


def test_an_isolated_node_is_said_to_have_neither_links_nor_neighbours(run_command, tmp_path):
    import networkx as nx

    graph = nx.relabel_nodes(nx.karate_club_graph(), str)
    graph.add_node("alone")
    nx.write_graphml(graph, tmp_path / "club.graphml")
    run_command("embed", "club.graphml", "--dim", 8, "--seed", 0, "-q")
    answer = run_command("neighbors", "club.svec", "alone")
    line = "alone: a zero vector, as of an item without edges, has no"
    assert answer == ("", f"{line} neighbours\n")
    links = ("links", "club.svec", "--graph", "club.graphml", "--of", "alone")
    assert json.loads(run_command(*links, "--json").out) == []
    answer = run_command(*links)
    assert answer.out == ""
    assert f"{line} links\n" in answer.err


def test_neighbours_say_when_they_are_ranked_by_length_too(karate, run_command):
    said = "ranked by cosine times length; --cosine ranks by the cosine alone\n"
    for more, line in ([], said), (["--cosine"], ""):
        answer = run_command("neighbors", karate, 33, *more)
        cosines = [float(row.split("\t")[1]) for row in answer.out.splitlines()]
        assert (cosines == sorted(cosines, reverse=True)) == (not line)
        assert answer.err == line


def test_recommend(call, tmp_path):
    import pyarrow.parquet as pq

    lines = [f"u{i},{'abcd'[j]}{(i // 4 + k) % 5}" for i in range(20) for j in [i % 4] for k in range(4)]
    (tmp_path / "orders.csv").write_text("user,item\n" + "\n".join(lines) + "\n")
    call("embed", "orders.csv", "--kind", "bipartite", "-d", 8, "--seed", 0, "-o", "shop.svec", "-q")
    known = {tuple(line.split(",")) for line in lines}
    call("recommend", "shop.svec", "-n", 1, "-o", "top.parquet", "-q")
    rows = pq.read_table(tmp_path / "top.parquet").to_pylist()
    assert len(rows) == 20
    assert all((row["user"], row["item"]) not in known for row in rows)
    assert np.mean([row["item"][0] == "abcd"[int(row["user"][1:]) % 4] for row in rows]) > 0.8
    shown = call("recommend", "shop.svec", "u3", "--known", "orders.csv", "-n", 2).splitlines()
    assert [line.split("\t")[0] for line in shown] == ["u3", "u3"]
    assert "nobody" in call("recommend", "shop.svec", "nobody", "--known", "orders.csv", code=2)
    line = call("recommend", "shop.svec", "-o", "top.xlsx", code=2)
    assert "top.xlsx: a table is written as .csv, .tsv, .txt or .parquet" in line
    assert "would replace the input" in call("recommend", "shop.svec", "-q", "-o", "orders.csv", code=2)
    assert "nothere.csv does not exist" in call("recommend", "shop.svec", "--known", "nothere.csv", code=2)
    (tmp_path / "orders.csv").unlink()
    assert "--known FILE" in call("recommend", "shop.svec", code=2)


def test_predict(call, karate, tmp_path):
    import networkx as nx

    club = nx.get_node_attributes(nx.karate_club_graph(), "club")
    known = {name: label for name, label in club.items() if name % 3}
    (tmp_path / "labels.tsv").write_text("".join(f"{name}\t{label}\n" for name, label in known.items()))
    result = json.loads(call("predict", karate, "labels.tsv", "-o", "out.csv", "--json"))
    assert result["labelled"] == len(known)
    assert result["items"] == 34 - len(known)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "name,label,probability"
    found = {int(line.split(",")[0]): line.split(",")[1] for line in lines[1:]}
    assert np.mean([label == club[name] for name, label in found.items()]) > 0.75
    assert len(call("predict", karate, "labels.tsv", "--C", "10").splitlines()) == 34 - len(known)
    unknown, args = 34 - len(known), ("predict", karate, "labels.tsv", "--C", "10")
    every = [line.split("\t") for line in call(*args, "--all").splitlines()]
    assert len(every) == 2 * unknown == len(call(*args, "--top", "2").splitlines())
    likely = [row for row in every if float(row[2]) >= 0.5]
    assert [line.split("\t") for line in call(*args, "--threshold", "0.5").splitlines()] == likely
    assert "--all gives every label" in call(*args, "--all", "--top", "2", code=2)
    assert "--C is 'x'" in call("predict", karate, "labels.tsv", "--C", "x", code=2)


def test_the_extension_decides_how_a_table_is_written(call, karate, tmp_path):
    import pyarrow.parquet as pq

    (tmp_path / "labels.txt").write_text("".join(f"{i} {'ab'[i < 9]}\n" for i in range(0, 34, 2)))
    for name in ("p.csv", "p.tsv", "p", "p.parquet"):
        call("predict", karate, "labels.txt", "-o", name, "-q")
    header, *rows = [line.split(",") for line in (tmp_path / "p.csv").read_text().splitlines()]
    assert (header, len(rows)) == (["name", "label", "probability"], 17)
    for name in ("p.tsv", "p"):
        assert [line.split("\t") for line in (tmp_path / name).read_text().splitlines()] == rows
    stored = pq.read_table(tmp_path / "p.parquet").to_pylist()
    assert [[str(row["name"]), row["label"], f"{row['probability']:.6g}"] for row in stored] == rows
    assert "groups.xlsx: a table is written as" in call("communities", karate, "-o", "groups.xlsx", code=2)
    report = json.loads(call("communities", karate, "-o", "groups.csv", "--json"))
    assert report["output"] == "groups.csv"
    assert (tmp_path / "groups.csv").read_text().startswith("name,community\n")


def test_embed_goes_on_from_vectors(call, karate, tmp_path):
    lines = (tmp_path / "karate.txt").read_text().splitlines()
    (tmp_path / "today.txt").write_text("\n".join([*lines[1:], "99 33", "99 32"]))
    result = json.loads(call("embed", "today.txt", "--init", karate, "--seed", 0, "--json"))
    assert (result["vectors"], result["dimensions"]) == (35, 8)
    old, new = Embedding.load(karate), Embedding.load("today.svec")
    cosines = [np.dot(old[i], new[i]) / np.linalg.norm(old[i]) / np.linalg.norm(new[i]) for i in range(34)]
    assert np.median(cosines) > 0.9
    assert new.provenance["data"]["options"]["length"] == 3


def test_neighbours_of_a_type(call, tmp_path):
    (tmp_path / "wrote.txt").write_text("".join(f"a{i % 5} p{i}\n" for i in range(20)))
    kinds = [f"a{i} author" for i in range(5)] + [f"p{i} paper" for i in range(20)]
    (tmp_path / "kinds.txt").write_text("\n".join(kinds))
    call("embed", "wrote.txt", "--types", "kinds.txt", "-d", 4, "-q")
    assert "types: 20 paper, 5 author" in Embedding.load("wrote.svec").provenance["data"]["summary"]
    answer = json.loads(call("neighbors", "wrote.svec", "a1", "-n", 3, "--type", "author", "--json"))
    assert [row["name"][0] for row in answer["a1"]] == ["a"] * 3
    assert "no item has the type 'venue'" in call("neighbors", "wrote.svec", "a1", "--type", "venue", code=2)

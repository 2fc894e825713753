"""Sets: read from any source, as a graph of sets and members."""

import gzip
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import softvec
from softvec import affinity as aff
from softvec.affinity.sets import sets
from softvec.core.errors import GuessWarning, InputError

MEALS = {"s1": ["tea", "jam", "bread"], "s2": ["bread", "wine"]}
LINKS = {(member, name) for name, of in MEALS.items() for member in of}


def _links(made):
    coo = made.matrix.tocoo()
    pairs = {(made.rows[i], made.rows[j]) for i, j in zip(coo.row, coo.col)}
    return {pair for pair in pairs if str(pair[1]).startswith(("s1", "s2", "set", "GO"))}


def test_every_source_of_sets_gives_the_same_graph(tmp_path):
    gmt = "s1\thttp://x\ttea\tjam\tbread\t\ns2\tna\tbread\twine\n"
    (tmp_path / "a.gmt").write_text(gmt)
    (tmp_path / "a.gmt.gz").write_bytes(gzip.compress(gmt.encode()))
    xgi_like = SimpleNamespace(edges=SimpleNamespace(members=lambda dtype: dict(enumerate(MEALS.values()))))
    hypernetx_like = SimpleNamespace(incidence_dict=MEALS)
    for source, options in (
        (MEALS, {"kind": "sets"}),
        ({name: set(of) for name, of in MEALS.items()}, {"kind": "sets"}),
        ({name: [*of, of[0]] for name, of in MEALS.items()}, {"kind": "sets"}),
        (str(tmp_path / "a.gmt"), {}),
        (tmp_path / "a.gmt.gz", {}),
        (hypernetx_like, {}),
    ):
        made = aff.as_affinity(source, **options)
        assert _links(made) == LINKS
        assert "types: 4 member, 2 set" in made.summary
    numbered = {(member, f"set {list(MEALS).index(name)}") for member, name in LINKS}
    for mark in ("\t", ", ", " "):
        (tmp_path / "lines.txt").write_text("\n".join(mark.join(of) for of in MEALS.values()))
        assert _links(aff.as_affinity(str(tmp_path / "lines.txt"), kind="sets")) == numbered
    assert _links(aff.as_affinity(list(MEALS.values()), kind="sets")) == numbered
    assert _links(aff.as_affinity(xgi_like)) == numbered
    incidence = sparse.csr_array(np.array([[1, 0], [1, 1], [0, 1]]))
    assert _links(sets(incidence)) == {(0, "set 0"), (1, "set 0"), (1, "set 1"), (2, "set 1")}


def test_annotations_of_genes_are_sets_of_terms(tmp_path):
    rows = [("TP53", "", "GO:1"), ("ATM", "involved_in", "GO:1"), ("ATM", "NOT|involved_in", "GO:2")]
    lines = ["\t".join(["DB", "id", gene, way, term, *["x"] * 12]) for gene, way, term in rows]
    (tmp_path / "genes.gaf").write_text("!gaf-version: 2.2\n" + "\n".join(lines))
    assert _links(aff.as_affinity(str(tmp_path / "genes.gaf"))) == {("TP53", "GO:1"), ("ATM", "GO:1")}


@pytest.mark.filterwarnings("ignore:these vectors predict")
def test_sets_have_vectors_neighbours_and_links():
    meals = {**MEALS, "s3": ["tea", "bread", "wine"]}
    emb = softvec.embed(meals, 4, kind="sets", random_state=0)
    assert {name for name, _ in emb.most_similar("tea", n=3, type="set")} == {"s1", "s2", "s3"}
    found = emb.links(9, exclude=meals, kind="sets")
    lacking = {("wine", "s1"), ("tea", "s2"), ("jam", "s2"), ("jam", "s3")}
    assert {frozenset((link.a, link.b)) for link in found} == set(map(frozenset, lacking))


@pytest.mark.filterwarnings("ignore:these vectors predict")
def test_a_file_beside_vectors_of_sets_is_read_as_sets(tmp_path):
    lines = [["tea", "jam"], ["bread", "wine", "tea"], ["tea", "bread", "jam", "eggs"]]
    (tmp_path / "lines.txt").write_text("\n".join(",".join(line) for line in lines))
    path = str(tmp_path / "lines.txt")
    emb = softvec.embed(path, 4, kind="sets", random_state=0)
    with pytest.warns(GuessWarning, match="is read as sets; pass kind='graph'"):
        found = emb.links(50, exclude=path)
    members = [name for name, of in zip(emb.names, emb.types) if of == "member"]
    lacking = {frozenset((m, f"set {i}")) for i, line in enumerate(lines) for m in members if m not in line}
    assert {frozenset((link.a, link.b)) for link in found} == lacking
    assert emb.links(50, exclude=path, kind="sets") == found


def test_lists_and_sets_that_are_no_edges_name_the_kinds_to_pass():
    for given, message in (
        ([["a", "b"], ["c", "d", "e", "f"]], "pass kind='corpus'; if these are sets, pass kind='sets'"),
        ([["a", "b", "c"], ["d", "e", "f"]], "pass kind='corpus'; if these are sets, pass kind='sets'"),
        ([{"a", "b"}, {"c"}], "expected a tuple of 2 or 3 entries; if these are sets, pass kind='sets'"),
    ):
        with pytest.raises(InputError, match=message):
            softvec.embed(given, 2)


def test_what_is_no_set_is_refused(tmp_path):
    (tmp_path / "bad.gmt").write_text("s1 tea jam\n")
    (tmp_path / "twice.gmt").write_text("s1\tx\ta\ns1\tx\tb\n")
    (tmp_path / "bad.gaf").write_text("a\tb\n")
    for source, message in (
        ({"a": "tea"}, "the set 'a' is 'tea'; expected a collection"),
        ({"a": {"b"}, "b": {"c"}}, "'b' is the name of a set and of a member"),
        ({"a": []}, "1 set without members"),
        (3, "int is not sets"),
        (tmp_path / "bad.gmt", "line 1: fewer than three fields"),
        (tmp_path / "twice.gmt", "line 2: the set 's1' occurs twice"),
        (tmp_path / "bad.gaf", "line 1: 2 fields; expected at least 15"),
    ):
        with pytest.raises(InputError, match=message):
            softvec.embed(source, 2, kind="sets")
    with pytest.raises(InputError, match="unknown option 'weighted' for sets data"):
        softvec.embed(str(tmp_path / "bad.gmt"), 2, weighted=True)

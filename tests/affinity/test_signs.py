"""Signed links: read from any source, fitted apart, and refused where they have no meaning."""

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import softvec
from softvec import affinity as aff
from softvec.affinity.matrices import by_sign
from softvec.api import Origin, embed_affinity
from softvec.core.errors import GuessWarning, InputError
from softvec.evaluate import modularity, sign_prediction
from softvec.fit.camps import camps
from softvec.request import Request

LINKS = [("a", "b", 1), ("b", "c", -1), ("c", "a", 1), ("c", "d", -1)]
MATRIX = np.array([[0, 1, 1, 0], [1, 0, -1, 0], [1, -1, 0, -1], [0, 0, -1, 0]])
SAID = "50% of the links are negative"


def _two_camps(n=120, seed=0):
    """Friends within two camps, foes between them."""
    rng = np.random.default_rng(seed)
    camp = np.arange(n) % 2
    linked = np.triu(rng.random((n, n)) < 0.15, 1)
    A = sparse.csr_array(linked * np.where(camp[:, None] == camp, 1, -1))
    return sparse.csr_array(A + A.T), camp


def _sources(folder):
    (folder / "links.csv").write_text("from,to,weight\n" + "".join(f"{a},{b},{s}\n" for a, b, s in LINKS))
    (folder / "links.txt").write_text("".join(f"{a} {b} {s:+d}\n" for a, b, s in LINKS))
    sparse.save_npz(folder / "links.npz", sparse.csr_array(MATRIX))
    graph = nx.DiGraph()
    graph.add_weighted_edges_from(LINKS)
    frame = pytest.importorskip("pandas").DataFrame(LINKS, columns=["from", "to", "weight"])
    return [LINKS, MATRIX, sparse.csr_array(MATRIX), graph, frame, *map(str, sorted(folder.glob("links.*")))]


def test_every_source_of_signs_gives_the_same_matrix(tmp_path):
    for source in _sources(tmp_path):
        with pytest.warns(GuessWarning, match=SAID):
            made = aff.as_affinity(source)
        assert "undirected, unweighted" in made.summary
        assert "signed: 50% negative" in made.summary
        np.testing.assert_array_equal(made.signed.toarray(), MATRIX)
        np.testing.assert_array_equal(made.matrix.toarray(), abs(MATRIX))
        friends, foes = by_sign(made)
        np.testing.assert_array_equal(friends.matrix.toarray(), np.maximum(MATRIX, 0))
        np.testing.assert_array_equal(foes.matrix.toarray(), np.maximum(-MATRIX, 0))
        with pytest.warns(GuessWarning, match=SAID):
            np.testing.assert_array_equal(aff.random_walk(made).signed.toarray(), MATRIX)
        assert aff.as_affinity(source, negative="abs").signed is None


def test_fractions_are_signs_only_if_told():
    links = [("a", "b", 0.5), ("b", "c", -1), ("c", "a", -0.5)]
    C = np.corrcoef(np.random.default_rng(0).normal(size=(6, 4)))
    for data in (links, links[:2], C):
        with pytest.raises(InputError, match="or negative='sign' for signs of links"):
            softvec.embed(data, 2)
    told = aff.random_walk(links, negative="sign")
    assert told.signed.toarray().tolist() == [[0, 0.5, -0.5], [0.5, 0, -1], [-0.5, -1, 0]]
    assert softvec.embed(C, 4, signed=True, n_epochs=2).shape == (6, 4)


def test_links_of_both_signs_are_summed():
    made = aff.random_walk([("a", "b", 1), ("b", "a", -1), ("a", "c", 1), ("c", "d", -2)], negative="sign")
    assert "1 link of both signs left out" in made.summary
    assert made.signed.toarray()[0].tolist() == [0, 0, 1, 0]
    assert not aff.random_walk([("a", "b", 1), ("b", "a", -1), ("a", "c", 1)]).matrix.toarray()[0, 1]


@pytest.mark.filterwarnings("ignore::softvec.core.errors.GuessWarning")
def test_what_signs_cannot_do_is_refused():
    A, camp = _two_camps()
    for data, options, message in (
        (A, {"directed": True}, "without direction"),
        (LINKS, {"directed": True}, "without direction"),
        (A, {"repeats": 2}, "change repeats"),
        (A, {"view": "links"}, "change view"),
        (A, {"attributes": sparse.eye_array(A.shape[0]).tocsr()}, "not for signed links"),
        (-abs(A), {}, "all weights are negative"),
        (A, {"signed": True, "negative": "abs"}, "leave out negative"),
        (MATRIX[:2], {"kind": "bipartite"}, "negative values"),
        (MATRIX[:2], {"kind": "bipartite", "negative": "sign"}, "items of one kind"),
        (MATRIX, {"kind": "bipartite", "negative": "sign"}, "items of one kind"),
        (LINKS, {"kind": "bipartite", "negative": "sign"}, "items of one kind"),
    ):
        with pytest.raises(InputError, match=message):
            softvec.embed(data, 8, **options)
    emb = softvec.embed(A, 8, random_state=0)
    with pytest.raises(InputError, match="signed=False"):
        emb.links(3, exclude=A)
    with pytest.raises(InputError, match="signed=False"):
        emb.add({"new": [1, 2]})
    with pytest.raises(InputError, match="negative"):
        modularity(aff.random_walk(A), camp)
    with pytest.raises(InputError, match="one P cannot hold"):
        softvec.EDRep(4).fit(aff.random_walk(A))


def test_vectors_are_the_fits_of_each_sign_and_the_axes_of_camps(tmp_path):
    A, camp = _two_camps()
    emb = softvec.embed(A, 10, signed=True, random_state=0)
    friends = softvec.embed(A, 5, negative="drop", random_state=0)
    foes = softvec.embed(-A, 4, negative="drop", random_state=0)
    np.testing.assert_array_equal(emb.vectors[:, :9], np.hstack([friends.vectors, foes.vectors]))
    side = np.sign(emb.vectors[:, 9])
    assert abs((side * (2 * camp - 1)).mean()) > 0.95
    emb.save(tmp_path / "e.svec")
    again = softvec.Embedding.load(tmp_path / "e.svec")
    assert again.provenance["parameters"]["view"] == "signed"
    assert set(again.provenance["signs"]) == {"positive", "negative"}
    assert again.provenance["parameters"]["camps"] == 1


@pytest.mark.filterwarnings("ignore:no groups beyond chance")
def test_random_signs_have_no_camps_and_no_groups():
    rng = np.random.default_rng(0)
    links = np.triu(rng.random((200, 200)) < 0.1, 1) * rng.choice([-1, 1], (200, 200))
    emb = softvec.embed(sparse.csr_array((links + links.T).astype(float)), 16, signed=True, random_state=0)
    assert emb.provenance["parameters"]["camps"] == 0
    assert len(set(emb.cluster())) == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [3, 4, 7])
def test_a_few_signed_links_have_no_camps(n):
    path = [(i, i + 1, 1 if i else -1) for i in range(n - 1)]  # of two links none is hidden
    emb = softvec.embed(path, 8, signed=True, random_state=0)
    assert emb.provenance["parameters"]["camps"] == 0
    assert np.isfinite(emb.vectors).all()


def test_axes_of_camps_are_eigenvectors():
    A, _ = _two_camps()
    scale = abs(A).sum(axis=1) ** -0.5
    values, vectors = np.linalg.eigh(scale[:, None] * A.toarray() * scale)
    lead = np.argsort(-abs(values))[:1]
    expected = vectors[:, lead]
    found = camps(sparse.csr_array(A), 1, 0)
    assert abs(np.sign(found[:, 0]) @ np.sign(expected[:, 0])) > 0.97 * len(found)
    three = camps(sparse.csr_array(A), 3, 0)
    np.testing.assert_allclose(np.linalg.norm(three, axis=1), 1, rtol=1e-5)
    alone = sparse.csr_array(sparse.block_diag([A, sparse.csr_array((1, 1))]))
    assert not camps(alone, 3, 0)[-1].any()


def test_the_time_to_read_counts_once():
    affinity, origin = aff.as_affinity(LINKS, negative="sign"), Origin("links.csv", 2.0)
    emb = embed_affinity(affinity, Request.of(n_components=4, random_state=0), origin=origin)
    assert emb.provenance["seconds"]["reading"] == 2.0
    assert emb.provenance["data"]["source"] == "links.csv"


def test_signs_are_predicted_and_shuffled_ones_are_not():
    A, _ = _two_camps()
    fit = lambda known: softvec.embed(known, 8, signed=True, random_state=0)  # noqa: E731
    assert sign_prediction(fit, A, repeats=2)["auc"] > 0.85
    upper = sparse.triu(A, 1).tocoo()
    rng = np.random.default_rng(0)
    shuffled = sparse.coo_array((rng.permutation(upper.data), (upper.row, upper.col)), A.shape)
    null = sign_prediction(fit, sparse.csr_array(shuffled + shuffled.T), repeats=4)
    assert abs(null["auc"] - 0.5) < 0.08
    with pytest.raises(InputError, match="two positive and two negative"):
        sign_prediction(fit, abs(A))


def test_the_command_embeds_signed_links(tmp_path, capsys):
    from softvec.cli import run

    path = tmp_path / "signed.txt"
    path.write_text("a b 1\nb c -1\nc a 1\nc d -2\nd a 1\n")
    assert run(["embed", str(path), "-d", "4", "-o", str(tmp_path / "v.svec"), "--seed", "0"]) == 0
    assert "40 epochs" in capsys.readouterr().err  # twenty for each sign

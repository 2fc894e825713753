"""Pictures: what is drawn, not how it looks."""

import numpy as np
import pytest

from softvec.core.errors import InputError
from softvec.embedding import Embedding

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from softvec import plotting  # noqa: E402
from softvec.plotting.colours import groups_of  # noqa: E402
from softvec.plotting.style import MARKERS, PALETTE  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture
def emb():
    rng = np.random.default_rng(0)
    group = np.arange(60) % 3
    V = np.eye(6)[group] + 0.1 * rng.standard_normal((60, 6))
    history = {"epoch": [0, 1, 2], "loss": [3.0, 2.5, 2.25]}
    return Embedding(V, [f"n{i}" for i in range(60)], sizes=np.arange(60), provenance={"history": history})


def boxes(axes):
    """The places of the names in pixels."""
    axes.get_figure().canvas.draw()
    return [text.get_window_extent() for text in axes.texts]


def test_map_draws_every_point_once(emb):
    axes = plotting.plot_map(emb, np.arange(60) % 3, method="pca")
    assert sum(len(c.get_offsets()) for c in axes.collections) == 60
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["0", "1", "2"]
    Z = emb.project("pca")
    drawn = np.concatenate([c.get_offsets() for c in axes.collections])
    np.testing.assert_allclose(sorted(drawn[:, 0]), sorted(Z[:, 0]), atol=1e-6)


def test_names_do_not_overlap_and_largest_come_first(emb):
    axes = plotting.plot_map(emb, "clusters", n_names=15)
    names = [text.get_text() for text in axes.texts]
    assert 3 <= len(names) <= 15
    assert names[0] == "n59"
    placed = boxes(axes)
    for i, a in enumerate(placed):
        for b in placed[:i]:
            assert a.x0 >= b.x1 - 1 or b.x0 >= a.x1 - 1 or a.y0 >= b.y1 - 1 or b.y0 >= a.y1 - 1


def test_names_by_default(emb):
    small = Embedding(np.eye(5), list("abcde"))
    assert {t.get_text() for t in plotting.plot_map(small).texts} == set("abcde")
    assert not plotting.plot_map(Embedding(emb.vectors)).texts  # many, none larger than another


@pytest.mark.parametrize("n", [1, 2, 3])
def test_map_of_very_few(n):
    axes = plotting.plot_map(Embedding(np.eye(n)), method="tsne")
    assert sum(len(c.get_offsets()) for c in axes.collections) == n


def test_more_groups_than_colours():
    n = len(PALETTE) * len(MARKERS) + 5
    emb = Embedding(np.random.default_rng(0).standard_normal((n, 3)))
    axes = plotting.plot_map(emb, np.arange(n))
    texts = [t.get_text() for t in axes.get_legend().get_texts()]
    assert texts[-1].startswith("and ")
    assert sum(len(c.get_offsets()) for c in axes.collections) == n


def test_labels_of_every_kind(emb):
    by_name = groups_of(emb, {"n0": "x", "n1": "y"})
    assert [(label, len(rows)) for label, rows in by_name] == [("x", 1), ("y", 1), ("", 58)]
    assert groups_of(emb, [-1] * 60)[0][0] == ""
    assert [label for label, _ in groups_of(emb, ["g10"] * 30 + ["g9"] * 30)] == ["g9", "g10"]
    with pytest.raises(InputError, match="2 labels for 60"):
        plotting.plot_map(emb, [1, 2])


def test_layout_by_size(monkeypatch):
    from softvec.plotting import map as module

    used = []

    def project(self, method, **_):
        used.append(method)
        return np.zeros((len(self), 2))

    monkeypatch.setattr(Embedding, "project", project)
    monkeypatch.setattr(module, "_AUTO_TSNE", 50)
    for n in (50, 51):
        plotting.plot_map(Embedding(np.eye(n)))
    assert used == ["tsne", "pca"]


def test_given_coordinates(emb):
    Z = np.random.default_rng(0).random((60, 2))
    axes = plotting.plot_map(emb, coordinates=Z, title="T")
    assert axes.get_title() == "T"
    with pytest.raises(InputError, match="coordinates"):
        plotting.plot_map(emb, coordinates=Z[:3])
    with pytest.raises(InputError, match="sizes"):
        plotting.plot_map(emb, sizes=[1])


@pytest.mark.parametrize(
    "source", [{"loss": [3.0, 2.0]}, [{"epoch": 0, "loss": 3.0}, {"epoch": 1, "loss": 2.0}]]
)
def test_loss(emb, source):
    _, y = plotting.plot_loss(source).lines[0].get_data()
    assert list(y) == [3.0, 2.0]
    assert list(plotting.plot_loss(emb).lines[0].get_data()[1]) == [3.0, 2.5, 2.25]
    with pytest.raises(InputError, match="no history"):
        plotting.plot_loss(Embedding(np.eye(2)))


def test_similarity_histograms(emb):
    def mean_of(axes):
        return {
            text.get_text(): np.average(
                [p.get_x() for p in patches], weights=[p.get_height() for p in patches]
            )
            for text, patches in zip(
                axes.get_legend().get_texts(), [c for c in axes.containers if len(c) > 1]
            )
        }

    by_label = mean_of(plotting.plot_similarities(emb, np.arange(60) % 3, n_pairs=500))
    assert by_label["one label"] > by_label["two labels"] + 0.5
    near = mean_of(plotting.plot_similarities(emb, n_pairs=500))
    assert near["nearest neighbours"] > near["random pairs"]
    pairs = mean_of(plotting.plot_similarities(emb, pairs=[("n0", "n3"), ("n1", "n4")], n_pairs=500))
    assert pairs["given pairs"] > pairs["random pairs"]
    for labels, match in (([0] * 60, "two groups"), ([-1] * 60, "fewer than two")):
        with pytest.raises(InputError, match=match):
            plotting.plot_similarities(emb, labels)
    with pytest.raises(InputError, match="at least two"):
        plotting.plot_similarities(Embedding(np.eye(1)))


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_save(emb, tmp_path, kind):
    plotting.save(emb.plot(), tmp_path / f"x.{kind}")
    assert (tmp_path / f"x.{kind}").stat().st_size > 1000
    assert matplotlib.pyplot.get_fignums() == []


def test_save_to_an_unknown_format(emb, tmp_path):
    with pytest.raises(InputError, match="no picture format 'xyz'"):
        plotting.save(emb.plot(), tmp_path / "x.xyz")


def test_draws_on_given_axes(emb):
    _, (left, right) = matplotlib.pyplot.subplots(1, 2)
    assert plotting.plot_map(emb, ax=left) is left
    assert plotting.plot_loss(emb, ax=right) is right


def test_legend_shows_labels_that_begin_with_an_underscore_in_their_colours(emb):
    labels = ["_a" if i % 2 else "b$^$" for i in range(60)]
    axes = plotting.plot_map(emb, labels, method="pca")
    axes.get_figure().canvas.draw()
    texts = [text.get_text().strip("\u200b") for text in axes.get_legend().get_texts()]
    assert texts == ["_a", r"b\$^\$"]
    colours = [handle.get_color() for handle in axes.get_legend().get_lines()]
    drawn = {len(c.get_offsets()): c.get_facecolor()[0] for c in axes.collections}
    assert colours == [PALETTE[0], PALETTE[1]]
    assert len(drawn) == 1


def test_groups_have_the_numbers_that_cluster_gives(emb):
    assert [label for label, _ in groups_of(emb, "clusters")] == ["group 0", "group 1", "group 2"]
    for c, (_, rows) in enumerate(groups_of(emb, "clusters")):
        assert set(emb.cluster()[rows]) == {c}

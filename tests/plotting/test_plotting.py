"""Pictures: what is drawn, not how it looks."""

import numpy as np
import pytest

from softvec.core.errors import InputError
from softvec.embedding import Embedding

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from softvec import plotting  # noqa: E402
from softvec.plotting.colours import aligned_labels, groups_of  # noqa: E402
from softvec.plotting.names import separated  # noqa: E402
from softvec.plotting.style import COLOURS, DARK_GREY, GREY, MARKERS, PALETTE  # noqa: E402


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
    Z = emb.project("pca")
    axes = plotting.plot_map(emb, np.arange(60) % 3, coordinates=Z)
    assert sum(len(c.get_offsets()) for c in axes.collections) == 60
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["0", "1", "2"]
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


def legend_of(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_largest_groups_have_colours_and_the_legend_says_what_is_grey():
    labels = np.repeat(np.arange(13), np.arange(13, 0, -1))  # group 0 has 13 items, group 12 has one
    n = len(labels)
    emb = Embedding(np.random.default_rng(0).standard_normal((n, 3)))
    labels = np.where(np.arange(n) == 0, -1, labels)
    axes = plotting.plot_map(emb, labels, method="pca", n_groups=10)
    assert legend_of(axes) == [*map(str, range(10)), "3 smaller groups\n(6 items)", "no label\n(1 item)"]
    colours = {handle.get_color() for handle in axes.get_legend().get_lines()}
    assert len(colours) == 11  # nine colours and two greys, which none of the nine resembles
    assert colours == {*COLOURS, GREY, DARK_GREY}
    drawn = {}
    for c in axes.collections:
        colour = matplotlib.colors.to_hex(c.get_facecolor()[0])
        drawn[colour] = drawn.get(colour, 0) + len(c.get_offsets())
    assert drawn[COLOURS[1]] == 12
    assert drawn[DARK_GREY] == 6
    assert drawn[GREY] == 1
    assert sum(drawn.values()) == n


@pytest.mark.parametrize(("n", "coloured"), [(1000, 18), (1001, 9)])
def test_markers_tell_groups_apart_among_few_points_only(n, coloured):
    emb = Embedding(np.random.default_rng(0).standard_normal((n, 3)))
    axes = plotting.plot_map(emb, np.arange(n) % 25, method="pca")
    assert len(legend_of(axes)) == coloured + 1
    with pytest.raises(InputError, match="n_groups is 41; expected 0 to 36"):
        plotting.plot_map(emb, np.arange(n) % 25, method="pca", n_groups=41)


def test_every_pair_of_colour_and_marker_is_used_once():
    n = len(COLOURS) * len(MARKERS)
    emb = Embedding(np.random.default_rng(0).standard_normal((n, 3)))
    axes = plotting.plot_map(emb, np.arange(n), method="pca", n_groups=n)
    handles = axes.get_legend().get_lines()
    assert len({(handle.get_color(), handle.get_marker()) for handle in handles}) == n
    axes.get_figure().canvas.draw()
    frame = axes.get_figure().bbox
    legend = axes.get_legend().get_window_extent()
    assert legend.y0 >= frame.y0
    assert legend.y1 <= frame.y1


def bar_of(axes):
    others = [other for other in axes.get_figure().axes if other is not axes]
    return others[0] if others else None


def test_values_have_a_colour_bar(emb):
    values = np.linspace(-3, 3, 60)
    values[7] = np.nan
    axes = plotting.plot_map(emb, values, method="pca")
    assert axes.get_legend() is None
    assert bar_of(axes) is not None
    grey, points = axes.collections
    assert len(grey.get_offsets()) == 1  # NaN; a negative value is a value
    assert sorted(points.get_array()) == sorted(values[~np.isnan(values)])
    low, high = points.get_clim()
    assert -3 <= low < -2.8
    assert 2.8 < high <= 3


@pytest.mark.parametrize(
    ("labels", "continuous", "bar"),
    [
        (np.arange(60) % 7, None, False),
        (np.arange(60), None, False),  # numbers of groups
        (1900 + np.arange(60), None, True),  # years
        (1900 + np.arange(60), False, False),
        (np.arange(60) % 7, True, True),
        (np.arange(60) / 2, None, True),
        ((np.arange(60) % 7).astype(float), None, False),
        ([True, False] * 30, None, False),
        ([f"{i}.5" for i in range(60)], None, False),  # text is text
        ([None] * 60, None, False),
    ],
)
def test_which_numbers_are_values(emb, labels, continuous, bar):
    axes = plotting.plot_map(emb, labels, method="pca", continuous=continuous)
    assert (bar_of(axes) is not None) is bar


def test_values_that_cannot_be_drawn(emb):
    with pytest.raises(InputError, match="labels hold 'x', which is not a number"):
        plotting.plot_map(emb, ["x"] * 60, method="pca", continuous=True)
    with pytest.raises(InputError, match="infinite"):
        plotting.plot_map(emb, [0.5, np.inf] * 30, method="pca")


def test_labels_of_every_kind(emb):
    by_name = groups_of(aligned_labels(emb, {"n0": "x", "n1": "y"}))
    assert [(label, len(rows)) for label, rows in by_name] == [("x", 1), ("y", 1), ("", 58)]
    assert groups_of(aligned_labels(emb, [-1] * 60))[0][0] == ""
    assert [label for label, _ in groups_of(aligned_labels(emb, ["g10"] * 30 + ["g9"] * 30))] == ["g9", "g10"]
    with pytest.raises(InputError, match="2 labels for 60"):
        plotting.plot_map(emb, [1, 2])


def test_picture_says_how_it_was_laid_out(emb):
    assert plotting.plot_map(emb).get_xlabel() == "t-SNE"
    assert plotting.plot_map(emb, method="pca").get_xlabel() == "PCA"
    assert plotting.plot_map(emb, coordinates=emb.project("pca")).get_xlabel() == ""
    assert plotting.plot_map(emb, coordinates=emb.layout("pca")).get_xlabel() == "PCA"


def test_edges_join_their_points(emb):
    Z = emb.project("pca")
    axes = plotting.plot_map(emb, coordinates=Z, edges=[("n0", "n5"), ("n5", "n0"), ("n7", "n9")])
    lines = next(c for c in axes.collections if isinstance(c, matplotlib.collections.LineCollection))
    drawn = sorted(segment.tolist() for segment in lines.get_segments())
    np.testing.assert_allclose(drawn, sorted([Z[[0, 5]].tolist(), Z[[7, 9]].tolist()]), atol=1e-6)
    points = [c for c in axes.collections if c is not lines]
    assert all(lines.get_zorder() < c.get_zorder() for c in points)
    with pytest.raises(InputError, match="names among the vectors"):
        plotting.plot_map(emb, method="pca", edges=[("x", "y")])


def test_edges_of_two_sides_are_refused():
    two = Embedding(np.eye(3), list("abc"), context_vectors=np.eye(2, 3), context_names=["x", "y"])
    with pytest.raises(InputError, match="rows alone"):
        plotting.plot_map(two, edges=[("a", "x")])


def test_size_and_dpi(emb):
    figure = emb.plot(method="pca", size=(3, 2), dpi=50).get_figure()
    assert figure.get_size_inches().tolist() == [3, 2]
    assert figure.dpi == 50
    assert plotting.plot_loss(emb, size=(3, 2)).get_figure().get_size_inches().tolist() == [3, 2]
    for size in ((0, 3), "7x5", 4):
        with pytest.raises(InputError, match="size is"):
            emb.plot(method="pca", size=size)
    with pytest.raises(InputError, match="dpi is 0"):
        emb.plot(method="pca", dpi=0)
    _, ax = matplotlib.pyplot.subplots()
    with pytest.raises(InputError, match="leave out either them or ax"):
        emb.plot(method="pca", ax=ax, size=(3, 2))


def named(names, kind="graph", sizes=None):
    n = len(names)
    V = np.random.default_rng(0).standard_normal((n, 3))
    sizes = np.arange(n, 0, -1) if sizes is None else sizes
    emb = Embedding(V, names, sizes=sizes, provenance={"data": {"kind": kind}})
    return {text.get_text() for text in plotting.plot_map(emb, method="pca").texts}


@pytest.mark.parametrize(
    "names",
    [
        ["".join("ACGT"[i // 4**k % 4] for k in range(8)) + "-1" for i in range(60)],
        [f"ENSG{i:011}" for i in range(60)],
        [f"{i * 7919:032x}" for i in range(60)],
        list(range(100, 160)),
        [(f"ada{i}", 3) for i in range(60)],
    ],
)
def test_barcodes_and_numbers_are_not_written_by_default(names):
    assert named(names) == set()


def test_words_and_symbols_are_written_by_default():
    assert "TP53" in named(["TP53", *(f"GENE{i}" for i in range(60))])


def test_most_frequent_words_of_a_corpus_are_not_written():
    words = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(300)]
    sizes = 1e6 / np.arange(1, 301)  # Zipf's law
    written = named(words, "corpus", sizes)
    assert len(written) >= 10
    assert not written & set(words[:30])
    assert words[30] in written  # the most frequent of the others
    assert words[0] in named(words, "graph", sizes)  # a hub of a graph is what one looks for


def test_given_coordinates(emb):
    Z = np.random.default_rng(0).random((60, 2))
    axes = plotting.plot_map(emb, coordinates=Z, title="T")
    assert axes.get_title() == "T"
    with pytest.raises(InputError, match="coordinates"):
        plotting.plot_map(emb, coordinates=Z[:3])
    with pytest.raises(InputError, match="sizes"):
        plotting.plot_map(emb, sizes=[1])
    Z[4, 1] = np.nan
    with pytest.raises(InputError, match=r"NaN or infinite values \(first: row 4\)"):
        plotting.plot_map(emb, coordinates=Z)


@pytest.mark.parametrize(
    "source", [{"loss": [3.0, 2.0]}, [{"epoch": 0, "loss": 3.0}, {"epoch": 1, "loss": 2.0}]]
)
def test_loss(emb, source):
    _, y = plotting.plot_loss(source).lines[0].get_data()
    assert list(y) == [3.0, 2.0]
    assert list(plotting.plot_loss(emb).lines[0].get_data()[1]) == [3.0, 2.5, 2.25]
    with pytest.raises(InputError, match="no losses to draw"):
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
    with pytest.raises(InputError, match="unknown picture format 'xyz'"):
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
    titles = [label for label, _ in groups_of(aligned_labels(emb, "clusters"))]
    largest = [f"n{np.flatnonzero(emb.cluster() == c).max()}" for c in range(3)]  # sizes are 0 to 59
    assert titles == [f"{c}: {name}" for c, name in enumerate(largest)]
    for c, (_, rows) in enumerate(groups_of(aligned_labels(emb, "clusters"))):
        assert set(emb.cluster()[rows]) == {c}


def test_leaves_with_equal_vectors_are_all_seen():
    vectors = np.eye(3)[[0] * 8 + [1, 2]]
    axes = plotting.plot_map(Embedding(vectors, list("abcdefghij")), method="pca", edges=[("a", "i")])
    axes.get_figure().draw_without_rendering()
    lines, points = axes.collections
    places = axes.transData.transform(points.get_offsets())
    diameter = np.sqrt(points.get_sizes()[0]) * axes.get_figure().dpi / 72
    apart = np.hypot(*(places[:, None] - places).T)[np.triu_indices(10, 1)]
    assert apart.min() > 0.5 * diameter
    first, last = lines.get_segments()[0]  # edges end where the points are drawn
    drawn = np.asarray(points.get_offsets())
    assert np.abs(drawn - first).sum(axis=1).min() == np.abs(drawn - last).sum(axis=1).min() == 0


def test_points_that_hide_none_keep_their_places():
    Z = np.array([[0.0, 0.0], [10.0, 0.0], [10.5, 0.0], [0.0, 10.0]])
    spread = separated(Z, np.ones(4))
    assert spread[[0, 3]].tolist() == Z[[0, 3]].tolist()
    assert spread[2, 0] - spread[1, 0] == pytest.approx(1.6)  # 0.8 of the sum of the radii
    assert separated(Z[1:3], np.array([1.0, 1e-3]))[0] == pytest.approx(Z[1], abs=1e-3)  # the large one stays


def test_many_points_at_one_place_become_distinct():
    spread = separated(np.zeros((60, 2)), np.full(60, 2.0))
    assert len(np.unique(spread.round(6), axis=0)) == 60
    assert np.abs(spread).max() < 30  # sixty discs of this radius fill one of 17


def test_titles_of_legends_and_colour_bars(emb):
    pandas = pytest.importorskip("pandas")
    groups = pandas.Series(["x", "y", "z"] * 20, index=emb.names.to_list(), name="ward")
    values = pandas.Series(np.arange(60) / 7, index=emb.names.to_list(), name="a$x^2")

    def title(labels, **options):
        axes = plotting.plot_map(emb, labels, **options)
        if axes.get_legend() is not None:
            return axes.get_legend().get_title().get_text()
        bars = axes.get_figure().axes[1:]
        return bars[0].get_ylabel() if bars else None

    assert title(groups) == "ward"
    assert title(groups, legend="Ward of the patient") == "Ward of the patient"
    assert title(values) == r"a\$x^2"  # text, not a formula
    assert title(values, legend="mg/l") == "mg/l"
    assert title(values.tolist()) == title(groups.tolist()) == ""
    assert title("clusters") == "community"
    assert title(groups, legend=False) is title(values, legend=False) is title(groups, legend=None) is None


def test_groups_of_unreadable_names_have_numbers():
    V = np.eye(2)[[0, 1] * 10]
    assert set(aligned_labels(Embedding(V), "clusters")) == {"0", "1"}


def test_many_items_at_one_place_are_drawn_as_a_disc():
    groups = np.repeat(np.arange(4), 500)
    Z = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])[groups]
    apart = separated(Z, np.full(2000, 0.1))
    away = np.hypot(*(apart - Z).T)
    assert 1 < away.max() < 2  # 500 items of this radius
    assert len(np.unique(apart.round(3), axis=0)) == 2000
    assert separated(Z, np.full(2000, 3.0)).max() < 13  # no more than there is room

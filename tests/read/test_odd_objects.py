"""Objects that are nearly what is expected: an error that says what is wrong, never one of a dependency."""

import numpy as np
import pytest

import softvec
from softvec.core.errors import InputError
from softvec.embedding import Embedding


class Tensors:
    """What a PyTorch Geometric graph offers, with an edge to a node that it does not have."""

    edge_index = np.array([[0, 1], [1, 9]])
    edge_weight = None
    num_nodes = 4


@pytest.mark.parametrize(
    ("data", "options", "expected"),
    [
        (Tensors(), {}, "edge_index names the nodes 0 to 9, but num_nodes is 4"),
        ({"a": ["b", "c"], "b": ["c"]}, {}, r"columns differ in length \('a': 2, 'b': 1\)"),
        ([("a", "b")], {"n_jobs": "x"}, "n_jobs is 'x'; pass None for all cores"),
        ([("a", "b")], {"n_jobs": 0}, "n_jobs is 0; pass None for all cores"),
        ([("a", "b")], {"beta": "x"}, "beta is 'x'; expected a number"),
        ([("a", "b")], {"n_epoch": 3}, "unknown option 'n_epoch'; did you mean 'n_epochs'?"),
        ([("a", "b")], {"selfloops": "keep"}, "did you mean 'self_loops'?"),
        ([("a", "b")], {"window": 3}, "for temporal or corpus data, pass kind="),
        ([("a", "a")], {}, r"nothing to embed: the data has no edges \(1 node, 0 edges"),
    ],
)
def test_embed_says_what_is_wrong(data, options, expected):
    with pytest.raises(InputError, match=expected):
        softvec.embed(data, n_components=2, **options)


def test_networkx_weights_that_are_no_numbers():
    nx = pytest.importorskip("networkx")
    with pytest.raises(InputError, match="an edge whose weight is not a number"):
        softvec.embed(nx.Graph([(1, 2, {"weight": "x"})]), n_components=2)


def test_embedding_says_what_is_wrong():
    emb = Embedding(np.eye(4), list("abcd"))
    with pytest.raises(InputError, match=r"n is 2\.5; expected an integer"):
        emb.most_similar("a", n=2.5)
    with pytest.raises(InputError, match=r"n_clusters is 2\.5; expected an integer of at least 1"):
        emb.cluster(2.5)


def test_no_queries_and_no_vectors_have_no_neighbours():
    rows, cosines = Embedding(np.eye(4)).nearest(np.zeros((0, 4)), 3)
    assert rows.shape == cosines.shape == (0, 3)
    rows, cosines = Embedding(np.zeros((0, 4))).nearest(np.ones((2, 4)), 3)
    assert rows.shape == cosines.shape == (2, 0)


def test_legend_of_histograms_stands_above_the_bars():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from softvec.plotting import plot_similarities

    axes = plot_similarities(Embedding(np.random.default_rng(0).standard_normal((30, 8))))
    axes.get_figure().canvas.draw()
    legend = axes.get_legend().get_window_extent()
    highest = axes.transData.transform((0, axes.dataLim.y1))[1]
    matplotlib.pyplot.close("all")
    assert legend.y0 >= highest


@pytest.mark.parametrize("kind", [{}, {"kind": "bipartite"}, {"kind": "temporal"}])
def test_columns_of_lists_and_records_are_no_names(tmp_path, kind):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    nested = {"lists": [[1, 2]] * 20, "records": [{"x": 1}] * 20}
    for name, column in nested.items():
        table = pa.table({"a": [f"n{i}" for i in range(20)], "b": column})
        pq.write_table(table, tmp_path / f"{name}.parquet")
        with pytest.raises(InputError, match="has 2 columns, 1 with names or numbers; edges need two"):
            softvec.embed(tmp_path / f"{name}.parquet", 4, **kind)


def test_a_column_of_lists_beside_edges_is_left_alone(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ends = [f"n{i % 7}" for i in range(20)], [f"n{i % 5}" for i in range(20)]
    table = pa.table({"notes": [["x"]] * 20, "from": ends[0], "to": ends[1]})
    pq.write_table(table, tmp_path / "e.parquet")
    assert len(softvec.embed(tmp_path / "e.parquet", 4, n_epochs=1)) == 7

"""Layouts: which is chosen, where vectors outside the sample go, and what is said."""

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

import numpy as np
import pytest

from softvec.core.errors import InputError
from softvec.embedding import Embedding, projection


@pytest.fixture
def blobs():
    """Four far groups of 60 vectors."""
    group = np.arange(240) % 4
    V = np.eye(8)[group] + 0.1 * np.random.default_rng(0).standard_normal((240, 8))
    return Embedding(V), group


@pytest.fixture
def without(monkeypatch):
    """Hide packages, or put empty ones in their place."""

    def set_packages(**there):
        known = {"umap": False, "openTSNE": False, **there}

        def find(name, *rest):
            if name in known:
                return ModuleSpec(name, None) if known[name] else None
            return find_spec(name, *rest)

        monkeypatch.setattr(projection, "find_spec", find)

    return set_packages


@pytest.mark.parametrize(
    ("n", "components", "there", "chosen"),
    [
        (3000, 2, {"umap": True, "openTSNE": True}, "tsne"),
        (3001, 2, {"umap": True, "openTSNE": True}, "umap"),
        (3001, 2, {"openTSNE": True}, "opentsne"),
        (3001, 2, {}, "tsne"),
        (3001, 3, {"openTSNE": True}, "tsne"),
        (100, 5, {}, "pca"),
        (100, 5, {"umap": True}, "umap"),
    ],
)
def test_choice(without, n, components, there, chosen):
    without(**there)
    assert projection._automatic(n, components) == chosen


def test_sample_is_laid_out_and_others_are_placed_with_their_group(blobs, without, monkeypatch):
    emb, group = blobs
    without()
    monkeypatch.setitem(projection.AUTO_MOST, "tsne", 80)
    Z, description = emb.layout()
    assert description == "t-SNE of 80 vectors, the others placed among their nearest neighbours"
    assert Z.shape == (240, 2)
    distance = np.linalg.norm(Z[:, None] - Z[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    assert (group[distance.argmin(axis=1)] == group).all()
    centres = np.array([np.median(Z[group == g], axis=0) for g in range(4)])
    assert (np.linalg.norm(Z[:, None] - centres, axis=2).argmin(axis=1) == group).all()
    np.testing.assert_array_equal(Z, emb.project())  # the same seed, the same bits
    assert not np.array_equal(Z, emb.project(random_state=1))


def test_named_method_lays_out_all(blobs, without, monkeypatch):
    without()
    monkeypatch.setitem(projection.AUTO_MOST, "tsne", 80)
    assert blobs[0].layout("tsne", max_iter=250).description == "t-SNE"


def test_neighbours_in_two_parts_do_not_put_a_point_between_them():
    rng = np.random.default_rng(0)
    S = np.vstack([np.eye(4)[0] + 0.01 * rng.standard_normal((50, 4)), np.eye(4)[1:2]])
    Z = np.vstack([rng.random((50, 2)), [[1000.0, 1000.0]]])
    X = np.vstack([S, [[1, 0.1, 0, 0]]]).astype(np.float32)
    placed = projection._place_others(X, np.arange(51), Z)
    assert (placed[51] <= 1).all()
    np.testing.assert_array_equal(placed[:51], Z)


def test_description_and_small_inputs(blobs):
    assert blobs[0].layout("pca").description == "PCA"
    assert Embedding(np.eye(3)).layout().description == "PCA"  # too few for t-SNE
    assert Embedding(np.ones((3, 4))).layout().description == "one point"
    assert Embedding(np.eye(9)).layout("auto", 5).coordinates.shape == (9, 5)


@pytest.mark.parametrize("method", ["pca", "tsne"])
def test_unknown_option(blobs, method):
    with pytest.raises(InputError, match=r"unknown option 'perplexty' of the layout .*expected one of"):
        blobs[0].project(method, perplexty=3)


@pytest.mark.parametrize(("method", "package"), [("umap", "umap"), ("opentsne", "openTSNE")])
def test_missing_package(blobs, method, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=f"method '{method}' needs .*pip install"):
        blobs[0].project(method)


def test_layout_that_fails_is_refused(blobs, monkeypatch):
    class UMAP:
        def __init__(self, n_components=2, n_neighbors=15, metric="", random_state=None):
            pass

        def fit_transform(self, V):
            return np.full((len(V), 2), np.nan)

    module = ModuleType("umap")
    module.UMAP = UMAP
    monkeypatch.setitem(sys.modules, "umap", module)
    with pytest.raises(InputError, match="UMAP has NaN"):
        blobs[0].project("umap")


@pytest.mark.parametrize(("method", "package"), [("umap", "umap"), ("opentsne", "openTSNE")])
def test_installed_packages(blobs, method, package):
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    emb, group = blobs
    Z = emb.project(method)
    distance = np.linalg.norm(Z[:, None] - Z[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    assert (group[distance.argmin(axis=1)] == group).mean() > 0.95
    np.testing.assert_array_equal(Z, emb.project(method))


@pytest.mark.parametrize("scale", [1e-44, 1e-38, 1e-30, 1e30])
def test_pca_keeps_distances_at_any_scale(scale):
    V = np.round(np.random.default_rng(0).standard_normal((30, 2)) * 100)
    Z = Embedding((V * scale).astype(np.float32)).project("pca").astype(float) / scale
    between = [np.linalg.norm(points[:, None] - points, axis=2) for points in (V, Z)]
    np.testing.assert_allclose(between[1], between[0], rtol=0.02, atol=1)

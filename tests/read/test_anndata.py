"""Graphs in AnnData objects and files, with the real package where it is installed."""

import numpy as np
import pytest
from scipy import sparse

import softvec

anndata = pytest.importorskip("anndata")


def cells(n=60):
    """Two groups of cells, each joined to its own."""
    rng = np.random.default_rng(0)
    group = np.arange(n) % 2
    A = np.triu(rng.random((n, n)) < np.where(group[:, None] == group, 0.4, 0.02), 1)
    data = anndata.AnnData(rng.random((n, 3)).astype(np.float32))
    data.obs_names = [f"cell{i}" for i in range(n)]
    data.obsp["connectivities"] = sparse.csr_matrix((A + A.T).astype(float))
    return data


def test_the_graph_of_an_object_and_of_its_file_give_the_same_vectors(tmp_path):
    data = cells()
    options = {"n_components": 4, "key": "connectivities", "random_state": 0}
    emb = softvec.embed(data, **options)
    assert list(emb)[:2] == ["cell0", "cell1"]
    plain = softvec.embed(data.obsp["connectivities"], 4, kind="graph", random_state=0)
    np.testing.assert_array_equal(emb.vectors, plain.vectors)
    data.obsm["X_softvec"] = emb[data.obs_names]
    data.write_h5ad(tmp_path / "cells.h5ad")
    np.testing.assert_array_equal(softvec.embed(tmp_path / "cells.h5ad", **options).vectors, emb.vectors)

"""Graphs in AnnData objects and files, with the real package where it is installed."""

import numpy as np
import pytest
from scipy import sparse

import softvec
from softvec.api import to_affinity
from softvec.core.errors import InputError

anndata = pytest.importorskip("anndata")
pytestmark = pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")  # that anndata uses


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


def test_kinds_and_keys_of_a_file(tmp_path):
    data = cells()
    data.obsp["other"] = sparse.csr_matrix(data.obsp["connectivities"] * 2)
    path = tmp_path / "cells.h5ad"
    data.write_h5ad(path)
    for options in ({"kind": "features"}, {"kind": "bipartite"}, {"key": "other"}, {"kind": "graph"}):
        read, held = to_affinity(path, **options), to_affinity(data, **options)
        np.testing.assert_array_equal(
            read.operator @ np.eye(read.shape[1]), held.operator @ np.eye(held.shape[1])
        )
        assert list(read.rows) == list(held.rows)
    with pytest.raises(InputError, match=r"no obsp\['absent'\].*'connectivities', 'other'"):
        to_affinity(path, key="absent")


def test_data_in_other_files_are_not_read(tmp_path):
    h5py = pytest.importorskip("h5py")
    path, secret = tmp_path / "cells.h5ad", tmp_path / "secret.h5ad"
    cells().write_h5ad(secret)
    for kind in ("link", "storage"):
        cells().write_h5ad(path)
        with h5py.File(path, "a") as file:
            del file["X"]
            if kind == "link":
                file["X"] = h5py.ExternalLink(str(secret), "/X")
            else:
                file.create_dataset("X", (60, 3), "f4", external=[(str(secret), 0, 720)])
        with pytest.raises(InputError, match="another file, which is not read"):
            to_affinity(path, kind="features")


def test_a_dataset_of_a_few_bytes_does_not_fill_the_memory(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "cells.h5ad"
    cells().write_h5ad(path)
    with h5py.File(path, "a") as file:
        del file["X"]
        file.create_dataset("X", (60, 1 << 32), "f4", chunks=(1, 1 << 20))
    with pytest.raises(InputError, match=r"would take 1,030,79.*SOFTVEC_MAX_EXPANDED"):
        to_affinity(path, kind="features")

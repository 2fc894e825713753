"""Data sets: absent ones explain themselves, downloads are checked, real ones have their facts."""

import gzip
import hashlib
import io
import os
import tarfile
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat

from benchmarks import datasets
from benchmarks.datasets import convert
from benchmarks.datasets.dataset import Dataset
from softvec.core.errors import InputError


@pytest.fixture
def empty(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTVEC_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def served(monkeypatch):
    """Serve fixed bytes instead of the network."""
    pages = {}
    monkeypatch.setattr(datasets, "_fetch", lambda address, timeout: pages[address])
    return pages


def test_directory_follows_the_setting(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTVEC_DATA", str(tmp_path))
    assert datasets.data_dir() == tmp_path
    monkeypatch.delenv("SOFTVEC_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if os.name == "posix" and os.uname().sysname == "Linux":
        assert datasets.data_dir() == tmp_path / "softvec"


def test_absent_sets_say_how_to_get_them(empty):
    assert not any(datasets.available().values())
    with pytest.raises(InputError, match=r"download\('cora'\)") as error:
        datasets.load("cora")
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="gutenberg"):
        datasets.load("moby")
    with pytest.raises(InputError, match="did you mean 'cora'"):
        datasets.load("coral")
    with pytest.raises(InputError, match="cannot be fetched automatically"):
        datasets.download("moby")


def test_registry_is_complete():
    for dataset in datasets.REGISTRY.values():
        assert dataset.licence
        assert dataset.page.startswith("http")
        assert dataset.description
        for file, checksum in dataset.files.items():
            assert len(checksum) == 64
            assert not file.startswith("/")
            assert ".." not in file
        if dataset.address:
            assert dataset.convert in convert.CONVERTERS
            assert set(dataset.address) in ({"archive"}, set(dataset.files))


def zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), content)
    return buffer.getvalue()


def tarred(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def as_gml(A):
    nodes = "".join(f"  node\n  [\n    id {i + 1}\n  ]\n" for i in range(A.shape[0]))
    upper = sp.triu(A).tocoo()
    edges = "".join(
        f"  edge\n  [\n    source {i + 1}\n    target {j + 1}\n  ]\n" for i, j in zip(upper.row, upper.col)
    )
    return f"graph\n[\n  directed 0\n{nodes}{edges}]\n"


def test_download_of_a_gml_graph(tmp_path, served, monkeypatch):
    monkeypatch.setenv("SOFTVEC_DATA", str(datasets.data_dir()))
    if not datasets.available()["karate"]:
        pytest.skip(f"karate is not in {datasets.data_dir()}")
    truth = datasets.load("karate")
    monkeypatch.setenv("SOFTVEC_DATA", str(tmp_path))
    archive = zipped(karate__gml=as_gml(truth.adjacency), karate__txt="about")
    served[datasets.info("karate").address["archive"]] = archive
    assert all(path.is_file() for path in datasets.download("karate").values())
    found = datasets.load("karate")
    assert abs(found.adjacency - truth.adjacency).nnz == 0
    np.testing.assert_array_equal(found.labels, truth.labels)
    assert datasets.available()["karate"]
    served.clear()
    datasets.download("karate")  # there already: no network


def test_a_changed_download_is_not_kept(empty, served):
    served[datasets.info("karate").address["archive"]] = zipped(
        karate__gml='graph [ node [ id 1 ] node [ id 2 label "x" ] edge [ source 1 target 2 ] ]'
    )
    with pytest.raises(InputError, match=r"nodes 2 instead of 34|labels for"):
        datasets.download("karate")
    served[datasets.info("rg65").address["words/EN-RG-65.txt"]] = b"gem jewel 1\n"
    with pytest.raises(InputError, match="wrong checksum"):
        datasets.download("rg65")
    assert not list(empty.rglob("*"))


def test_download_of_text_checks_and_unpacks(empty, served, monkeypatch):
    content = b"0 a b\n20 b c\n"
    fake = Dataset(
        "sfhh",
        "temporal",
        "",
        {"temporal/sfhh.dat": hashlib.sha256(content).hexdigest()},
        "",
        "",
        {"temporal/sfhh.dat": "https://example.org/x.gz"},
        "text",
    )
    monkeypatch.setitem(datasets.REGISTRY, "sfhh", fake)
    served["https://example.org/x.gz"] = gzip.compress(content)
    datasets.download("sfhh")
    found = datasets.load("sfhh")
    assert found.times.tolist() == [0, 20]
    assert found.contacts.tolist() == [[0, 1], [1, 2]]
    assert found.names == ("a", "b", "c")
    assert datasets.verify("sfhh") == {"temporal/sfhh.dat": True}


def test_linqs_and_matlab_converters():
    tiny = Dataset("cora", "graph", "", {"graphs/cora.npz": "", "graphs/cora_labels.npy": ""}, "", "")
    archive = tarred(
        {
            "cora/cora.content": b"p1\t0\t1\tTheory\np2\t1\t0\tGenetic\np3\t1\t1\tTheory\n",
            "cora/cora.cites": b"p1\tp2\np2\tp1\np3\tp3\np3\tp9\np2\tp3\n",
            "../../evil.content": b"never read",
        }
    )
    with pytest.raises(InputError, match="expected one"):
        convert.linqs(tiny, {"archive": tarred({"a/cora.content": b"", "b/cora.content": b""})})
    made = convert.linqs(tiny, {"archive": archive})
    A = sp.load_npz(io.BytesIO(made["graphs/cora.npz"])).toarray()
    assert A.tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert np.load(io.BytesIO(made["graphs/cora_labels.npy"])).tolist() == [1, 0, 1]

    pubmed = Dataset("pubmed", "graph", "", {"graphs/pubmed.npz": "", "graphs/pubmed_labels.npy": ""}, "", "")
    archive = tarred(
        {
            "data/Pubmed-Diabetes.NODE.paper.tab": b"NODE\tpaper\nfields\n7\tlabel=2\tw=1\n8\tlabel=1\tw=2\n",
            "data/Pubmed-Diabetes.DIRECTED.cites.tab": b"DIRECTED\tcites\nNO\n1\tpaper:7\t|\tpaper:8\n",
        }
    )
    made = convert.linqs(pubmed, {"archive": archive})
    assert sp.load_npz(io.BytesIO(made["graphs/pubmed.npz"])).nnz == 2
    assert np.load(io.BytesIO(made["graphs/pubmed_labels.npy"])).tolist() == [1, 0]

    ppi = Dataset("ppi", "graph", "", {"graphs/ppi.npz": "", "graphs/ppi_labels.npz": ""}, "", "")
    buffer = io.BytesIO()
    network = sp.csc_matrix(np.array([[0, 2.0, 0], [2, 0, 1], [0, 1, 5]]))
    savemat(buffer, {"network": network, "group": sp.csc_matrix(np.array([[1, 1], [0, 1], [1, 0]]))})
    made = convert.matlab(ppi, {"archive": buffer.getvalue()})
    A = sp.load_npz(io.BytesIO(made["graphs/ppi.npz"])).toarray()
    assert A.tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert sp.load_npz(io.BytesIO(made["graphs/ppi_labels.npz"])).toarray().tolist() == [
        [1, 1],
        [0, 1],
        [1, 0],
    ]


def test_hostile_archives_are_refused(monkeypatch):
    monkeypatch.setattr(convert, "LARGEST", 1000)
    with pytest.raises(InputError, match="refused"):
        convert.unpack_gzip(gzip.compress(b"0" * 5000))
    with pytest.raises(InputError, match="refused"):
        convert.member(zipped(karate__gml="0" * 5000), "karate.gml")
    with pytest.raises(InputError, match="refused"):
        convert.member(tarred({"x.content": b"0" * 5000}), "x.content")
    with pytest.raises(InputError, match="neither a zip nor a tar"):
        convert.member(b"<html>moved</html>", "x")


def test_network_errors_are_one_line(monkeypatch, empty):
    def refuse(*_, **__):
        raise OSError("no route to host")

    monkeypatch.setattr(datasets.urllib.request, "urlopen", refuse)
    with pytest.raises(InputError, match=r"cannot fetch https.*no route"):
        datasets.download("rg65")


def test_a_damaged_file_is_reported(empty):
    (empty / "graphs").mkdir()
    (empty / "graphs" / "karate.npz").write_bytes(b"PK not a zip")
    (empty / "graphs" / "karate_labels.npy").write_bytes(b"")
    with pytest.raises(InputError, match="cannot read karate"):
        datasets.load("karate")


@pytest.mark.parametrize("name", [name for name in datasets.REGISTRY if name != "glove6b_50d"])
def test_real_data_set(name, monkeypatch):
    monkeypatch.setenv("SOFTVEC_DATA", str(datasets.data_dir()))
    if not datasets.available()[name]:
        pytest.skip(f"{name} is not in {datasets.data_dir()}; see benchmarks.datasets.download")
    dataset, found = datasets.info(name), datasets.load(name)
    if dataset.kind == "graph":
        A = found.adjacency
        assert abs(A - A.T).nnz == 0
        assert A.diagonal().sum() == 0
        assert (A.data == 1).all()
        assert found.names is None or len(found.names) == A.shape[0]
    elif dataset.kind == "pairs":
        train = found.pairs["train"]
        assert train.shape == (263016, 2)
        assert len(np.unique(train)) == 8832
        assert (train[:, 0] == train[:, 1]).sum() == 18
        assert not set(np.unique(train)) & set(np.unique(found.pairs["test"]))
    elif name == "sfhh":
        assert len(found.names) == 403
        assert len(found.times) == 70261
        assert len(np.unique(found.times)) == 3509
    elif name == "primaryschool":
        assert len(found.classes) == len(found.names) == 242
    elif dataset.kind == "text":
        assert len(found) == 42
    elif dataset.kind == "words":
        assert len(found) > 60

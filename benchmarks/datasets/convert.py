"""Convert downloads to the files of the data directory, in memory; paths in archives are never used.

Each converter takes the downloaded bytes and returns the bytes of each file of the data set.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from benchmarks.datasets.dataset import Dataset
from softvec.core.errors import InputError

#: Maximum size of an unpacked file, in bytes.
LARGEST = 512 << 20

# The factions of the karate club are not part of its public file: members 1 .. 34, 0 with Mr. Hi, 1 with the
# officer (Zachary 1977; node 9 sided with the officer but joined Mr. Hi's club, as most of the literature
# counts it).
_KARATE = "0000000001000011001010111111111111"


def unpack_gzip(data: bytes) -> bytes:
    """Decompress gzip data, refusing more than :data:`LARGEST` bytes."""
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        text = stream.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise InputError(f"the download unpacks to more than {LARGEST >> 20} MiB; refused")
    return text


def member(data: bytes, ending: str) -> bytes:
    """Return the only file of a zip or tar archive with this ending, without writing anything."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            at = _only([(entry.filename, entry.file_size) for entry in entries], ending)
            return archive.open(entries[at]).read(LARGEST)
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as tar:
            files = [entry for entry in tar if entry.isfile()]
            stream = tar.extractfile(files[_only([(file.name, file.size) for file in files], ending)])
            assert stream is not None  # it is a regular file
            return stream.read(LARGEST)
    except tarfile.TarError as error:
        raise InputError(f"the download is neither a zip nor a tar archive: {error}") from error


def _only(files: list[tuple[str, int]], ending: str) -> int:
    """Return the position of the only file, of (name, size), with this ending that is not hidden."""
    places = [at for at, (name, _) in enumerate(files) if name.endswith(ending) and not _hidden(name)]
    if len(places) != 1:
        raise InputError(f"the archive has {len(places)} files that end in {ending}; expected one")
    name, size = files[places[0]]
    if size > LARGEST:
        raise InputError(f"{name} unpacks to {size >> 20} MiB; refused")
    return places[0]


def _hidden(name: str) -> bool:
    return name.startswith("__MACOSX") or name.rsplit("/", 1)[-1].startswith(".")


def gml(dataset: Dataset, data: dict[str, bytes]) -> dict[str, bytes]:
    """Convert a zipped GML file of Newman's collection; ``value`` is the class of a node."""
    text = member(data["archive"], f"{dataset.name}.gml").decode("latin-1")
    nodes, edges = [], []
    for kind, body in re.findall(r"\b(node|edge)\s*\[(.*?)\]", text, flags=re.S):
        fields = dict(re.findall(r'(\w+)\s+("[^"]*"|\S+)', body))
        if kind == "node":
            nodes.append((fields["id"], fields.get("value", "").strip('"')))
        else:
            edges.append((fields["source"], fields["target"]))
    place = {name: i for i, (name, _) in enumerate(nodes)}
    pairs = np.array([(place[a], place[b]) for a, b in edges], dtype=np.int64).reshape(-1, 2)
    if dataset.name == "karate":
        labels = np.array(list(_KARATE), dtype=np.int64)
    else:
        _, labels = np.unique([value for _, value in nodes], return_inverse=True)
    A = _symmetric(pairs, len(nodes))
    if dataset.name == "polblogs":  # known by its largest component
        _, component = connected_components(A)
        kept = np.flatnonzero(component == np.bincount(component).argmax())
        A, labels = A[kept][:, kept], labels[kept]
    return _graph_files(dataset, A, labels)


def linqs(dataset: Dataset, data: dict[str, bytes]) -> dict[str, bytes]:
    """Convert the citation graphs of LINQS: tab-separated papers with classes, and citations."""
    archive = data["archive"]
    if dataset.name == "pubmed":
        papers = [line.split("\t") for line in _lines(member(archive, "NODE.paper.tab"))[2:]]
        ids = [row[0] for row in papers]
        classes = [row[1].removeprefix("label=") for row in papers]
        rows = [line.split("\t") for line in _lines(member(archive, "DIRECTED.cites.tab"))[2:]]
        cites = [(row[1].removeprefix("paper:"), row[3].removeprefix("paper:")) for row in rows]
    else:
        papers = [line.split("\t") for line in _lines(member(archive, f"{dataset.name}.content"))]
        ids, classes = [row[0] for row in papers], [row[-1] for row in papers]
        cites = [
            (a, b) for a, b in (line.split("\t") for line in _lines(member(archive, f"{dataset.name}.cites")))
        ]
    place = {name: i for i, name in enumerate(ids)}
    known = [(place[a], place[b]) for a, b in cites if a in place and b in place]
    _, labels = np.unique(classes, return_inverse=True)
    return _graph_files(dataset, _symmetric(known, len(ids)), labels)


def matlab(dataset: Dataset, data: dict[str, bytes]) -> dict[str, bytes]:
    """Convert a MATLAB file with a sparse ``network`` and a node x label matrix ``group``."""
    from softvec.read.foreign_child import load_mat

    content = load_mat(io.BytesIO(data["archive"]), variable_names=["network", "group"])
    if not {"network", "group"} <= set(content):
        raise InputError(f"{dataset.name}: the MATLAB file has no network and group")
    network = sp.coo_array(content["network"])
    A = _symmetric(np.stack([network.row, network.col], axis=1), network.shape[0])
    labels = sp.csr_array(content["group"] != 0).astype(np.int8)
    return _graph_files(dataset, A, labels)


def text(dataset: Dataset, data: dict[str, bytes]) -> dict[str, bytes]:
    """Keep text files as they are, gunzipped if needed."""
    return {
        file: unpack_gzip(content) if content[:2] == b"\x1f\x8b" else content
        for file, content in data.items()
    }


def _lines(content: bytes) -> list[str]:
    return [line for line in content.decode("utf-8").splitlines() if line.strip()]


def _symmetric(pairs: Iterable[tuple[int, int]] | np.ndarray, n: int) -> sp.csr_array:
    ends = pairs if isinstance(pairs, np.ndarray) else np.array(list(pairs), dtype=np.int64)
    ends = ends.reshape(-1, 2)
    ends = ends[ends[:, 0] != ends[:, 1]]
    both = np.concatenate([ends, ends[:, ::-1]])
    A = sp.csr_array((np.ones(len(both), np.float32), (both[:, 0], both[:, 1])), shape=(n, n))
    A.sum_duplicates()
    A.data[:] = 1
    return A


def _graph_files(dataset: Dataset, A: sp.csr_array, labels: Any) -> dict[str, bytes]:
    files = {}
    for file in dataset.files:
        buffer = io.BytesIO()
        if file.endswith("_labels.npy"):
            np.save(buffer, np.asarray(labels, dtype=np.int64), allow_pickle=False)
        else:
            sp.save_npz(buffer, labels if file.endswith("_labels.npz") else A)
        files[file] = buffer.getvalue()
    return files


CONVERTERS: dict[str, Callable[[Dataset, dict[str, bytes]], dict[str, bytes]]] = {
    "gml": gml,
    "linqs": linqs,
    "matlab": matlab,
    "text": text,
}

"""Public data sets: find, download and load them.

Files are in the directory of the environment variable ``SOFTVEC_DATA``, by default in the user's cache. Only
:func:`download` uses the network.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.datasets.convert import CONVERTERS, LARGEST
from benchmarks.datasets.dataset import Dataset
from benchmarks.datasets.loaders import LOADERS, Graph, Pairs, Temporal, Vectors
from benchmarks.datasets.registry import REGISTRY, info
from softvec.core.errors import InputError
from softvec.core.files import atomic_write

__all__ = [
    "REGISTRY",
    "Dataset",
    "Graph",
    "Pairs",
    "Temporal",
    "Vectors",
    "available",
    "data_dir",
    "download",
    "info",
    "load",
    "paths",
    "verify",
]


def data_dir() -> Path:
    """Return the directory of the data sets: ``SOFTVEC_DATA``, or softvec's directory in the user's cache."""
    chosen = os.environ.get("SOFTVEC_DATA")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or _home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        cache = _home() / "Library" / "Caches"
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or _home() / ".cache")
    return cache / "softvec"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # no HOME, and a user unknown to the system
        return Path(tempfile.gettempdir())


def available() -> dict[str, bool]:
    """Return the names of all data sets and whether their files are present.

    Examples
    --------
    >>> from benchmarks import datasets
    >>> "cora" in datasets.available()
    True
    """
    root = data_dir()
    return {
        name: all((root / file).is_file() for file in dataset.files) for name, dataset in REGISTRY.items()
    }


def paths(name: str) -> dict[str, Path]:
    """Return the files of a data set; the error for missing files says how to get them.

    Parameters
    ----------
    name : str
        Name of a data set.

    Returns
    -------
    dict of str to Path
        File names of the registry and their paths.
    """
    dataset = info(name)
    root = data_dir()
    files = {file: root / file for file in dataset.files}
    absent = [file for file, path in files.items() if not path.is_file()]
    if absent:
        raise InputError(f"{name} is not in {root} ({absent[0]} is missing); {_how_to_get(dataset)}")
    return files


def load(name: str) -> Any:
    """Load a data set.

    Parameters
    ----------
    name : str
        Name of a data set, see :func:`available`.

    Returns
    -------
    Graph, Pairs, Temporal, Vectors, list of str or list of (word, word, score)
        Depends on the kind of the data set. Known counts are checked.

    Examples
    --------
    >>> from benchmarks import datasets
    >>> graph = datasets.load("karate")  # doctest: +SKIP
    >>> graph.adjacency.shape  # doctest: +SKIP
    (34, 34)
    """
    dataset, files = info(name), paths(name)
    try:
        return LOADERS[dataset.kind](dataset, files)
    except InputError:
        raise
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise InputError(
            f"cannot read {name} in {data_dir()}: {error}; delete it and get it again"
        ) from error


def verify(name: str) -> dict[str, bool]:
    """Return for each file whether it is byte for byte the one used for softvec's results.

    A graph that :func:`download` converts from an archive has the same data, but its nodes may be in another
    order.
    """
    sums = info(name).files
    return {file: _sha256(path.read_bytes()) == sums[file] for file, path in paths(name).items()}


def download(name: str, *, force: bool = False, timeout: float = 60.0) -> dict[str, Path]:
    """Fetch a data set from its public address into :func:`data_dir`.

    Text files must have their known checksum; graphs converted from an archive must have their known numbers
    of nodes, edges and classes. Nothing is written otherwise.

    Parameters
    ----------
    name : str
        Name of a data set.
    force : bool
        Fetch it again if it is present.
    timeout : float
        Seconds to wait for the server.

    Returns
    -------
    dict of str to Path
        The files.
    """
    dataset = info(name)
    if not force and available()[name]:
        return paths(name)
    if not dataset.address:
        raise InputError(f"{name} cannot be fetched automatically; {_how_to_get(dataset)}")
    data = {file: _fetch(address, timeout) for file, address in dataset.address.items()}
    files = CONVERTERS[dataset.convert](dataset, data)
    if set(files) != set(dataset.files):
        raise InputError(f"{name}: the download does not hold {', '.join(set(dataset.files) - set(files))}")
    if dataset.convert == "text":
        for file, content in files.items():
            if _sha256(content) != dataset.files[file]:
                raise InputError(f"{file} from {dataset.address[file]} has the wrong checksum; not kept")
    else:
        _check_graph(dataset, files)
    root = data_dir()
    for file, content in files.items():
        target = root / file
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(target) as stream:
            stream.write(content)
    return paths(name)


def _check_graph(dataset: Dataset, files: dict[str, bytes]) -> None:
    """Load the files from a temporary folder, which checks the known counts."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {file: Path(folder) / Path(file).name for file in files}
        for file, content in files.items():
            paths[file].write_bytes(content)
        LOADERS[dataset.kind](dataset, paths)


def _fetch(address: str, timeout: float) -> bytes:
    if not address.startswith(("https://", "http://")):
        raise InputError(f"{address} is not a web address")
    request = urllib.request.Request(address, headers={"User-Agent": "softvec"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            content: bytes = answer.read(LARGEST + 1)
    except (urllib.error.URLError, OSError) as error:
        raise InputError(f"cannot fetch {address}: {error}") from error
    if len(content) > LARGEST:
        raise InputError(f"{address} sends more than {LARGEST >> 20} MiB; refused")
    return content


def _how_to_get(dataset: Dataset) -> str:
    if dataset.address:
        return f"get it by benchmarks.datasets.download({dataset.name!r}), or set SOFTVEC_DATA to where it is"
    return f"get it from {dataset.page} and set SOFTVEC_DATA to a directory with {', '.join(dataset.files)}"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

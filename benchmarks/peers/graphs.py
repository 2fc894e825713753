"""The graphs of the benchmark: labelled real ones and a series of block-model graphs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import datasets

#: Real graphs, smallest first.
REAL = (
    "karate",
    "polbooks",
    "football",
    "usa_airports",
    "polblogs",
    "musae_chameleon",
    "cora",
    "citeseer",
    "ppi",
    "wikipedia_pos",
    "musae_fr",
    "amazon_edrep",
    "blogcatalog",
    "pubmed",
    "musae_facebook",
    "dblp_prone",
)
#: Hardness alpha of the block-model graphs: 1 is the detection threshold.
HARDNESS = (1.5, 2.0, 3.0)
SERIES = tuple(f"dcsbm_{alpha:g}" for alpha in HARDNESS)
NAMES = REAL + SERIES
QUICK = ("karate", "polbooks", "cora", "ppi")


@dataclass(frozen=True)
class Graph:
    """A graph and its labels: class numbers (-1: none) or a multi-label matrix."""

    name: str
    A: sp.csr_array
    labels: Any

    @property
    def multilabel(self) -> bool:
        """Whether nodes carry several labels."""
        return sp.issparse(self.labels)

    @property
    def n_labels(self) -> int:
        """Number of different labels."""
        return int(self.labels.shape[1] if self.multilabel else len(set(self.labels.tolist()) - {-1}))


def data_home() -> Path:
    """Return the directory of the graphs, below that of the data sets."""
    place = datasets.data_dir() / "graphs"
    if not place.is_dir():
        raise FileNotFoundError(f"no directory {place}; set SOFTVEC_DATA to where the data sets are")
    return place


def load(name: str) -> Graph:
    """Return a graph by name."""
    if name.startswith("dcsbm_"):
        return block_model(float(name.split("_")[1]))
    if name not in REAL:
        raise ValueError(f"no graph is called {name!r}; there are {', '.join(NAMES)}")
    home = data_home()
    A = sp.csr_array(sp.load_npz(home / f"{name}.npz"))
    A.sort_indices()
    single = home / f"{name}_labels.npy"
    if single.exists():
        return Graph(name, A, np.load(single, allow_pickle=False))
    return Graph(name, A, sp.csr_array(sp.load_npz(home / f"{name}_labels.npz")))


def block_model(alpha: float, n: int = 10_000, seed: int = 0) -> Graph:
    """Return a degree-corrected block-model graph: four communities, mean degree 10 (the paper's)."""
    from experiments.generators import dcsbm

    A, labels, _ = dcsbm(n, c=10, q=4, alpha=alpha, random_state=seed)
    A = sp.csr_array(A)
    A.sort_indices()
    return Graph(f"dcsbm_{alpha:g}", A, labels)

"""The rivals: environment, adapter, published settings and a small sweep for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Method:
    """A method with the settings its authors publish and a few others to try.

    Attributes
    ----------
    name : str
    environment : str or None
        Key of `environments.ENVIRONMENTS`; None runs in the project's own environment.
    adapter : str
        Function of `adapters`.
    params : dict
        Best published settings.
    sweep : tuple of dict
        Alternatives, shown apart from the published settings.
    walks : bool
        Walk-based methods form a class of their own in the checks.
    max_nodes : int
        Larger graphs are left out: time or memory grows too fast.
    skip : tuple of str
        Beginnings of the names of other graphs left out.
    long : tuple of str
        Graphs that take this method so long that they are left to ``--long``.
    starts : int
        Random starts whose scores are averaged.
    source : str
        Where the settings come from.
    """

    name: str
    environment: str | None
    adapter: str
    params: dict[str, Any] = field(default_factory=dict)
    sweep: tuple[dict[str, Any], ...] = ()
    walks: bool = False
    max_nodes: int = 10**9
    skip: tuple[str, ...] = ()
    long: tuple[str, ...] = ()
    starts: int = 1
    source: str = ""


VOTES = "votes"  # uses the labels themselves, so it has no adapter
N2V = {"walk_length": 80, "window": 10}

METHODS = [
    Method(
        "softvec",
        None,
        "softvec",
        {},
        ({"walk_length": 1}, {"gradient": "full"}),
        starts=5,
        source="defaults",
    ),
    Method("no vectors: degrees", None, "degrees", source="of a node and, on average, of its neighbours"),
    Method(
        "no vectors: neighbours' labels", None, VOTES, source="the commonest among the labelled neighbours"
    ),
    Method(
        "EDRep (authors)",
        "edrep",
        "edrep",
        {"walk_length": 3, "eta": 0.5},
        ({"walk_length": 1, "eta": 0.5}, {"walk_length": 5, "eta": 0.5}),
        source="paper, w = 3; the package's node-embedding defaults otherwise",
    ),
    Method(
        "fastnode2vec",
        "fastnode2vec",
        "fastnode2vec",
        {**N2V, "p": 1.0, "q": 1.0, "epochs": 10},
        ({**N2V, "p": 1.0, "q": 0.5, "epochs": 10},),
        walks=True,
        skip=("dcsbm_1.5", "dcsbm_3"),
        long=("dblp_prone", "pubmed", "amazon_edrep", "dcsbm_2"),
        source="node2vec paper: 10 walks of 80, window 10",
    ),
    Method(
        "DeepWalk (gensim)",
        "gensim",
        "deepwalk",
        {"walks": 80, "walk_length": 40, "window": 10, "hierarchical": 0},
        ({"walks": 10, "walk_length": 80, "window": 10, "hierarchical": 0},),
        walks=True,
        max_nodes=11_000,
        skip=("dcsbm", "amazon"),
        long=("blogcatalog", "wikipedia_pos"),
        source="DeepWalk paper: 80 walks of 40, window 10; skip-gram with 5 negatives",
    ),
    Method(
        "PecanPy",
        "pecanpy",
        "pecanpy",
        {"p": 1.0, "q": 0.5, "num_walks": 10, "walk_length": 80, "window_size": 10},
        ({"p": 1.0, "q": 1.0, "num_walks": 10, "walk_length": 80, "window_size": 10},),
        walks=True,
        max_nodes=11_000,
        skip=("dcsbm", "amazon"),
        # on each it compiles for half a minute
        long=("karate", "polbooks", "football", "polblogs", "blogcatalog", "wikipedia_pos"),
        source="node2vec paper: 10 walks of 80, window 10, q = 0.5",
    ),
    Method(
        "Cleora",
        "pycleora",
        "cleora",
        {"num_iterations": 40, "whiten": True},
        ({"num_iterations": 8, "whiten": False}, {"num_iterations": 8, "whiten": True}),
        source="package defaults: 40 iterations, whitened",
    ),
    Method(
        "FastRP",
        "fastrp",
        "fastrp",
        {"weights": [0.0, 0.0, 1.0, 6.0]},
        ({"weights": [0.0, 1.0, 1.0]}, {"weights": [1.0, 1.0, 7.81, 45.28]}),
        source="best of three weightings tried on five of these graphs; not a published setting",
    ),
    Method(
        "Spectral (scikit-network)",
        "scikit-network",
        "spectral",
        {},
        ({"decomposition": "laplacian"}, {"regularization": 0.0}),
        long=("dblp_prone",),
        source="package defaults",
    ),
    Method(
        "GSVD (scikit-network)",
        "scikit-network",
        "gsvd",
        {},
        ({"factor_singular": 0.5}, {"regularization": 1.0}),
        max_nodes=20_000,
        source="package defaults",
    ),
    Method(
        "UMAP spectral",
        "umap",
        "umap_spectral",
        max_nodes=20_000,
        source="package defaults",
    ),
    Method(
        "UMAP layout",
        "umap",
        "umap_layout",
        max_nodes=3_500,
        source="package defaults",
    ),
    Method(
        "ProNE",
        None,
        "prone",
        {"order": 10, "mu": 0.2, "theta": 0.5},
        ({"order": 10, "mu": 0.1, "theta": 0.5}, {"order": 10, "mu": 0.0, "theta": 0.5}),
        source="ProNE paper: order 10, mu 0.2, theta 0.5",
    ),
    Method(
        "NetMF T=10",
        None,
        "netmf",
        {"window": 10, "rank": 256},
        ({"window": 3, "rank": 256}, {"window": 10, "rank": 256, "exact_below": 0}),
        max_nodes=20_000,
        source="NetMF paper: T = 10, b = 1, 256 eigenpairs on dense graphs",
    ),
    Method(
        "NetMF T=1",
        None,
        "netmf",
        {"window": 1},
        max_nodes=20_000,
        source="NetMF paper: T = 1, b = 1",
    ),
]

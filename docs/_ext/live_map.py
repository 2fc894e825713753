"""The live map of the first page: characters of Les Misérables, embedded when the site is built."""

from pathlib import Path

NAME = "miserables-map.html"


def write_map(folder: Path) -> None:
    """Write the page of the map into ``folder``, unless it is there."""
    if (folder / NAME).exists():
        return
    import networkx as nx

    import softvec

    graph = nx.les_miserables_graph()
    emb = softvec.embed(graph, n_components=16, random_state=0)
    folder.mkdir(parents=True, exist_ok=True)
    emb.map("clusters", edges=graph, title="Les Misérables").save(folder / NAME)

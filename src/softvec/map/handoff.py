"""Export maps: parquet for embedding-atlas, GraphML and GEXF, and attributes of graph objects."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from softvec.core.errors import InputError
from softvec.core.files import atomic_write
from softvec.map import content as gather
from softvec.map.columns import distinct_names
from softvec.map.content import Content
from softvec.plotting.style import PALETTE
from softvec.read.objects import is_igraph, is_networkx

if TYPE_CHECKING:
    from softvec.embedding import Embedding

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(content: Content, path: str | os.PathLike[str]) -> None:
    """Write ``.parquet``, ``.graphml`` or ``.gexf``, by the extension."""
    kind = os.path.splitext(os.fspath(path))[1].lower()
    if kind == ".parquet":
        _write_parquet(content, path)
    elif kind in (".graphml", ".gexf"):
        lines = _graphml(content) if kind == ".graphml" else _gexf(content)
        with atomic_write(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
    else:
        raise InputError(f"{path}: a map is written as .html, .parquet, .graphml or .gexf")


def _write_parquet(content: Content, path: str | os.PathLike[str]) -> None:
    """Write name, x, y, every column, and neighbours as embedding-atlas reads them.

    ``embedding-atlas map.parquet --text name --x x --y y --neighbors neighbors``
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = {
        "name": pa.array(content.names, pa.large_string()),
        "x": pa.array(content.coordinates[:, 0].astype(np.float32)),
        "y": pa.array(content.coordinates[:, 1].astype(np.float32)),
    }
    if content.neighbours:
        table["neighbors"] = pa.array(_neighbour_records(content))
    if content.first_context < len(content):
        table["side"] = pa.array(_sides(content))
    for column in content.columns:
        table[_free_name(column.name, table)] = pa.array(column_values(column), from_pandas=True)
    with atomic_write(path, "wb") as file:
        pq.write_table(pa.table(table), file)


def _free_name(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _neighbour_records(content: Content) -> list[dict[str, list[Any]]]:
    records: list[dict[str, list[Any]]] = [{"ids": [], "distances": []} for _ in range(len(content))]
    for block in content.neighbours:
        if block.kind != "same":
            continue
        for i, (ids, cosines) in enumerate(zip(block.ids.tolist(), block.cosines.tolist()), block.start):
            records[i] = {"ids": ids, "distances": [1.0 - cosine for cosine in cosines]}
    return records


def column_values(column: Any) -> list[Any]:
    """Return the values of a column as Python objects, None for none."""
    if column.kind == "category":
        return [column.groups[code] if code >= 0 else None for code in column.values.tolist()]
    if column.kind == "number":
        return [None if value != value else value for value in column.values.tolist()]
    return [text or None for text in column.values]


def _ids(names: Iterable[str]) -> list[str]:
    """Return names as distinct XML attributes."""
    return distinct_names(_NOT_XML.sub("\ufffd", name) for name in names)


def _sides(content: Content) -> list[str]:
    return [content.sides[i >= content.first_context] for i in range(len(content))]


def _attributes(content: Content) -> list[tuple[str, str, list[Any]]]:
    """Return (name, type, values) of all attributes of the nodes, x and y first."""
    x, y = content.coordinates.T.tolist()
    attributes: list[tuple[str, str, list[Any]]] = [("x", "double", x), ("y", "double", y)]
    taken = {"label", "x", "y"}
    if content.first_context < len(content):
        attributes.append(("side", "string", _sides(content)))
        taken.add("side")
    for column in content.columns:
        plain = "group" if column.name == "label" else column.name  # "label" is the name of a node
        name = _free_name(_NOT_XML.sub("\ufffd", plain), taken)
        taken.add(name)
        kind = "double" if column.kind == "number" else "string"
        attributes.append((name, kind, column_values(column)))
    return attributes


def _text(value: Any) -> str:
    return escape(_NOT_XML.sub("\ufffd", value if isinstance(value, str) else repr(value)))


def _direction(content: Content) -> str:
    return "directed" if content.edges is not None and content.edges.directed else "undirected"


def _edge_lines(content: Content, ids: list[str]) -> Iterator[tuple[str, str, float | None]]:
    if content.edges is None:
        return
    edges = content.edges
    weights = edges.weight.tolist() if edges.weight is not None else [None] * len(edges.source)
    for i, j, weight in zip(edges.source.tolist(), edges.target.tolist(), weights):
        yield quoteattr(ids[i]), quoteattr(ids[j]), weight


def _graphml(content: Content) -> Iterator[str]:
    ids = _ids(content.names)
    attributes = [("label", "string", content.names), *_attributes(content)]
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for number, (name, kind, _) in enumerate(attributes):
        yield f'<key id="d{number}" for="node" attr.name={quoteattr(name)} attr.type="{kind}"/>\n'
    yield '<key id="weight" for="edge" attr.name="weight" attr.type="double"/>\n'
    yield f'<graph edgedefault="{_direction(content)}">\n'
    for i, identity in enumerate(ids):
        data = "".join(
            f'<data key="d{number}">{_text(values[i])}</data>'
            for number, (_, _, values) in enumerate(attributes)
            if values[i] is not None
        )
        yield f"<node id={quoteattr(identity)}>{data}</node>\n"
    for a, b, weight in _edge_lines(content, ids):
        data = "" if weight is None else f'<data key="weight">{weight!r}</data>'
        yield f"<edge source={a} target={b}>{data}</edge>\n"
    yield "</graph>\n</graphml>\n"


def _gexf(content: Content) -> Iterator[str]:
    ids = _ids(content.names)
    attributes = _attributes(content)
    colours = _colours(content)
    Z = content.coordinates - content.coordinates.mean(axis=0)
    scale = 1000.0 / max(float(np.abs(Z).max(initial=0.0)), 1e-9)  # Gephi's canvas is about this wide
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n<gexf xmlns="http://www.gexf.net/1.2draft" '
        'xmlns:viz="http://www.gexf.net/1.2draft/viz" version="1.2">\n'
    )
    yield f'<graph defaultedgetype="{_direction(content)}">\n<attributes class="node">\n'
    for number, (name, kind, _) in enumerate(attributes):
        yield f'<attribute id="{number}" title={quoteattr(name)} type="{kind}"/>\n'
    yield "</attributes>\n<nodes>\n"
    for i, (identity, (x, y)) in enumerate(zip(ids, (Z * scale).tolist())):
        data = "".join(
            f'<attvalue for="{number}" value={quoteattr(_NOT_XML.sub(chr(0xFFFD), str(values[i])))}/>'
            for number, (_, _, values) in enumerate(attributes)
            if values[i] is not None
        )
        yield (
            f"<node id={quoteattr(identity)} label={quoteattr(identity)}><attvalues>{data}</attvalues>"
            f'<viz:position x="{x:.3f}" y="{y:.3f}" z="0.0"/>{colours[i]}</node>\n'
        )
    yield "</nodes>\n<edges>\n"
    for number, (a, b, weight) in enumerate(_edge_lines(content, ids)):
        strength = "" if weight is None else f' weight="{weight!r}"'
        yield f'<edge id="{number}" source={a} target={b}{strength}/>\n'
    yield "</edges>\n</graph>\n</gexf>\n"


def _colours(content: Content) -> list[str]:
    """Return the XML of the colour of each node, by the first column of groups."""
    column = next((c for c in content.columns if c.kind == "category"), None)
    if column is None:
        return [""] * len(content)
    elements = []
    for code in column.values.tolist():
        colour = PALETTE[code % len(PALETTE)] if code >= 0 else "#c8ccd0"
        r, g, b = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
        elements.append(f'<viz:color r="{r}" g="{g}" b="{b}" a="1.0"/>')
    return elements


def annotate(
    embedding: Embedding,
    graph: Any,
    *,
    method: str = "auto",
    coordinates: Any = None,
    random_state: int | None = 0,
) -> Any:
    """Return a copy of a networkx or igraph graph with x, y and community on its nodes.

    Parameters
    ----------
    graph : networkx or igraph graph
        Nodes are matched by name (igraph: by ``name``, else by number); others are unchanged.
    method, coordinates
        As in :func:`make_map`.
    """
    Z, _ = gather.lay_out(embedding, coordinates, method, random_state, {})
    groups = embedding.cluster(random_state=random_state).tolist()
    positions = Z.tolist()
    if is_networkx(graph):
        copy, nodes = graph.copy(), list(graph.nodes)
    elif is_igraph(graph):
        copy = graph.copy()
        nodes = graph.vs["name"] if "name" in graph.vs.attributes() else list(range(graph.vcount()))
    else:
        raise InputError(f"graph is a {type(graph).__name__}; expected a networkx or igraph graph")
    rows = [embedding.names.index(node) if node in embedding.names else None for node in nodes]
    if all(row is None for row in rows):
        first = repr(nodes[0]) if nodes else "none"
        raise InputError(
            f"no node of the graph is an item of the embedding (first node: {first}; "
            f"items have names such as {embedding.names[0]!r})"
        )
    for i, row in enumerate(rows):
        if row is None:
            continue
        target = copy.nodes[nodes[i]] if is_networkx(graph) else copy.vs[i]
        target["x"], target["y"] = positions[row]
        target["community"] = groups[row]
    return copy

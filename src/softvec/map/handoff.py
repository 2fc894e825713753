"""Export maps: parquet for embedding-atlas, GraphML and GEXF, and attributes of graph objects."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from softvec.core.errors import InputError
from softvec.core.files import atomic_write
from softvec.map.columns import Column, distinct_names
from softvec.map.content import Content, both_sides
from softvec.plotting.map import layout_of
from softvec.plotting.style import GREY, PALETTE
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
            file.writelines(f"{line}\n" for line in lines)
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
    for name, values in _attributes(content, table).items():
        table[name] = pa.array(values, from_pandas=True)
    with atomic_write(path, "wb") as file:
        pq.write_table(pa.table(table), file)


def _neighbour_records(content: Content) -> list[dict[str, list[Any]]]:
    records: list[dict[str, list[Any]]] = [{"ids": [], "distances": []} for _ in range(len(content))]
    for block in content.neighbours:
        if block.kind != "same":
            continue
        for i, (ids, cosines) in enumerate(zip(block.ids.tolist(), block.cosines.tolist()), block.start):
            records[i] = {"ids": ids, "distances": [1.0 - cosine for cosine in cosines]}
    return records


def _attributes(content: Content, taken: Container[str]) -> dict[str, list[Any]]:
    """Return the sides and all columns as Python objects, None for none, by names that are not taken."""
    rows = [(column.name, _values(column)) for column in content.columns]
    if content.first_context < len(content):
        rows.insert(0, ("side", [content.sides[i >= content.first_context] for i in range(len(content))]))
    attributes: dict[str, list[Any]] = {}
    for name, values in rows:
        if name == "label" and name in taken:  # in a graph it is the name of a node
            name = "group"
        while name in taken or name in attributes:
            name += "_"
        attributes[name] = values
    return attributes


def _values(column: Column) -> list[Any]:
    if column.kind == "category":
        return [column.groups[code] if code >= 0 else None for code in column.values.tolist()]
    if column.kind == "number":
        return [None if value != value else value for value in column.values.tolist()]
    return [text or None for text in column.values]


def _tag(name: str, attributes: Mapping[str, Any], inner: str | None = None) -> str:
    """Return an XML element; attributes that are None are left out."""
    shown = "".join(f" {k}={quoteattr(_clean(v))}" for k, v in attributes.items() if v is not None)
    return f"<{name}{shown}/>" if inner is None else f"<{name}{shown}>{inner}</{name}>"


def _clean(value: Any) -> str:
    return _NOT_XML.sub("\ufffd", value if isinstance(value, str) else repr(value))


def _nodes(content: Content) -> tuple[list[str], dict[str, list[Any]], Iterator[dict[str, Any]]]:
    """Return distinct ids of the nodes, their attributes after x and y, and the edges as XML attributes."""
    ids = distinct_names(map(_clean, content.names))
    x, y = content.coordinates.T.tolist()
    return ids, {"x": x, "y": y} | _attributes(content, ("label", "x", "y")), _edges(content, ids)


def _edges(content: Content, ids: list[str]) -> Iterator[dict[str, Any]]:
    if content.edges is None:
        return
    edges = content.edges
    weights = edges.weight.tolist() if edges.weight is not None else [None] * len(edges.source)
    for i, j, weight in zip(edges.source.tolist(), edges.target.tolist(), weights):
        yield {"source": ids[i], "target": ids[j], "weight": weight}


def _type(values: list[Any]) -> str:
    return "string" if any(isinstance(value, str) for value in values) else "double"


def _direction(content: Content) -> str:
    return "directed" if content.edges is not None and content.edges.directed else "undirected"


def _graphml(content: Content) -> Iterator[str]:
    ids, attributes, edges = _nodes(content)
    columns = {"label": content.names, **attributes}
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for number, (name, values) in enumerate(columns.items()):
        yield _tag("key", {"id": f"d{number}", "for": "node", "attr.name": name, "attr.type": _type(values)})
    yield _tag("key", {"id": "weight", "for": "edge", "attr.name": "weight", "attr.type": "double"})
    yield f'<graph edgedefault="{_direction(content)}">'
    for identity, *cells in zip(ids, *columns.values()):
        data = (
            _tag("data", {"key": f"d{k}"}, escape(_clean(v))) for k, v in enumerate(cells) if v is not None
        )
        yield _tag("node", {"id": identity}, "".join(data))
    for edge in edges:
        weight = edge.pop("weight")
        yield _tag("edge", edge, "" if weight is None else _tag("data", {"key": "weight"}, repr(weight)))
    yield "</graph>\n</graphml>"


def _gexf(content: Content) -> Iterator[str]:
    ids, attributes, edges = _nodes(content)
    Z = content.coordinates - content.coordinates.mean(axis=0)
    Z *= 1000.0 / max(float(np.abs(Z).max(initial=0.0)), 1e-9)  # Gephi's canvas is about this wide
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n<gexf xmlns="http://www.gexf.net/1.2draft" '
        'xmlns:viz="http://www.gexf.net/1.2draft/viz" version="1.2">'
    )
    yield f'<graph defaultedgetype="{_direction(content)}">\n<attributes class="node">'
    for number, (name, values) in enumerate(attributes.items()):
        yield _tag("attribute", {"id": str(number), "title": name, "type": _type(values)})
    yield "</attributes>\n<nodes>"
    for identity, (x, y), colour, *cells in zip(ids, Z.tolist(), _colours(content), *attributes.values()):
        data = (_tag("attvalue", {"for": str(k), "value": v}) for k, v in enumerate(cells) if v is not None)
        place = _tag("viz:position", {"x": f"{x:.3f}", "y": f"{y:.3f}", "z": "0.0"})
        inner = _tag("attvalues", {}, "".join(data)) + place + colour
        yield _tag("node", {"id": identity, "label": identity}, inner)
    yield "</nodes>\n<edges>"
    for number, edge in enumerate(edges):
        yield _tag("edge", {"id": str(number), **edge})
    yield "</edges>\n</graph>\n</gexf>"


def _colours(content: Content) -> list[str]:
    """Return the XML of the colour of each node, by the first column of groups."""
    column = next((c for c in content.columns if c.kind == "category"), None)
    if column is None:
        return [""] * len(content)
    elements = []
    for code in column.values.tolist():
        colour = PALETTE[code % len(PALETTE)] if code >= 0 else GREY
        r, g, b = (str(int(colour[k : k + 2], 16)) for k in (1, 3, 5))
        elements.append(_tag("viz:color", {"r": r, "g": g, "b": b, "a": "1.0"}))
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
    Z, _ = layout_of(both_sides(embedding), coordinates, method, random_state, {})
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

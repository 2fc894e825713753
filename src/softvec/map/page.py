"""The HTML page: template, style, script and data in one text, under a content security policy."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from softvec._version import __version__
from softvec.core.dates import iso_texts
from softvec.map.content import Content, strongest
from softvec.map.pack import Packer, encode, pack_cosines, quantise
from softvec.plotting.style import PALETTE

# Concatenated in this order; top-level code uses only names of earlier files.
SCRIPTS = (
    "text.js", "data.js", "colours.js", "index.js", "view.js", "shaders.js", "painter.js", "names.js",
    "overlay.js", "app.js", "state.js", "export.js", "lists.js", "legend.js", "panel.js", "time.js",
    "pointer.js", "keyboard.js", "main.js",
)  # fmt: skip


@cache
def _resource(name: str) -> str:
    return (files("softvec.map") / name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """Return the script: all files, wrapped in one function."""
    body = "\n".join(f"// {name}\n{_resource(name)}" for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{body}\n}})();\n'


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def render(content: Content, theme: str = "auto") -> str:
    """Return the page of a map."""
    style = _resource("style.css")
    policy = (
        f"default-src 'none'; script-src {_hash(script())}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    page = _resource("page.html")
    parts = {
        "policy": policy,
        "title": html.escape(visible(content.title)),
        "theme": html.escape(theme),
        "style": style,
        "data": encode(pack(content)),
        "script": script(),
    }
    # in one pass, as the parts may contain braces themselves
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], page)


def visible(text: str) -> str:
    """Return a text on one line, without control and direction marks, for the title of the window.

    >>> visible("a\\u202eb\\nc")
    'a\ufffdb\ufffdc'
    """
    hidden = {*range(0x20), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, 0x2028, 0x2029}
    hidden |= {*range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xE000)}
    return text.translate(dict.fromkeys(hidden, "\ufffd"))


def pack(content: Content) -> bytes:
    """Return the data of a map as uncompressed bytes; see :mod:`softvec.map.pack`."""
    packer = Packer()
    x, y = quantise(content.coordinates)
    packer.add("x", x)
    packer.add("y", y)
    packer.add_texts("names", content.names)
    header: dict[str, object] = {
        "version": 1,
        "softvec": __version__,
        "n": len(content),
        "firstContext": content.first_context,
        "title": content.title,
        "subtitle": content.subtitle,
        "palette": list(PALETTE),
        "sides": list(content.sides),
        "columns": [_pack_column(packer, i, column) for i, column in enumerate(content.columns)],
        "neighbours": [_pack_neighbours(packer, i, block) for i, block in enumerate(content.neighbours)],
        "sizes": _pack_sizes(packer, content),
        "edges": _pack_edges(packer, content),
        "times": _pack_times(packer, content),
        "notes": [str(note) for note in content.notes],
    }
    return packer.to_bytes(header)


def _pack_column(packer: Packer, number: int, column: Any) -> dict[str, object]:
    array = f"column{number}"
    if column.kind == "text":
        packer.add_texts(array, column.values)
    elif column.kind == "category":
        packer.add(array, np.asarray(column.values) + 1)  # 0: none
    else:
        packer.add(array, column.values)
    return {
        "name": column.name, "kind": column.kind, "array": array,
        "groups": list(column.titles or column.groups), "detected": column.titles == column.groups,
        "dated": column.dated,
    }  # fmt: skip


def _pack_sizes(packer: Packer, content: Content) -> str | None:
    """Return the name of the array of sizes; often a column holds them already."""
    if content.sizes is None:
        return None
    for number, column in enumerate(content.columns):
        if column.name == "size" and np.array_equal(column.values, content.sizes):
            return f"column{number}"
    return packer.add("sizes", np.asarray(content.sizes, np.float32))


def _pack_neighbours(packer: Packer, number: int, block: Any) -> dict[str, object]:
    count, k = block.ids.shape
    packer.add(f"neighbours{number}", block.ids.T)  # all nearest, then all second nearest: compresses better
    packer.add(f"cosines{number}", pack_cosines(block.cosines.T))
    return {"kind": block.kind, "start": block.start, "count": count, "k": k, "number": number}


def _pack_edges(packer: Packer, content: Content) -> dict[str, object] | None:
    if content.edges is None:
        return None
    edges = content.edges
    sizes = content.sizes
    kept = strongest(edges, content.max_edges, sizes)
    packer.add("edges.source", edges.source[kept])
    packer.add("edges.target", edges.target[kept])
    return {"shown": len(kept), "total": len(edges.source), "directed": edges.directed}


def _pack_times(packer: Packer, content: Content) -> list[float] | list[str] | None:
    if content.times is None:
        return None
    times, codes = np.unique(content.times, return_inverse=True)
    packer.add("times", codes)
    if content.items is not None:
        packer.add("items", content.items)
    return iso_texts(times) if times.dtype.kind == "M" else [float(t) for t in times]

"""The HTML page: template, style, script and data in one text, under a content security policy.

The data, before gzip: ``b"SVM1"``, the length of the header (uint32, little-endian), the header (UTF-8 JSON),
the arrays one after another. ``header["arrays"][name]`` is ``[type, length, offset]``; offsets count from
the end of the header. A type is ``u1`` to ``u4`` (unsigned integers of 1 to 4 bytes), ``f4`` or ``f8``. An
array is stored as planes: all lowest bytes, then all second bytes, and so on, which compresses far better
than whole numbers one after another. Texts are one UTF-8 blob (``u1``) and their lengths in UTF-16 units, as
browsers count them.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec._version import __version__
from softvec.core.dates import iso_texts
from softvec.map.content import Content, strongest
from softvec.plotting.style import PALETTE

MAGIC = b"SVM1"
GRID = 65_535  # coordinates are whole numbers from 0 to this
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
    """Return the data of a map as uncompressed bytes; the layout is at the top."""
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


class Packer:
    """Collects arrays and writes them after a header.

    Examples
    --------
    >>> packer = Packer()
    >>> packer.add("x", np.array([1, 2, 70_000]))
    'x'
    >>> packer.arrays["x"][:2]
    ['u3', 3]
    """

    def __init__(self) -> None:
        self.arrays: dict[str, list[Any]] = {}
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, name: str, values: NDArray[Any]) -> str:
        """Add an array of whole numbers from 0 or of floats; return its name."""
        values = np.ascontiguousarray(values).reshape(-1)
        if values.dtype.kind == "f":
            kind = f"f{values.dtype.itemsize}"
            planes = _planes(values.astype(values.dtype.newbyteorder("<")), values.dtype.itemsize)
        else:
            width = _width(int(values.max(initial=0)))
            kind = f"u{width}"
            planes = _planes(values.astype("<u4"), width)
        self.arrays[name] = [kind, len(values), self._size]
        self._parts.append(planes)
        self._size += len(planes)
        return name

    def add_texts(self, name: str, texts: Sequence[str]) -> str:
        """Add texts as the arrays ``name.text`` and ``name.length``; return ``name``."""
        joined = "".join(texts)
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        if joined and max(joined) > "\uffff":  # such characters count twice in UTF-16
            lengths = np.fromiter(map(_utf16_length, texts), np.int64, len(texts))
        blob = np.frombuffer(joined.encode("utf-8", "replace"), np.uint8)
        self.add(f"{name}.text", blob)
        self.add(f"{name}.length", lengths)
        return name

    def to_bytes(self, header: dict[str, object]) -> bytes:
        """Return the uncompressed bytes."""
        text = json.dumps(header | {"arrays": self.arrays}, ensure_ascii=True, allow_nan=False).encode()
        return b"".join([MAGIC, len(text).to_bytes(4, "little"), text, *self._parts])


def _width(largest: int) -> int:
    return max(1, (largest.bit_length() + 7) // 8)


def _planes(values: NDArray[Any], width: int) -> bytes:
    """Return the ``width`` low bytes of each value, transposed."""
    rows = values.view(np.uint8).reshape(len(values), values.dtype.itemsize)
    return np.ascontiguousarray(rows[:, :width].T).tobytes()


def _utf16_length(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def encode(data: bytes) -> str:
    """Compress bytes and write them as base64; the same bytes give the same text."""
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode("ascii")


def quantise(coordinates: NDArray[np.floating]) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return x and y as integers 0..65535, on one scale, centred.

    Examples
    --------
    >>> x, y = quantise(np.array([[0.0, 0.0], [2.0, 1.0]]))
    >>> x.tolist(), y.tolist()
    ([0, 65535], [16384, 49151])
    """
    Z = np.asarray(coordinates, np.float64)
    if len(Z) == 0:
        return np.empty(0, np.uint16), np.empty(0, np.uint16)
    low, high = Z.min(axis=0), Z.max(axis=0)
    span = float((high - low).max()) or 1.0
    unit = (Z - (low + high) / 2) / span + 0.5
    whole = np.clip(np.rint(unit * GRID), 0, GRID).astype(np.uint16)
    return whole[:, 0], whole[:, 1]


def pack_cosines(cosines: NDArray[np.floating]) -> NDArray[np.uint16]:
    """Return cosines as integers 0..2000, thousandths above -1: the page shows three decimals."""
    return np.clip(np.rint((np.asarray(cosines, np.float64) + 1) * 1000), 0, 2000).astype(np.uint16)

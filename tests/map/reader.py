"""Reading the data of a map's page as its format says, with other code than the one that wrote it."""

import base64
import gzip
import json
import re
import struct

NASTY = [
    "<script>window.hacked = 1</script>", "</script><img src=x onerror='window.hacked=1'>", "\"'`${1}",
    "abc\u202egnp.exe", "=1+2", "line\nbreak\ttab\x00nul", "x" * 10_000_000, "\u0301" * 300,
    "😀 astral", "{{data}}", "", "Éléphant", "&lt;b&gt;", "\ud800 alone",
]  # fmt: skip


def data_of(page):
    """Read the data of a page as the format says, with other code than the one that wrote it."""
    text = re.search(r'id="data">([^<]*)</script>', page)[1]
    raw = gzip.decompress(base64.b64decode(text, validate=True))
    assert raw[:4] == b"SVM1"
    (size,) = struct.unpack("<I", raw[4:8])
    header = json.loads(raw[8 : 8 + size])
    body = raw[8 + size :]

    def array(name):
        kind, length, offset = header["arrays"][name]
        width = int(kind[1])
        planes = [body[offset + b * length : offset + (b + 1) * length] for b in range(width)]
        numbers = [bytes(plane[i] for plane in planes) for i in range(length)]
        if kind[0] == "f":
            return [struct.unpack("<f" if width == 4 else "<d", number)[0] for number in numbers]
        return [int.from_bytes(number, "little") for number in numbers]

    def texts(name):
        whole = bytes(array(f"{name}.text")).decode("utf-8").encode("utf-16-le")
        parts, at = [], 0
        for length in array(f"{name}.length"):
            parts.append(whole[2 * at : 2 * (at + length)].decode("utf-16-le"))
            at += length
        assert 2 * at == len(whole)
        return parts

    return header, array, texts

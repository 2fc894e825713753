"""Damage a file: at random, and through its structure (archives, headers, numbers, compression)."""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable

_INTEGERS = (
    0,
    1,
    -1,
    2,
    7,
    8,
    127,
    128,
    255,
    256,
    65_535,
    2**24,
    2**31 - 1,
    -(2**31),
    2**32 - 1,
    2**62,
    2**63 - 1,
)
_WORDS = (
    b"nan", b"inf", b"-inf", b"1e999", b"-1", b"0", b"99999999999999999999", b"1e308", b"-0.0", b"\x00",
    b"\xff", b"\xed\xa0\x80", b"\x1b]0;title\x07", b"\x9b31m", b"\r", b"\n\n", b'"', b",", b"\t", b" ",
    b"\xef\xbb\xbf", b"%", b"#", b"\xe2\x80\xae", b"4294967296", b"2147483648", b"1000000000", b"0x1p3",
    b"1_0", b"true", 3000 * b"[", 3000 * b'{"a":',
)  # fmt: skip
_HEADERS = (
    (rb"'descr': '[^']*'", (b"'descr': '<f8'", b"'descr': '|O'", b"'descr': '<i8'", b"'descr': '<f2'",
                            b"'descr': '|V0'", b"'descr': '<U9999999'", b"'descr': '>u8'", b"'descr': '<c16'",
                            b"'descr': [('a', '<i4')]", b"'descr': '<m8'", b"'descr': '|S0'")),
    (rb"'shape': \([^)]*\)", (b"'shape': (9, 9)", b"'shape': ()", b"'shape': (0, 4)", b"'shape': (-1, 4)",
                              b"'shape': (99999999999, 99)", b"'shape': (4, 0)", b"'shape': (2, 2, 2)",
                              b"'shape': (18446744073709551616,)", b"'shape': (True, 8)")),
    (rb"'fortran_order': \w+", (b"'fortran_order': True", b"'fortran_order': 7")),
)  # fmt: skip


def _flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _overwrite(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    data[at] = rng.randrange(256)


def _cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def _remove(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.choice((1, 1, 2, 4, 8, rng.randrange(1, 200)))]


def _repeat(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    piece = data[at : at + rng.randrange(1, 64)]
    data[at:at] = piece * rng.choice((1, 1, 2, 50))


def _insert(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.choice(_WORDS) if rng.random() < 0.7 else rng.randbytes(rng.randrange(1, 9))


def _number(data: bytearray, rng: random.Random) -> None:
    """Write an odd integer over 2, 4 or 8 bytes, at a multiple of its size more often than not."""
    size, code = rng.choice(((2, "h"), (4, "i"), (4, "i"), (8, "q"), (8, "q")))
    if len(data) < size:
        return
    at = rng.randrange(len(data) - size + 1)
    if rng.random() < 0.7:
        at -= at % 4
    value = rng.choice(_INTEGERS)
    if rng.random() < 0.4:  # off by a little: what stands there, changed
        value = struct.unpack_from("<" + code, data, at)[0] + rng.choice((-1, 1, 2, 8, 64, 1000, -1000))
    low = 1 << (8 * size - 1)
    value = (value + low) % (2 * low) - low
    struct.pack_into(rng.choice("<<<>") + code, data, at, value)


def _float(data: bytearray, rng: random.Random) -> None:
    code, size = rng.choice((("<f", 4), ("<d", 8)))
    if len(data) >= size:
        at = rng.randrange(len(data) - size + 1) // 4 * 4
        value = rng.choice((float("nan"), float("inf"), -float("inf"), -1.0, 1e-300, 3e38, 0.0))
        struct.pack_into(code, data, at, value)


def _digits(data: bytearray, rng: random.Random) -> None:
    """Replace a number or a word of the text."""
    found = list(re.finditer(rb"-?[0-9][0-9.eE+-]*" if rng.random() < 0.7 else rb"[A-Za-z]+", data))
    if found:
        match = rng.choice(found)
        data[match.start() : match.end()] = rng.choice(_WORDS)


def _header(data: bytearray, rng: random.Random) -> None:
    """Rewrite the header of a .npy array, its length kept."""
    pattern, choices = rng.choice(_HEADERS)
    found = re.search(pattern, data)
    if found is None:
        return _number(data, rng)
    new = rng.choice(choices)
    grown = len(new) - (found.end() - found.start())
    data[found.start() : found.end()] = new
    padding = re.compile(rb" {%d,}\n" % max(1, grown + 1)).search(data, found.start()) if grown > 0 else None
    if padding:
        del data[padding.start() : padding.start() + grown]
    elif grown < 0:
        at = data.find(b"\n", found.start())
        if at > 0:
            data[at:at] = b" " * -grown
    return None


def _lines(data: bytearray, rng: random.Random) -> None:
    """Remove, repeat or swap lines."""
    parts = bytes(data).split(b"\n")
    i, j = rng.randrange(len(parts)), rng.randrange(len(parts))
    action = rng.randrange(4)
    if action == 0:
        del parts[i]
    elif action == 1:
        parts[i:i] = [parts[j]] * rng.choice((1, 1, 100))
    elif action == 2:
        parts[i], parts[j] = parts[j], parts[i]
    else:
        parts[i] = parts[i][: rng.randrange(len(parts[i]) + 1)]
    data[:] = b"\n".join(parts)


def _swap(data: bytearray, rng: random.Random) -> None:
    size = rng.choice((4, 8, 16, 64))
    if len(data) > 2 * size:
        a, b = (rng.randrange(len(data) - size) for _ in range(2))
        data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]


_ACTIONS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _flip, _flip, _overwrite, _cut, _remove, _repeat, _insert, _number, _number, _number, _float, _digits,
    _header, _lines, _swap,
)  # fmt: skip


def damage(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes with one to four pieces of damage."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
        if not changed:
            break
        rng.choice(_ACTIONS)(changed, rng)
    return bytes(changed)


def _rezip(data: bytes, rng: random.Random) -> bytes:
    """Damage a member of a zip archive, and write the archive with a checksum that fits."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist()]
    chosen = rng.randrange(len(members))
    action = rng.random()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for at, (info, content) in enumerate(members):
            name, kind = info.filename, info.compress_type
            if at == chosen:
                if action < 0.05:
                    continue
                if action < 0.1:
                    name = rng.choice(members)[0].filename
                elif action < 0.15:
                    kind = rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
                elif action < 0.2:
                    content = rng.choice(members)[1]
                else:
                    content = damage(content, rng)
            new = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            new.compress_type = kind
            archive.writestr(new, content)
    return out.getvalue()


def _regzip(data: bytes, rng: random.Random) -> bytes:
    return gzip.compress(mutate(gzip.decompress(data), rng), mtime=0)


def _repack_matlab(data: bytes, rng: random.Random) -> bytes:
    """Damage the inside of a compressed variable of a MATLAB file."""
    at = 128
    parts = []
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        parts.append((kind, data[at + 8 : at + 8 + size]))
        at += 8 + size
    chosen = rng.randrange(len(parts))
    out = data[:128]
    for i, (kind, body) in enumerate(parts):
        if i == chosen and kind == 15:
            body = zlib.compress(damage(zlib.decompress(body), rng))
        elif i == chosen:
            body = damage(body, rng)
        out += struct.pack("<II", kind, len(body)) + body
    return out


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Return a damaged copy; half of the time below the file's outer layer, where checks are fewer."""
    inner: Callable[[bytes, random.Random], bytes] | None = None
    if data[:4] == b"PK\x03\x04":
        inner = _rezip
    elif data[:2] == b"\x1f\x8b":
        inner = _regzip
    elif data.startswith(b"MATLAB 5.0"):
        inner = _repack_matlab
    if inner is not None and rng.random() < 0.6:
        with contextlib.suppress(Exception):  # the outer layer may be damaged already
            return inner(data, rng)
    return damage(data, rng)

"""Names to codes in order of first appearance, by hash or lookup tables, and the order of their bytes.

Nothing is decoded: names stay UTF-8 bytes, packed back to back.
"""

from __future__ import annotations

import numpy as np

from softvec.kernels._intrinsics import prefetch
from softvec.kernels._jit import njit

_AHEAD = 8  # rows between a prefetch and its use


@njit(nogil=True, cache=True, forceinline=True)
def _hash(buf, start, end):
    """FNV-1a of the bytes, 64 bits, mixed so that the high bits are good too."""
    h = np.uint64(0xCBF29CE484222325)
    for p in range(start, end):
        h = (h ^ np.uint64(buf[p])) * np.uint64(0x100000001B3)
    h ^= h >> np.uint64(32)
    return h * np.uint64(0x9E3779B97F4A7C15)


@njit(nogil=True, cache=True)
def hash_tokens(buf, starts, ends, out):
    """Write the hash of each token to ``out``."""
    for row in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[row, c] = _hash(buf, starts[row, c], ends[row, c])


@njit(nogil=True, cache=True, forceinline=True)
def _is_name(buf, start, length, names, offsets, code):
    at = offsets[code, 0]
    same = offsets[code + 1, 0] - at == length
    k = 0
    while same and k < length:
        same = names[at + k, 0] == buf[start + k]
        k += 1
    return same


@njit(nogil=True, cache=True)
def find_tokens(buf, starts, ends, hashes, table, names, offsets, codes):
    """Look tokens up in the tables of :func:`intern_tokens`, read-only; an unknown name gets -1.

    A lookup misses the cache three times (slot, offset, name), so all three are prefetched.
    """
    mask = np.uint64(table.shape[0] - 1)
    low = np.uint64(0xFFFFFFFF)
    last = hashes.shape[0] - 1
    for row in range(hashes.shape[0]):
        for c in range(codes.shape[1]):
            prefetch(table, np.int64(hashes[min(row + 3 * _AHEAD, last), c] & mask))
            entry = table[np.int64(hashes[min(row + 2 * _AHEAD, last), c] & mask), 0]
            prefetch(offsets, np.int64(entry & low))
            entry = table[np.int64(hashes[min(row + _AHEAD, last), c] & mask), 0]
            prefetch(names, offsets[max(np.int64(entry & low) - 1, 0), 0])
            h = hashes[row, c]
            start, length = starts[row, c], ends[row, c] - starts[row, c]
            slot = h & mask
            code = np.int64(-1)
            entry = table[np.int64(slot), 0]
            while entry != 0:
                if (entry & ~low) == (h & ~low):
                    code = np.int64(entry & low) - 1
                    if _is_name(buf, start, length, names, offsets, code):
                        break
                    code = np.int64(-1)
                slot = (slot + np.uint64(1)) & mask
                entry = table[np.int64(slot), 0]
            codes[row, c] = code


@njit(nogil=True, cache=True)
def intern_tokens(buf, starts, ends, hashes, begin, table, names, offsets, count, codes):
    """Number the tokens whose code is -1 in order of first appearance; stop when a table is full.

    ``table`` (slots x 1, a power of two) holds ``hash & ~0xFFFFFFFF | number + 1``, 0 for an empty slot.
    New names are appended to ``names`` (bytes x 1) and ``offsets`` (x 1). Returns (next row, names so far).
    """
    columns = codes.shape[1]
    mask = np.uint64(table.shape[0] - 1)
    low = np.uint64(0xFFFFFFFF)
    limit = min(table.shape[0] // 2, offsets.shape[0] - 1) - columns
    for row in range(begin, hashes.shape[0]):
        if count > limit:
            return row, count
        for c in range(columns):
            if codes[row, c] >= 0:
                continue
            h = hashes[row, c]
            high = h & ~low
            start, length = starts[row, c], ends[row, c] - starts[row, c]
            slot = h & mask
            while True:
                entry = table[np.int64(slot), 0]
                if entry == 0:
                    at = offsets[count, 0]
                    if at + length > names.shape[0]:
                        return row, count
                    for k in range(length):
                        names[at + k, 0] = buf[start + k]
                    count += 1
                    offsets[count, 0] = at + length
                    table[np.int64(slot), 0] = high | np.uint64(count)
                    codes[row, c] = count - 1
                    break
                if (entry & ~low) == high:
                    code = np.int64(entry & low) - 1
                    if _is_name(buf, start, length, names, offsets, code):
                        codes[row, c] = code
                        break
                slot = (slot + np.uint64(1)) & mask
    return hashes.shape[0], count


@njit(nogil=True, cache=True)
def rehash(names, offsets, count, table):
    """Insert the first ``count`` names, which are distinct, into an empty ``table``."""
    mask = np.uint64(table.shape[0] - 1)
    for code in range(count):
        h = _hash(names, offsets[code], offsets[code + 1])
        slot = h & mask
        while table[np.int64(slot), 0] != 0:
            slot = (slot + np.uint64(1)) & mask
        table[np.int64(slot), 0] = (h & ~np.uint64(0xFFFFFFFF)) | np.uint64(code + 1)


@njit(nogil=True, cache=True)
def common_prefix(data, offsets):
    """Return how many bytes all names begin with alike."""
    size = offsets[1] - offsets[0]
    for i in range(1, offsets.shape[0] - 1):
        size = min(size, offsets[i + 1] - offsets[i])
        k = 0
        while k < size and data[offsets[i] + k] == data[offsets[0] + k]:
            k += 1
        size = k
    return size


@njit(nogil=True, cache=True)
def byte_keys(data, offsets, rows, skip, out):
    """Write the eight bytes of each row's name after the first ``skip`` as one number, the first highest."""
    for i in range(rows.shape[0]):
        start, end = offsets[rows[i]] + skip, offsets[rows[i] + 1]
        key = np.uint64(0)
        for k in range(8):
            byte = data[start + k] if start + k < end else 0
            key = (key << np.uint64(8)) | np.uint64(byte)
        out[i] = key

"""Parse pairs of integers in text, given as whole lines of ``uint8``."""

from __future__ import annotations

import numpy as np

from softvec.kernels._jit import njit

_TAB, _NEWLINE, _RETURN, _SPACE, _MINUS, _ZERO = 9, 10, 13, 32, 45, 48


@njit(nogil=True, cache=True)
def parse_pairs(buf, delimiter, out):
    """Parse lines of two canonical integers (no plus sign, no leading zero, at most 18 digits).

    Fields are separated by the byte ``delimiter``, with blanks and tabs around it, or by these alone if it is
    a space. Returns the number of lines, or -1 if one holds anything else: then another parser must.
    """
    size = buf.shape[0]
    rows = 0
    p = 0
    while p < size:
        for c in range(2):
            p, marks = _skip_blanks(buf, p, delimiter)
            if c == 0 and marks == 0 and (p == size or buf[p] == _NEWLINE):
                break  # an empty line
            if marks != c and not (delimiter == _SPACE and marks >= c):
                return -1
            negative = p < size and buf[p] == _MINUS
            p += negative
            start = p
            value = np.int64(0)
            while p < size and _ZERO <= buf[p] <= _ZERO + 9:
                value = value * 10 + (np.int64(buf[p]) - _ZERO)
                p += 1
            length = p - start
            if length < 1 or length > 18 or (buf[start] == _ZERO and (length > 1 or negative)):
                return -1
            out[rows, c] = -value if negative else value
            rows += c
        p, marks = _skip_blanks(buf, p, delimiter)
        if (p < size and buf[p] != _NEWLINE) or (marks > 0 and delimiter != _SPACE):
            return -1
        p += 1
    return rows


@njit(nogil=True, cache=True)
def _skip_blanks(buf, p, delimiter):
    """Return the position after blanks and delimiters, and how many delimiters there are."""
    marks = 0
    while p < buf.shape[0]:
        byte = buf[p]
        if byte == delimiter or (delimiter == _SPACE and byte == _TAB):
            marks += 1
        elif byte != _SPACE and byte != _TAB and byte != _RETURN:
            break
        p += 1
    return p, marks

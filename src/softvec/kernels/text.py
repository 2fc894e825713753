"""Parse text as bytes: fields of lines, words, integers and decimals.

Each kernel takes a block of whole lines as ``uint8``; nothing is decoded. :mod:`softvec.read.lines` has
the same rules in plain Python, for small files and for messages about bad lines.
"""

from __future__ import annotations

import numpy as np

from softvec.kernels._jit import njit

OK, RAGGED, QUOTED, ODD = 0, 1, 2, 3
_TAB, _NEWLINE, _SPACE, _QUOTE = 9, 10, 32, 34
_LARGEST = 2**63 - 1


@njit(nogil=True, cache=True)
def split_fields(buf, delimiter, comment, slots, n_fields, starts, ends):
    """Find the wanted fields of each line.

    ``delimiter`` is a byte, or 0 for runs of spaces and tabs; ``comment[byte]`` marks bytes that open a
    comment line; ``slots[c]`` is the column of ``starts`` and ``ends`` that receives field c, or -1. The scan
    stops at a quoted field, and at a line that does not have ``n_fields`` fields (if ``n_fields`` is 0, one
    with fewer than ``len(slots)``). Returns (rows, status, position of the line that stopped the scan).
    """
    size = buf.shape[0]
    wanted = slots.shape[0]
    rows = 0
    p = 0
    while p < size:
        line = p
        while p < size and buf[p] <= _SPACE and buf[p] != _NEWLINE:
            p += 1
        if p >= size or buf[p] == _NEWLINE or comment[buf[p]]:
            while p < size and buf[p] != _NEWLINE:
                p += 1
            p += 1
            continue
        if delimiter == _TAB:  # a tab before the first field is an empty field
            p = line
            while buf[p] == _SPACE:
                p += 1
        field = 0
        more = True
        while more:
            start = p
            if delimiter == 0:
                while p < size and buf[p] > _SPACE:
                    p += 1
                end = p
                while p < size and (buf[p] <= _SPACE and buf[p] != _NEWLINE):
                    p += 1
                more = p < size and buf[p] != _NEWLINE
            else:
                if p < size and buf[p] == _QUOTE:
                    return rows, QUOTED, line
                while p < size and buf[p] != delimiter and buf[p] != _NEWLINE:
                    p += 1
                end = p
                more = p < size and buf[p] == delimiter
                while end > start and buf[end - 1] <= _SPACE:
                    end -= 1
                if more:
                    p += 1
                    while p < size and buf[p] == _SPACE:
                        p += 1
            if field < wanted and slots[field] >= 0:
                starts[rows, slots[field]] = start
                ends[rows, slots[field]] = end
            field += 1
        p += 1
        if (n_fields > 0 and field != n_fields) or field < wanted:
            return rows, RAGGED, line
        rows += 1
    return rows, OK, size


@njit(nogil=True, cache=True)
def parse_pairs(buf, delimiter, comment, out, span):
    """Parse lines of exactly two canonical integers, :func:`split_fields` and :func:`parse_integers` in one.

    ``span`` receives the minimum and the maximum. Returns (rows, status, position); the status is ``ODD`` if
    a line is anything else, and the caller then uses the two general kernels.
    """
    size = buf.shape[0]
    rows = 0
    p = 0
    low, high = np.int64(_LARGEST), np.int64(-_LARGEST)
    while p < size:
        line = p
        while p < size and buf[p] <= _SPACE and buf[p] != _NEWLINE:
            p += 1
        if p >= size or buf[p] == _NEWLINE or comment[buf[p]]:
            while p < size and buf[p] != _NEWLINE:
                p += 1
            p += 1
            continue
        if delimiter == _TAB:  # a tab before the first field is an empty field
            p = line
            while buf[p] == _SPACE:
                p += 1
        for c in range(2):
            negative = p < size and buf[p] == 45
            if negative:
                p += 1
            start = p
            value = np.int64(0)
            while p < size:
                digit = np.int64(buf[p]) - 48
                if digit < 0 or digit > 9:
                    break
                value = value * 10 + digit
                p += 1
            length = p - start
            if length < 1 or length > 18 or (buf[start] == 48 and (length > 1 or negative)):
                return rows, ODD, line
            value = -value if negative else value
            out[rows, c] = value
            low, high = min(low, value), max(high, value)
            if c == 0:
                between = p
                if delimiter != 0:
                    while p < size and buf[p] <= _SPACE and buf[p] != _NEWLINE and buf[p] != delimiter:
                        p += 1
                    if p >= size or buf[p] != delimiter:
                        return rows, ODD, line
                    p += 1
                    while p < size and buf[p] == _SPACE:
                        p += 1
                else:
                    while p < size and buf[p] <= _SPACE and buf[p] != _NEWLINE:
                        p += 1
                if p == between:
                    return rows, ODD, line
        while p < size and buf[p] <= _SPACE and buf[p] != _NEWLINE and buf[p] != delimiter:
            p += 1
        if p < size and buf[p] != _NEWLINE:
            return rows, ODD, line
        p += 1
        rows += 1
    span[0], span[1] = low, high
    return rows, OK, size


@njit(nogil=True, cache=True)
def parse_integers(buf, starts, ends, columns, out):
    """Parse fields as canonical integers (no plus sign, no leading zero, absolute value below 2**63).

    Returns the first row that is not one, or -1.
    """
    for row in range(out.shape[0]):
        for c in range(columns):
            p, end = starts[row, c], ends[row, c]
            negative = p < end and buf[p] == 45
            if negative:
                p += 1
            length = end - p
            if length < 1 or length > 19 or (buf[p] == 48 and (length > 1 or negative)):
                return row
            value = np.int64(0)
            while p < end:
                digit = np.int64(buf[p]) - 48
                if digit < 0 or digit > 9 or value > (_LARGEST - digit) // 10:
                    return row
                value = value * 10 + digit
                p += 1
            out[row, c] = -value if negative else value
    return -1


@njit(nogil=True, cache=True)
def parse_decimals(buf, starts, ends, column, powers, out, hard):
    """Parse fields as decimals if that takes one rounding; list the other rows in ``hard``.

    A mantissa below 2**53 times, or divided by, an exact power of ten (``powers``, 10**0 to 10**22) rounds
    once, so the result is correctly rounded. Returns the number of hard rows.
    """
    n_hard = 0
    for row in range(out.shape[0]):
        p, end = starts[row, column], ends[row, column]
        negative = p < end and buf[p] == 45
        if p < end and (buf[p] == 45 or buf[p] == 43):
            p += 1
        mantissa = np.int64(0)
        digits = 0
        scale = 0
        good = True
        point = False
        while p < end:
            c = np.int64(buf[p])
            if c >= 48 and c <= 57:
                if mantissa < 900_000_000_000_000:
                    mantissa = mantissa * 10 + (c - 48)
                    scale -= point
                    digits += 1
                else:
                    good = False
            elif c == 46 and not point:
                point = True
            else:
                break
            p += 1
        if p < end and (buf[p] == 101 or buf[p] == 69) and digits > 0:
            p += 1
            sign = 1
            if p < end and (buf[p] == 45 or buf[p] == 43):
                sign = -1 if buf[p] == 45 else 1
                p += 1
            exponent = 0
            good = good and p < end
            while p < end and buf[p] >= 48 and buf[p] <= 57 and exponent < 1000:
                exponent = exponent * 10 + (np.int64(buf[p]) - 48)
                p += 1
            scale += sign * exponent
        if not good or digits == 0 or p < end or scale < -22 or scale > 22:
            hard[n_hard] = row
            n_hard += 1
            continue
        value = np.float64(mantissa)
        value = value * powers[scale] if scale >= 0 else value / powers[-scale]
        out[row] = -value if negative else value
    return n_hard


@njit(nogil=True, cache=True)
def split_words(buf, starts, ends, lines):
    """Find the words between blanks; ``lines[w]`` counts the line ends before word w. Returns the count."""
    size = buf.shape[0]
    words = 0
    line = 0
    p = 0
    while p < size:
        if buf[p] <= _SPACE:
            line += buf[p] == _NEWLINE
            p += 1
            continue
        starts[words, 0] = p
        lines[words] = line
        while p < size and buf[p] > _SPACE:
            p += 1
        ends[words, 0] = p
        words += 1
    return words

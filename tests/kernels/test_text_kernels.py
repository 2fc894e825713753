"""The compiled text kernels against the same rules in plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softvec.kernels import text
from softvec.read import lines

QUICK = settings(max_examples=80, deadline=None)
POWERS = 10.0 ** np.arange(23)
fields = st.text(st.sampled_from("0129-+.eaé \t,"), max_size=5)
some_lines = st.lists(st.lists(fields, min_size=1, max_size=4), max_size=6)
COMMENT = np.zeros(256, bool)
COMMENT[list(b"#%")] = True


def tokens(items):
    """Lay items out behind one another, as the parser sees them."""
    encoded = [item.encode() for item in items]
    ends = np.cumsum([len(item) for item in encoded]).reshape(-1, 1).astype(np.int32)
    starts = ends - np.array([len(item) for item in encoded], dtype=np.int32).reshape(-1, 1)
    return np.frombuffer(b"".join(encoded), np.uint8), starts, ends


@pytest.mark.parametrize("delimiter", [0, 9, 44])
@given(rows=some_lines, ending=st.sampled_from(["\n", "\r\n", ""]))
@QUICK
def test_fields_of_lines(delimiter, rows, ending):
    separator = {0: " ", 9: "\t", 44: ","}[delimiter]
    content = "\n".join(separator.join(row) for row in rows).encode() + ending.encode()
    want = [lines.split(line, delimiter) for line in content.split(b"\n") if lines.is_data(line, b"#%")]
    buf = np.frombuffer(content, np.uint8)
    starts = np.zeros((len(want) + 1, 2), np.int32)
    ends = np.zeros_like(starts)
    n, status, at = text.split_fields(buf, delimiter, COMMENT, np.array([0, 1]), 2, starts, ends)
    bad = next((k for k, row in enumerate(want) if len(row) != 2), len(want))
    assert n == bad
    assert status == (text.OK if bad == len(want) else text.RAGGED)
    for k in range(bad):
        assert [content[starts[k, c] : ends[k, c]] for c in (0, 1)] == want[k]
    if status == text.RAGGED:
        end = content.find(b"\n", at)
        assert lines.split(content[at : end if end >= 0 else None], delimiter) == want[bad]


@given(st.lists(st.one_of(st.integers(-(2**64), 2**64).map(str), fields), min_size=1))
@QUICK
def test_integers(items):
    buf, starts, ends = tokens(items)
    out = np.zeros((len(items), 1), np.int64)
    bad = text.parse_integers(buf, starts, ends, 1, out)
    good = [lines.all_integers([item.encode()]) for item in items]
    assert bad == (good.index(False) if False in good else -1)
    for k in range(len(items) if bad < 0 else bad):
        assert out[k, 0] == int(items[k])


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(0, 1e6).map("{:.3f}".format),
    st.integers(-(10**20), 10**20).map(str),
    st.tuples(st.integers(-(10**9), 10**9), st.integers(-30, 30)).map(lambda p: f"{p[0]}e{p[1]}"),
    st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)).map(lambda p: f"+{p[0]}.{p[1]}"),
    fields,
    st.sampled_from(
        ["", ".", "-", "1.", ".5", "1e", "1e+", "e5", "nan", "inf", "1.2.3", "-0", "1e400", "5e-324"]
    ),
)


@given(st.lists(numbers, min_size=1))
@QUICK
def test_decimals_are_exact_or_left_to_python(items):
    buf, starts, ends = tokens(items)
    out = np.full(len(items), np.nan)
    hard = np.zeros(len(items), np.int64)
    left = set(hard[: text.parse_decimals(buf, starts, ends, 0, POWERS, out, hard)].tolist())
    for k, item in enumerate(items):
        if k not in left:
            assert out[k] == float(item)
            assert np.signbit(out[k]) == np.signbit(float(item))


@given(st.floats(1e-9, 1e9).map("{:.4g}".format))
@QUICK
def test_short_decimals_are_not_hard(item):
    buf, starts, ends = tokens([item])
    out, hard = np.zeros(1), np.zeros(1, np.int64)
    assert text.parse_decimals(buf, starts, ends, 0, POWERS, out, hard) == 0
    assert out[0] == float(item)


@pytest.mark.parametrize("delimiter", [0, 9, 44])
@given(
    pairs=st.lists(st.tuples(st.integers(-(10**18) + 1, 10**18 - 1), st.integers(-5, 5)), max_size=6),
    odd=st.sampled_from(["", "1", "1 2 3", "a 1", "01 2", "1,", "1 2,3", "-0 1", "# note", "+1 2", " 7\t8 "]),
    ending=st.sampled_from(["\n", "\r\n", ""]),
)
@QUICK
def test_pairs_in_one_pass(delimiter, pairs, odd, ending):
    separator = {0: " ", 9: "\t", 44: " , "}[delimiter]
    rows = [f"{a}{separator}{b}" for a, b in pairs]
    content = ("\n".join([*rows[:3], odd, *rows[3:]]) + ending).encode()
    buf = np.frombuffer(content, np.uint8)
    room = content.count(b"\n") + 1
    got, span = np.zeros((room, 2), np.int64), np.zeros(2, np.int64)
    n, status, at = text.parse_pairs(buf, delimiter, COMMENT, got, span)
    starts, ends = np.zeros((room, 2), np.int32), np.zeros((room, 2), np.int32)
    m, careful, where = text.split_fields(buf, delimiter, COMMENT, np.array([0, 1]), 2, starts, ends)
    values = np.zeros((m, 2), np.int64)
    bad = text.parse_integers(buf, starts, ends, 2, values)
    if status == text.OK:
        assert careful == text.OK
        assert bad == -1
        np.testing.assert_array_equal(got[:n], values)
        if n:
            assert (span[0], span[1]) == (values.min(), values.max())
    else:
        assert careful == text.RAGGED or bad >= 0
        assert at <= where


def test_words_and_line_ends():
    content = b"  one two\n\nthree\tfour \nfive"
    buf = np.frombuffer(content, np.uint8)
    starts, ends = np.zeros((20, 1), np.int64), np.zeros((20, 1), np.int64)
    at = np.zeros(20, np.int64)
    n = text.split_words(buf, starts, ends, at)
    assert [content[a:b] for a, b in zip(starts[:n, 0], ends[:n, 0])] == b"one two three four five".split()
    assert at[:n].tolist() == [0, 0, 2, 2, 3]

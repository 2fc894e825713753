"""The compiled text kernels against the same rules in plain Python."""

import io
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softvec.affinity import read
from softvec.core.errors import GuessWarning
from softvec.kernels import text
from softvec.read.table import all_integers
from softvec.read.text_table import split

QUICK = settings(max_examples=80, deadline=None)


@pytest.mark.parametrize("delimiter", [0, 9, 44])
@given(
    pairs=st.lists(st.tuples(st.integers(-(10**18) + 1, 10**18 - 1), st.integers(-5, 5)), max_size=6),
    odd=st.sampled_from(
        ["", "1", "1 2 3", "a 1", "01 2", "1,", "1 2,3", "-0 1", "# note", "+1 2", " 7\t8 ", "1,,2", "\t1\t2"]
    ),
    ending=st.sampled_from(["\n", "\r\n", ""]),
)
@QUICK
def test_pairs_in_one_pass(delimiter, pairs, odd, ending):
    separator = {0: " ", 9: "\t", 44: " , "}[delimiter]
    rows = [f"{a}{separator}{b}" for a, b in pairs]
    content = ("\n".join([*rows[:3], odd, *rows[3:]]) + ending).encode()
    got = np.zeros((content.count(b"\n") + 1, 2), np.int64)
    n = text.parse_pairs(np.frombuffer(content, np.uint8), delimiter or 32, got)
    want = [split(line, delimiter) for line in content.split(b"\n") if line.strip()]
    good = all(len(row) == 2 and all_integers(row) for row in want)
    assert n == (len(want) if good else -1)
    if good:
        assert got[:n].tolist() == [[int(field) for field in row] for row in want]


fields = st.one_of(
    st.integers(-30, 30).map(str), st.sampled_from(["007", "-0", "0x1F", "0", "10", "+5", "a", "1.05", "é"])
)


@pytest.mark.parametrize("delimiter", [" ", "\t", ","])
@given(rows=st.lists(st.tuples(fields, fields), min_size=1, max_size=8), end=st.sampled_from(["\n", "\r\n"]))
@QUICK
def test_both_engines_give_the_same_names(delimiter, rows, end):
    """Integers parsed by Arrow or by the kernel are those that Python's rules call integers."""
    content = "".join(delimiter.join(row) + end for row in rows).encode()
    options = {"kind": "pairs", "header": False, "delimiter": delimiter, "columns": (0, 1)}
    whole = all_integers([field.encode() for row in rows for field in row])
    want = {int(field) if whole else field for row in rows for field in row}
    for small in (2_000_000, 0):
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            patch.setattr("softvec.kernels.SMALL", small)
            warnings.simplefilter("ignore", GuessWarning)
            assert set(read(io.BytesIO(content), **options).rows.to_list()) == want

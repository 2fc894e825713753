"""The tables of groups, classifiers, search and formats are those of their recorded results."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import common, evaluation, formats, groups, search  # noqa: E402


@pytest.mark.parametrize(
    ("page", "name", "result", "table"),
    [
        ("embedding.md", "groups", "groups.json", groups.table),
        (
            "tasks.md",
            "classifiers",
            "evaluation.json",
            lambda r: evaluation.table(r["classifiers"]["graphs"]),
        ),
        ("embedding.md", "search", "search.json", lambda r: search.table(r["cases"])),
        ("embedding.md", "formats", "formats.json", lambda r: formats.table(r["case"])),
    ],
)
def test_table_of_the_documentation_is_that_of_the_results(page, name, result, table):
    if not (common.RESULTS / result).exists():
        pytest.skip(f"{result} is not recorded")
    text = (ROOT / "docs" / page).read_text()
    shown = text.split(f"<!-- {name}:begin -->")[1].split(f"<!-- {name}:end -->")[0].strip()
    assert shown == table(common.read_json(common.RESULTS / result)).strip()


def test_groups_are_measured_beside_leiden_if_it_is_there():
    pytest.importorskip("igraph")
    A = sp.csr_array(sp.block_diag([np.ones((12, 12)) - np.eye(12)] * 4))
    row = groups.measure(A, np.repeat(np.arange(4), 12), 1)
    for method in (groups.OURS, groups.LEIDEN):
        assert row["methods"][method]["ami"]["median"] == 1
        assert row["methods"][method]["groups"]["median"] == 4


def test_all_exact_searches_give_the_same_neighbours():
    pytest.importorskip("usearch")
    case = search.measure(300, 4, 1, 1)
    assert all(method["same_neighbours"] == 1 for method in case["methods"].values())


def test_both_vector_formats_give_back_what_was_written(tmp_path):
    rows = formats.measure(200, 1, tmp_path)["formats"]
    assert rows[".svec"]["bytes"] > 200 * 4 * formats.D
    assert [row["notices_a_flipped_bit"] for row in rows.values()] == [True, False, False]

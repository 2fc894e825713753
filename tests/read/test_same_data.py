"""The same data is read alike from every file and object that can hold it."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from softvec.api import to_affinity
from softvec.core.errors import InputError

COUNTS = pd.DataFrame(np.random.default_rng(0).poisson(2, (20, 8)), columns=[f"g{k}" for k in range(8)])
CELLS = [f"c{k}" for k in range(20)]


def _files(frame, folder):
    """The frame in a file of each format that tables are read from."""
    plain = frame.reset_index(drop=True)
    frame.to_parquet(folder / "a.parquet")
    plain.to_feather(folder / "a.feather")
    plain.to_json(folder / "a.json", orient="records")
    plain.to_json(folder / "a.jsonl", orient="records", lines=True)
    frame.to_csv(folder / "a.csv", index=type(frame.index) is not pd.RangeIndex)
    return sorted(folder.iterdir())


@pytest.mark.parametrize(
    "columns", [COUNTS.columns, ["TP53", "MYC", "ATM", "KRAS", "EGFR", "RB1", "PTEN", "APC"]]
)
def test_wide_table_of_counts_is_a_matrix_in_every_file(tmp_path, columns):
    frame = COUNTS.set_axis(columns, axis=1)
    for path in _files(frame, tmp_path):
        P = to_affinity(path)
        assert (P.kind, P.shape) == ("bipartite", (20, 8)), path
        assert list(P.columns) == list(columns)
        assert (P.counts.toarray() == frame.to_numpy()).all()


@pytest.mark.parametrize("n", [12, 13, 22, 102])
@pytest.mark.parametrize("start", [0, 1])
def test_columns_with_numbers_are_no_pair_of_ends(tmp_path, n, start):
    counts = np.random.default_rng(0).poisson(2, (20, n))
    frame = pd.DataFrame(counts, columns=[f"s{start + k}" for k in range(n)])
    for data in (frame, *_files(frame, tmp_path)):
        assert to_affinity(data).shape == (20, n)


@pytest.mark.parametrize("kind", [None, "bipartite"])
def test_names_of_the_rows_of_a_wide_table_are_kept(tmp_path, kind):
    frames = {"index": COUNTS.set_axis(CELLS), "column": COUNTS.copy()}
    frames["column"].insert(0, "cell", CELLS)
    for where, frame in frames.items():
        (tmp_path / where).mkdir()
        for path in _files(frame, tmp_path / where):
            if where == "column" or path.suffix in (".csv", ".parquet"):
                P = to_affinity(path, kind=kind)
                assert (P.shape, list(P.rows)) == ((20, 8), CELLS), path


PEOPLE = [f"n{k}" for k in range(12)]
TIES = pd.DataFrame(np.random.default_rng(0).poisson(1, (12, 12)), PEOPLE, PEOPLE)


@pytest.mark.parametrize("directed", [True, False])
def test_columns_of_a_square_table_may_have_another_order_than_its_rows(tmp_path, directed):
    frame = TIES if directed else TIES + TIES.T
    shuffled = frame.iloc[:, ::-1]
    shuffled.to_csv(tmp_path / "a.csv")
    shuffled.to_parquet(tmp_path / "a.parquet")
    expected = to_affinity(frame)
    for data in (shuffled, pa.Table.from_pandas(shuffled.reset_index()), *sorted(tmp_path.iterdir())):
        P = to_affinity(data)
        assert P.summary == expected.summary
        order = [P.rows.index(name) for name in PEOPLE]
        assert (P.counts.toarray()[np.ix_(order, order)] == expected.counts.toarray()).all()


def test_rows_and_columns_of_other_items_are_two_kinds(tmp_path):
    frame = TIES.set_axis([f"m{k}" for k in range(12)])
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"rows are called 'm0', .* kind='bipartite'"):
        to_affinity(tmp_path / "a.parquet")
    for data in (frame, tmp_path / "a.parquet"):
        P = to_affinity(data, kind="bipartite")
        assert (list(P.rows), list(P.columns)) == (list(frame.index), PEOPLE)
        assert (P.counts.toarray() == frame.to_numpy()).all()

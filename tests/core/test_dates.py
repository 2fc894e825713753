"""Contacts with dates: durations of windows, names in ISO's form, a person across times."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import softvec
from softvec import affinity as aff
from softvec.core.dates import duration, iso_texts
from softvec.core.errors import GuessWarning, InputError

ROWS = [
    ("2024-03-01T09:07:10", "a", "b"),
    ("2024-03-01T09:16:00", "b", "c"),
    ("2024-03-01T09:59:59", "a", "c"),
]
QUARTERS = ["2024-03-01T09:00", "2024-03-01T09:15", "2024-03-01T09:45"]


@pytest.mark.parametrize(
    "window", ["15min", "900s", "0.25h", 900, dt.timedelta(minutes=15), np.timedelta64(15, "m")]
)
def test_windows_of_dates_start_at_round_times(window):
    P = aff.supra_adjacency(ROWS, window=window)
    assert list(dict.fromkeys(time for _, time in P.rows)) == QUARTERS


@pytest.mark.parametrize("unit", ["m", "month", "", "parsecs"])
def test_unknown_units_are_refused(unit):
    with pytest.raises(InputError, match="expected a duration such as 30s, 15min"):
        aff.supra_adjacency(ROWS, window=f"15{unit}")


def test_durations_agree_with_pandas():
    for text in ("250ms", "30s", "15min", "1.5h", "2 days", "1W"):
        assert duration("window", text) == pd.Timedelta(text) // pd.Timedelta(1, "us")


def test_windows_agree_with_pandas_resample():
    rng = np.random.default_rng(0)
    times = pd.to_datetime("2024-03-01T22:13") + pd.to_timedelta(np.sort(rng.integers(0, 90_000, 300)), "s")
    rows = list(zip(times, *rng.integers(0, 9, (2, 300)).tolist()))
    rows = [row for row in rows if row[1] != row[2]]
    got = aff.supra_adjacency(rows, window="7min").rows.to_list()
    counts = pd.Series(1, index=[row[0] for row in rows]).resample("7min").sum()
    assert list(dict.fromkeys(t for _, t in got)) == iso_texts(counts.index[counts > 0].to_numpy())


def test_numbers_take_no_duration():
    with pytest.raises(InputError, match=r"numbers without a unit.*such as 900"):
        aff.supra_adjacency([(0, "a", "b"), (5, "b", "c")], window="15min")


def test_every_source_gives_the_same_names(tmp_path):
    want = aff.supra_adjacency(ROWS, window="15min").rows.to_list()
    frame = pd.DataFrame(ROWS, columns=["time", "person_a", "person_b"])
    frame.to_csv(tmp_path / "c.csv", index=False)
    parsed = frame.assign(time=pd.to_datetime(frame["time"]))
    parsed.to_parquet(tmp_path / "c.parquet")
    objects = [(dt.datetime.fromisoformat(t), a, b) for t, a, b in ROWS]
    for source in (frame, parsed, objects):
        assert aff.supra_adjacency(source, window="15min").rows.to_list() == want
    for file in ("c.csv", "c.parquet"):
        assert aff.read(tmp_path / file, kind="temporal", window="15min").rows.to_list() == want


def test_zones_become_utc_and_it_is_said():
    frame = pd.DataFrame(ROWS, columns=["time", "a", "b"])
    frame["time"] = pd.to_datetime(frame["time"]).dt.tz_localize("Europe/Rome")
    with pytest.warns(GuessWarning, match="Europe/Rome.*UTC"):
        P = aff.supra_adjacency(frame, window="1h", columns=("time", "a", "b"))
    assert P.rows[0] == ("a", "2024-03-01T08:00Z")
    text = frame.assign(time=[stamp.isoformat() for stamp in frame["time"]])
    with pytest.warns(GuessWarning, match="zones.*UTC"):
        assert aff.supra_adjacency(text, window="1h", columns=("time", "a", "b")).rows == P.rows
    mixed = [(dt.datetime(2024, 3, 1, tzinfo=dt.UTC), 1, 2), (dt.datetime(2024, 3, 2), 1, 2)]
    with pytest.raises(InputError, match="1 of 2 dates have a time zone"):
        aff.supra_adjacency(mixed)
    later = [mixed[0]] * 100_000 + mixed[1:]  # in another block
    with pytest.raises(InputError, match="some times have a time zone and others none"):
        aff.supra_adjacency(later)


def test_zones_of_tuples_are_said():
    zone = dt.timezone(dt.timedelta(hours=2))
    rows = [(dt.datetime.fromisoformat(t).replace(tzinfo=zone), i, j) for t, i, j in ROWS]
    for made in (rows, [(t.isoformat(), i, j) for t, i, j in rows]):
        with pytest.warns(GuessWarning, match="used in UTC"):
            P = aff.supra_adjacency(made, window="15min")
        assert P.rows[0] == ("a", "2024-03-01T07:00Z")
    utc = [(t.astimezone(dt.UTC), i, j) for t, i, j in rows]
    assert aff.supra_adjacency(utc, window="15min").rows[0] == ("a", "2024-03-01T07:00Z")  # nothing to say
    assert aff.supra_adjacency(utc, window="1d").rows[0] == ("a", "2024-03-01T00:00Z")


def test_names_are_as_short_as_all_times_allow():
    days = [("2024-03-01", "a", "b"), ("2024-03-03T12:00", "b", "c")]
    assert aff.supra_adjacency(days, window="1d").rows[0] == ("a", "2024-03-01")
    assert aff.supra_adjacency(days).rows[0] == ("a", "2024-03-01T00:00")
    fine = [("2024-03-01T09:00:00.25", "a", "b"), ("2024-03-01T09:00:01", "b", "c")]
    assert aff.supra_adjacency(fine).rows[0] == ("a", "2024-03-01T09:00:00.250000")


def test_a_person_across_dates_also_from_a_file(tmp_path):
    emb = softvec.embed(ROWS, 2, kind="temporal", window="15min", random_state=0, normalizer="exact")
    emb.save(tmp_path / "c.svec")
    for each in (emb, softvec.Embedding.load(tmp_path / "c.svec")):
        times, vectors = each.person("c")
        assert times.dtype.kind == "M"
        assert times.astype(str).tolist() == QUARTERS[1:]
        np.testing.assert_array_equal(vectors[0], each["c", QUARTERS[1]])
    assert emb.provenance["data"]["options"]["window"] == "15min"


def test_the_map_has_the_times_of_dated_contacts():
    from softvec.map.content import find_times

    names = [("a", QUARTERS[0]), ("b", QUARTERS[0]), ("a", QUARTERS[2])]
    emb = softvec.Embedding(np.eye(3), names, provenance={"data": {"kind": "temporal"}})
    times, persons = find_times(emb, None)
    assert (np.diff(times) / np.timedelta64(1, "s")).tolist() == [0, 45 * 60]
    assert persons.tolist() == [0, 1, 0]


def test_dates_and_numbers_do_not_mix():
    from softvec.read.edges import EdgeBuilder

    builder = EdgeBuilder()
    builder.add([[("a", "b")]], None, np.array(["2024-03-01"], dtype="M8[us]"))
    with pytest.raises(InputError, match="some times are dates and others numbers"):
        builder.add([[("a", "b")]], None, np.array([3]))


def test_command_takes_durations(tmp_path, capsys, monkeypatch):
    from softvec.cli import run

    monkeypatch.chdir(tmp_path)
    pd.DataFrame(ROWS, columns=["time", "person_a", "person_b"]).to_csv("c.csv", index=False)
    arguments = ["embed", "c.csv", "-k", "temporal", "-d", "2", "-q", "--set", "normalizer=exact", "--window"]
    assert run([*arguments, "15min"]) == 0
    assert softvec.Embedding.load("c.svec").names[0] == ("a", QUARTERS[0])
    assert run(["neighbors", "c.svec", f"a@{QUARTERS[0]}", "--json"]) == 0
    assert f"@{QUARTERS[1]}" in capsys.readouterr().out
    assert run([*arguments, "15m"]) == 2
    assert "--window is '15m'; expected a duration such as 30s, 15min" in capsys.readouterr().err

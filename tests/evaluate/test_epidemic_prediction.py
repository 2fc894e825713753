"""Who is infected when, from partial observations; the truth is a simulated epidemic."""

import datetime as dt
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import softvec
from experiments.generators import sir
from softvec import Embedding
from softvec.affinity import supra_adjacency
from softvec.cli import run
from softvec.core.dates import iso_texts
from softvec.core.errors import GuessWarning, InputError
from softvec.evaluate import predict_epidemic
from softvec.evaluate.observations import contact_matrix, match_observations, states_of_contacts

N, T = 120, 30  # people, windows
FIRST = np.datetime64("2024-03-01T09:00:00")
NAMES = [(person, time) for person in ("ann", "bob", "cyd", "dan", "eve", "fay") for time in (0, 15, 30, 45)]
SICK = np.array([person < "d" and time >= 30 for person, time in NAMES])


def contacts(seed, n=N, groups=4, n_steps=T):
    """Return (t, i, j): mostly within groups, some people more active than others."""
    rng = np.random.default_rng(seed)
    share = rng.permutation(np.linspace(0.3, 1.7, n))
    i = rng.choice(n, (n_steps, n), p=share / share.sum())
    j = rng.integers(0, n, i.shape)
    near = rng.random(i.shape) < 0.85
    j[near] = (j // groups * groups + i % groups)[near] % n
    t = np.broadcast_to(np.arange(n_steps)[:, None], i.shape)
    rows = np.stack([t, i, j], axis=-1).reshape(-1, 3)
    return rows[rows[:, 1] != rows[:, 2]]


def outbreak(rows, seed):
    """Return an epidemic that reaches at least a quarter of the people."""
    for attempt in range(100):
        epidemic = sir(rows, beta=0.3, mu=0.05, random_state=1000 * attempt + seed)
        if epidemic.counts[:, 1].max() > 30:
            return epidemic
    raise AssertionError("no outbreak")


@pytest.fixture(scope="module")
def simulated():
    """Embeddings of contacts, each with the true states of four epidemics, of shape (windows + 1, people)."""
    cases = []
    for seed in range(3):
        rows = contacts(seed)
        emb = softvec.embed(list(map(tuple, rows.tolist())), 16, kind="temporal", random_state=seed)
        cases.append((emb, [outbreak(rows, e).states for e in range(4)]))
    return cases


def runs(cases, share, everyone=True):
    """Yield windows, true states, which were observed, and the prediction, for random observations."""
    for emb, truths in cases:
        for e, states in enumerate(truths):
            pairs = np.argwhere(np.random.default_rng(e).random((N, T)) < share)
            seen = {(i, t): states[t + 1, i] == 1 for i, t in pairs.tolist() if everyone or (i, t) in emb}
            yield outcome(predict_epidemic(emb, seen, everyone=everyone), states)


def outcome(result, states):
    when = np.array(result.times)
    return when, states[when + 1, np.array(result.persons)] == 1, result.observed, result


def test_hidden_states_are_predicted_better_than_by_the_prevalence_at_that_time(simulated):
    gains = []
    for when, truth, seen, result in runs(simulated, 0.1):
        share = np.array([truth[seen & (when == t)].mean() for t in range(T)])
        of_time = roc_auc_score(truth[~seen], share[when[~seen]])
        gains.append(roc_auc_score(truth[~seen], result.probability[~seen]) - of_time)
    assert min(gains) > 0
    assert np.mean(gains) > 0.05


def test_vectors_help_where_each_person_is_seen_once(simulated):
    """Without a second observation of a person only its vectors tell more than the time does."""
    within = []
    for emb, truths in simulated:
        tested = list(enumerate(np.random.default_rng(0).integers(0, T, N).tolist()))
        for states in truths:
            result = predict_epidemic(emb, {(i, t): states[t + 1, i] == 1 for i, t in tested})
            when, truth, seen, _ = outcome(result, states)
            for t in range(T):
                at = (when == t) & ~seen
                if 0 < truth[at].mean() < 1:
                    within.append(roc_auc_score(truth[at], result.probability[at]))
    assert np.mean(within) > 0.53  # time alone: 0.5 within each window


@pytest.mark.parametrize("everyone", [True, False])
@pytest.mark.parametrize("share", [0.05, 0.2])
def test_the_band_holds_the_true_curve_in_most_windows(simulated, share, everyone):
    covered = []
    for when, truth, _, result in runs(simulated, share, everyone):
        infected = np.bincount(when, weights=truth)
        covered.append(np.mean((result.curve.low <= infected) & (infected <= result.curve.high)))
    assert np.mean(covered) > 0.85  # the band is one of 90%
    assert np.mean(np.array(covered) > 0.5) > 0.9


def test_probabilities_are_calibrated(simulated):
    pairs = [(r.probability[~seen], truth[~seen]) for _, truth, seen, r in runs(simulated, 0.2)]
    p, truth = map(np.concatenate, zip(*pairs))
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        bin_ = (p >= low) & (p < low + 0.2)
        assert abs(truth[bin_].mean() - p[bin_].mean()) < 0.1


def test_every_person_has_a_probability_in_every_window():
    """Where a person has no contact, its vector lies between the one before and the one after."""
    here = [k for k, (person, time) in enumerate(NAMES) if person != "ann" or time in (0, 45)]
    emb = small([NAMES[k] for k in here], sick=SICK[here])
    cells = match_observations(emb, dict(zip(emb.names, SICK[here])), True)
    at = {(person, time): row for row, (person, time) in enumerate(zip(cells.persons, cells.times))}
    assert sorted(at) == sorted(NAMES)
    for k, name in enumerate(here):
        np.testing.assert_array_equal(cells.vectors[at[NAMES[name]]], emb.vectors[k])
    for time, sick in ((15, 1 / 3), (30, 2 / 3)):
        np.testing.assert_allclose(cells.vectors[at["ann", time]], [sick, 1 - sick], rtol=1e-6)
    assert [name for name, row in at.items() if not cells.active[row]] == [("ann", 15), ("ann", 30)]
    seen = dict(zip(NAMES[::3], SICK[::3])) | {("ann", 30): True}
    result = predict_epidemic(emb, seen)
    assert len(result) == 24
    assert result.observed[at["ann", 30]]
    with pytest.warns(GuessWarning, match="1 of 9 observations not used"):
        assert len(predict_epidemic(emb, seen, everyone=False)) == 22


def test_tables_are_read_whatever_ends_their_lines_and_however_long_a_name_is(tmp_path):
    names = [("x" * 200_000 if person == "ann" else person, time) for person, time in NAMES]
    lines = [f"{person},{time},{int(sick)}" for (person, time), sick in list(zip(names, SICK))[::3]]
    (tmp_path / "states.csv").write_text("\r".join(["person,time,state", *lines]), newline="")
    want = predict_epidemic(small(), dict(zip(NAMES[::3], SICK[::3]))).probability
    found = predict_epidemic(small(names), tmp_path / "states.csv").probability
    np.testing.assert_array_equal(found, want)


def test_people_whose_names_are_digits_are_found_in_a_table(tmp_path):
    number = {person: str(k) for k, person in enumerate(("ann", "bob", "cyd", "dan", "eve", "fay"))}
    names = [(number[person], time) for person, time in NAMES]
    table = pd.DataFrame([(*name, str(s)) for name, s in zip(names, SICK)], columns=["id", "date", "result"])
    table[::3].to_csv(tmp_path / "a.csv", index=False)
    table[::3].to_parquet(tmp_path / "a.parquet")
    want = predict_epidemic(small(), dict(zip(NAMES[::3], SICK[::3]))).probability
    for name in ("a.csv", "a.parquet"):
        np.testing.assert_array_equal(predict_epidemic(small(names), tmp_path / name).probability, want)


def test_a_person_that_no_integer_stands_for_has_no_contacts():
    seen = dict(zip(NAMES[::3], SICK[::3])) | {(float("inf"), 0): True}
    with pytest.warns(GuessWarning, match="1 of 9 observations not used"):
        predict_epidemic(small(), seen)


def small(names=NAMES, options=None, sick=SICK):
    vectors = np.stack([sick, ~sick], axis=1).astype(float)
    return Embedding(vectors, names, provenance={"data": {"kind": "temporal", "options": options or {}}})


def test_observed_states_are_kept_and_nothing_is_missing():
    states = np.where(np.arange(24) % 3 == 0, SICK, np.nan)
    result = predict_epidemic(small(), dict(zip(NAMES, states)), everyone=False)
    np.testing.assert_array_equal(result.probability[result.observed], SICK[::3])
    for values in (result.probability, *result.curve[1:]):
        assert np.isfinite(values).all()
    for inside in (result.curve.expected, np.array([0, 0, 3, 3])):
        assert (result.curve.low <= inside).all()
        assert (inside <= result.curve.high).all()
    frame = result.to_dataframe()
    assert list(frame.columns) == ["person", "time", "probability", "observed", "active"]
    assert len(frame) == 24
    assert not frame.isna().any().any()
    assert set(result.scores) == {"prediction", "no_vectors", "time", "prevalence"}


def test_every_form_of_observations_gives_the_same(tmp_path):
    states = np.where(np.arange(24) % 3 == 0, SICK, np.nan)
    want = predict_epidemic(small(), dict(zip(NAMES, states))).probability
    table = pd.DataFrame([(*name, s) for name, s in zip(NAMES, states)], columns=["person", "time", "state"])
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_csv(tmp_path / "b.csv", index=False, sep=";", columns=["time", "state", "person"])
    forms = [
        dict(zip(NAMES, states)),
        {name: bool(s) for name, s in zip(NAMES, states) if s == s},
        {name: None if s != s else int(s) for name, s in zip(NAMES, states)},
        table.sample(frac=1, random_state=0),
        table.set_index(["person", "time"])["state"],
        str(tmp_path / "a.csv"),
        tmp_path / "b.csv",
    ]
    for form in forms:
        np.testing.assert_allclose(predict_epidemic(small(), form).probability, want)


def test_times_within_a_window_count_for_it():
    seen = {(person, time + 7): state for (person, time), state in zip(NAMES[::3], SICK[::3])}
    with pytest.raises(InputError, match=r"8 of 8 observations not used.*written as in the contacts"):
        predict_epidemic(small(), seen)
    result = predict_epidemic(small(options={"window": 15}), seen)
    kept = {(pair.person, pair.time) for pair in result if pair.observed}
    assert kept == set(NAMES[::3])
    late = {("ann", 60): 1, ("zoe", 0): 1, **seen}
    with pytest.warns(GuessWarning, match="2 of 10 observations not used"):
        predict_epidemic(small(options={"window": 15}), late)


def test_the_last_state_within_a_window_counts_and_it_is_said():
    seen = dict(zip(NAMES[::3], SICK[::3])) | {("ann", 3): 1}
    with pytest.warns(GuessWarning, match="1 change of state within a window.*'ann'"):
        result = predict_epidemic(small(options={"window": 15}), seen)
    assert result.probability[0] == 1
    twice = pd.DataFrame({"person": ["ann", "ann"], "time": [0, 0], "state": [0, 1]})
    with pytest.raises(InputError, match="'ann' is observed as infected and as not"):
        predict_epidemic(small(), twice)


def dated():
    texts = iso_texts(FIRST + np.array([time for _, time in NAMES]) * np.timedelta64(60, "s"))
    return small([(person, text) for (person, _), text in zip(NAMES, texts)], {"window": "15min"})


def test_dates_in_and_out():
    emb = dated()
    numbers = predict_epidemic(small(), dict(zip(NAMES[::3], SICK[::3])))
    start = FIRST.item()
    seen = {
        (person, start + dt.timedelta(minutes=time + 14)): state
        for (person, time), state in zip(NAMES[::3], SICK[::3])
    }
    result = predict_epidemic(emb, seen)
    np.testing.assert_array_equal(result.probability, numbers.probability)
    assert result.curve.times.tolist() == [start + dt.timedelta(minutes=m) for m in (0, 15, 30, 45)]
    assert result.to_dataframe()["time"].dtype.kind == "M"
    assert next(iter(result))[:2] == ("ann", "2024-03-01T09:00")
    with pytest.raises(InputError, match="time 'noon'; the contacts have dates"):
        predict_epidemic(emb, {("ann", "noon"): 1})
    with pytest.raises(InputError, match="contacts have numbers as times"):
        predict_epidemic(small(), seen)


@pytest.mark.parametrize(
    ("observations", "message"),
    [
        ({}, "no observations"),
        ({("ann", 0): 2}, "expected 1 .infected., 0 .not. or NaN"),
        ({"ann": 1}, "key 'ann'; expected .person, time."),
        ({("ann", 0): 1, ("bob", 0): 1}, "2 observations of infected and 0 of other states"),
        (np.zeros(3), "are a ndarray; expected a mapping"),
        ({("ann", 0): "ill"}, "the state is 'ill'; expected 1"),
        (pd.DataFrame({"person": ["ann"], "time": [0], "x": [1]}), "none is the state"),
        (pd.DataFrame({"person": ["ann"], "time": [np.nan], "state": [1]}), "missing or infinite"),
    ],
)  # fmt: skip
def test_mistakes_are_said_with_their_remedy(observations, message):
    with pytest.raises(InputError, match=message):
        predict_epidemic(small(), observations)


def test_other_vectors_are_refused():
    with pytest.raises(InputError, match="as temporal data"):
        predict_epidemic(Embedding(np.eye(2), ["a", "b"]), [1, 0])


def test_times_with_a_zone_are_not_compared_with_times_without(tmp_path):
    """Neither is shifted, and no test is dropped: 09:00 without a zone may be 09:00+02:00 or not."""
    start = dt.datetime(2024, 3, 1, 9)
    plain = {name: start + dt.timedelta(minutes=name[1]) for name in NAMES}
    rome = dt.timezone(dt.timedelta(hours=2))
    found = []
    for zone, other in ((None, rome), (rome, None)):
        met = [(plain[name].replace(tzinfo=zone).isoformat(), name[0], "gus") for name in NAMES]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GuessWarning)  # used in UTC
            emb = softvec.embed(met, 2, kind="temporal", random_state=0, normalizer="exact")
            emb.save(tmp_path / "c.svec")
            emb = Embedding.load(tmp_path / "c.svec")
            tests = list(zip(NAMES[::3], SICK[::3].tolist()))
            seen = {(name[0], plain[name].replace(tzinfo=zone)): state for name, state in tests}
            found.append(predict_epidemic(emb, seen).probability)
        seen = {(name[0], plain[name].replace(tzinfo=other)): state for name, state in tests}
        with pytest.raises(InputError, match="write both with a zone, such as"):
            predict_epidemic(emb, seen)
        for names in (emb.names, emb.names.to_list()):  # names of the vectors are times of the contacts
            assert len(predict_epidemic(emb, {name: name[0] < "d" for name in names})) == len(emb)
    np.testing.assert_array_equal(*found)


def test_the_same_for_any_number_of_threads():
    seen = dict(zip(NAMES[::3], SICK[::3]))
    one, two = (predict_epidemic(small(), seen, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.probability, two.probability)
    np.testing.assert_array_equal(one.curve.low, two.curve.low)


def test_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = contacts(0, n=40, n_steps=12)
    epidemic = sir(rows, beta=0.4, mu=0.0, seed_node=0, random_state=0)
    stamps = FIRST + rows[:, 0] * 900 + rng.integers(0, 900, len(rows))
    pd.DataFrame({"time": stamps, "person_a": rows[:, 1], "person_b": rows[:, 2]}).to_csv(
        "c.csv", index=False
    )
    assert run(["embed", "c.csv", "-k", "temporal", "--window", "15min", "-d", "8", "-q", "--seed", "0"]) == 0
    t, who = rng.integers(0, 12, 150), rng.integers(0, 40, 150)
    tests = {
        "person": who,
        "time": FIRST + (t * 900 + 60).astype("timedelta64[s]"),
        "state": epidemic.states[t + 1, who],
    }
    pd.DataFrame(tests).drop_duplicates().to_csv("tests.csv", index=False)
    arguments = [
        "epidemic",
        "c.svec",
        "tests.csv",
        "-o",
        "p.csv",
        "--curve",
        "curve.csv",
        "--plot",
        "curve.png",
    ]
    assert run([*arguments, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    table = pd.read_csv("p.csv", parse_dates=["time"])
    assert list(table.columns) == ["person", "time", "probability", "observed", "active"]
    assert len(table) == 40 * 12 == summary["pairs"]
    assert table["active"].sum() == len(Embedding.load("c.svec"))
    assert not table.isna().any().any()
    assert table["probability"].between(0, 1).all()
    curve = pd.read_csv("curve.csv", parse_dates=["time"])
    assert curve["time"].tolist() == pd.date_range(FIRST, periods=12, freq="15min").tolist()
    by_time = table.groupby("time")["probability"].sum()
    np.testing.assert_allclose(by_time, curve["expected"], rtol=1e-4)
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert summary["curve"][0]["time"] == "2024-03-01T09:00"


def test_the_share_of_the_people_met_is_a_weighted_mean_without_the_own_state():
    contacts = [(0, "a", "b"), (1, "a", "b"), (0, "a", "c"), (1, "b", "c"), (2, "c", "a")]
    emb = Embedding(np.eye(8, 2), supra_adjacency(contacts).rows)
    states = {("a", 0): 1, ("b", 0): 1, ("b", 1): 1, ("c", 1): 0, ("c", 2): 0}
    seen = match_observations(emb, states, everyone=True)
    met = contact_matrix(contacts, seen)
    share = states_of_contacts(seen, met)
    number = dict(zip(seen.persons, seen.person))
    times_met = {("a", "b"): 2.0, ("a", "c"): 2.0, ("b", "c"): 1.0}
    times_met |= {(j, i): count for (i, j), count in times_met.items()}
    for row, (i, t) in enumerate(zip(seen.persons, seen.times)):
        others = [times_met[i, j] for j in "abc" if j != i]
        sick, total = 0.1 * 0.6, 0.1
        for (j, when), state in states.items():
            if (i, t) == (j, when):
                continue
            weight = 5.0 if i == j else times_met[i, j] / np.mean(others)
            weight *= np.exp(-abs(t - when) / 1.0)
            sick, total = sick + weight * state, total + weight
        assert share[row, 0] == pytest.approx(np.log(sick / (total - sick)))
    assert met.shape == (len(number), len(number))


def test_contacts_help_where_each_person_is_seen_once():
    gains = []
    for seed in range(4):
        rows = contacts(seed, groups=12)
        met, states = list(map(tuple, rows.tolist())), outbreak(rows, seed).states
        names = supra_adjacency(met).rows
        emb = Embedding(np.ones((len(names), 1)), names)  # vectors that say nothing
        tested = enumerate(np.random.default_rng(seed).integers(0, T, N).tolist())
        observed = {(i, t): states[t + 1, i] == 1 for i, t in tested}
        scores = []
        for passed in (met, None):
            _, truth, seen, result = outcome(predict_epidemic(emb, observed, contacts=passed), states)
            scores.append(roc_auc_score(truth[~seen], result.probability[~seen]))
        gains.append(scores[0] - scores[1])
    assert np.mean(gains) > 0.02


def test_contacts_of_other_people_are_refused():
    emb = Embedding(np.eye(6, 2), supra_adjacency([(0, "a", "b"), (1, "b", "c"), (2, "a", "c")]).rows)
    states = {("a", 0): 1, ("b", 0): 0, ("c", 1): 0, ("b", 1): 1}
    with pytest.raises(InputError, match="pass the contacts that were embedded"):
        predict_epidemic(emb, states, contacts=[(0, "x", "y")])
    with pytest.raises(InputError, match="expected contacts in time"):
        predict_epidemic(emb, states, contacts=softvec.affinity.pairs([("a", "b")]))

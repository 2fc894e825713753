"""Damaged files end in a clear error or a right result: a few hundred here, more in ``make test-slow``."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fuzz.readers import READERS
from tests.fuzz.run import BAD, ROOT, Tally, fuzz, read_all, total

CASES = Path(__file__).parent / "cases"


def run(*arguments, timeout=600):
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=timeout
    )


def failures(tally):
    return [failure for failure in tally.failures if failure["outcome"] in BAD]


def test_seeds_are_read_and_known_cases_are_refused():
    """The seeds are valid; the cases once crashed, hung, or ended in a raw error."""
    done = run("tests.fuzz.worker", "check", str(CASES))
    assert done.returncode == 0, done.stderr[-2000:]
    ended = json.loads(done.stdout)
    wrong = {name: found for name, found in ended["seeds"].items() if found[0] != "accepted"}
    assert not wrong
    assert len(ended["seeds"]) > 100
    assert len(ended["odd"]) > 100
    assert not {name: found for name, found in ended["odd"].items() if found[0] in BAD}
    assert len(ended["cases"]) == len(list(CASES.glob("*/case.json"))) > 10
    assert not {name: found for name, found in ended["cases"].items() if found[0] in BAD}


def test_a_few_damaged_files():
    tally = Tally()
    read_all(tally, seed=10, first=0, last=400, step=1, compiled=False)
    assert sum(total(tally).values()) == 400
    assert not failures(tally)


@pytest.mark.slow
def test_many_damaged_files():
    tally = fuzz(20_000, seed=11, jobs=2)
    assert sum(total(tally).values()) == 20_000
    assert not failures(tally)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("atheris") is None, reason="needs atheris: pip install 'softvec[fuzz]'")
@pytest.mark.parametrize("reader", list(READERS))
def test_guided(reader, tmp_path):
    done = run("tests.fuzz.guided", reader, "-max_total_time=30", f"-artifact_prefix={tmp_path}/")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Done " in done.stderr


@pytest.mark.parametrize(
    ("behaviour", "outcome"), [("crash", "crash"), ("hang", "hang"), ("raise", "exception")]
)
def test_the_driver_counts_what_goes_wrong(monkeypatch, behaviour, outcome):
    """A child that dies, sticks or raises is counted, and the cases after it are still read."""
    import tests.fuzz.run as driver

    script = f"""
import json, os, sys, time
first, last = int(sys.argv[2]), int(sys.argv[3])
for number in range(first, last):
    print(json.dumps([number, "data", "a.txt"]), flush=True)
    if number == 2 and {behaviour!r} == "crash":
        os.abort()
    if number == 2 and {behaviour!r} == "hang":
        time.sleep(60)
    bad = number == 2 and {behaviour!r} == "raise"
    print(json.dumps(["exception" if bad else "refused", ""]), flush=True)
"""
    started = []

    def child(*numbers):
        started.append(numbers)
        command = [sys.executable, "-c", script, *map(str, numbers[:1]), *map(str, numbers[1:3])]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    monkeypatch.setattr(driver, "_child", child)
    monkeypatch.setattr(driver, "PATIENCE", 3.0)
    tally = Tally()
    read_all(tally, 0, 0, 5, 1, False)
    assert total(tally)["refused"] == 4
    assert total(tally)[outcome] == 1
    assert tally.failures[0]["number"] == 2
    assert len(started) == {"crash": 2, "hang": 3, "raise": 1}[behaviour]  # a hang is tried once more

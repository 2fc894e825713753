"""Run the corpus and say how each case ended: right, said, refused, or wrong without a word.

``python tests/read/corpus/outcomes.py NAME`` counts them for the imported softvec, and keeps the counts
under NAME in ``benchmarks/results/corpus.json``; without a name it only prints them.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from cases import FILES, OBJECTS, Case

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results" / "corpus.json"


def write(case: Case, folder: Path) -> Path:
    """Write the file of a case."""
    path = folder / f"data{case.suffix}"
    path.write_bytes(case.data if isinstance(case.data, bytes) else case.data.encode())
    return path


def agrees(case: Case, affinity: Any) -> bool:
    """Whether an affinity is what the case says."""
    if affinity.kind != case.kind:
        return False
    if case.rows is not None and affinity.rows.to_list() != case.rows:
        return False
    if case.pairs is None:
        return True
    matrix = affinity.matrix.tocoo()
    rows, columns = affinity.rows.to_list(), affinity.columns.to_list()
    found = {(rows[i], columns[j]): float(v) for i, j, v in zip(matrix.row, matrix.col, matrix.data)}
    both = affinity.symmetric
    want = {**case.pairs, **({(b, a): w for (a, b), w in case.pairs.items()} if both else {})}
    return found.keys() == want.keys() and all(abs(found[k] - want[k]) < 1e-6 for k in want)


def outcome(case: Case, folder: Path) -> tuple[str, str]:
    """Read a case through the library; return how it ended, and the words or what is wrong."""
    from softvec.affinity import as_affinity
    from softvec.core.errors import InputError

    data = case.data() if callable(case.data) else write(case, folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            affinity = as_affinity(data, **case.options)
        except InputError as error:
            return "refused", str(error)
        except Exception as error:  # a traceback is no answer
            return "wrong", f"{type(error).__name__}: {error}"
    said = [str(w.message) for w in caught if w.category.__name__ == "GuessWarning"]
    if said:
        return "said", " | ".join(said) + ("" if agrees(case, affinity) else f" (read as {affinity!r})")
    return ("right", "") if agrees(case, affinity) else ("wrong", repr(affinity))


def by_command(case: Case, folder: Path) -> tuple[str, str]:
    """Read a file through the command ``embed``; return how it ended, and what it printed."""
    from contextlib import redirect_stderr, redirect_stdout

    from softvec.cli import run

    write(case, folder)
    arguments = ["embed", str(folder / f"data{case.suffix}"), "-o", str(folder / "out.svec"), "-d", "2"]
    arguments += ["--epochs", "1", "--seed", "0"]
    for name, value in case.options.items():
        flag = {"format": "--input-format"}.get(name, f"--{name}")
        arguments += [flag, ",".join(value) if isinstance(value, list) else str(value)]
    printed = io.StringIO()
    with redirect_stderr(printed), redirect_stdout(printed):
        code = run(arguments)
    text = printed.getvalue()
    if code == 2:
        return "refused", text
    notes = [line for line in text.splitlines() if line.startswith("note: ") and "normaliser" not in line]
    return ("said" if notes else "right"), text


def main() -> None:
    counts: Counter[str] = Counter()
    bad = []
    for case in (*FILES, *OBJECTS):
        with tempfile.TemporaryDirectory() as folder:
            end, words = outcome(case, Path(folder))
        counts["wrong" if end == "right" and end not in case.ends else end] += 1
        if end not in case.ends:
            bad.append(f"{case.name}: expected {' or '.join(case.ends)}, found {end}: {words}")
    total = {name: counts[name] for name in ("right", "said", "refused", "wrong")}
    report = {"cases": sum(total.values()), **total, "unexpected": len(bad)}
    sys.stdout.write("\n".join([*bad, json.dumps(report)]) + "\n")
    if len(sys.argv) > 1:
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps(known | {sys.argv[1]: report}, indent=1) + "\n")


if __name__ == "__main__":
    main()

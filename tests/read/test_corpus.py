"""Files and objects as people have them: read right, or what was guessed is said, or refused."""

import sys
import warnings
from pathlib import Path

import pytest

for library in ("pandas", "polars", "networkx", "igraph"):
    pytest.importorskip(library)
sys.path.insert(0, str(Path(__file__).parent / "corpus"))

from cases import FILES, OBJECTS  # noqa: E402
from exports import EXPORTS  # noqa: E402
from outcomes import by_command, outcome  # noqa: E402


def title(case):
    return case.name


def test_the_corpus_is_large_enough():
    assert len({case.name for case in (*FILES, *OBJECTS)}) == len(FILES) + len(OBJECTS) >= 100


@pytest.mark.parametrize("case", [*FILES, *EXPORTS, *OBJECTS], ids=title)
def test_right_or_said_or_refused(case, tmp_path):
    end, words = outcome(case, tmp_path)
    assert end in case.ends, words
    if end == "said" and (case.pairs is not None or case.rows is not None):
        assert "(read as " not in words  # said, and right as well


@pytest.mark.parametrize("case", [*FILES, *EXPORTS], ids=title)
def test_the_command_says_the_same(case, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        end, text = by_command(case, tmp_path)
    if case.kind == "corpus":
        return
    assert end in case.ends, text
    if end == "refused":
        assert text.startswith("softvec: ")
        assert text.count("\n") == 1


def test_summary_and_info_say_which_columns_are_what(tmp_path, capsys):
    from softvec.affinity import read
    from softvec.cli import run

    path = tmp_path / "string.csv"
    path.write_text("idx,protein1,protein2,combined_score\n0,a,b,900\n1,b,c,400\n2,c,a,150\n")
    assert "columns protein1 -> protein2, weight combined_score" in read(path).summary
    assert run(["info", str(path)]) == 0
    assert "columns protein1 -> protein2, weight combined_score" in capsys.readouterr().out
    short = ["-d", "2", "--epochs", "2", "--beta", "1", "--seed", "0", "-o", str(tmp_path / "v.svec")]
    assert run(["embed", str(path), *short]) == 0
    assert run(["info", str(tmp_path / "v.svec")]) == 0
    assert "columns protein1 -> protein2, weight combined_score" in capsys.readouterr().out


def test_what_is_said_names_the_flag_of_the_command(tmp_path, capsys):
    from softvec.cli import run

    path = tmp_path / "edges.csv"
    path.write_text("source,target,x,y\na,b,1.5,2\nb,c,2.5,3\nc,a,3.5,4\n")
    short = ["-d", "2", "--epochs", "2", "--beta", "1", "--seed", "0", "-o", str(tmp_path / "v.svec")]
    assert run(["embed", str(path), *short]) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note: ")]
    assert len(said) == 1
    assert "no weights are used, though there are numbers in x, y; name one with --weight" in said[0]
    assert run(["embed", str(path), "--weight", "x", *short]) == 0
    printed = capsys.readouterr().err
    assert "weight x" in printed
    assert "note: " not in printed


def test_the_documentation_has_the_counts_of_the_results():
    import json

    from outcomes import RESULTS

    counts = json.loads(RESULTS.read_text())
    page = (Path(__file__).parents[2] / "docs" / "inputs" / "README.md").read_text()
    for version, count in counts.items():
        row = " | ".join(str(count[end]) for end in ("right", "said", "refused", "wrong"))
        assert f"| {version} | {row} |" in page
    assert counts["now"]["cases"] == len(FILES) + len(OBJECTS)
    assert f"{len(FILES) + len(OBJECTS)} small files and objects" in page

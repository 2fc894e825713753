"""Every block of the README runs alone and prints what its comments say, whatever the seed."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from softvec.cli import run

TEXT = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
PYTHON = [code for language, code in BLOCKS if language == "python"]
SHELL = [
    line for language, code in BLOCKS if language == "bash" for line in code.splitlines() if line.strip()
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    pytest.importorskip("networkx")
    monkeypatch.chdir(tmp_path)


def promised(code):
    """Return the comments behind the calls of print."""
    return re.findall(r"^print\(.*\) +# (.+)$", code, re.MULTILINE)


def printed(code):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, "README.md", "exec"), {})
    return output.getvalue().splitlines()


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_a_block_runs_alone_and_prints_what_it_says(number):
    code = PYTHON[number]
    assert printed(code) == promised(code)


@pytest.mark.parametrize("number", [i for i, code in enumerate(PYTHON) if promised(code)])
def test_what_a_block_prints_holds_for_any_seed(number):
    code = PYTHON[number]
    assert "random_state=0" in code
    for seed in range(1, 20):
        assert printed(code.replace("random_state=0", f"random_state={seed}")) == promised(code), seed


def test_there_is_something_to_check():
    assert sum(len(promised(code)) for code in PYTHON) >= 6
    assert all(code.count("print(") == len(promised(code)) for code in PYTHON)


def test_shell_lines_run_and_write_their_files(capsys):
    for line in SHELL:
        words = shlex.split(line, comments=True)
        if words[0] == "make":  # has tests of its own
            continue
        if words[:2] == ["python", "-c"]:
            exec(words[2], {})
            continue
        assert words[0] == "softvec"
        assert run(words[1:]) == 0, f"{line}: {capsys.readouterr().err}"
        for name in re.findall(r"# -> (\S+)", line):
            assert Path(name).stat().st_size > 0


def test_make_demo_and_make_test_come_first():
    assert TEXT.index("make demo") < TEXT.index("make test") < TEXT.index("## ")


def test_pages_that_the_readme_links_to_exist():
    root = Path(__file__).parents[2]
    for target in re.findall(r"\]\((?!http)([^)#]+)", TEXT):
        assert (root / target).exists(), f"README.md links to {target}"

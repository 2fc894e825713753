"""Every snippet of the README runs, on small files made here."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from softvec.cli import run

TEXT = (Path(__file__).parent.parent / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
PYTHON = [code for language, code in BLOCKS if language == "python"]
SHELL = [
    line for language, code in BLOCKS if language == "bash" for line in code.splitlines() if line.strip()
]


def make_files(rng):
    """Write the files that the snippets name, each small and with some structure."""
    nodes = [f"n{i}" for i in range(30)]
    groups = np.arange(30) % 3
    pairs = [
        (a, b)
        for a in range(30)
        for b in range(a)
        if rng.random() < (0.5 if groups[a] == groups[b] else 0.03)
    ]
    Path("edges.txt").write_text("".join(f"{nodes[a]} {nodes[b]}\n" for a, b in pairs))
    genes = ["TP53", "BRCA1", "MDM2", "ATM", "EGFR", "KRAS", "MYC"]
    Path("genes.txt").write_text("".join(f"{a}\t{b}\n" for a in genes for b in genes if a < b))
    contacts = [(20 * t, *rng.choice(12, 2, replace=False)) for t in range(300)]
    Path("contacts.dat").write_text("".join(f"{t} {i} {j}\n" for t, i, j in contacts))
    words = ["the", "king", "and", "queen", "rule", "man", "woman", "a", "castle", "old", "young"]
    lines = [" ".join(rng.choice(words, 12)) for _ in range(200)]
    Path("novels.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_files(np.random.default_rng(0))


@pytest.mark.filterwarnings("default:the normaliser is off")
def test_python_snippets_run_in_order(monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("networkx")
    pytest.importorskip("pandas")
    plt.switch_backend("Agg")
    space = {}
    for code in PYTHON:
        exec(compile(code, "README.md", "exec"), space)
    plt.close("all")
    assert Path("miserables.png").stat().st_size > 1000
    assert Path("words.bin").exists()
    assert len(PYTHON) >= 8


def test_shell_lines_run(capsys):
    for line in SHELL:
        words = shlex.split(line, comments=True)
        if words[0] in ("pip", "make") or words[:2] == ["softvec", "demo"]:  # the demo has its own test
            continue
        assert words[0] == "softvec"
        assert run(words[1:]) == 0, f"{line}: {capsys.readouterr().err}"
    assert Path("map.png").exists()


def test_pages_that_the_readme_links_to_exist():
    root = Path(__file__).parent.parent
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", TEXT):
        assert (root / target).exists(), f"README.md links to {target}"

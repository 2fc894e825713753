"""The recipes for other tools: each finds the neighbours that NumPy finds."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import softvec
from tests.pages import marked_blocks, python_blocks

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "databases.md"
RECIPES = marked_blocks(PAGE)


@pytest.fixture
def start(tmp_path, monkeypatch):
    """What the first block of the page leaves: names in Python, and files in the current directory."""
    pytest.importorskip("networkx")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(python_blocks(PAGE)[0], PAGE.name, "exec"), names)
    return names


def five_nearest(emb, name):
    V = np.asarray(emb, dtype=np.float64)
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    cosine = V @ V[list(emb).index(name)]
    return [list(emb)[row] for row in np.argsort(-cosine)[:5]]


def test_the_page_has_the_recipes():
    assert list(RECIPES) == ["duckdb", "polars", "lancedb", "faiss"]


@pytest.mark.parametrize("package", RECIPES)
def test_recipe(start, package):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages
        pytest.importorskip(package)
        exec(compile(RECIPES[package], PAGE.name, "exec"), start)
    assert start["nearest"] == five_nearest(start["emb"], "Valjean")


def test_copy_file_for_pgvector(start, tmp_path):
    """PostgreSQL's text format: tabs between columns, backslash escapes; pgvector's: [1,2,3]."""
    odd = ["tab\tbed", "line\nfeed\rback", "C:\\new", "日本"]
    V = np.array([[1, -2.5], [1e-30, 3e20], [0, 0.1], [5, 6]], np.float32)
    start["emb"] = softvec.Embedding(V, odd)
    [recipe] = [code for code in python_blocks(PAGE) if "vectors.copy" in code]
    exec(compile(recipe, PAGE.name, "exec"), start)
    lines = (tmp_path / "vectors.copy").read_bytes().decode().removesuffix("\n").split("\n")
    columns = [line.split("\t") for line in lines]
    number = r"-?\d+(\.\d+)?(e[+-]\d+)?"
    assert all(re.fullmatch(rf"\[{number}(, {number})*\]", vector) for _, vector in columns)
    control = {r"\t": "\t", r"\n": "\n", r"\r": "\r", r"\\": "\\"}
    assert [re.sub(r"\\.", lambda escape: control[escape[0]], name) for name, _ in columns] == odd
    numbers = [[float(part) for part in vector[1:-1].split(",")] for _, vector in columns]
    np.testing.assert_array_equal(np.array(numbers, np.float32), V)

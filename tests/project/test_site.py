"""The code on the pages of the site and in the gallery runs; what the site is built from is there."""

import re
import runpy
import warnings
from pathlib import Path

import pytest

from tests.pages import python_blocks

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [DOCS / "start.md", DOCS / "scaling.md", *sorted((DOCS / "howto").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty current directory, and pictures that are drawn on no screen."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    yield
    pyplot.close("all")


@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page)], ids=lambda page: page.stem)
def test_code_on_the_page_runs(page):
    pytest.importorskip("networkx")
    names = {}
    for code in python_blocks(page):
        exec(compile(code, page.name, "exec"), names)


def test_the_gallery_shows_every_example():
    order = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    assert len(EXAMPLES) >= 10
    for example in EXAMPLES:
        assert f'"{example.stem}"' in order, f"{example.name} has no place in docs/conf.py"
        assert "plt.subplots(" in example.read_text(encoding="utf-8"), f"{example.name} draws nothing"


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_example_runs(example):
    text = example.read_text(encoding="utf-8")
    for package in ("anndata", "leidenalg", "umap", "networkx", "pandas"):
        if re.search(rf'^import {package}|method="{package}"', text, re.MULTILINE):
            pytest.importorskip(package)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages that an example compares with
        runpy.run_path(str(example))

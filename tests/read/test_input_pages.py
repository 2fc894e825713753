"""The snippets of docs/inputs run as they stand, and what their comments promise is printed."""

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[2] / "docs" / "inputs").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_snippets(page, tmp_path, monkeypatch):
    if page.stem == "graphs":
        pytest.importorskip("networkx")
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), names)
        for promise in re.findall(r"^print\(.*\) +# (.+)$", code, re.M):
            if promise[0] in "[0123456789":
                assert promise in printed.getvalue()


def test_every_builder_has_a_page():
    index = (PAGES[0].parent / "README.md").read_text()
    for page in PAGES:
        if page.stem != "README":
            assert f"({page.name})" in index

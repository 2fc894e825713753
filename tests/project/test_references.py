"""Files that the pages for contributors name exist, and so do functions that docstrings refer to."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "softvec"
REFERENCE = re.compile(r":(?:mod|func|class|meth|attr):`~?(softvec[\w.]+)`")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_files_that_a_page_names_exist(page):
    text = (ROOT / page).read_text()
    named = set(re.findall(r"`((?:\w+/)+(?:\w+\.(?:py|md|json))?)`", text))
    assert len(named) > 10
    folders = (ROOT, SOURCE, SOURCE / "embedding")
    assert not [name for name in named if not any((folder / name).exists() for folder in folders)]


def is_there(dotted):
    """Return whether a dotted name is a module, or an attribute of one; fields count as attributes."""
    value, path = importlib.import_module("softvec"), "softvec"
    for part in dotted.split(".")[1:]:
        path += f".{part}"
        if part in getattr(value, "__dataclass_fields__", ()):
            return True
        try:
            value = getattr(value, part, None) or importlib.import_module(path)
        except ModuleNotFoundError:
            return False
    return True


def test_names_that_docstrings_refer_to_exist():
    named = {name for path in SOURCE.rglob("*.py") for name in REFERENCE.findall(path.read_text())}
    assert len(named) > 30
    assert not [name for name in sorted(named) if not is_there(name)]
    assert not is_there("softvec.read.columns.describe")

"""Every command has a page that names all of its options."""

import re
from pathlib import Path

import pytest

from softvec.cli import run

PAGES = Path(__file__).parents[2] / "docs" / "commands"
COMMANDS = [path.stem for path in sorted(PAGES.glob("*.md")) if path.stem != "README"]


def test_every_command_has_a_page():
    from softvec.cli.app import app

    assert sorted(command.callback.__name__ for command in app.registered_commands) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_page_names_every_option(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert run([command, "--help"]) == 0
    help_text = capsys.readouterr().out
    page = (PAGES / f"{command}.md").read_text()
    options = set(re.findall(r"(?<![\w-])--[a-zA-Z][\w-]*", help_text)) - {"--help"}
    missing = {option for option in options if option not in page}
    assert not missing, f"docs/commands/{command}.md does not mention {sorted(missing)}"
    assert f"({command}.md)" in (PAGES / "README.md").read_text()


def test_page_of_convert_names_every_format_and_extension():
    from softvec.embedding.files.formats import EXTENSIONS, FORMATS

    page = (PAGES / "convert.md").read_text()
    missing = [name for name in (*FORMATS, *EXTENSIONS) if f"`{name}`" not in page]
    assert not missing, f"docs/commands/convert.md does not mention {missing}"


@pytest.mark.parametrize("name", ["epidemics", "thesaurus", "words"])
def test_tables_in_the_documentation_come_from_the_results(name):
    import importlib
    import sys

    root = str(PAGES.parent.parent)
    sys.path.insert(0, root)
    try:
        module = importlib.import_module(f"benchmarks.{name}")
        common = importlib.import_module("benchmarks.common")
    finally:
        sys.path.remove(root)
    if not module.RESULT.exists():
        pytest.skip(f"{module.RESULT.name} is not here; python -m benchmarks.{name} writes it")
    result = common.read_json(module.RESULT)
    assert module.page(result).strip() in module.PAGE.read_text()

"""A command in an empty directory, through the entry point of the command line."""

import pytest

from softvec.cli import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run_command(folder, capsys):
    """Run a command that must end with a code; return what it wrote to standard output and error."""

    def run_command(*arguments, code=0):
        ended = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert ended == code, captured.err
        return captured

    return run_command


@pytest.fixture
def call(run_command):
    """Run a command; return what it printed, or its one line of error."""

    def call(*arguments, code=0):
        captured = run_command(*arguments, code=code)
        if not code:
            return captured.out
        assert captured.err.startswith("softvec: ")
        assert captured.err.count("\n") == 1, f"more than one line: {captured.err}"
        return captured.err

    return call

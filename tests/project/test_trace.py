"""A file takes the path that is drawn, and is opened once to detect and once to read it."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CALLS = re.compile(r"(\w+) *-> *([\w, ]+)$")


def calls(lines):
    """Return the rooms that each room calls, from lines ``room -> room, room``."""
    found = (CALLS.search(line) for line in lines)
    return {match[1]: set(match[2].split(", ")) for match in found if match}


def drawing():
    """Return the lines of the drawing of calls on the page."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    return next(part for part in page.split("```") if "cli " in part and "-> api" in part).splitlines()


def test_every_call_between_rooms_is_drawn():
    command = [sys.executable, str(ROOT / "tools" / "trace.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    lines = done.stdout.splitlines()
    assert calls(line for line in lines if line.startswith("calls: ")) == calls(drawing())
    told = dict(line.split(": ", 1) for line in lines if ": " in line)
    rooms = [room for room in told["path"].split() if room in ("request", "affinity", "fit", "embedding")]
    assert list(dict.fromkeys(rooms)) == ["request", "affinity", "embedding", "fit"]
    assert told["handed on"] == "Settings Request Contents Affinity Facts Fit Vectors Embedding"
    assert "edges.txt.gz opened 2 times" in done.stdout

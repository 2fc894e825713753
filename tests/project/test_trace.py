"""A file takes the path that is drawn, and is opened once to detect and once to read it."""

import subprocess
import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = {"core", "names", "operators", "kernels", "normalizers"}


def test_the_path_is_that_of_the_drawing():
    command = [sys.executable, str(ROOT / "tools" / "trace.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    called = [room for room in lines["visits"].split() if room not in ("cli", "api")]  # which call the others
    work = [room for room, _ in groupby(called)]
    # embedding checks the output file first, and after reading that it can hold the names
    assert work == [
        "embedding", "request", "affinity", "read", "affinity", "embedding", "fit", "embedding",
    ]  # fmt: skip
    assert lines["handed on"] == "Request Contents Affinity Facts Settings Fit Vectors Embedding"
    page = (ROOT / "docs" / "architecture.md").read_text()
    for room in lines["rooms"].split():
        assert f"`{room}`" in page, f"{room} is missing from docs/architecture.md"
    assert set(lines["rooms"].split()) == {"cli", "api", "watch", *work, *SHARED}
    assert "edges.txt.gz opened 2 times" in done.stdout

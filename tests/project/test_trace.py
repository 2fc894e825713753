"""A file passes through the rooms in their order, and is opened once to detect and once to read it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_each_room_is_entered_once_and_they_hand_on_their_objects_in_order():
    command = [sys.executable, str(ROOT / "tools" / "trace.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    assert lines["visits"] == "plan read affinity fit embedding"  # a room entered twice is listed twice
    assert lines["handed on"] == "Contents Affinity Fit Embedding"
    rooms = lines["rooms"].split()
    assert rooms[0] == "cli"
    order = [rooms.index(room) for room in ("api", "affinity", "read", "names", "operators", "normalizers")]
    assert order == sorted(order)
    assert "edges.txt.gz opened 2 times" in done.stdout

"""Ten words of the Moby Thesaurus through the command line; writes a JSON and a section of the documentation.

SOFTVEC_DATA=... python -m benchmarks.thesaurus [--page-only]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import (
    RESULTS,
    ROOT,
    measure_and_write,
    provenance,
)

WORDS = ["angry", "brilliant", "castle", "doctor", "happy", "journey", "music", "ocean", "secret", "winter"]
RESULT = RESULTS / "thesaurus.json"
PAGE = ROOT / "docs" / "commands" / "neighbors.md"


def softvec(*words: str, folder: str) -> Any:
    """Run the command with --json and return what it printed."""
    command = [sys.executable, "-m", "softvec", *words, "--json"]
    found = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(found.stdout)


def measure() -> dict[str, Any]:
    """Embed the thesaurus, ask for the neighbours of ten words."""
    from benchmarks.datasets import paths

    files = {path.name: path for path in paths("moby").values()}
    embed = ["embed", "moby.npz", "--names", "moby_words.txt", "-o", "moby.svec", "--seed", "0"]
    ask = ["neighbors", "moby.svec", *WORDS, "-n", "8"]
    with tempfile.TemporaryDirectory() as folder:
        for name, path in files.items():
            (Path(folder) / name).symlink_to(path)
        report = softvec(*embed, folder=folder)
        answers = softvec(*ask, folder=folder)
    commands = [" ".join(["softvec", *embed]), " ".join(["softvec", *ask])]
    return {**provenance(2), "commands": commands, "embed": report, "neighbors": answers}


def page(result: dict[str, Any]) -> str:
    """Return the section of the documentation."""
    lines = ["```bash", *result["commands"], "```", "", "| word | nearest |", "|---|---|"]
    for word, found in result["neighbors"].items():
        lines.append(f"| {word} | {', '.join(row['name'] for row in found)} |")
    embed = result["embed"]
    lines += [
        "",
        f"({embed['data']['summary']}; {embed['epochs']} epochs, {embed['dimensions']} dimensions.)",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure unless told only to write the page again."""
    measure_and_write(__doc__, RESULT, measure, PAGE, "thesaurus", page)


if __name__ == "__main__":
    main()

"""Make a failing file smaller while it fails in the same way; each try is a process of its own."""

from __future__ import annotations

import json
import os
import select
import signal
import tempfile
from pathlib import Path
from typing import Any

from tests.fuzz.seeds import Seed, seeds
from tests.fuzz.worker import case, limit_memory, read_case

PATIENCE = 10.0


def outcome_in_child(chosen: Seed, files: dict[str, bytes]) -> str:
    """Return the outcome of a read, ``crash`` and ``hang`` among them."""
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(receive)
        with tempfile.TemporaryDirectory() as folder:
            limit_memory()
            os.write(send, read_case(chosen, files, Path(folder))[0].encode())
        os._exit(0)
    os.close(send)
    ready, _, _ = select.select([receive], [], [], PATIENCE)
    text = os.read(receive, 100).decode() if ready else "hang"
    os.close(receive)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return text or "crash"


def minimise(chosen: Seed, files: dict[str, bytes], outcome: str, tries: int = 150) -> dict[str, bytes]:
    """Return smaller files with the same outcome: pieces are cut out, large ones first, then blanked."""
    best = dict(files)
    for name in files:
        size = max(1, len(best[name]) // 2)
        while size and tries > 0:
            at = 0
            while at < len(best[name]) and tries > 0:
                data = best[name]
                smaller = {**best, name: data[:at] + data[at + size :]}
                tries -= 1
                if outcome_in_child(chosen, smaller) == outcome:
                    best = smaller
                else:
                    at += size
            size //= 2
    return best


def save(folder: Path, seed: int, failures: list[dict[str, Any]], only: str = "", most: int = 40) -> None:
    """Write the failing cases, at most three of a kind, made smaller; each a folder with ``case.json``."""
    found = seeds(only)
    kinds: dict[tuple[str, ...], int] = {}
    for failure in failures:
        kind = (
            failure["outcome"],
            failure["reader"],
            failure["name"].split(".", 1)[1],
            failure["message"][:40],
        )
        kinds[kind] = kinds.get(kind, 0) + 1
        if kinds[kind] > 3 or sum(kinds.values()) > 10 * most:
            continue
        chosen, files = case(found, seed, failure["number"])
        smaller = minimise(chosen, files, failure["outcome"])
        home = folder / f"{failure['outcome']}-{failure['reader']}-{failure['number']}"
        home.mkdir(parents=True, exist_ok=True)
        for name, data in smaller.items():
            (home / name).write_bytes(data)
        told = {"reader": chosen.reader, "name": chosen.name, "options": chosen.options}
        (home / "case.json").write_text(json.dumps(told) + "\n")

"""The commands that tools/behaviour.py runs, right and wrong, on files that it writes; what they print."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from behaviour_fits import block_graph, contacts, edge_names, features, gene_pairs, purchases, texts
from scipy import sparse

import softvec


def write_files(folder: Path) -> None:
    """Write the data that the commands read."""

    def lines(name: str, rows: Any, sep: str = " ") -> None:
        (folder / name).write_text("".join(sep.join(map(str, row)) + "\n" for row in rows), encoding="utf-8")

    A = block_graph(60, 3, 8, 0)
    lines("edges.txt", edge_names(A))
    lines(
        "weighted.csv",
        [("source", "target", "weight"), *((a, b, 1 + i % 3) for i, (a, b) in enumerate(edge_names(A)))],
        ",",
    )
    lines("integers.txt", np.argwhere(np.triu(A.toarray())).tolist())
    lines("genes.txt", gene_pairs(), "\t")
    lines("sales.csv", [("user", "item"), *purchases()], ",")
    lines("contacts.dat", contacts())
    lines("novel.txt", [[line] for line in texts()])
    lines("labels.txt", ((f"n{i}", f"group{i // 20}") for i in range(60)))
    lines("judged.txt", ((f"n{i}", f"n{3 * i % 60}", i % 7) for i in range(1, 40)))
    lines("empty.txt", [])
    lines("broken.csv", [("source", "target", "weight"), ("a", "b", 1), ("b", "c", "heavy")], ",")
    lines("negative.txt", [("a", "b", 1), ("b", "c", -2)])
    lines("loop.txt", [("a", "a")])
    lines("vectors.txt", [(3, 2), ("a", 1, 0), ("b", 0.5, 0.5), ("c", 0, 1)])
    np.save(folder / "features.npy", features())
    sparse.save_npz(folder / "matrix.npz", sparse.csr_matrix(A))


FIRST = (
    "embed edges.txt -d 8 --seed 0 -t 1",
    "embed sales.csv -k bipartite --columns user,item -d 8 --seed 0 -t 1 -o shop.svec",
)
COMMANDS = (
    "--help", "--version", "", "embed edges.txt -d 8 --seed 0 --json -o again.svec",
    "embed edges.txt -d 8 --seed 0 -q -o quiet.svec", "embed edges.txt -d 2 --seed 0 -o - --quiet",
    "embed integers.txt -d 4 --seed 0 -o integers.svec",
    "embed weighted.csv -d 4 --seed 0 --epochs 5 --beta 2 -o weighted.txt",
    "embed weighted.csv -d 4 --seed 0 --directed --unweighted --two-sided -o directed.svec",
    "embed genes.txt -k pairs -d 4 --seed 0 --gradient full --clusters 2 -o genes.parquet",
    "embed contacts.dat -k temporal --window 40 -d 4 --seed 0 -o contacts.svec",
    "embed novel.txt -k corpus --window 3 --min-count 2 -d 4 --seed 0 -o words.bin",
    "embed features.npy -k features -d 4 --seed 0 --set n_neighbors=7 -o features.svec",
    "embed matrix.npz -d 4 --seed 0 -w 2 --learning-rate 0.5 --checkpoint run -o matrix.svec",
    "neighbors edges.svec n3 n7 -n 3", "neighbors edges.svec n3 --json -n 3",
    "neighbors edges.svec n3 n4 --minus n7 -n 3", "neighbors shop.svec u1 --context -n 3",
    "neighbors vectors.txt a", "similarity edges.svec n3 n7 n1 n2",
    "similarity edges.svec --pairs judged.txt", "similarity edges.svec n3 n7 --json",
    "communities edges.svec", "communities edges.svec -k 3 --json",
    "communities edges.svec -k 3 -o groups.tsv", "evaluate edges.svec labels.txt",
    "evaluate edges.svec labels.txt --ratio 0.2 --repeats 2 --json",
    "plot edges.svec -o map.png --method pca", "plot edges.svec --kind loss -o loss.svg --json",
    "info edges.svec", "info edges.svec --json", "info edges.txt", "info sales.csv", "info contacts.dat",
    "info novel.txt", "info features.npy", "info matrix.npz --json", "info vectors.txt",
    "convert edges.svec edges.vec", "convert edges.svec - --to word2vec",
    "convert shop.svec shop.csv --side context --json", "normalizer edges.svec -t 1",
    "normalizer edges.svec --json --error 0.05 -t 1",
    "demo -o demo --json -t 1",
)  # fmt: skip
MISTAKES = (
    "embed", "embed missing.txt", "embed empty.txt", "embed loop.txt", "embed broken.csv --seed 0",
    "embed negative.txt", "embed edges.txt --kind grahp", "embed edges.txt -d 0",
    "embed edges.txt -o out.unknown", "embed edges.txt --beta -1", "embed edges.txt --gradient slow",
    "embed edges.txt --set windw=3", "embed edges.txt --set n_epoch=3", "embed edges.txt --epohcs 3",
    "embed sales.csv -k bipartite --columns user,price", "embed edges.txt --learning-rate 2",
    "neighbors edges.svec N3", "neighbors edges.svec", "neighbors missing.svec n1",
    "neighbors edges.txt n1", "neighbors edges.svec n3 --context", "similarity edges.svec n3",
    "similarity edges.svec --pairs empty.txt", "communities edges.svec -k 1000",
    "evaluate edges.svec novel.txt", "evaluate edges.svec labels.txt --ratio 2",
    "plot edges.svec --kind pie", "plot edges.svec -o map.doc", "plot edges.svec --labels missing.txt",
    "convert edges.svec edges.doc", "convert edges.svec edges.txt --to vinyl",
    "convert edges.svec a.csv --side context", "info missing.txt", "normalizer edges.svec --error 0",
    "normalizer edges.svec --beta 0", "nonsense",
)  # fmt: skip
_MASKS = (
    (re.compile(r"\b\d[\d.,]*(e-?\d+)? ?(ms|s|min|h)\b"), "TIME"),
    (
        re.compile(
            r'("(?:seconds|\w*_seconds|reading|fitting|free|available|microseconds)[^"]*": )[\d.e+-]+'
        ),
        r"\1TIME",
    ),
    (re.compile(r'(memory[_ ]free"?:?\s+"?)[\d.,]+ [KMG]iB'), r"\1SIZE"),
    (
        re.compile(r"^([A-Z]\w+(?:\(\w+=\d+\))?(?:\t[\d.e-]+){3}\t)[\d.e-]+$", re.MULTILINE),
        r"\1TIME",
    ),  # normalizer
)
FILES = ("weighted.txt", "words.bin", "edges.vec", "shop.csv", "groups.tsv")  # written by COMMANDS, hashed


def masked(text: str, folder: Path) -> str:
    """Replace what differs between two runs: the folder, the version, times, free memory."""
    text = text.replace(str(folder.resolve()), "FOLDER").replace(str(folder), "FOLDER")
    text = text.replace(softvec.__version__, "VERSION")
    for pattern, shown in _MASKS:
        text = pattern.sub(shown, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def environment() -> dict[str, str]:
    source = str(Path(softvec.__file__).parent.parent)
    plain = {
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "PYTHONPATH": source,
        "MPLBACKEND": "agg",
        "OMP_NUM_THREADS": "1",
    }
    dropped = ("FORCE_COLOR", "LINES", "PYTHONWARNINGS")
    return {**{k: v for k, v in os.environ.items() if k not in dropped}, **plain}


def run_command(command: str, folder: Path) -> dict[str, Any]:
    """Run one command; return its exit code and what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "softvec", *command.split()],
        cwd=folder, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False,
        text=True, encoding="utf-8",
    )  # fmt: skip
    printed = done.stdout if "--json" not in command.split() else indented(done.stdout)
    text = {"stdout": masked(printed, folder), "stderr": masked(done.stderr, folder)}
    return {"exit code": done.returncode, **{key: value.split("\n") for key, value in text.items() if value}}


def indented(text: str) -> str:
    """Spread JSON over lines, so that a difference shows where it is."""
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except ValueError:
        return text


def record_texts() -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Return what each command prints, and the flags in its help."""
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(name)
        write_files(folder)
        printed = {command: run_command(command, folder) for command in FIRST}
        pages = dict(
            zip(
                commands := command_names(folder),
                pool.map(lambda c: run_command(f"{c} --help", folder), commands),
            )
        )
        every = [*COMMANDS, *MISTAKES]
        printed |= dict(zip(every, pool.map(lambda command: run_command(command, folder), every)))
        printed |= {name: hashlib.sha256((folder / name).read_bytes()).hexdigest()[:32] for name in FILES}
    flags = {name: sorted(flags_in("\n".join(page["stdout"]))) for name, page in pages.items()}
    return printed | {f"{name} --help": page for name, page in pages.items()}, flags


def command_names(folder: Path) -> list[str]:
    page = "\n".join(run_command("--help", folder)["stdout"])
    return re.findall(r"^│ ([a-z]+) {2,}", page, re.MULTILINE)


def flags_in(page: str) -> Iterator[str]:
    """Yield the flags of a help page with their defaults."""
    for box in page.split("╭─")[1:]:
        for row in re.findall(r"^│ +(?:\*  )?(-.*?)│$(?=\n(?:│ +\*? *-|╰))|^│ +(-.*)│$", box, re.MULTILINE):
            text = row[0] or row[1]
            names = re.findall(r"(?<![\w<\[-])--?[a-zA-Z][\w-]*", re.split(r" {2,}(?=[A-Z<])", text)[0])
            if names:
                yield " ".join(names)

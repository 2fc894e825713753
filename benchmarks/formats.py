"""softvec's own vector file beside Arrow IPC: size, writing, reading, and one vector of a mapped file.

    python -m benchmarks.formats [--quick]

Vectors of 128 dimensions with names. Arrow IPC is written and read in a dozen lines of pyarrow, with and
without the check that a file from elsewhere needs. The formats take turns in one process, and its processor
time is counted. Writes `benchmarks/results/formats.json` and the table in `docs/embedding.md`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import (
    RESULTS,
    ROOT,
    interleave,
    provenance,
    replace_section,
    summary,
    versions,
    write_json,
)

N, D = 200_000, 128
STEPS = ("write", "read", "one vector, mapped")


def write_arrow(path: Path, vectors: np.ndarray, names: list[str]) -> None:
    """Write the columns name and vector as an Arrow IPC file."""
    import pyarrow as pa

    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
    table = pa.table({"name": pa.array(names), "vector": lists})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def read_arrow(path: Path, *, mapped: bool, checked: bool) -> tuple[Any, np.ndarray]:
    """Return the names and the vectors of an Arrow IPC file; mapped, both stay on disk."""
    import pyarrow as pa

    with (pa.memory_map if mapped else pa.OSFile)(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    if checked:
        table.validate(full=True)
    vectors = table["vector"].combine_chunks()
    flat = vectors.flatten().to_numpy()
    return table["name"], flat.reshape(len(vectors), -1)


def arrow_steps(path: Path, vectors: np.ndarray, names: list[str], checked: bool) -> dict[str, Callable]:
    """Return what is timed of Arrow IPC."""
    import pyarrow.compute as pc

    def one_vector() -> np.ndarray:
        column, rows = read_arrow(path, mapped=True, checked=checked)
        return rows[pc.index(column, names[-1]).as_py()].copy()

    return {
        "write": lambda: write_arrow(path, vectors, names),
        "read": lambda: read_arrow(path, mapped=False, checked=checked)[1],
        "one vector, mapped": one_vector,
    }


def svec_steps(path: Path, vectors: np.ndarray, names: list[str]) -> dict[str, Callable]:
    """Return what is timed of `.svec`."""
    from softvec import Embedding

    return {
        "write": lambda: Embedding(vectors, names, copy=False).save(path),
        "read": lambda: Embedding.load(path).vectors,
        "one vector, mapped": lambda: Embedding.load(path, mmap=True)[names[-1]],
    }


def measure(n: int, repeats: int, folder: Path) -> dict[str, Any]:
    """Time all steps in turn, and compare what is read with what was written."""
    vectors = np.random.default_rng(0).standard_normal((n, D), dtype=np.float32)
    names = [f"item {i * 7919 % n:07d}" for i in range(n)]
    files = {
        ".svec": folder / "a.svec",
        "Arrow IPC": folder / "a.arrow",
        "Arrow IPC, checked": folder / "b.arrow",
    }
    steps = {
        name: svec_steps(path, vectors, names)
        if name == ".svec"
        else arrow_steps(path, vectors, names, name.endswith("checked"))
        for name, path in files.items()
    }
    rows: dict[str, dict[str, Any]] = {name: {} for name in files}
    for step in STEPS:
        timed = interleave({name: steps[name][step] for name in files}, repeats, clock=time.process_time)
        for name, seconds in timed.items():
            rows[name][step] = summary(seconds)
    for name, path in files.items():
        rows[name]["bytes"] = path.stat().st_size
        assert np.array_equal(steps[name]["read"](), vectors)
        assert np.array_equal(steps[name]["one vector, mapped"](), vectors[-1])
    return {"vectors": n, "dimensions": D, "formats": rows}


def table(case: dict[str, Any]) -> str:
    """Return the Markdown table: size, and processor times in milliseconds."""
    lines = ["| format | size | " + " | ".join(STEPS) + " |", "|---|---|" + "---|" * len(STEPS)]
    for name, row in case["formats"].items():
        times = [f"{1000 * row[step]['median']:,.0f} ms" for step in STEPS]
        lines.append(f"| {name} | {row['bytes'] / 1e6:,.1f} MB | " + " | ".join(times) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run everything and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.formats", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2,000 vectors, two repeats, no documentation")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        case = measure(2000 if options.quick else N, 2 if options.quick else 5, Path(folder))
    header = provenance(1)
    header["versions"] |= versions(["pyarrow"])
    path = RESULTS / ("formats_quick.json" if options.quick else "formats.json")
    write_json(path, {"provenance": header, "clock": "processor time", "case": case})
    if not options.quick:
        replace_section(ROOT / "docs" / "embedding.md", "formats", table(case))
    print(path)


if __name__ == "__main__":
    main()

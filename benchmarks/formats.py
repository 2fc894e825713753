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
STEPS = ("write", "read", "map, first vector", "map, vector by name")


def write_arrow(table: Any, path: Path) -> None:
    """Write an Arrow IPC file."""
    import pyarrow as pa

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
    return table["name"], vectors.flatten().to_numpy().reshape(len(vectors), -1)


def arrow_steps(path: Path, vectors: np.ndarray, names: list[str], checked: bool) -> dict[str, Callable]:
    """Return what is timed of Arrow IPC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
    table = pa.table({"name": pa.array(names), "vector": lists})

    def by_name() -> np.ndarray:
        column, rows = read_arrow(path, mapped=True, checked=checked)
        return rows[pc.index(column, names[-1]).as_py()].copy()

    return {
        "write": lambda: write_arrow(table, path),
        "read": lambda: read_arrow(path, mapped=False, checked=checked)[1],
        "map, first vector": lambda: read_arrow(path, mapped=True, checked=checked)[1][0].copy(),
        "map, vector by name": by_name,
    }


def svec_steps(path: Path, vectors: np.ndarray, names: list[str]) -> dict[str, Callable]:
    """Return what is timed of `.svec`."""
    from softvec import Embedding

    emb = Embedding(vectors, names, copy=False)
    return {
        "write": lambda: emb.save(path),
        "read": lambda: Embedding.load(path).vectors,
        "map, first vector": lambda: Embedding.load(path, mmap=True).vectors[0].copy(),
        "map, vector by name": lambda: Embedding.load(path, mmap=True)[names[-1]],
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
        rows[name]["notices_a_flipped_bit"] = notices_a_flipped_bit(path, steps[name]["read"])
        assert np.array_equal(steps[name]["read"](), vectors)
        assert np.array_equal(steps[name]["map, first vector"](), vectors[0])
        assert np.array_equal(steps[name]["map, vector by name"](), vectors[-1])
    return {"vectors": n, "dimensions": D, "formats": rows}


def notices_a_flipped_bit(path: Path, read: Callable[[], np.ndarray]) -> bool:
    """Whether a reader refuses the file once a bit in the middle, within the vectors, is changed."""
    from softvec import InputError

    content = path.read_bytes()
    middle = len(content) // 2
    try:
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        read()
    except (InputError, ValueError):
        return True
    finally:
        path.write_bytes(content)
    return False


def table(case: dict[str, Any]) -> str:
    """Return the Markdown table: size, and processor times in milliseconds."""
    lines = [
        "| format | size | " + " | ".join(STEPS) + " | notices a flipped bit |",
        "|---|---|" + "---|" * len(STEPS) + "---|",
    ]
    for name, row in case["formats"].items():
        times = [f"{1000 * row[step]['median']:,.0f} ms" for step in STEPS]
        noticed = "yes" if row["notices_a_flipped_bit"] else "no"
        lines.append(f"| {name} | {row['bytes'] / 1e6:,.1f} MB | {' | '.join(times)} | {noticed} |")
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

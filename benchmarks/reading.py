"""How fast files become matrices: edge lists against pyarrow with SciPy, pandas and networkx; text against
gensim; wide tables against pandas.

    python -m benchmarks.reading            # 10 million edges, 100 MB of text; about half an hour
    python -m benchmarks.reading --quick    # a tenth of it
    python -m benchmarks.reading --only order    # names sorted by their bytes, with one thread
    python -m benchmarks.reading --only edges --rivals softvec pyarrow    # are the kernels worth their lines?

Files are generated. Each run is a fresh process, rivals take turns, times are of the wall clock from
after the imports; a first, untimed run of each compiles what is to be compiled. Peak memory is that of
the process, interpreter and libraries included.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import (
    RESULTS,
    ROOT,
    child,
    peak_rss,
    provenance,
    read_json,
    replace_section,
    summary,
    versions,
    write_json,
)

EDGE_RIVALS = ("softvec", "pyarrow", "pandas", "networkx")
TEXT_RIVALS = ("softvec", "gensim")
WIDE_RIVALS = ("softvec", "pandas")


def write_edges(path: Path, n_edges: int, prefix: str, seed: int = 0) -> None:
    """Write pairs among n_edges / 10 nodes with uneven degrees, one a line."""
    rng = np.random.default_rng(seed)
    with open(path, "wb") as file:
        for lo in range(0, n_edges, 1_000_000):
            rows = min(1_000_000, n_edges - lo)
            pairs = (n_edges / 10 * rng.random((rows, 2)) ** 2).astype(np.int64)
            line = f"{prefix}%d\t{prefix}%d\n"
            file.write("".join(line % (a, b) for a, b in pairs.tolist()).encode())


def write_text(path: Path, megabytes: int, seed: int = 0) -> None:
    """Write documents of Zipf-distributed words."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    vocabulary = np.array(["".join(rng.choice(letters, rng.integers(2, 9))) for _ in range(200_000)])
    weights = 1.0 / (np.arange(len(vocabulary)) + 2.7)
    cumulative = np.cumsum(weights / weights.sum())
    written = 0
    with open(path, "wb") as file:
        while written < megabytes * 1_000_000:
            words = vocabulary[np.searchsorted(cumulative, rng.random(200_000))]
            lines = [" ".join(words[lo : lo + 400]) for lo in range(0, len(words), 400)]
            written += file.write(("\n".join(lines) + "\n").encode())


def write_wide(path: Path, rows: int, columns: int, seed: int = 0) -> None:
    """Write a matrix of decimals with names around it, as of genes and cells."""
    rng = np.random.default_rng(seed)
    with open(path, "w") as file:
        file.write(",".join(["", *(f"gene{k}" for k in range(columns))]) + "\n")
        for i in range(rows):
            file.write(",".join([f"cell{i}", *(f"{value:.4f}" for value in rng.random(columns))]) + "\n")


def load_kernels(*names: str) -> None:
    """Import compiled modules, which softvec does when it needs them: imports are not timed."""
    for name in names:
        importlib.import_module(f"softvec.kernels.{name}")


def by_pyarrow(path: str) -> int:
    """Read tab-separated pairs into the symmetric matrix: what the hand-written reader has to beat."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv
    from scipy import sparse

    parse = csv.ParseOptions(delimiter="\t")
    table = csv.read_csv(path, csv.ReadOptions(column_names=["i", "j"]), parse)
    ends = pa.chunked_array(table["i"].chunks + table["j"].chunks).combine_chunks()
    coded = pc.dictionary_encode(ends)
    i, j = coded.indices.to_numpy().reshape(2, -1)
    n = len(coded.dictionary)
    i, j = np.concatenate([i, j]), np.concatenate([j, i])
    matrix = sparse.coo_array((np.ones(len(i), np.float32), (i, j)), shape=(n, n)).tocsr()
    matrix.sum_duplicates()
    return matrix.shape[0]


def edges_by(rival: str, path: str) -> dict[str, Any]:
    """Read an edge list with one rival in this process."""
    if rival == "softvec":
        from softvec.affinity import read

        load_kernels("text", "graph")

        def run() -> int:
            return read(path).shape[0]

    elif rival == "pyarrow":
        for module in ("pyarrow.csv", "pyarrow.compute", "scipy.sparse"):
            importlib.import_module(module)

        def run() -> int:
            return by_pyarrow(path)

    elif rival == "pandas":
        import pandas as pd

        def run() -> int:
            frame = pd.read_csv(path, sep="\t", header=None)
            codes, names = pd.factorize(pd.concat([frame[0], frame[1]], ignore_index=True))
            return len(names) if len(codes) else 0

    else:
        import networkx as nx

        def run() -> int:
            return len(nx.read_edgelist(path))

    return _timed(run)


def text_by(rival: str, path: str) -> dict[str, Any]:
    """Count a corpus with softvec, or scan it and train one word2vec epoch with gensim."""
    if rival == "softvec":
        from softvec.affinity import read

        load_kernels("text", "cooccurrence")

        def run() -> int:
            return read(path, kind="corpus", window=5, min_count=5).shape[0]

    else:
        from gensim.models import Word2Vec

        def run() -> int:
            model = Word2Vec(
                corpus_file=path, vector_size=100, window=5, min_count=5, sg=1, epochs=1, workers=2
            )
            return len(model.wv)

    return _timed(run)


def wide_by(rival: str, path: str) -> dict[str, Any]:
    """Read a wide table of numbers: detection must take time in proportion to the bytes."""
    if rival == "softvec":
        importlib.import_module("pyarrow.csv")
        from softvec.read.reader import read_source

        def run() -> int:
            return read_source(path, {}).data.matrix.shape[1]

    else:
        import pandas as pd

        def run() -> int:
            return pd.read_csv(path, index_col=0).shape[1]

    return _timed(run)


def order_by(rival: str, path: str) -> dict[str, Any]:
    """Sort distinct names by their bytes, which softvec does after reading them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pa.array(Path(path).read_text().split("\n"), pa.large_string())
    load_kernels("names")
    if rival == "softvec":
        from softvec.names.coding import byte_order

        _, offsets, data = names.buffers()
        bounds, text = np.frombuffer(offsets, np.int64), np.frombuffer(data, np.uint8)

        def run() -> int:
            return len(byte_order(text, bounds[: len(names) + 1]))

    else:

        def run() -> int:
            return len(pc.array_sort_indices(names))

    return _timed(run)


def _timed(run: Any) -> dict[str, Any]:
    before = peak_rss()
    start, cpu = time.perf_counter(), time.process_time()
    items = run()
    return {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "peak_bytes": peak_rss(),
        "imports_bytes": before,
        "items": items,
    }


def run_rival(kind: str, rival: str, path: Path, threads: int) -> dict[str, Any]:
    """Run one rival in a fresh process."""
    return child([sys.executable, "-m", "benchmarks.reading", "--one", kind, rival, path], threads)


def compare(kind: str, rivals: dict[str, int], path: Path, threads: int) -> dict[str, Any]:
    """Run the rivals in turn, each as often as asked, after one run that is not counted."""
    runs: dict[str, list[dict[str, Any]]] = {rival: [] for rival in rivals}
    first = {rival: run_rival(kind, rival, path, threads)["seconds"] for rival in rivals if rivals[rival] > 1}
    for turn in range(max(rivals.values())):
        for rival, repeats in rivals.items():
            if turn < repeats:
                runs[rival].append(run_rival(kind, rival, path, threads))
                print(path.name, rival, runs[rival][-1], flush=True)
    size = path.stat().st_size
    return {
        "file_bytes": size,
        "rivals": {
            rival: {
                "seconds": summary([run["seconds"] for run in measured]),
                "cpu_seconds": summary([run["cpu_seconds"] for run in measured]),
                "first_run_seconds": first.get(rival),
                "peak_bytes": max(run["peak_bytes"] for run in measured),
                "peak_over_file": max(run["peak_bytes"] for run in measured) / size,
                "items": measured[0]["items"],
            }
            for rival, measured in runs.items()
        },
    }


def ratios(result: dict[str, Any]) -> dict[str, float]:
    """Return how many times longer than softvec each rival took, medians of wall and processor time."""
    rivals = result["rivals"]
    out = {}
    for rival in rivals:
        if rival != "softvec":
            for clock in ("seconds", "cpu_seconds"):
                out[f"{rival}_{clock}"] = rivals[rival][clock]["median"] / rivals["softvec"][clock]["median"]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one", nargs=3, metavar=("KIND", "RIVAL", "PATH"), help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=("edges", "text", "wide", "order"))
    parser.add_argument("--rivals", nargs="+", choices=EDGE_RIVALS, default=EDGE_RIVALS)
    parser.add_argument("--report", action="store_true", help="write the table of the last results again")
    options = parser.parse_args()
    if options.report:
        report(read_json(RESULTS / "reading.json"))
        return
    if options.one:
        kind, rival, path = options.one
        by = {"edges": edges_by, "text": text_by, "wide": wide_by, "order": order_by}
        print(json.dumps(by[kind](rival, path)))
        return
    scale = 10 if options.quick else 1
    out = RESULTS / ("reading-quick.json" if options.quick else "reading.json")
    out = RESULTS / "reading-order.json" if options.only == "order" else out
    record: dict[str, Any] = provenance(options.threads)
    record["versions"] |= versions(["pandas", "networkx", "gensim", "pyarrow"])
    record["load"] = os.getloadavg()[0]
    record["results"] = read_json(out, {}).get("results", {}) if options.only else {}
    with tempfile.TemporaryDirectory() as folder:
        if options.only in (None, "edges"):
            for name, prefix in (("integer ids", ""), ("string ids", "node")):
                path = Path(folder) / f"{name.split()[0]}.txt"
                write_edges(path, 10_000_000 // scale, prefix)
                # networkx takes minutes and many times the memory: once will do
                rivals = {r: 1 if r == "networkx" else options.repeats for r in options.rivals}
                result = compare("edges", rivals, path, options.threads)
                record["results"][f"{10 // scale if scale < 10 else 1} million edges, {name}"] = result | {
                    "ratios": ratios(result)
                }
                path.unlink()
        if options.only in (None, "wide"):
            path = Path(folder) / "wide.csv"
            write_wide(path, 1000 // scale, 20_000)
            result = compare("wide", dict.fromkeys(WIDE_RIVALS, options.repeats), path, options.threads)
            name = f"{1000 // scale:,} rows of 20,000 numbers"
            record["results"][name] = result | {"ratios": ratios(result)}
            path.unlink()
        if options.only == "order":
            path = Path(folder) / "names.txt"
            ids = np.random.default_rng(0).permutation(10_000_000 // scale)
            path.write_text("\n".join(f"node{i}" for i in ids.tolist()))
            rivals = dict.fromkeys(("softvec", "pyarrow"), options.repeats)
            result = compare("order", rivals, path, options.threads)
            record["results"][f"order of {len(ids):,} names"] = result | {"ratios": ratios(result)}
        if options.only in (None, "text"):
            path = Path(folder) / "text.txt"
            write_text(path, 100 // scale)
            rivals = {"softvec": options.repeats, "gensim": min(3, options.repeats)}
            result = compare("text", rivals, path, options.threads)
            record["results"]["text"] = result | {"ratios": ratios(result)}
    write_json(out, record)
    for name, result in record["results"].items():
        print(name, {key: round(value, 2) for key, value in result["ratios"].items()})
    if not options.quick and options.only != "order":
        report(record)


def report(record: dict[str, Any]) -> None:
    """Write the results into the documentation."""
    replace_section(ROOT / "docs" / "inputs" / "files.md", "reading", table(record))


def table(record: dict[str, Any]) -> str:
    """Return the results as a table for the documentation."""
    what = {
        "softvec": "softvec: file to matrix",
        "pyarrow": "pyarrow and SciPy: `read_csv`, `dictionary_encode`, `tocsr`",
        "pandas": "pandas: `read_csv` and `factorize`, no matrix",
        "networkx": "networkx: `read_edgelist`, one run",
        "gensim": "gensim: scan and one epoch of skip-gram, d = 100",
    }
    machine = record["machine"]
    lines = [
        f"{machine['processor']}, {machine['cores']} cores, {record['threads']} threads, commit "
        f"{record['commit']}; medians of interleaved runs in fresh processes, after imports, with compiled "
        f"kernels cached. Load average {record.get('load', 0):.0f}: on a busy machine, trust ratios and "
        "processor time more than wall time.",
        "",
        "| file | | seconds | processor seconds | peak memory / file size |",
        "|---|---|---|---|---|",
    ]
    for name, result in record["results"].items():
        for rival, measured in result["rivals"].items():
            did = "pandas: `read_csv`" if "numbers" in name and rival == "pandas" else what[rival]
            lines.append(
                f"| {name}, {result['file_bytes'] / 1e6:.0f} MB | {did} | "
                f"{measured['seconds']['median']:.1f} | {measured['cpu_seconds']['median']:.1f} | "
                f"{measured['peak_over_file']:.1f} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main()

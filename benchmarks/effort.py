"""What does `effort="fast"` cost and give, beside FastRP and Cleora? Processor time and micro-F1, one thread.

    python -m benchmarks.effort                      # every graph
    python -m benchmarks.effort --graphs cora ppi    # some
    python -m benchmarks.effort --graphs             # none: the table and the figure from the results

Methods take turns, each in a process of its own with its own packages (`benchmarks/peers/environments.py`).
The block models have ten communities and labels; they are there because no labelled graph of the data
directory has 100,000 nodes. Vectors of graphs above 30,000 nodes are scored in the first turn only. Results
are in benchmarks/results/effort.json after each graph, and at the end in a table of docs/benchmarks.md and
in docs/figures/frontier.png; graphs that are not named keep their rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.common import RESULTS, ROOT, pinned, provenance, read_json, replace_section, write_json
from benchmarks.peers import environments
from benchmarks.peers.graphs import Graph, load
from benchmarks.peers.methods import METHODS
from benchmarks.peers.scoring import classification

GRAPHS = (
    "cora",
    "ppi",
    "wikipedia_pos",
    "blogcatalog",
    "pubmed",
    "dblp_prone",
    "blocks_100000",
)
D, TURNS = 128, 3
OURS = {"softvec fast": {"effort": "fast"}, "softvec": {}}
RIVALS = ("FastRP", "Cleora")
CHILD = """
import json, statistics, sys, time
import numpy as np, scipy.sparse as sp
from benchmarks.peers import adapters
source, target, adapter, params, turn, d = sys.argv[1:]
prepare, embed = getattr(adapters, adapter)()
A = sp.load_npz(source)
prepared = prepare(sp.csr_array(A) if adapter == "softvec" else sp.csr_matrix(A))
embed(prepared, int(d), int(turn), json.loads(params))  # warms up
seconds = []
while len(seconds) < 3 or (sum(seconds) < 1 and len(seconds) < 50):
    begin = time.process_time()
    X = embed(prepared, int(d), int(turn), json.loads(params))
    seconds.append(time.process_time() - begin)
np.save(target, np.asarray(X, dtype=np.float32))
print(json.dumps(statistics.median(seconds)))
"""


def graph_of(name: str) -> Graph:
    """Return a labelled graph by name; blocks_N is a block model of N nodes."""
    if not name.startswith("blocks_"):
        return load(name)
    from experiments.generators import dcsbm

    A, labels, _ = dcsbm(int(name.split("_")[1]), c=10, q=10, alpha=3.0, random_state=0)
    return Graph(name, sp.csr_array(A).astype(np.float32), labels)


def methods() -> dict[str, tuple[str | None, str, dict[str, Any]]]:
    """Return environment, adapter and settings of each row."""
    rows: dict[str, tuple[str | None, str, dict[str, Any]]] = {
        name: (None, "softvec", params) for name, params in OURS.items()
    }
    known = {method.name: method for method in METHODS}
    for name in RIVALS:
        rows[name] = (known[name].environment, known[name].adapter, known[name].params)
    return rows


def run(graph: Graph, row: tuple[str | None, str, dict[str, Any]], folder: Path, turn: int) -> Any:
    """Return the processor seconds of one turn, the median of several fits, and its vectors."""
    environment, adapter, params = row
    environments.ensure(environment)
    source, target = folder / "graph.npz", folder / "X.npy"
    if not source.exists():
        sp.save_npz(source, sp.csr_matrix(graph.A), compressed=False)
    paths = [str(ROOT), *([str(ROOT / "src")] if environment is None else [])]
    words = [
        str(source),
        str(target),
        adapter,
        json.dumps(params),
        str(turn),
        str(min(D, graph.A.shape[0] // 4)),
    ]
    done = subprocess.run(
        [str(environments.python(environment)), "-c", CHILD, *words],
        env={**pinned(1), "PYTHONPATH": ":".join(paths)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1]), np.load(target)


def table(cells: dict[str, dict[str, Any]]) -> str:
    """Return time and score of each method as Markdown, one line a graph."""
    names = list(methods())
    lines = ["| graph | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for graph, row in cells.items():
        texts = [
            f"{row[n]['cpu_seconds']:.3g} s, {row[n]['micro_f1']:.1f}" if n in row else "" for n in names
        ]
        lines.append(f"| {graph} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def measure(graph: Graph, turns: int) -> dict[str, Any]:
    """Let all methods take turns; return the time and score of each."""
    seconds: dict[str, list[float]] = {label: [] for label in methods()}
    scores: dict[str, list[float]] = {label: [] for label in methods()}
    repeats = 5 if graph.A.shape[0] < 12_000 else 1
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(turns):
            for label, row in methods().items():
                spent, X = run(graph, row, Path(folder), turn)
                seconds[label].append(spent)
                if turn == 0 or graph.A.shape[0] < 30_000:
                    score = classification(X, graph, repeats=repeats, threads=1)["micro_f1"]
                    scores[label].append(score)
                print(graph.name, label, f"{spent:.3f} s {scores[label][-1]:.2f}", flush=True)
    return {
        label: {
            "cpu_seconds": statistics.median(seconds[label]),
            "turns": seconds[label],
            "micro_f1": statistics.mean(scores[label]),
            "micro_f1_starts": scores[label],
        }
        for label in seconds
    }


def draw(cells: dict[str, dict[str, Any]], path: Path) -> None:
    """Draw processor time against score, one panel a graph."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    columns = min(4, len(cells))
    figure, grid = plt.subplots(
        -(-len(cells) // columns), columns, figsize=(10, 5), squeeze=False, layout="constrained"
    )
    for axes in list(grid.flat)[len(cells) :]:
        axes.set_visible(False)
    for axes, (graph, row) in zip(grid.flat, cells.items()):
        for number, (name, marker) in enumerate(zip(methods(), "osD^")):
            if name in row:
                point = row[name]["cpu_seconds"], row[name]["micro_f1"]
                axes.scatter(*point, marker=marker, color=f"C{number}", label=name, zorder=2)
        axes.set(xscale="log", title=graph)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.grid(alpha=0.3)
    handles = dict(zip(*grid.flat[0].get_legend_handles_labels()[::-1]))
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4)
    figure.supxlabel("processor seconds, one thread")
    figure.supylabel("micro-F1 (%)")
    figure.savefig(path, dpi=90)
    plt.close(figure)


def main() -> None:
    """Measure and write the table and the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="*", default=list(GRAPHS), help="names of graphs")
    parser.add_argument("--turns", type=int, default=TURNS, help="turns of each method, each a start")
    parser.add_argument("--dry", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    path = RESULTS / "effort.json"
    cells = read_json(path, {"scores": {}})["scores"]
    for name in arguments.graphs:
        cells[name] = measure(graph_of(name), arguments.turns)
        cells = {graph: cells[graph] for graph in GRAPHS if graph in cells}
        if not arguments.dry:
            write_json(path, {**provenance(1), "scores": cells})
    if not arguments.dry:
        replace_section(ROOT / "docs" / "benchmarks.md", "effort", table(cells))
        draw(cells, ROOT / "docs" / "figures" / "frontier.png")


if __name__ == "__main__":
    main()

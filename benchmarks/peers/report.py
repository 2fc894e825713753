"""Tables and text of `docs/benchmarks.md`, from the result file alone."""

from __future__ import annotations

from typing import Any

from .campaign import PUBLISHED
from .checks import US, WALKERS, all_checks, published, settings_of
from .methods import METHODS

COLUMNS = {
    "seconds": "time (s)",
    "peak_rss": "peak (MiB)",
    "micro_f1": "micro-F1",
    "macro_f1": "macro-F1",
    "nmi": "NMI",
    "auc_random": "AUC",
    "auc_degree": "AUC, matched",
}
# Eight real graphs of different density and size; docs/benchmarks.md has all of them.
README_GRAPHS = (
    *("polblogs", "cora", "citeseer", "ppi"),
    *("wikipedia_pos", "blogcatalog", "pubmed", "dblp_prone"),
)
BUSY = 3.0  # load average from which a time says little: two threads run, and something else
HIGHER = ("micro_f1", "macro_f1", "nmi", "auc_random", "auc_degree")


def seconds(value: float) -> str:
    """Return a time with three digits."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def time_of(cell: dict[str, Any]) -> str:
    """Return the time of a cell; ~ where the machine was busy."""
    return ("~" if cell.get("load", 0.0) > BUSY else "") + seconds(cell["seconds"])


def _cells_in_order(data: dict[str, Any], graph: str) -> list[dict[str, Any]]:
    cells = published(data, graph)
    return [cells[m.name] for m in METHODS if m.name in cells]


def overview(data: dict[str, Any]) -> str:
    """Return one table: micro-F1 and time of every method on every graph."""
    graphs = list(data["cells"])
    best = {g: max((c["micro_f1"] for c in published(data, g).values()), default=0) for g in graphs}
    lines = ["| method | " + " | ".join(graphs) + " |", "|---" * (len(graphs) + 1) + "|"]
    for method in METHODS:
        row = []
        for graph in graphs:
            cell = published(data, graph).get(method.name)
            if cell is None:
                row.append("")
                continue
            score = f"{cell['micro_f1']:.1f}"
            score = f"**{score}**" if cell["micro_f1"] == best[graph] else score
            score += f" ± {cell['micro_f1_spread']:.1f}" if "micro_f1_spread" in cell else ""
            row.append(f"{score}, {time_of(cell)} s")
        if any(row):
            lines.append(f"| {method.name} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def summary(data: dict[str, Any]) -> str:
    """Return a table of at most eight rows: softvec, the best rival and the best walk-based one."""
    lines = [f"Commit {data['commit']}, {data['date']}.", ""] if "commit" in data else []
    lines += ["| graph | softvec | best other | best with sampled walks |", "|---|---|---|---|"]
    for graph in (name for name in README_GRAPHS if name in data["cells"]):
        cells = published(data, graph)
        rivals = [cell for name, cell in cells.items() if name != US]
        walkers = [cell for cell in rivals if cell["method"] in WALKERS]
        if US not in cells or not rivals:
            continue
        top = max(cell["micro_f1"] for cell in cells.values())
        row = []
        for group in ([cells[US]], rivals, walkers):
            best = max(group, key=lambda c: c["micro_f1"], default=None)
            text = "" if best is None else f"{best['micro_f1']:.1f}, {time_of(best)} s"
            text += f" ({best['method']})" if best and best["method"] != US else ""
            row.append(f"**{text}**" if best and best["micro_f1"] == top else text)
        lines.append(f"| {graph}, {data['graphs'][graph]['nodes']:,} nodes | " + " | ".join(row) + " |")
    return "\n".join(lines)


def detail(data: dict[str, Any], graph: str) -> str:
    """Return the table of one graph: every measure of every method at published settings."""
    cells = _cells_in_order(data, graph)
    columns = [key for key in COLUMNS if any(key in cell for cell in cells)]
    top = {key: max(c.get(key, -1.0) for c in cells) for key in columns if key in HIGHER}
    lines = ["| method | " + " | ".join(COLUMNS[key] for key in columns) + " |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    for cell in cells:
        row = []
        for key in columns:
            if key not in cell:
                row.append("")
            elif key == "seconds":
                row.append(time_of(cell))
            elif key == "peak_rss":
                row.append(f"{cell[key] / 2**20:.0f}")
            else:
                row.append(f"**{cell[key]:.1f}**" if cell[key] == top[key] else f"{cell[key]:.1f}")
        lines.append(f"| {cell['method']} | " + " | ".join(row) + " |")
    failed = [c for c in data["cells"][graph].values() if "error" in c and c["variant"] == PUBLISHED]
    lines += [f"\n{c['method']} failed: {c['error'][:150]}" for c in failed]
    return "\n".join(lines)


def best_of_sweep(data: dict[str, Any]) -> str:
    """Return the table of the best setting tried for each method, all methods alike."""
    graphs = [g for g in data["cells"] if any(c["variant"] != PUBLISHED for c in data["cells"][g].values())]
    if not graphs:
        return ""
    found = {
        (m.name, g): max(settings_of(data, g, m.name), key=lambda c: c["micro_f1"], default=None)
        for m in METHODS
        for g in graphs
    }
    best = {g: max((c["micro_f1"] for (_, h), c in found.items() if h == g and c), default=0) for g in graphs}
    lines = ["| method | " + " | ".join(graphs) + " |", "|---" * (len(graphs) + 1) + "|"]
    for method in METHODS:
        row = []
        for graph in graphs:
            cell = found[method.name, graph]
            if cell is None:
                row.append("")
                continue
            text = f"{cell['micro_f1']:.1f}"
            row.append(f"**{text}**" if cell["micro_f1"] == best[graph] else text)
        if any(row):
            lines.append(f"| {method.name} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def environment_table(data: dict[str, Any]) -> str:
    """Return the settings and the version of each rival."""
    lines = ["| method | settings | from | version |", "|---|---|---|---|"]
    for method in METHODS:
        if not any(method.name in published(data, g) for g in data["cells"]):
            continue
        settings = ", ".join(f"{k} {v}" for k, v in method.params.items()) or "defaults"
        key = method.environment or "softvec"
        names = {"gensim": "gensim", "umap": "umap-learn", "edrep": "EDRep"}
        package = names.get(key, key)
        version = data["environments"].get(key, {}).get(package, "")
        version = "our implementation" if method.environment is None and method.name != US else version
        lines.append(f"| {method.name} | {settings} | {method.source} | {version} |")
    return "\n".join(lines)


def render(data: dict[str, Any], figure: str | None) -> str:
    """Return the section of the documentation."""
    machine, protocol = data["machine"], data["protocol"]
    parts = [
        f"Measured on {machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"Python {machine['python']}, commit {data['commit']}, {data['date']}; {data['threads']} threads for "
        f"every method, d = {protocol['d']}. Times exclude imports and compilation, medians of up "
        f"to {protocol['repeats'] * protocol['rounds']} runs in interleaved rounds; slow methods run once; "
        "~ if the machine was busy. "
        f"Scores of softvec are means of {METHODS[0].starts} seeds, with their standard deviation.",
        "### Micro-F1 at half of the labels, and time\n\n" + overview(data),
    ]
    if figure:
        parts.append(f"![Score against time on each graph]({figure})")
    checks = "\n".join(f"- {check}" for check in all_checks(data))
    parts.append("### Targets\n\n" + checks)
    sweep = best_of_sweep(data)
    if sweep:
        parts.append(
            "### Best micro-F1 of a small sweep\n\nThe best of the settings tried for each method, chosen by "
            "the score shown, so it is optimistic for all methods.\n\n" + sweep
        )
    parts.append("### All measurements\n\n" + "\n\n".join(
        f"#### {graph}\n\n{detail(data, graph)}" for graph in data["cells"] if published(data, graph)
    ))  # fmt: skip
    parts.append("### Settings and versions\n\n" + environment_table(data))
    return "\n\n".join(parts)

"""Claims of the README and the site, each with its baseline, data, figures and command: docs/claims.md.

    python -m benchmarks.claims       # writes the page from the recorded results; measures nothing

A claim is a phrase that stands on a page. The README promises nothing that is not here:
``tests/project/test_claims.py`` compares.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.peers.checks import US, published

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "claims.md"


@dataclass(frozen=True)
class Measured:
    """A claim with a figure, from a recorded result."""

    says: str  # the words on the page
    page: str
    baseline: str
    data: str  # and whether it chose a default
    figure: Callable[[], str]
    command: str


@dataclass(frozen=True)
class Tested:
    """A claim that tests hold."""

    says: str
    page: str
    tests: tuple[str, ...]


def _result(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def _experiment(name: str) -> Any:
    return json.loads((ROOT / "experiments" / name / "results" / "full.json").read_text())["summary"]


def _ahead(ours: dict[str, float], others: dict[str, tuple[float, str]], unit: str = "points") -> str:
    """Return how often the first is ahead, and where it is behind by most."""
    gaps = {name: ours[name] - others[name][0] for name in ours if name in others}
    ahead = sum(gap >= 0 for gap in gaps.values())
    text = f"ahead of the best other on {ahead} of {len(gaps)}"
    worst = min(gaps, key=gaps.__getitem__)
    if gaps[worst] < 0:
        text += f"; furthest behind: {worst}, by {-gaps[worst]:.1f} {unit} ({others[worst][1]})"
    return text


def _best(scores: dict[str, float]) -> tuple[float, str]:
    name = max(scores, key=scores.__getitem__)
    return scores[name], name


def classification() -> str:
    """Compare micro-F1 with all other methods at their authors' settings."""
    data = _result("peers")
    cells = {graph: published(data, graph) for graph in data["cells"]}
    cells = {graph: found for graph, found in cells.items() if US in found and len(found) > 1}
    ours = {graph: found[US]["micro_f1"] for graph, found in cells.items()}
    others = {
        graph: _best({name: cell["micro_f1"] for name, cell in found.items() if name != US})
        for graph, found in cells.items()
    }
    return f"micro-F1: {_ahead(ours, others)}"


def links() -> str:
    """Compare the AUC of hidden links with counts and other vectors."""
    lines = []
    for measure, pairs in (("auc_random", "random"), ("auc_degree", "degree-matched")):
        table = {
            graph: {name: cell["mean"] for name, cell in cells.items()}
            for graph, cells in _experiment("links")[measure].items()
        }
        others = {
            graph: _best({name: value for name, value in cells.items() if not name.startswith("softvec")})
            for graph, cells in table.items()
        }
        ours = {graph: cells["softvec for links"] for graph, cells in table.items()}
        lines.append(f'AUC against {pairs} pairs, `view="links"`: {_ahead(ours, others)}')
    return ". ".join(lines)


def groups() -> str:
    """Compare the groups of an unknown number with Leiden's."""
    graphs = _result("groups")["graphs"]
    known = {
        graph: found["methods"] for graph, found in graphs.items() if "ami" in found["methods"]["softvec"]
    }
    ours, others = (
        {graph: 100 * methods[name]["ami"]["median"] for graph, methods in known.items()}
        for name in ("softvec", "Leiden")
    )
    noise = [
        found["methods"]["softvec"]["groups"]["most"] for graph, found in graphs.items() if graph not in known
    ]
    ahead = _ahead(ours, {graph: (ami, "Leiden") for graph, ami in others.items()})
    return f"AMI: {ahead}; no groups in {noise.count(1)} of {len(noise)} random graphs"


def attributes() -> str:
    """Compare graphs fused with attributes with each source alone and with both side by side."""
    scores = {name: dict(found["micro_f1"]) for name, found in _result("attributes")["sets"].items()}
    ours = {name: cells.pop("softvec") for name, cells in scores.items()}
    return f"micro-F1: {_ahead(ours, {name: _best(cells) for name, cells in scores.items()})}"


def linear() -> str:
    """Return how the time of an epoch grows with the number of edges."""
    data = _result("scaling")
    sizes = sorted(int(size) for size in data["sizes"])
    return f"time of an epoch grows as edges^{data['slope']:.2f}, from {sizes[0]:,} to {sizes[-1]:,} nodes"


def fast() -> str:
    """Compare ``effort="fast"`` with FastRP and Cleora."""
    scores = _result("effort")["scores"]
    ours = {graph: cells["softvec fast"]["micro_f1"] for graph, cells in scores.items()}
    others = {
        graph: _best({name: cell["micro_f1"] for name, cell in cells.items() if "softvec" not in name})
        for graph, cells in scores.items()
    }
    dearer = [
        cells["softvec fast"]["cpu_seconds"]
        / min(cell["cpu_seconds"] for name, cell in cells.items() if "softvec" not in name)
        for cells in scores.values()
    ]
    cost = f"{min(dearer):.1f} to {max(dearer):.1f} times the processor time of the fastest other"
    return f"micro-F1: {_ahead(ours, others)}; {cost}"


def epidemics() -> str:
    """Compare the prediction with the infected share among contacts."""
    patterns = _result("epidemics")["mean"]
    rows = {
        f"{pattern}, {observed}": cell
        for pattern, cells in patterns.items()
        for observed, cell in cells.items()
    }
    ours = {name: 100 * cell["auc_prediction"] for name, cell in rows.items()}
    others = {name: (100 * cell["auc_share_of_contacts"], "share of contacts") for name, cell in rows.items()}
    return f"AUC: {_ahead(ours, others)}; vectors add little to contacts"


def two_sided() -> str:
    """Compare held-out pairs of a two-sided table with ALS, SVD and popularity, all at their defaults."""
    methods = _experiment("two_sided")["methods"]
    recall = {name: 100 * found["recall"]["default"]["test"] for name, found in methods.items()}
    best, name = _best({key: value for key, value in recall.items() if key != "softvec"})
    ours = f"recall of held-out words: {recall['softvec']:.1f}%"
    return f"{ours}; best other at its default: {best:.1f}% ({name})"


def recommendations() -> str:
    """Compare the precision of the best ten with popularity, ALS and EASE."""
    rows = {name: row["methods"] for name, row in _result("two_sided")["ratings"].items()}
    precision = {
        name: {key: 100 * cell["precision"] for key, cell in row.items()} for name, row in rows.items()
    }
    ours = {name: cells.pop("softvec") for name, cells in precision.items()}
    return f"precision: {_ahead(ours, {name: _best(cells) for name, cells in precision.items()})}"


def words() -> str:
    """Compare word similarity with gensim's skip-gram and CBOW, mean over the sets of judged pairs."""
    means, cost = {}, {}
    for method, runs in _result("words")["runs"].items():
        means[method] = fmean(median(run["scores"][name] for run in runs) for name in runs[0]["scores"])
        cost[method] = median(run["cpu_seconds"] for run in runs)
    best, name = _best({key: value for key, value in means.items() if key != "softvec"})
    share = cost["softvec"] / cost[name]
    right = {
        method: fmean(score for run in runs for key, score in run["scores"].items() if key.endswith("add"))
        for method, runs in _result("analogies")["runs"].items()
    }
    return (
        f"mean Spearman {means['softvec']:.1f}, gensim at best {best:.1f} ({name}), in {share:.2f} of its "
        f"processor time; analogies: {right['softvec']:.0f}% right, gensim's skip-gram {right['sg5']:.0f}%"
    )


def updates() -> str:
    """Compare an update with a new fit."""
    rows = _result("additions")["updates"].values()
    loss = max(row["exact_loss"]["update"] - row["exact_loss"]["new fit"] for row in rows)
    faster = [row["sooner"] for row in rows]
    return f"{min(faster):.1f} to {max(faster):.1f} times as fast; exact loss at most {loss:.3f} higher"


def kills() -> str:
    """Count what was left after commands were killed."""
    data = _result("kills")
    killed = sum(row["killed"] for row in data["kills"].values())
    return f"{killed} kills at random moments: {len(data['failures'])} damaged or lost files"


MEASURED = (
    Measured(
        "classification", "README.md", "every method of the comparison, and the labels of neighbours",
        "all graphs of the comparison; scores of most were seen while defaults were chosen",
        classification, "python -m benchmarks.peers",
    ),
    Measured(
        "link prediction", "README.md", "counts of shared neighbours, degrees, ProNE, NetMF",
        "seven graphs; inner hidden links choose the view; the three fits and the score saw these splits",
        links, "python -m experiments links",
    ),
    Measured(
        "communities", "README.md", "Leiden (modularity)", "labelled graphs and block models",
        groups, "python -m benchmarks.groups",
    ),
    Measured(
        "in time linear in items and edges", "README.md", "slope 1", "R-MAT graphs, which chose nothing",
        linear, "python -m benchmarks.scaling",
    ),
    Measured(
        "Resume.", "README.md", "the uninterrupted fit", "simulated kills",
        kills, "python tools/kills.py",
    ),
    Measured(
        '`effort="fast"`', "docs/decisions.md", "FastRP, Cleora", "graphs of the comparison",
        fast, "python -m benchmarks.effort",
    ),
    Measured(
        "updates an embedding", "docs/embedding.md", "a new fit", "graphs of the comparison, 1% of the edges",
        updates, "python -m benchmarks.additions",
    ),
    Measured(
        "Attributes of nodes", "README.md",
        "attributes, smoothed attributes, graph, both side by side; on three graphs PANE and FastRP",
        "five graphs, and two with shuffled sources; they were seen while the weights were chosen",
        attributes, "python -m benchmarks.attributes",
    ),
    Measured(
        "the probability that each person", "docs/howto/epidemics.md",
        "infected share among a person's contacts, smoothed in time", "simulated epidemics",
        epidemics, "python -m benchmarks.epidemics",
    ),
    Measured(
        "gensim", "docs/words.md", "gensim's skip-gram and CBOW",
        "novels; the judged pairs also chose our settings", words, "python -m benchmarks.words",
    ),
    Measured(
        "customers and articles", "docs/embedding.md", "ALS, truncated SVD, popularity",
        "passages and words of novels", two_sided, "python -m experiments two_sided",
    ),
    Measured(
        "beside popularity, ALS and EASE", "docs/commands/recommend.md",
        "popularity; ALS and EASE tuned on the training part",
        "MovieLens and clicks, seen while the score was chosen",
        recommendations, "python -m benchmarks.two_sided",
    ),
)  # fmt: skip

TESTED = (
    Tested("Same seed, same vectors", "README.md", ("tests/fit/test_engine.py", "tests/fit/test_views.py")),
    Tested("The true loss", "README.md", ("tests/test_estimator.py",)),
    Tested("More workers or less memory", "README.md", ("tests/cluster", "tests/core/test_disk.py")),
    Tested(
        "Probabilities of links",
        "README.md",
        ("tests/fit/test_calibrate.py", "tests/embedding/test_links.py"),
    ),
    Tested("Stability.", "README.md", ("tests/embedding/test_stability.py",)),
    Tested("Names stay with the vectors", "README.md", ("tests/names", "tests/embedding/test_files.py")),
    Tested("An interactive map in one HTML file", "README.md", ("tests/map",)),
    Tested("No negative sampling, no sampled walks", "README.md", ("tests/fit",)),
    Tested("search", "README.md", ("tests/embedding",)),
    Tested("maps", "README.md", ("tests/map",)),
)


def page() -> str:
    """Return docs/claims.md."""
    lines = [
        "# Claims",
        "",
        "What the README and the site claim, and what shows it. Written by `python -m benchmarks.claims`",
        "from recorded results; a test checks that the README promises nothing else. Where a baseline is",
        "ahead, the row says so.",
        "",
        "| claim | on | baseline | data | figures | command |",
        "|---|---|---|---|---|---|",
    ]
    for one in MEASURED:
        says, page = one.says.strip("."), Path(one.page).stem
        cells = (says, page, one.baseline, one.data, one.figure(), f"`{one.command}`")
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "Held by tests:", "", "| claim | on | tests |", "|---|---|---|"]
    for held in TESTED:
        tests = ", ".join(f"`{path}`" for path in held.tests)
        lines.append(f"| {held.says.strip('.')} | {Path(held.page).stem} | {tests} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)

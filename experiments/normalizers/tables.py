"""The tables of docs/normalizers.md, from the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.common import replace_section
from experiments.normalizers.figure import TITLES, _names, _select

SHORT = {
    "glove6b_50d": "GloVe",
    "googlenews_w2v_300d": "word2vec",
    "fr_fasttext_300d": "fastText",
    "use_lite_tokens": "sentence encoder",
}


def write(found: dict[str, Any], page: Path, more: list[dict[str, Any]]) -> None:
    """Replace the generated sections of the page; ``more`` are results of other vectors."""
    names = _names(found)
    settings = [(name, norms) for name in names for norms in found["config"]["norms"]]
    replace_section(page, "errors", errors(found, settings))
    replace_section(page, "betas", betas(found, settings))
    replace_section(page, "coverage", coverage(found, settings, more))
    replace_section(page, "race", race(found, settings))
    replace_section(page, "ablation", ablation(found, settings))
    replace_section(page, "speed", speed(found))


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _title(name: str, norms: str) -> str:
    return f"{SHORT.get(name, TITLES.get(name, name))}, {norms}"


def _small(value: float) -> str:
    return f"{value:.1e}".replace("e-0", "e-").replace("e+0", "e") if value < 1e5 else "> 1e5"


def errors(found: dict[str, Any], settings: list[tuple[str, str]]) -> str:
    """Median / 95th percentile of |Z - Zest| / m at beta 1, every method."""
    rows = []
    for method, about in found["config"]["methods"].items():
        cells = []
        for name, norms in settings:
            records = _select(found, part="accuracy", embedding=name, norms=norms, beta=1, method=method)
            cells.append(f"{_small(records[0]['median'])} / {_small(records[0]['p95'])}" if records else "-")
        seconds = [
            r["fit"]["cpu_seconds"] + r["query"]["cpu_seconds"]
            for r in _select(found, part="accuracy", norms="unit", beta=1, method=method)
        ]
        star = " *" if about.get("paper") else ""
        rows.append([f"`{method}`{star}", *cells, " / ".join(f"{t:.2g}" for t in seconds)])
    head = ["method (* the paper's setting)", *(_title(*s) for s in settings), "core seconds"]
    return _table(head, rows)


def betas(found: dict[str, Any], settings: list[tuple[str, str]]) -> str:
    """Median relative error of Z in percent at each beta."""
    rows = []
    for method in found["config"]["methods"]:
        for beta in found["config"]["betas"]:
            records = [
                _select(found, part="accuracy", embedding=name, norms=norms, beta=beta, method=method)
                for name, norms in settings
            ]
            if beta == 1 or method == "Exact" or not all(records):
                continue
            cells = [r[0] for r in records]
            rows.append(
                [
                    f"`{method}`",
                    str(beta),
                    *(_percent(c["relative_median"], c["relative_p95"]) for c in cells),
                ]
            )
    table = _table(["method", "beta", *(_title(*s) for s in settings)], rows)
    return f"{table}\n\n{one_percent(found, settings)}"


def one_percent(found: dict[str, Any], settings: list[tuple[str, str]]) -> str:
    """Name the cheapest method whose median error is at most 1% at beta 9 in every setting, and its cost."""
    good = []
    for method in found["config"]["methods"]:
        records = [
            _select(found, part="accuracy", embedding=name, norms=norms, beta=9, method=method)
            for name, norms in settings
        ]
        if method != "Exact" and all(records) and all(r[0]["relative_median"] <= 0.01 for r in records):
            good.append((sum(r[0]["cost"]["query"] for r in records), method, [r[0] for r in records]))
    if not good:
        return "Only the exact sum has a median error of 1% or less at beta 9 in every setting."
    _, method, records = min(good, key=lambda item: item[0])
    parts = []
    for (name, norms), r in zip(settings, records):
        share = r["cost"]["query"] / (r["m"] * r["d"])
        seconds = r["fit"]["cpu_seconds"] + r["query"]["cpu_seconds"]
        parts.append(
            f"{_title(name, norms)}: {100 * r['relative_median']:.2g}%, {seconds:.2g} core seconds, "
            f"{100 * share:.0f}% of the multiply-adds of the exact sum per query"
        )
    return (
        f"The cheapest method with a median error of 1% or less at beta 9 in every setting is `{method}` "
        f"({'; '.join(parts)}; core seconds are those of the fit and 1,000 queries)."
    )


def _percent(median: float, p95: float) -> str:
    texts = [
        "> 999" if v > 9.99 else f"{100 * v:.0f}" if v > 0.095 else f"{100 * v:.2g}" for v in (median, p95)
    ]
    return " / ".join(texts)


def coverage(found: dict[str, Any], settings: list[tuple[str, str]], more: list[dict[str, Any]]) -> str:
    """Share of (query, draw) pairs whose nominal 95% interval holds the exact value."""
    records = [r for content in (found, *more) for r in _select(content, part="coverage")]
    others = [(r["embedding"], r["norms"]) for r in records]
    settings = list(dict.fromkeys([*settings, *others]))
    rows, worst = [], {}
    for method in found["config"]["coverage"]:
        for beta in found["config"]["betas"]:
            where = {"method": method, "beta": beta}
            chosen = [r for r in records if all(r[k] == v for k, v in where.items())]
            by_setting = {(r["embedding"], r["norms"]): r["coverage"] for r in chosen}
            tenths = {
                (r["embedding"], r["norms"]): f" ({100 * min(r['deciles']):.0f})"
                for r in chosen
                if "deciles" in r and r["norms"] != "unit"
            }
            cells = [_share(by_setting.get(s)) + tenths.get(s, "") for s in settings]
            rows.append([f"`{method}`", str(beta), *cells])
            worst[method, beta] = min(by_setting.values()), max(by_setting.values())
    head = [f"method ({records[0]['pairs']:,} pairs each)", "beta", *(_title(*s) for s in settings)]
    main = found["config"]["coverage"][0]
    low = min(worst[main, b][0] for b in found["config"]["betas"] if b <= 9)
    high = max(worst[main, b][1] for b in found["config"]["betas"] if b <= 9)
    least = min(worst[main, b][0] for b in found["config"]["betas"])
    items = found["config"]["coverage_items"]
    text = (
        f"`{main}` at beta 1 to 9: {100 * low:.1f} to {100 * high:.1f}%; minimum over all beta: "
        f"{100 * least:.1f}%. At most {items:,} random items of a set; the queries are not those on which "
        "the fit calibrates its intervals. In brackets: the tenth of the norms that is covered least. "
        "The sentence encoder was measured with one factor for all norms."
    )
    return f"{_table(head, rows)}\n\n{text}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"


def ablation(found: dict[str, Any], settings: list[tuple[str, str]]) -> str:
    """Median / 95th percentile of the relative error in percent, and coverage, with one idea left out."""
    rows = []
    for beta in found["config"]["ablation_betas"]:
        for change in dict.fromkeys(r["change"] for r in _select(found, part="ablation")):
            cells = [
                _select(found, part="ablation", embedding=name, norms=norms, beta=beta, change=change)
                for name, norms in settings
            ]
            rows.append(
                [
                    change,
                    str(beta),
                    *(
                        f"{_percent(c['relative_median'], c['relative_p95'])}, {100 * c['coverage']:.0f}%"
                        if c
                        else "-"
                        for c in (cell[0] if cell else None for cell in cells)
                    ),
                ]
            )
    return _table(["change", "beta", *(_title(*s) for s in settings)], rows)


def race(found: dict[str, Any], settings: list[tuple[str, str]]) -> str:
    """Median seconds of fitting and 1,000 queries, in turn; core seconds in brackets; and the errors."""
    rows = []
    for method in found["config"]["race"]:
        cells = []
        for name, norms in settings:
            t = _select(found, part="race", embedding=name, norms=norms)[0]["times"][method]
            p95 = _select(found, part="accuracy", embedding=name, norms=norms, beta=1, method=method)[0][
                "p95"
            ]
            core = t["fit_cpu_seconds"] + t["query_cpu_seconds"]
            cells.append(f"{t['total_seconds']['median']:.2f} ({core:.2f}), {_small(p95)}")
        rows.append([f"`{method}`", *cells])
    return _table(["seconds (core seconds), 95th percentile", *(_title(*s) for s in settings)], rows)


def speed(found: dict[str, Any]) -> str:
    """The mixture against its products, the exact sum against NumPy."""
    lines = []
    for r in _select(found, part="mixture speed"):
        lines.append(
            f"- `GaussianMixture({r['k']})`, log Z of n = {r['n']:,} items, d = {r['d']}: "
            f"{r['log_partition']['median']:.2f} s against {r['products']['median']:.2f} s for the {r['k']} "
            f"matrix products alone; median of the ratios of {len(r['products']['values'])} rounds: "
            f"{r['ratio']:.2f}."
        )
    for r in _select(found, part="exact speed"):
        whole = r["whole_run"]
        lines.append(
            f"- `Exact`, {r['n']:,} x {r['m']:,}, d = {r['d']}: {r['times_faster']:.1f} times as fast as a "
            f"blocked NumPy logsumexp in the same run ({r['softvec']['median']:.2f} s against "
            f"{r['numpy']['median']:.2f} s, largest difference {r['difference']:.0e}); "
            f"{whole['n']:,} x {whole['n']:,} takes {whole['seconds']:.0f} s and "
            f"{whole['peak_bytes'] / 1e9:.2f} GB."
        )
    machine = found["provenance"]["machine"]
    lines.append(f"- Machine: {machine['processor']}, {machine['cores']} cores, shared with other work.")
    return "\n".join(lines)

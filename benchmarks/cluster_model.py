"""A model of time and memory of an epoch on a cluster, from what was measured on one machine.

    python -m benchmarks.cluster_model

An epoch of a worker computes on its rows and entries, and waits for its halo. Where halos arrive in rounds,
by the rule of the code, all rounds but the first arrive while the one before is multiplied. The rates come
from benchmarks/results/scaling.json (gather by entry and the rest by row, at the largest size measured) and
benchmarks/results/cluster.json (what two ranks of MPI lose to the exchange on one machine, which also checks
the model). Halos are those of rows dealt out at random: a worker needs row j unless none of its deg(j)
neighbours is its own. Degrees are those of an R-MAT graph with ten edges a node. Writes
benchmarks/results/cluster_model.json and the tables of docs/scaling.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common import RESULTS, ROOT, provenance, read_json, replace_section, write_json
from softvec.cluster.rounds import Counts, cuts, pays

D, EDGES, CORES = 128, 10, 16
NETWORKS = (10, 25, 100)  # Gbit/s
MACHINES = (8, 16, 64)
NODES = (10**8, 10**9)
HALF, SINGLE = 2, 4  # bytes of a number


def halo(degrees: np.ndarray, workers: int) -> float:
    """Return the remote rows that a worker needs, over those it owns, for rows dealt out at random."""
    return float((workers - 1) * (1 - (1 - 1 / workers) ** degrees).mean())


def rates(scaling: dict[str, Any]) -> dict[str, float]:
    """Return core seconds of an entry's gather and of a row's other work, at the largest size measured."""
    size = max(scaling["sizes"].values(), key=lambda size: size["n"])
    threads = scaling["threads"]
    return {
        "entry": threads * size["gather"] / size["nnz"],
        "row": threads * (size["epoch"] - size["gather"]) / size["n"],
    }


def epoch(n: float, entries: float, share: float, machines: int, rate: dict[str, float], gbit: float) -> dict:
    """Return seconds and bytes of a machine in one epoch of walks of one step."""
    rows = n / machines
    gather = entries / machines * rate["entry"] / CORES
    compute = gather + rows * rate["row"] / CORES
    sent = share * rows * D * HALF
    counts = Counts(int(rows), int(rows), int(share * rows))
    rounds = len(cuts(D)) - 1 if pays([counts], D, np.uint16) else 1
    held = counts.held(D, np.uint16, in_rounds=rounds > 1)
    memory = rows * D * (SINGLE + 2 * HALF) + entries / machines * 8 + held
    exchange = sent / (gbit * 1e9 / 8)
    by_dimension = 2 * rows * (1 - 1 / machines) * D * SINGLE  # rows to all, products back, each in float32
    return {
        "compute": compute,
        "exchange": exchange,
        "rounds": rounds,
        "waits": (exchange + (rounds - 1) * max(0.0, exchange - gather)) / rounds,
        "sent": sent,
        "memory": memory,
        "split_d_exchange": by_dimension / (gbit * 1e9 / 8),
        "split_d_memory": n * D / machines * (SINGLE + 2 * HALF) + entries * 4,
    }


def check(cluster: dict[str, Any]) -> dict[str, float]:
    """Predict two MPI ranks at three steps from one process and from the exchange at one step."""
    one, three = ({row["engine"]: row["seconds"] for row in cluster["walks"][walk]} for walk in ("1", "3"))
    lost = one["MPI"] - one["one process"] / 2
    return {"lost": lost, "predicted": three["one process"] / 2 + 3 * lost, "measured": three["MPI"]}


def table(result: dict[str, Any]) -> str:
    """Return the section of docs/scaling.md."""
    lines = [
        f"Assumptions: {CORES} cores per machine, each as fast as ours; d = {D}, {EDGES} edges per node, "
        "walks of one step, rows assigned at random. Not measured beyond two workers on one machine.",
        "",
        "| nodes | machines | halo / own rows | memory per machine | compute | exchange at "
        + " / ".join(map(str, NETWORKS)) + " Gbit/s | rounds | waits | with d split: exchange, memory |",
        "|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for row in result["rows"]:
        exchange, waits, split = (
            " / ".join(f"{value:.1f}" for value in row[key])
            for key in ("exchange", "waits", "split_d_exchange")
        )
        lines.append(
            f"| {row['nodes']:.0e} | {row['machines']} | {row['halo']:.1f} | {row['memory'] / 2**30:.0f} GiB "
            f"| {row['compute']:.1f} s | {exchange} s | {row['rounds']} | {waits} s "
            f"| {split} s, {row['split_d_memory'] / 2**30:.0f} GiB |"
        )
    found = result["check"]
    lines += [
        "",
        f"Check: for two ranks and walks of three steps, one process and the exchange at one step predict "
        f"{found['predicted']:.2f} s per epoch; measured: {found['measured']:.2f} s.",
    ]
    return "\n".join(lines)


def main() -> None:
    """Compute the model from the recorded measurements."""
    from benchmarks.rmat import rmat

    degrees = np.diff(rmat(1_000_000, EDGES * 1_000_000, random_state=0).indptr)
    rate, rows = rates(read_json(RESULTS / "scaling.json")), []
    for nodes in NODES:
        for machines in MACHINES:
            share = halo(degrees, machines)
            entries = 2.0 * EDGES * nodes
            by_network = [epoch(nodes, entries, share, machines, rate, gbit) for gbit in NETWORKS]
            first = by_network[0]
            rows.append(
                {
                    "nodes": nodes, "machines": machines, "halo": share,
                    **{key: first[key] for key in ("compute", "sent", "memory", "rounds", "split_d_memory")},
                    **{
                        key: [costs[key] for costs in by_network]
                        for key in ("exchange", "waits", "split_d_exchange")
                    },
                }
            )  # fmt: skip
    result = {"rates": rate, "rows": rows, "check": check(read_json(RESULTS / "cluster.json"))}
    write_json(RESULTS / "cluster_model.json", {**provenance(1), **result})
    replace_section(ROOT / "docs" / "scaling.md", "cluster-model", table(result))
    print(table(result))


if __name__ == "__main__":
    main()

"""A model of time and memory of an epoch on a cluster, from what was measured on one machine.

    python -m benchmarks.cluster_model

An epoch of a worker computes on its rows and entries, and waits for its halo. Where halos arrive in rounds,
by the rule of the code, all rounds but the first arrive while the one before is multiplied. The rates come
from benchmarks/results/scaling.json (gather by entry and the rest by row, at the largest size measured) and
benchmarks/results/cluster.json (what two ranks of MPI lose to the exchange on one machine, which also checks
the model). Halos are those of rows dealt out at random: a worker needs row j unless none of its deg(j)
neighbours is its own. Degrees are those of an R-MAT graph with ten edges a node.

Efficiency is compute over the whole epoch. Two ranks on one machine say how fast an engine exchanges
vectors, copies and waits included; the speed of the wire is shown beside it. Sizes up to the largest
published graphs use what was measured. Writes benchmarks/results/cluster_model.json and the tables of
docs/scaling.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common import RESULTS, ROOT, provenance, read_json, replace_section, write_json
from softvec.cluster.halo import Counts, cuts, pays

D, EDGES, CORES = 128, 10, 16
NETWORKS = (10, 25, 100)  # Gbit/s
MACHINES = (8, 16, 64)
NODES = (10**8, 10**9)
HALF, SINGLE = 2, 4  # bytes of a number
EPOCHS, MEMORY = 12, 0.8 * 256 * 2**30  # of a default fit of a graph; what a machine of 256 GiB gives
RECORDS = {  # nodes, edges, dimension: published embeddings of the largest graphs
    "10 million nodes": (10**7, 10**8, 128),
    "100 million nodes": (10**8, 10**9, 128),
    "Friendster (GraphVite)": (65_608_366, 1_806_067_135, 96),
    "Freebase (PyTorch-BigGraph)": (121_216_723, 2_725_070_599, 100),
    "ClueWeb (LightNE)": (978_408_098, 74_744_358_622, 32),
    "Hyperlink 2014 (LightNE)": (1_724_573_718, 124_141_874_032, 32),
}


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


def reached(cluster: dict[str, Any]) -> dict[str, float]:
    """Return the Gbit/s at which each engine brings a halo to one of two workers, of walks of one step."""
    rows = {row["engine"]: row for row in cluster["walks"]["1"]}
    half = rows["one process"]["seconds"] / 2
    return {
        engine: rows[engine]["bytes"] / 2 * 8 / 1e9 / (rows[engine]["seconds"] - half)
        for engine in ("MPI", "Ray")
    }


def sizing(degrees: np.ndarray, rate: dict[str, float], speed: dict[str, float]) -> list[dict[str, Any]]:
    """Return the fewest machines, a power of two, whose memory holds each graph, and what a fit takes."""
    rows: list[dict[str, Any]] = []
    for name, (nodes, edges, d) in RECORDS.items():
        for machines in (2**k for k in range(12)):
            share = halo(degrees * (edges / nodes / EDGES), machines)
            at = epoch(nodes, 2.0 * edges, share, machines, rate, min(10, speed["MPI"]), d)
            if at["memory"] <= MEMORY:
                break
        seconds = at["compute"] + at["waits"]
        rows.append(
            {
                "name": name, "nodes": nodes, "edges": edges, "d": d, "machines": machines,
                "memory": at["memory"], "driver": 2.0 * edges * 8 + nodes * d * SINGLE,
                "efficiency": at["compute"] / seconds, "hours": EPOCHS * seconds / 3600,
            }
        )  # fmt: skip
    return rows


def table_of_sizes(result: dict[str, Any]) -> str:
    """Return the section on sizing of docs/scaling.md."""
    speed = result["speed"]
    lines = [
        f"Machines of 256 GiB, of which four fifths are used, and {CORES} cores; {EPOCHS} epochs of walks of "
        "one step, without reading and writing; rows assigned at random, the most that is exchanged. MPI at "
        f"the {speed['MPI']:.1f} Gbit/s that two ranks were measured to reach on one machine (Ray: "
        f"{speed['Ray']:.1f}). Computed, not run, beyond two workers.",
        "",
        "| graph | nodes | edges | d | machines | memory of each | efficiency | hours | machine hours "
        "| driver holds at least |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for row in result["sizing"]:
        hours = row["hours"]
        lines.append(
            f"| {row['name']} | {row['nodes']:.2g} | {row['edges']:.2g} | {row['d']} | {row['machines']} "
            f"| {row['memory'] / 2**30:.0f} GiB | {100 * row['efficiency']:.0f}% | {hours:.2g} "
            f"| {hours * row['machines']:.2g} | {row['driver'] / 2**30:.0f} GiB |"
        )
    return "\n".join(lines)


def epoch(
    n: float, entries: float, share: float, machines: int, rate: dict[str, float], gbit: float, d: int = D
) -> dict[str, float]:
    """Return seconds and bytes of a machine in one epoch of walks of one step; work is linear in d."""
    rows = n / machines
    gather = entries / machines * rate["entry"] / CORES * d / D
    compute = gather + rows * rate["row"] / CORES * d / D
    sent = share * rows * d * HALF
    counts = Counts(int(rows), int(rows), int(share * rows))
    rounds = len(cuts(d)) - 1 if pays([counts], d, np.uint16) else 1
    held = counts.held(d, np.uint16, in_rounds=rounds > 1)
    memory = rows * d * (SINGLE + 2 * HALF) + entries / machines * 8 + held
    exchange = sent / (gbit * 1e9 / 8)
    by_dimension = 2 * rows * (1 - 1 / machines) * d * SINGLE  # rows to all, products back, each in float32
    return {
        "compute": compute,
        "exchange": exchange,
        "rounds": rounds,
        "waits": (exchange + (rounds - 1) * max(0.0, exchange - gather)) / rounds,
        "sent": sent,
        "memory": memory,
        "split_d_exchange": by_dimension / (gbit * 1e9 / 8),
        "split_d_memory": n * d / machines * (SINGLE + 2 * HALF) + entries * 4,
    }


def check(cluster: dict[str, Any]) -> dict[str, float]:
    """Predict two MPI ranks at three steps from one process and from the exchange at one step."""
    one, three = ({row["engine"]: row["seconds"] for row in cluster["walks"][walk]} for walk in ("1", "3"))
    lost = one["MPI"] - one["one process"] / 2
    return {"lost": lost, "predicted": three["one process"] / 2 + 3 * lost, "measured": three["MPI"]}


def table(result: dict[str, Any]) -> str:
    """Return the section of docs/scaling.md."""
    measured = f"{result['speed']['MPI']:.1f}"
    lines = [
        f"Assumptions: {CORES} cores per machine, each as fast as ours; d = {D}, {EDGES} edges per node, "
        "walks of one step, rows assigned at random. "
        f"{measured} Gbit/s is what MPI reaches between two ranks on one machine, copies and waits included; "
        "the others are the speed of the wire, which it would have to fill. Not measured beyond two workers "
        "on one machine.",
        "",
        "| nodes | machines | halo / own rows | memory per machine | compute | exchange at "
        + " / ".join([measured, *map(str, NETWORKS)]) + " Gbit/s | rounds | waits | efficiency | "
        "machine hours of 12 epochs | with d split: exchange, memory |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for row in result["rows"]:
        epochs = [row["compute"] + waits for waits in row["waits"]]
        efficiency = " / ".join(f"{100 * row['compute'] / seconds:.0f}" for seconds in epochs)
        hours = " / ".join(f"{EPOCHS * seconds * row['machines'] / 3600:.2g}" for seconds in epochs)
        exchange, waits, split = (
            " / ".join(f"{value:.1f}" for value in row[key])
            for key in ("exchange", "waits", "split_d_exchange")
        )
        lines.append(
            f"| {row['nodes']:.0e} | {row['machines']} | {row['halo']:.1f} | {row['memory'] / 2**30:.0f} GiB "
            f"| {row['compute']:.1f} s | {exchange} s | {row['rounds']} | {waits} s "
            f"| {efficiency}% | {hours} | {split} s, {row['split_d_memory'] / 2**30:.0f} GiB |"
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
    cluster = read_json(RESULTS / "cluster.json")
    rate, speed, rows = rates(read_json(RESULTS / "scaling.json")), reached(cluster), []
    for nodes in NODES:
        for machines in MACHINES:
            share = halo(degrees, machines)
            entries = 2.0 * EDGES * nodes
            by_network = [
                epoch(nodes, entries, share, machines, rate, gbit) for gbit in (speed["MPI"], *NETWORKS)
            ]
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
    result = {"rates": rate, "speed": speed, "rows": rows, "check": check(cluster)}
    result["sizing"] = sizing(degrees, rate, speed)
    write_json(RESULTS / "cluster_model.json", {**provenance(1), **result})
    replace_section(ROOT / "docs" / "scaling.md", "cluster-model", table(result))
    replace_section(ROOT / "docs" / "scaling.md", "sizing", table_of_sizes(result))
    print(table(result), table_of_sizes(result), sep="\n\n")


if __name__ == "__main__":
    main()

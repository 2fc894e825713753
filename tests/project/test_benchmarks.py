"""The benchmark against the field, on a tiny graph and with the methods that need no environment."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import expm, sqrtm

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import common  # noqa: E402
from benchmarks.peers import __main__ as peers  # noqa: E402
from benchmarks.peers import (  # noqa: E402
    campaign,
    checks,
    environments,
    graphs,
    methods,
    netmf,
    prone,
    report,
    runner,
    scoring,
)


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Put a ring of cliques where the benchmark looks for the karate club."""
    home = tmp_path / "data" / "graphs"
    home.mkdir(parents=True)
    sp.save_npz(home / "karate.npz", sp.csr_matrix(runner.tiny_graph()))
    np.save(home / "karate_labels.npy", np.repeat(np.arange(8), 8))
    monkeypatch.setenv("SOFTVEC_DATA", str(home.parent))
    return home


def two_blocks(n=60, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    chance = np.where(labels[:, None] == labels[None, :], 0.5, 0.05)
    A = np.triu(rng.random((n, n)) < chance, 1).astype(float)
    return sp.csr_array(A + A.T), labels


class TestCommon:
    def test_interleaved_rounds_go_in_turn(self):
        order = []
        times = common.interleave({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, repeats=2)
        assert order == ["a", "b"] * 3
        assert [len(values) for values in times.values()] == [2, 2]
        assert common.summary([3.0, 1.0, 2.0])["median"] == 2.0

    def test_json_round_trip_leaves_no_draft(self, tmp_path):
        path = tmp_path / "new" / "x.json"
        common.write_json(path, {"a": [1, 2]})
        assert common.read_json(path) == {"a": [1, 2]}
        assert [p.name for p in path.parent.iterdir()] == ["x.json"]
        assert common.read_json(tmp_path / "none.json", 7) == 7

    def test_section_is_replaced_and_the_rest_stays(self, tmp_path):
        page = tmp_path / "page.md"
        page.write_text("# Title\n\n<!-- t:begin -->\nold\n<!-- t:end -->\ntail\n")
        common.replace_section(page, "t", "new")
        assert page.read_text() == "# Title\n\n<!-- t:begin -->\nnew\n<!-- t:end -->\ntail\n"
        common.replace_section(page, "u", "more")
        assert page.read_text().endswith("tail\n\n<!-- u:begin -->\nmore\n<!-- u:end -->\n")

    def test_provenance_and_fingerprint(self, tmp_path):
        header = common.provenance(2)
        assert {"machine", "commit", "threads", "versions"} <= set(header)
        assert header["machine"]["cores"] >= 1
        assert common.peak_rss() > 1 << 20
        file = tmp_path / "a.py"
        file.write_text("x = 1\n")
        before = common.fingerprint(tmp_path)
        assert before == common.fingerprint(tmp_path)
        file.write_text("x = 2\n")
        assert before != common.fingerprint(tmp_path)

    def test_threads_are_pinned(self):
        assert common.pinned(2)["OPENBLAS_NUM_THREADS"] == "2"


class TestProNE:
    def test_singular_values_are_those_of_numpy(self):
        rng = np.random.default_rng(0)
        M = sp.random_array((80, 60), density=0.2, random_state=rng, format="csr")
        U, s = prone.randomized_svd(M, 10, rng, power=12)
        expected = np.linalg.svd(M.toarray(), compute_uv=False)[:10]
        np.testing.assert_allclose(s, expected, rtol=1e-4)
        np.testing.assert_allclose(U.T @ U, np.eye(10), atol=1e-10)

    def test_filter_is_the_matrix_exponential(self):
        A, _ = two_blocks()
        n, mu, theta = A.shape[0], 0.2, 0.5
        R = np.random.default_rng(1).standard_normal((n, 4)).astype(np.float32)
        loops = A.toarray() + np.eye(n)
        M = np.eye(n) - loops / loops.sum(axis=1, keepdims=True) - mu * np.eye(n)
        exact = loops @ (R - expm(-theta * (M @ M / 2 - np.eye(n))) @ R)
        found = prone.propagate(A, R, order=10, mu=mu, theta=theta)
        np.testing.assert_allclose(found, exact, rtol=2e-4, atol=2e-4)

    def test_factorised_entries(self):
        A, _ = two_blocks(20)
        dense = A.toarray()
        P = dense / dense.sum(axis=1, keepdims=True)
        reach = P.sum(axis=0) ** 0.75
        with np.errstate(divide="ignore"):
            M = np.where(dense > 0, np.log(P) - np.log(reach / reach.sum()), 0)
        R = prone.factorize(A, 20, np.random.default_rng(0))
        U, s, _ = np.linalg.svd(M)
        expected = prone.unit(U * np.sqrt(s))
        np.testing.assert_allclose(np.abs(R), np.abs(expected), atol=1e-2)


class TestNetMF:
    def test_vectors_factorise_the_log_matrix(self):
        A, _ = two_blocks(30)
        dense, window = A.toarray(), 3
        degree = dense.sum(axis=1)
        walk = dense / degree[:, None]
        powers = sum(np.linalg.matrix_power(walk, r) for r in range(1, window + 1))
        M = np.log(np.maximum(dense.sum() / window * powers / degree[None, :], 1))
        X = netmf.embed(A, 30, window=window)
        np.testing.assert_allclose(X @ X.T, np.real(sqrtm(M @ M.T)), atol=2e-3)

    def test_eigenpairs_approximate_the_sum_of_powers(self):
        A, labels = two_blocks(80)
        exact = netmf.embed(A, 2, window=10)
        close = netmf.embed(A, 2, window=10, rank=40, exact_below=0)
        for X in (exact, close):
            assert np.corrcoef(X[:, 1], labels)[0, 1] ** 2 > 0.7
        assert abs(np.corrcoef(exact[:, 1], close[:, 1])[0, 1]) > 0.9


class TestRun:
    def test_quick_run_on_a_tiny_graph_and_resume(self, data, tmp_path, monkeypatch, capsys):
        output = tmp_path / "out" / "peers.json"
        words = ["--quick", "--graphs", "karate", "--methods", "prone", "netmf t=1", "--output", str(output)]
        assert peers.main(words) == 0
        cells = json.loads(output.read_text())["cells"]["karate"]
        assert [cell["method"] for cell in cells.values()] == ["ProNE", "NetMF T=10", "NetMF T=1"]
        for cell in cells.values():
            assert "error" not in cell
            assert cell["micro_f1"] > 60
            assert cell["nmi"] > 50
            assert 0 <= cell["auc_random"] <= 100
            assert cell["seconds"] > 0
            assert cell["peak_rss"] > 1 << 24
        assert (output.parent / "peers.png").stat().st_size > 1000
        assert (output.parent / "peers-plots" / "karate.png").exists()
        assert "ProNE" in capsys.readouterr().out

        def refuse(*_):
            raise AssertionError("a finished cell was run again")

        monkeypatch.setattr(campaign.Bench, "child", refuse)
        assert peers.main(words) == 0

    def test_runner_embeds_with_softvec(self, data, tmp_path):
        bench = campaign.Bench(campaign.Campaign(tmp_path / "x.json"), graphs.load("karate"), tmp_path)
        ours = methods.METHODS[0]
        result, X = bench.child(ours, ours.params, bench.whole, 1)
        assert ours.name == checks.US
        assert X.shape == (64, 16)
        assert result["not_finite_rows"] == 0

    def test_failure_of_a_rival_is_recorded(self, data, tmp_path):
        bench = campaign.Bench(campaign.Campaign(tmp_path / "x.json"), graphs.load("karate"), tmp_path)
        broken = methods.Method("broken", None, "netmf", {"window": "ten"})
        cell = bench.cell(broken, campaign.PUBLISHED, broken.params)
        assert "TypeError" in cell["error"]

    def test_mistakes_end_in_one_line(self, data, tmp_path):
        with pytest.raises(SystemExit, match="no graph is called nowhere"):
            peers.main(["--graphs", "nowhere"])
        with pytest.raises(SystemExit, match="no method is called nothing"):
            peers.main(["--quick", "--methods", "nothing", "--output", str(tmp_path / "x.json")])
        with pytest.raises(SystemExit, match="holds no results"):
            peers.main(["--report", "--output", str(tmp_path / "x.json")])

    def test_registry_is_whole(self):
        from benchmarks.peers import adapters

        names = [method.name for method in methods.METHODS]
        assert len(set(names)) == len(names)
        for method in methods.METHODS:
            assert method.adapter == methods.VOTES or hasattr(adapters, method.adapter)
            assert method.environment is None or method.environment in environments.ENVIRONMENTS
            assert method.source


def test_votes_need_no_vectors():
    labels = np.arange(60) % 2
    A = sp.csr_array((labels[:, None] == labels[None]).astype(float) - np.eye(60))
    clear = scoring.neighbour_votes(graphs.Graph("two cliques", A, labels), repeats=3)
    assert clear["micro_f1_splits"] == [100.0] * 3
    apart = sp.csr_array((60, 60))
    lost = scoring.neighbour_votes(
        graphs.Graph("no edges", apart, np.r_[np.zeros(40, int), np.ones(20, int)]), repeats=3
    )
    assert 50 < lost["micro_f1"] < 85  # the commonest class for all


def test_starts_are_averaged():
    cells = [
        {"micro_f1": 1.0, "micro_f1_splits": [0.0, 2.0]},
        {"micro_f1": 3.0, "micro_f1_splits": [2.0, 4.0]},
    ]
    mean = scoring.mean_of_starts(cells)
    assert (mean["micro_f1"], mean["micro_f1_splits"]) == (2.0, [1.0, 3.0])
    assert mean["micro_f1_spread"] == pytest.approx(np.sqrt(2))


def cell(method, seconds, splits, variant=campaign.PUBLISHED):
    return {
        "method": method, "variant": variant, "seconds": seconds, "peak_rss": 1 << 27,
        "micro_f1": float(np.mean(splits)), "macro_f1": 1.0, "micro_f1_splits": splits,
    }  # fmt: skip


def results(*cells, graph="ppi"):
    return {"cells": {graph: {f"{c['method']} | {c['variant']}": c for c in cells}}}


def test_anchors_score_at_their_own_shares_of_labels(data, monkeypatch, tmp_path):
    from benchmarks import anchors

    monkeypatch.setattr(anchors, "RATIOS", {"karate": (0.25, 0.75)})
    ours = methods.Method("softvec", None, "softvec", starts=2)
    scores = anchors.measure(graphs.load("karate"), ours, tmp_path)
    assert set(scores) == {"0.25", "0.75"}
    assert scores["0.75"]["micro_f1"] > 80
    assert len(scores["0.25"]["micro_f1_starts"]) == 2
    votes = anchors.measure(graphs.load("karate"), methods.METHODS[2], tmp_path)
    assert votes["0.75"]["micro_f1"] > votes["0.25"]["micro_f1"]
    row = {"0.25": {"micro_f1": 80.0, "macro_f1": 70.0}, "0.75": {"micro_f1": 90.0, "macro_f1": 85.0}}
    worse = {ratio: {key: value - 5 for key, value in entry.items()} for ratio, entry in row.items()}
    cells = {"karate": {"ProNE": row, "softvec": worse}}
    shown = anchors.table({"cells": cells, "published": {"micro_f1": {}}}, ["karate"])
    assert "| ProNE | **80.0** / 70.0 | **90.0** / 85.0 |" in shown
    assert "0 of 2 columns; a rival is ahead on karate at 25% (ProNE, by 5.0)" in anchors.verdict(
        {"cells": cells}
    )


class TestChecks:
    def test_a_faster_and_better_rival_is_told(self):
        rows = [cell("softvec", 1.0, [50, 52]), cell("ProNE", 0.5, [53, 54])]
        found, clear = checks.undominated(results(*rows))
        assert found.holds is clear.holds is False
        assert "ProNE +2.50" in found.evidence
        assert "FAILS" in str(found)

    def test_a_slower_or_worse_rival_is_none(self):
        rows = [cell("softvec", 1.0, [50, 52]), cell("ProNE", 2.0, [53, 54]), cell("FastRP", 0.1, [40, 41])]
        assert all(found.holds for found in checks.undominated(results(*rows)))

    def test_a_difference_within_its_error_is_told_apart(self):
        rows = [cell("softvec", 1.0, [50, 54]), cell("ProNE", 0.5, [53, 52])]
        found, clear = checks.undominated(results(*rows))
        assert found.holds is False
        assert clear.holds is True

    @pytest.mark.parametrize(
        ("score", "holds"),
        [(54.1, [True] * 3), (53.6, [False, True, True]), (53.4, [False, False, True]), (52.9, [False] * 3)],
    )
    def test_best_half_a_point_and_one_point_behind(self, score, holds):
        rows = [cell("softvec", 1.0, [score]), cell("ProNE", 2.0, [54.0])]
        assert [check.holds for check in checks.near_best(results(*rows))] == holds

    def test_floors(self):
        blog, ppi, *_ = checks.floors(results(cell("softvec", 1.0, [25.3])))
        assert blog.holds is None
        assert ppi.holds is True

    def test_walk_speedup_needs_the_score(self):
        rows = [
            cell("softvec", 0.1, [25.0]),
            cell("PecanPy", 20.0, [24.0]),
            cell("fastnode2vec", 20.0, [26.0]),
        ]
        rows.append(cell("softvec", 0.15, [26.5], variant="{}"))
        defaults, any_setting = checks.walk_speedup(results(*rows))
        assert defaults.holds is False
        assert "fastnode2vec score not reached" in defaults.evidence
        assert any_setting.holds is True

    def test_report_has_every_method_and_marks_the_best(self):
        header = {**common.provenance(2), "protocol": vars(campaign.Protocol()), "environments": {}}
        rows = [cell("softvec", 1.0, [50.0]), cell("ProNE", 2.0, [54.0])]
        rows += [cell("ProNE", 2.0, [55.0], variant="{}")]
        text = report.render({**header, **results(*rows)}, "figures/peers.png")
        assert "| ProNE | **54.0**, 2 s |" in text
        assert "| ProNE | **55.0** |" in text
        assert "[FAILS] best micro-F1 on half of the graphs" in text

    def test_summary_says_where_a_rival_is_better(self):
        rows = [cell("softvec", 1.0, [50.0]), cell("ProNE", 2.0, [54.0]), cell("PecanPy", 20.0, [49.0])]
        text = report.summary({"graphs": {"ppi": {"nodes": 3890}}, **results(*rows)})
        expected = "50.0, 1 s | **54.0, 2 s (ProNE)** | 49.0, 20 s (PecanPy) |"
        assert text.splitlines()[-1] == f"| ppi, 3,890 nodes | {expected}"

    def test_the_table_of_the_readme_is_that_of_the_results(self):
        text = report.summary(json.loads((common.RESULTS / "peers.json").read_text()))
        assert text in (ROOT / "README.md").read_text()
        assert len([line for line in text.splitlines() if " nodes |" in line]) <= 8

"""What commands print and write in cases at the edge: names that are numbers, few vectors, quiet, pipes."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest

from softvec.cli.terminal import Session
from softvec.core.errors import printable
from softvec.embedding import Embedding

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def call(run_command):
    return run_command


def vectors(n, d=4, names=None, **more):
    return Embedding(np.random.default_rng(0).standard_normal((n, d)), names, **more)


def test_numbers_as_names_are_printed_as_they_are_typed(call):
    vectors(3000).save("v.svec")
    out, _ = call("neighbors", "v.svec", 1234, "-n", 2999)
    assert {int(line.split("\t")[0]) for line in out.splitlines()} == set(range(3000)) - {1234}
    assert call("similarity", "v.svec", 1234, 5)[0].startswith("1234\t5\t")


def test_info_prints_seeds_as_they_are_typed(call):
    vectors(3, provenance={"parameters": {"seed": 1015174337, "n_components": 4}}).save("v.svec")
    assert "seed 1015174337" in call("info", "v.svec")[0]


def test_quiet_silences_warnings(call, folder):
    vectors(4, names=list("abcd")).save("v.svec")
    (folder / "l.tsv").write_text("a\tx\nb\ty\nc\tx\nd\ty\nnobody\tx\n")
    assert "note: 1 name in l.tsv without a vector" in call("evaluate", "v.svec", "l.tsv")[1]
    assert call("evaluate", "v.svec", "l.tsv", "-q")[1] == ""
    (folder / "e.txt").write_text("a b\nb c\nc a\nc d\n")
    words = ("embed", "e.txt", "-d", 4, "--epochs", 0, "--beta", 20, "--seed", 0)
    assert "note: the normaliser is off" in call(*words)[1]
    assert call(*words, "--quiet") == ("", "")


def test_one_is_not_many(call, folder):
    vectors(4, names=list("abcd")).save("v.svec")
    (folder / "l.tsv").write_text("a\tx\nb\tx\nc\tx\nd\tx\n")
    assert "1 community of 4\n" in call("communities", "v.svec", "-k", 1)[1]
    (folder / "l.tsv").write_text("a\tx\nb\tx\nc\ty\nd\ty\n")
    assert "4 of 4 items labelled, 2 classes, one label each" in call("evaluate", "v.svec", "l.tsv")[1]


def test_convert_counts_the_vectors_of_the_side_it_writes(call):
    context = np.random.default_rng(1).standard_normal((5, 4))
    vectors(3, names=list("abc"), context_vectors=context).save("v.svec")
    assert "5 vectors -> c.npy" in call("convert", "v.svec", "c.npy", "--side", "context")[1]
    assert "3 vectors -> r.npy" in call("convert", "v.svec", "r.npy", "--side", "rows")[1]
    assert json.loads(call("convert", "v.svec", "c.csv", "--side", "context", "--json")[0])["vectors"] == 5


def test_info_counts_the_stored_entries_not_the_steps_of_walks(call, folder):
    (folder / "e.txt").write_text("a b\nb c\n")
    assert json.loads(call("info", "e.txt", "--json")[0])["entries"] == 4


def test_similarity_says_how_many_pairs_are_known(call, folder):
    vectors(4, names=list("abcd")).save("v.svec")
    (folder / "pairs.txt").write_text("a b 3\nb c 1\nc d 2\nd z 5\n")
    assert "3 of 4 pairs have both names" in call("similarity", "v.svec", "--pairs", "pairs.txt")[1]


def test_normalizer_of_few_vectors(call):
    vectors(12).save("v.svec")
    out, _ = call("normalizer", "v.svec", "--json")
    assert {one["method"] for one in json.loads(out)["methods"]} == {
        "Exact()", "GaussianMixture(1)", "GaussianMixture(5)"
    }  # fmt: skip
    out, _ = call("normalizer", "v.svec", "--error", "1e-9")
    assert [line.split("\t")[-1] for line in out.splitlines()] == ["", "", "chosen"]


def test_features_of_few_rows(call):
    np.save("f.npy", np.random.default_rng(0).standard_normal((6, 4)))
    assert "exact 5 nearest neighbours" in call("embed", "f.npy", "-d", 4)[1]


def test_map_of_one_dimension(call, folder):
    pytest.importorskip("matplotlib")
    vectors(12, d=1).save("v.svec")
    call("plot", "v.svec")
    assert (folder / "v.png").stat().st_size > 1000


def test_picture_into_a_pipe_is_a_picture_alone(folder):
    pytest.importorskip("matplotlib")
    vectors(4).save("v.svec")
    done = subprocess.run(
        [sys.executable, "-m", "softvec", "plot", "v.svec", "-o", "-", "--json"],
        capture_output=True,
        check=True,
    )
    assert done.stdout.startswith(b"\x89PNG")
    assert done.stdout.endswith(b"IEND\xaeB`\x82")
    assert done.stderr == b""


def test_dollars_and_underscores_are_drawn_as_they_are(call, folder):
    pytest.importorskip("matplotlib")
    vectors(6, names=["$x^$", "a_$b", "$_^$ $", "_d", "e", "f"]).save("v.svec")
    (folder / "l.tsv").write_text("$x^$\t$a^$\na_$b\t_b\n$_^$ $\tc\n_d\t_b\ne\t$a^$\nf\tc\n")
    call("plot", "v.svec", "--labels", "l.tsv", "--title", "cost in $ and $^")


def test_dimensions_may_be_spelt_out(call, folder):
    (folder / "e.txt").write_text("a b\nb c\nc a\nc d\n")
    assert "4 vectors of 3 dimensions" in call("embed", "e.txt", "--dimensions", 3)[1]


class Terminal(io.StringIO):
    """Standard error as a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize("name", ["\x1b]0;title\x07\u202e\x9b2J.txt", "a[/bold].txt"])
def test_names_of_files_beside_the_spinner_are_plain_text(monkeypatch, name):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")  # a dumb one has no spinner
    with Session().working(f"reading {name}"):
        pass
    shown = screen.getvalue()
    assert "\x1b]0" not in shown
    assert "\x9b" not in shown
    assert "\u202e" not in shown
    assert printable(name) in shown


def test_a_fast_fit_tells_its_power_steps(call, folder):
    (folder / "edges.txt").write_text(
        "".join(f"{i} {(i + step) % 30}\n" for i in range(30) for step in (1, 2))
    )
    err = call("embed", "edges.txt", "-d", 4, "--seed", 0, "--effort", "fast").err
    assert "power steps in" in err
    assert "loss" not in err


def test_an_output_format_is_called_to_in_every_command(call, folder):
    (folder / "e.txt").write_text("a b\nb c\nc a\n")
    assert call("embed", "e.txt", "-d", 2, "-o", "-", "--to", "csv", "-q").out.startswith('"name","0","1"\n')

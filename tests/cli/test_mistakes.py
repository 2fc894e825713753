"""A user's mistakes: one clear line, exit code 2, and no file left behind. Ctrl-C: 130, and none either."""

import gzip
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from softvec.cli import main, report, run
from softvec.embedding import Embedding
from softvec.fit import memory


@pytest.fixture
def mistake(folder, run_command):
    """Run a command that must fail with one line; return the line."""

    def mistake(*arguments):
        before = sorted(os.listdir(folder))
        captured = run_command(*arguments, code=2)
        assert captured.out == ""
        lines = captured.err.strip().splitlines()
        if lines[0].startswith("graph: "):  # what was read before the mistake showed
            lines.pop(0)
        assert len(lines) == 1, captured.err
        assert lines[0].startswith("softvec: ")
        assert "Traceback" not in captured.err
        assert sorted(os.listdir(folder)) == before, "a file was left behind"
        return lines[0]

    return mistake


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["embed"], "Missing argument 'INPUT'"),
        (["embed", "none.txt"], "none.txt"),
        (["embed", "e.txt", "--dimm", "3"], "--dimm"),
        (["embed", "e.txt", "-d", "0"], "-d"),
        (["embed", "e.txt", "-o", "x.foo"], "extension '.foo'"),
        (["embed", "e.txt", "-o", "no/x.svec"], "does not exist"),
        (["embed", "e.txt", "-o", "d"], "extension ''"),
        (["embed", "e.txt", "-o", "d.svec"], "is a directory"),
        (["embed", "e.txt", "--kind", "nope"], "nope"),
        (["embed", "e.txt", "--gradient", "nope"], "gradient"),
        (["embed", "e.txt", "--set", "nope=1"], "nope"),
        (["embed", "e.txt", "--set", "nope"], "name=value"),
        (["embed", "e.txt", "-o", "e.txt"], "would replace the input"),
        (["embed", "empty.txt"], "empty.txt"),
        (["embed", "cut.txt.gz"], "cut.txt.gz"),
        (["embed", "e.txt", "--names", "none.txt"], "none.txt"),
        (["embed", "e.txt", "--columns", "9,10"], "column"),
        (["embed", "v.svec"], "v.svec"),
        (["neighbors", "v.svec"], "no names given"),
        (["neighbors", "v.svec", "nobody"], "'nobody'"),
        (["neighbors", "v.svec", "anna"], "did you mean 'ann'"),
        (["neighbors", "none.svec", "ann"], "none.svec: no such file"),
        (["neighbors", "empty.txt", "ann"], "is empty"),
        (["neighbors", "v.svec", "ann", "--context"], "one side"),
        (["neighbors", "v.svec", "ann", "-n", "0"], "-n"),
        (["similarity", "v.svec", "ann"], "takes pairs of names"),
        (["similarity", "v.svec"], "no names"),
        (["similarity", "v.svec", "--pairs", "none.txt"], "none.txt"),
        (["communities", "v.svec", "-k", "50"], "--number is 50"),
        (["evaluate", "v.svec", "none.txt"], "none.txt: no such file"),
        (["evaluate", "v.svec", "empty.txt"], "is empty"),
        (["evaluate", "v.svec", "two.npy"], "2 labels for 3 vectors"),
        (["evaluate", "v.svec", "l.txt", "--C", "x"], "--C"),
        (["evaluate", "v.svec", "other.txt"], "none of its"),
        (["plot", "v.svec", "--kind", "pie"], "--kind is 'pie'"),
        (["plot", "v.svec", "--method", "mds"], "method is 'mds'"),
        (["plot", "v.svec", "-o", "x.foo"], "unknown picture format 'foo'"),
        (["plot", "v.svec", "--kind", "loss"], "no losses to draw"),
        (["convert", "v.svec", "x.foo"], "extension '.foo'"),
        (["convert", "v.svec", "x.txt", "--to", "pickle"], "pickle"),
        (["convert", "v.svec", "x.txt", "--side", "context"], "one side"),
        (["convert", "bad.svec", "x.txt"], "bad.svec"),
        (["info", "none"], "none"),
        (["info", "bad.svec"], "bad.svec"),
        (["nope"], "No such command 'nope'"),
        (["neigbors", "v.svec"], "Did you mean 'neighbors'? See softvec --help"),
        (["embed", "e.txt", "--seed", "-1"], "--seed"),
        (["communities", "v.svec", "--seed", "99999999999"], "--seed"),
        (["embed", "e.txt", "--window", "nan"], "--window is nan"),
        (["embed", "e.txt", "--window", "5"], "for temporal or corpus data, pass --kind"),
        (["embed", "e.txt", "--set", "kind=graph"], "its own option: --kind"),
        (["embed", "e.txt", "--set", "n_epoch=3"], "did you mean 'n_epochs'?"),
        (["embed", "e.txt", "--set", "self_loop=keep"], "did you mean 'self_loops'?"),
        (["embed", "e.txt", "--set", "beta=abc"], "beta is 'abc'; expected a number"),
        (["embed", "c.txt", "--set", "n_windows=x"], "n_windows is 'x'; expected a positive integer"),
        (
            ["embed", "c.txt", "--kind", "temporal", "--set", "window=x"],
            "window is 'x'; expected a duration",
        ),
        (
            ["embed", "f.npy", "--set", "n_neighbors=x"],
            "n_neighbors is 'x'; expected an integer",
        ),
        (["embed", "latin.txt"], "such as --set encoding=latin-1"),
        (["embed", "negative.txt"], "pass --set negative=drop"),
        (["embed", "e.txt", "--weighted"], "name it with --columns"),
        (["embed", "loops.txt"], "nothing to embed: the data has no edges (1 node, 0 edges"),
        (["embed", "e.txt", "--checkpoint", "no/x"], "does not exist"),
        (["embed", "e.txt", "--checkpoint", "e.txt"], "e.txt is a file; name a folder"),
        (["neighbors", "e.txt", "a"], "e.txt, line 1: expected a name and numbers"),
        (["communities", "v.svec", "-o", "no/x.tsv"], "does not exist"),
        (["plot", "v.svec", "-o", "no/x.png"], "does not exist"),
        (["plot", "v.svec", "--size", "7by5"], "--size is '7by5'; expected width x height in inches"),
        (["plot", "v.svec", "--size", "0x5"], "of 1 to 100 inches"),
        (["plot", "v.svec", "--dpi", "5"], "--dpi"),
        (["plot", "v.svec", "--kind", "loss", "--edges", "e.txt"], "--edges are drawn on a map"),
        (["plot", "v.svec", "--edges", "nosuch.txt"], "nosuch.txt"),
        (["evaluate", "v.svec", "bad.npz"], "bad.npz is not a readable .npz file"),
        (["similarity", "v.svec", "--pairs", "l.txt"], "l.txt holds 0 lines of word, word, score"),
        (["normalizer", "v.svec", "--error", 0], "--error is 0.0; expected a number above 0"),
        (["embed", "negative.txt"], "or --unsigned, or --signed for signs of links"),
        (["embed", "e.txt", "--beta", "-1"], "--beta is -1.0; expected a number above 0"),
        (["embed", "e.txt", "--epochs", "-1"], "--epochs is -1; expected an integer of at least 0"),
        (["embed", "e.txt", "--gradient", "nope"], "--gradient is 'nope'; expected one of row, paper, full"),
        (["embed", "e.txt", "--view", "nope"], "--view is 'nope'; expected one of auto, walk, fused"),
        (
            ["embed", "e.txt", "--view", "fused", "-w", "2"],
            "--view fused sets its own walks; leave out --walk",
        ),
        (["embed", "lines.txt"], "--input-format adjlist or --kind corpus"),
        (
            ["embed", "twice.txt", "--set", "duplicates=error"],
            "--set duplicates=sum or --set duplicates=merge",
        ),
        (["embed", "comments.txt"], "--set comment=null reads them"),
        (["add", "v.svec", "e.txt"], "pass --set beta=..."),
        (["demo", "-o", "e.txt"], "e.txt is a file"),
        (["links", "v.svec", "e.txt"], "Missing option '--graph'; files go after --graph, --attributes. See"),
        (["links", "v.svec", "--graph", "e.txt", "l.txt"], "files go after --graph"),
        (["convert", "v.svec", "x.bin", "--format", "word2vec"], "v.svec is a softvec file, not word2vec"),
        (["embed", "e.txt", "-k", "corpus"], "pass --min-count 1; if the lines are edges, pass --kind graph"),
    ],
)
def test_mistakes(mistake, folder, arguments, expected):
    (folder / "e.txt").write_text("a b\nb c\nc a\n")
    (folder / "empty.txt").write_text("")
    (folder / "d.svec").mkdir()
    (folder / "cut.txt.gz").write_bytes(gzip.compress(b"a b\n" * 1000)[:-10])
    (folder / "bad.svec").write_bytes(b"PK\x03\x04 not really")
    (folder / "bad.npz").write_bytes(b"PK\x03\x04 not really")
    (folder / "c.txt").write_text("0 1 2\n20 2 3\n40 1 3\n60 1 2\n")
    (folder / "latin.txt").write_bytes("caf\xe9 b\nb c\n".encode("latin-1"))
    (folder / "negative.txt").write_text("a b 1\nb c -2.5\n")
    (folder / "loops.txt").write_text("a a\n")
    (folder / "lines.txt").write_text("a b c\nb a c d\nc a\nd b\n")
    (folder / "twice.txt").write_text("a b\na b\nb c\n")
    (folder / "comments.txt").write_text("# a b\n")
    np.save("f.npy", np.linspace(-1, 1, 40).reshape(10, 4))
    (folder / "l.txt").write_text("ann x\nbob y\n")
    (folder / "other.txt").write_text("zoe x\nyan y\n")
    np.save("two.npy", np.array([0, 1]))
    Embedding(np.eye(3), ["ann", "bob", "cyd"]).save("v.svec")
    assert expected in mistake(*arguments)


def test_too_many_dimensions(mistake, folder, monkeypatch):
    (folder / "e.txt").write_text("a b\nb c\nc a\n")
    monkeypatch.setattr(memory, "available_memory", lambda: 1 << 30)
    line = mistake("embed", "e.txt", "-d", "99999999")
    assert "--dim of about" in line


def test_too_big_for_memory(mistake, folder, monkeypatch):
    (folder / "e.txt").write_text("a b\nb c\nc a\n")
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    monkeypatch.setattr(memory, "SMALL", 0)
    line = mistake("embed", "e.txt")
    assert "GiB" in line
    assert "--force" in line
    assert run(["embed", "e.txt", "--force", "-q", "-d", "2"]) == 0


def test_file_larger_than_memory(mistake, folder, monkeypatch):
    (folder / "e.txt").write_text("a b\n" * 100)
    monkeypatch.setattr(report, "available_memory", lambda: 100)
    assert "of memory are free" in mistake("embed", "e.txt")


def test_a_bug_is_not_hidden(folder, monkeypatch):
    Embedding(np.eye(3)).save("v.svec")

    def broken(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(Embedding, "cluster", broken)
    with pytest.raises(ZeroDivisionError):
        run(["communities", "v.svec"])


def test_out_of_memory(folder, monkeypatch, capsys):
    Embedding(np.eye(3)).save("v.svec")

    def hungry(*_, **__):
        raise MemoryError("cannot allocate 3 TiB")

    monkeypatch.setattr(Embedding, "cluster", hungry)
    assert run(["communities", "v.svec"]) == 1
    assert "out of memory" in capsys.readouterr().err


def test_closed_pipe_is_no_error(folder):
    Embedding(np.random.default_rng(0).standard_normal((3000, 4)), [f"n{i}" for i in range(3000)]).save(
        "v.svec"
    )
    command = f"{sys.executable} -m softvec convert v.svec - --to csv | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] in ("0", "1")
    assert done.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="a shell of Unix")
@pytest.mark.parametrize(
    ("command", "code", "err"),
    [
        ("info v.svec >&-", 0, ""),
        ("info none.svec 2>&-", 2, ""),
        ("embed - -o x.svec <&-", 2, "softvec: standard input is empty: it has no edges\n"),
    ],
)
def test_closed_streams(folder, command, code, err):
    Embedding(np.eye(3)).save("v.svec")
    done = subprocess.run(
        f"{sys.executable} -m softvec {command}", shell=True, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (code, err)


def _slow_job(folder):
    """Start a fit that takes minutes; return once it has begun."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 20_000, (100_000, 2))
    (folder / "big.txt").write_text("".join(f"{i} {j}\n" for i, j in rows))
    (folder / "big.svec").write_bytes(b"old")
    process = subprocess.Popen(
        [sys.executable, "-m", "softvec", "embed", "big.txt", "--epochs", "1000000"],
        cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stderr is not None
    assert process.stderr.readline().startswith("graph: ")  # what was read; the fit comes next
    time.sleep(2)
    assert process.poll() is None
    return process


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupt_leaves_nothing(tmp_path, number, code):
    process = _slow_job(tmp_path)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in err
    assert sorted(os.listdir(tmp_path)) == ["big.svec", "big.txt"]
    assert (tmp_path / "big.svec").read_bytes() == b"old"


LOST = """
import os, signal, softvec.cli, sys, time

class Dropped:
    def __del__(self):
        os.kill(os.getpid(), int(sys.argv[1]))  # its exception is dropped here
        time.sleep(0)

def job(arguments):
    Dropped()
    time.sleep(30)
    return 0

softvec.cli._run = job
softvec.cli.main()
"""
TURNED = """
import os, softvec.cli, sys, time

def job(arguments):
    try:
        os.kill(os.getpid(), int(sys.argv[1]))
        time.sleep(30)
    except BaseException as error:
        raise RuntimeError("Error calling __set_name__") from error

softvec.cli._run = job
softvec.cli.main()
"""
LATE = """
import atexit, os, softvec.cli, sys

atexit.register(lambda: os.kill(os.getpid(), int(sys.argv[1])))
softvec.cli.main(["--version"])
"""


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("script", "lost"), [(LOST, True), (TURNED, True), (LATE, False)])
def test_signals_that_python_would_lose(number, script, lost):
    command = [sys.executable, "-c", script, str(int(number))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=25, start_new_session=True)
    assert done.returncode == (128 + number if lost else 0), done.stderr
    assert "Traceback" not in done.stderr


def test_interrupted_fit_goes_on_from_its_checkpoint(folder, monkeypatch):
    from softvec.fit.engine import Engine

    (folder / "e.txt").write_text("".join(f"{i} {(3 * i + 1) % 50}\n" for i in range(50)))
    words = ["embed", "e.txt", "--seed", "1", "-d", "4", "--epochs", "30", "-q"]
    assert run([*words, "-o", "whole.npy"]) == 0
    original, calls = Engine.epoch, []

    def interrupted(self, eta, **options):
        calls.append(eta)
        if len(calls) == 13:
            raise KeyboardInterrupt
        return original(self, eta, **options)

    monkeypatch.setattr(Engine, "epoch", interrupted)
    assert run([*words, "--checkpoint", "c", "-o", "parts.npy"]) == 130
    assert (folder / "c").exists()
    assert not (folder / "parts.npy").exists()
    assert run([*words, "--checkpoint", "c", "-o", "parts.npy"]) == 0
    assert len(calls) == 13 + 20, "ten epochs were saved"
    assert not (folder / "c").exists()
    assert (folder / "parts.npy").read_bytes() == (folder / "whole.npy").read_bytes()


def test_main_leaves_the_signals_of_its_caller_alone():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(SystemExit):
        main(["--version"])
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["communities", "v.svec", "--graph", "in.txt", "-o", "in.txt"],
        ["predict", "v.svec", "in.txt", "-o", "./in.txt"],
        ["recommend", "v.svec", "--known", "in.txt", "-o", "in.txt"],
        ["embed", "e.txt", "--attributes", "in.txt", "-o", "in.txt"],
        ["embed", "e.txt", "--types", "in.txt", "-o", "in.txt"],
        ["embed", "e.txt", "--names", "in.html", "--map", "in.html"],
        ["add", "v.svec", "in.txt", "-o", "in.txt"],
        ["add", "v.svec", "e.txt", "-o", "v.svec"],
        ["epidemic", "v.svec", "in.txt", "-o", "in.txt"],
        ["epidemic", "v.svec", "e.txt", "--contacts", "in.txt", "--curve", "in.txt"],
        ["plot", "v.svec", "--labels", "in.txt", "-o", "in.txt"],
        ["map", "v.svec", "--metadata", "in.html", "-o", "in.html"],
        ["convert", "v.svec", "v.svec"],
    ],
)
def test_an_output_never_replaces_an_input(mistake, folder, arguments):
    for name in ("in.txt", "in.html", "e.txt"):
        (folder / name).write_text("ann bob\nbob cyd\ncyd ann\n")
    Embedding(np.eye(3), ["ann", "bob", "cyd"]).save("v.svec")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert "would replace the input" in mistake(*arguments)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before

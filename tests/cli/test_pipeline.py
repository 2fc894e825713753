"""The command in a pipeline: limits, signals, lines of progress, JSON, URLs."""

import json
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest

from softvec.cli import terminal
from softvec.cli.terminal import Session, epoch_progress
from softvec.core.untrusted import InputError, reading
from softvec.embedding import Embedding

EDGES = "".join(f"n{i} n{(i * i + 1) % 30}\nn{i} n{(i + 1) % 30}\n" for i in range(30))


@pytest.fixture
def edges(tmp_path):
    (tmp_path / "edges.txt").write_text(EDGES)
    return tmp_path / "edges.txt"


def _softvec(*arguments, limit=None, **options):
    def prepare():
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored where the tests run under nohup
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    return subprocess.Popen(
        [sys.executable, "-m", "softvec", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=prepare, **options,
    )  # fmt: skip


@pytest.mark.parametrize("mebibytes", [195, 390, 600, 700, 900])
def test_too_low_a_limit_on_memory_is_one_line(edges, mebibytes):
    process = _softvec("embed", edges, limit=mebibytes << 20)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    allowed = f"at most {mebibytes} MiB of memory are allowed (ulimit -v)"
    assert said == f"softvec: {allowed}; softvec needs 1024 MiB or more\n"


@pytest.mark.parametrize(
    "words", ["Failed to launch worker thread: Resource temporarily unavailable", "failed to map segment"]
)
def test_a_resource_limit_is_no_damaged_file(words):
    with pytest.raises(MemoryError, match=words), reading("e.parquet", "parquet file"):
        raise RuntimeError(words)
    with pytest.raises(InputError, match="not a readable"), reading("e.parquet", "parquet file"):
        raise RuntimeError("bad magic")


def test_a_hung_up_command_exits_with_129_and_leaves_no_file(edges):
    process = _softvec("embed", edges, "--epochs", 1_000_000, "--view", "walk", cwd=edges.parent)
    assert process.stderr.readline().startswith("graph: 30 nodes")
    process.send_signal(signal.SIGHUP)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (129, "")
    assert [path.name for path in edges.parent.iterdir()] == ["edges.txt"]


def test_json_has_times_peak_memory_and_the_reason_of_a_failure(edges, run_command):
    result = json.loads(run_command("embed", edges, "-d", 4, "--json", "-o", edges.with_name("v.svec")).out)
    assert result["seconds"]["fitting"] >= 0
    assert 10 << 20 < result["peak_memory"] < 1 << 40
    failed = json.loads(run_command("embed", "none.txt", "--json", code=2).out)
    assert failed == {"error": "none.txt does not exist", "exit": 2}


def test_lines_of_progress_without_a_terminal(capsys, monkeypatch):
    clock = iter([0.0, 4.0, 11.0, 15.0, 22.0])
    monkeypatch.setattr(terminal, "monotonic", lambda: next(clock))
    with epoch_progress(Session(), 20) as show:
        for epoch in range(1, 5):
            show(epoch, 3.0 - epoch, None, "2 workers alive" if epoch == 4 else "")
    assert capsys.readouterr().err.splitlines() == [
        "epoch 2 of 20, approximated loss 1.0000, 11.0 s",
        "epoch 4 of 20, approximated loss -1.0000, 22.0 s, 2 workers alive",
    ]
    with epoch_progress(Session(quiet=True), 20) as show:
        assert show is None


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [(("info",), "embed --unweighted"), (("links", "v.svec", "--graph"), "--set weighted=false")],
)
def test_notes_name_flags_not_options_of_python(arguments, flag, tmp_path, run_command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(
        f"{line.replace(' ', ',')},{1 + k % 5}.5\n" for k, line in enumerate(EDGES.split("\n")[:-1])
    )
    (tmp_path / "e.csv").write_text("source,target,idle\n" + rows)
    run_command("embed", "e.csv", "-d", 4, "-o", "v.svec")
    said = run_command(*arguments, "e.csv").err
    assert f"column idle is used as the weight; {flag} if it is not" in said


@pytest.mark.parametrize("extension", [".svec", ".csv", ".parquet"])
def test_data_and_vectors_at_a_url(extension, edges, run_command):
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    files.pipe("/room/edges.txt", EDGES.encode())
    url = f"memory://room/vectors{extension}"
    run_command("embed", "memory://room/edges.txt", "-d", 4, "--seed", 0, "-o", url)
    run_command("embed", edges, "-d", 4, "--seed", 0, "-o", edges.with_name(f"v{extension}"))
    here, there = (
        Embedding.load(edges.with_name(f"v{extension}")),
        Embedding.load(f"memory://room/vectors{extension}"),
    )
    np.testing.assert_array_equal(there.vectors, here.vectors)
    assert list(there.names) == list(here.names)


def test_urls_that_cannot_be_read_are_one_line(edges, run_command):
    pytest.importorskip("fsspec")
    out = edges.with_name("v.svec")
    for url, words in (
        ("memory://room/none.txt", "cannot read memory://room/none.txt: it does not exist"),
        ("nothing://room/none.txt", "cannot open nothing://room/none.txt: Protocol not known: nothing"),
        ("memory://room/*.txt", "a pattern or folder at a URL is not read"),
    ):
        said = run_command("embed", url, "-o", out, code=2).err
        assert words in said
        assert len(said.strip().splitlines()) == 1
    for name in ("vectors/", "v.npy", "v.tsv"):
        said = run_command("embed", edges, "-o", f"memory://room/{name}", code=2).err
        assert "is several files, which a URL is not" in said
        with pytest.raises(InputError, match="in another file"):
            Embedding.load(f"memory://room/{name}")


@pytest.mark.slow
def test_data_and_vectors_in_an_object_store(edges, monkeypatch):
    server = pytest.importorskip("moto.server", reason="pip install 'moto[server]' s3fs")
    s3fs = pytest.importorskip("s3fs")
    store = server.ThreadedMotoServer("127.0.0.1", 0)
    store.start()
    try:
        host, port = store.get_host_and_port()
        here = {
            "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        }  # fmt: skip
        for name, value in here.items():
            monkeypatch.setenv(name, value)
        files = s3fs.S3FileSystem()
        files.mkdir("bucket")
        files.pipe("bucket/edges.txt", EDGES.encode())
        options = ("-d", 4, "--seed", 0, "--view", "walk", "--checkpoint", "s3://bucket/run")
        process = _softvec("embed", "s3://bucket/edges.txt", *options, "-o", "s3://bucket/v.svec")
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
        assert len(Embedding.load("s3://bucket/v.svec")) == 30
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        process = _softvec("embed", "s3://bucket/edges.txt", "-o", edges.with_name("v.svec"))
        _, said = process.communicate(timeout=120)
        assert process.returncode == 2
        assert said == "softvec: cannot read s3://bucket/edges.txt: Unable to locate credentials\n"
    finally:
        store.stop()

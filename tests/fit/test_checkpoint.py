"""A killed fit goes on from its checkpoint and ends with the bits of an uninterrupted one."""

import json
import os
import signal
import subprocess
import sys
import time
import zlib

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

import softvec
from softvec import EDRep
from softvec.core.errors import InputError
from softvec.fit.checkpoint import Checkpoint
from softvec.operators import Powers, Product

GRAPH = """
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
rng = np.random.default_rng(0)
rows, cols = rng.integers(0, 3000, (2, 15000))
A = sparse.coo_array((np.ones(15000), (rows, cols)), shape=(3000, 3000)).tocsr()
A = A + A.T
"""
OPTIONS = {"n_components": 16, "n_clusters": 3, "n_epochs": 40, "random_state": 0, "gradient": "full"}


def graph():
    space = {}
    exec(GRAPH, space)
    return space["A"]


def test_killed_process_resumes_with_identical_bits(tmp_path):
    saved, out = tmp_path / "run.ckpt", tmp_path / "X.npy"
    code = (
        GRAPH + "import sys, time\nfrom softvec import EDRep\n"
        f"model = EDRep(**{OPTIONS!r}, checkpoint=sys.argv[1], checkpoint_every=3,\n"
        "    callbacks=[lambda epoch, loss, X: time.sleep(float(sys.argv[3])) if epoch > 8 else None])\n"
        "np.save(sys.argv[2], model.fit_transform(A))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(saved), str(out), "5"])
    deadline = time.monotonic() + 120
    while (
        not ((saved / "checkpoint.json").exists() and process.poll() is None) and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert json.loads((saved / "checkpoint.json").read_text())["epoch"] == 9
    assert not out.exists()
    subprocess.run([sys.executable, "-c", code, str(saved), str(out), "0"], check=True)
    assert np.array_equal(np.load(out), EDRep(**OPTIONS).fit_transform(graph()))
    assert {path.name for path in tmp_path.iterdir()} == {"X.npy", "run.ckpt"}


def stop_at(epoch):
    def callback(now, loss, X):
        if now == epoch:
            raise KeyboardInterrupt

    return callback


def interrupted(path, **changes):
    options = {**OPTIONS, **changes}
    with pytest.raises(KeyboardInterrupt):
        EDRep(**options, checkpoint=path, checkpoint_every=4, callbacks=[stop_at(9)]).fit(graph())


def test_one_epoch_to_go_gives_the_same_bits(tmp_path):
    path = tmp_path / "run.ckpt"
    with pytest.raises(KeyboardInterrupt):
        EDRep(**OPTIONS, checkpoint=path, checkpoint_every=1, callbacks=[stop_at(38)]).fit(graph())
    resumed = EDRep(**OPTIONS, checkpoint=path).fit_transform(graph())
    assert np.array_equal(resumed, EDRep(**OPTIONS).fit_transform(graph()))


def test_what_killed_workers_left_is_removed(tmp_path):
    path = tmp_path / "run.ckpt"
    interrupted(path)
    late = path / "epoch-000012-of-2"  # of workers killed before the manifest of epoch 12
    late.mkdir()
    (late / "X-0-1500.npy").write_bytes(b"half")
    (path / "shared-0123456789abcdef.probe").write_bytes(b"softvec")
    (path / "notes.txt").write_text("of the user")
    EDRep(**OPTIONS, checkpoint=path).fit(graph())
    assert {each.name for each in path.iterdir()} == {"checkpoint.json", "epoch-000040-of-1", "notes.txt"}
    late.mkdir()
    Checkpoint(str(path), 1, "").delete()
    assert [each.name for each in path.iterdir()] == ["notes.txt"]


def test_history_goes_on_and_a_random_seed_is_kept(tmp_path):
    path = tmp_path / "run.ckpt"
    interrupted(path, random_state=None)
    model = EDRep(**{**OPTIONS, "random_state": None}, checkpoint=path).fit(graph())
    np.testing.assert_array_equal(model.history_["epoch"], np.arange(40))


def test_foreign_or_broken_checkpoints_are_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    interrupted(path)
    with pytest.raises(InputError, match="other data or other settings"):
        EDRep(**{**OPTIONS, "beta": 2.0}, checkpoint=path).fit(graph())
    with pytest.raises(InputError, match="other data or other settings"):
        EDRep(**OPTIONS, checkpoint=path).fit(sparse.eye_array(3000).tocsr())
    part = next(path.glob("epoch-*/X-*.npy"))
    part.write_bytes(part.read_bytes()[:500])
    with pytest.raises(InputError, match="of the checkpoint is damaged"):
        EDRep(**OPTIONS, checkpoint=path).fit(graph())
    with pytest.raises(InputError, match="is a file; name a folder"):
        EDRep(**OPTIONS, checkpoint=part).fit(graph())
    with pytest.raises(InputError, match="checkpoint_every is 0"):
        EDRep(checkpoint=path, checkpoint_every=0).fit(graph())


def test_a_fit_goes_on_in_one_process_where_a_cluster_ended(tmp_path):
    """One format: ranges of rows, of one process or several."""
    path = tmp_path / "run.ckpt"
    interrupted(path)
    manifest = json.loads((path / "checkpoint.json").read_text())
    assert [part["rows"] for part in manifest["parts"]] == [[0, 3000]]
    parts = []
    for part in manifest["parts"]:  # as two processes would have written it
        array = np.load(path / part["file"])
        for lo, hi in ((0, 1000), (1000, 3000)):
            file = f"epoch-000008-of-1/{part['array']}-{lo}-{hi}.npy"
            np.save(path / file, array[lo:hi])
            crc = zlib.crc32(array[lo:hi].tobytes())
            parts.append({"array": part["array"], "rows": [lo, hi], "file": file, "crc": crc})
    (path / "checkpoint.json").write_text(json.dumps({**manifest, "parts": parts}))
    resumed = EDRep(**OPTIONS, checkpoint=path).fit(graph())
    assert np.array_equal(resumed.embedding_, EDRep(**OPTIONS).fit_transform(graph()))
    assert len(resumed.history_["loss"]) == 40


def shuffled(A):
    """Return a graph with the degrees, and so the row sums, of A, but other neighbours."""
    other = A.copy()
    other.indices = np.random.default_rng(1).permutation(3000).astype(A.indices.dtype)[A.indices]
    return other


@pytest.mark.parametrize(
    "change",
    [
        lambda: {"P": shuffled(graph())},
        lambda: {"P": graph() * 1.5},
        lambda: {"labels": np.arange(3000) % 4},
        lambda: {"item_weight": np.arange(3000) + 2.0},
        lambda: {"dissimilarity": shuffled(graph())},
        lambda: {"init": np.eye(3000, 16)},
    ],
    ids=["indices", "values", "labels", "item_weight", "dissimilarity", "init"],
)
def test_checkpoint_of_other_contents_is_refused(tmp_path, change):
    given = {
        "P": graph(),
        "labels": np.arange(3000) % 3,
        "item_weight": np.arange(3000) + 1.0,
        "dissimilarity": graph()[::-1],
        "init": np.ones((3000, 16)),
    }
    options = {**OPTIONS, "n_epochs": 3, "normalize": False, "checkpoint": tmp_path / "run.ckpt"}

    def run(P, init, **more):
        return EDRep(**options, init=init).fit(P, **more).embedding_

    first = run(**given)
    assert np.array_equal(run(**given), first)  # a finished run, from its folder
    with pytest.raises(InputError, match="other data or other settings"):
        run(**{**given, **change()})


@pytest.mark.parametrize(
    "matrix", [lambda A: A, aslinearoperator, lambda A: Product([A, A]), lambda A: Powers(A, 2)]
)
def test_every_kind_of_operator_is_hashed(tmp_path, matrix):
    options = {"n_components": 4, "n_epochs": 2, "random_state": 0, "checkpoint": tmp_path / "run.ckpt"}
    A = graph()
    first = EDRep(**options).fit_transform(matrix(A))
    assert np.array_equal(EDRep(**options).fit_transform(matrix(A)), first)
    with pytest.raises(InputError, match="other data or other settings"):
        EDRep(**options).fit(matrix(shuffled(A)))


@pytest.mark.parametrize("stop", ["end", "callback", "tol"])
def test_finished_fit_is_returned_from_its_checkpoint(tmp_path, stop):
    options = {**OPTIONS, "checkpoint": tmp_path / "run.ckpt", "n_epochs": 6, "checkpoint_every": 2}
    callbacks = [lambda epoch, loss, X: stop == "callback" and epoch == 2]
    options["tol"] = 1e3 if stop == "tol" else None
    first = EDRep(**options, callbacks=callbacks).fit(graph())
    ran = []
    again = EDRep(**options, callbacks=[lambda *epoch: ran.append(epoch)]).fit(graph())
    assert not ran
    assert np.array_equal(again.embedding_, first.embedding_)
    assert again.n_iter_ == {"end": 6, "callback": 3, "tol": 3}[stop]


def test_kill_before_the_save_keeps_the_fit(tmp_path):
    edges = tmp_path / "edges.txt"
    edges.write_text("".join(f"{i} {(i * 7 + 1) % 300}\n" for i in range(300)))
    command = ["embed", str(edges), "-o", str(tmp_path / "x.svec"), "--checkpoint", str(tmp_path / "c")]
    command += ["--seed", "0", "--dim", "8", "--quiet"]
    killed = (
        "import os, signal, sys; from softvec.embedding import Embedding\n"
        "Embedding.save = lambda *args: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from softvec.cli import main; main(sys.argv[1:])"
    )
    assert subprocess.run([sys.executable, "-c", killed, *command]).returncode == -signal.SIGKILL
    assert json.loads((tmp_path / "c" / "checkpoint.json").read_text())["epoch"] == 20
    subprocess.run([sys.executable, "-m", "softvec", *command], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.txt", "x.svec"]
    found = softvec.Embedding.load(tmp_path / "x.svec").vectors
    assert np.array_equal(found, softvec.embed(edges, 8, random_state=0).vectors)


DENSE = np.unique(np.sort(np.random.default_rng(0).integers(0, 60, (900, 2))), axis=0)


@pytest.mark.parametrize("seed", [0, None])
@pytest.mark.parametrize(("last", "first"), [(3, 4), (13, 14), (25, 24), (30, 30)])
def test_fused_views_resume_with_identical_bits(tmp_path, seed, last, first):  # 10, 16 and 16 epochs
    def stop(epoch, loss, X):
        if epoch == last:
            raise KeyboardInterrupt

    options = {"kind": "graph", "random_state": seed, "checkpoint_every": 2}
    options |= {"checkpoint": tmp_path / "run.ckpt"}
    np.random.seed(7)  # noqa: NPY002 -- what no random state draws from
    with pytest.raises(KeyboardInterrupt):
        softvec.embed(DENSE, 16, callbacks=[stop], **options)
    ran = []
    emb = softvec.embed(DENSE, 16, callbacks=[lambda epoch, *_: ran.append(epoch)], **options)
    assert emb.provenance["view"]["chosen"] == "fused"
    assert ran[0] == first
    assert {path.name for path in tmp_path.iterdir()} == {"run.ckpt", "run.ckpt.2", "run.ckpt.3"}
    assert len(emb.provenance["history"]["loss"]) == 42
    np.random.seed(7)  # noqa: NPY002
    truth = softvec.embed(DENSE, 16, kind="graph", random_state=seed)
    assert np.array_equal(emb.vectors, truth.vectors)
    assert emb.provenance["parameters"]["seed"] == truth.provenance["parameters"]["seed"]


def test_checkpoint_of_one_walk_is_refused_by_fused_views(tmp_path):
    options = {"kind": "graph", "random_state": 0, "checkpoint": tmp_path / "run.ckpt"}
    softvec.embed(DENSE, 16, view="walk", **options)
    with pytest.raises(InputError, match="checkpoint of other data or other settings"):
        softvec.embed(DENSE, 16, view="fused", **options)


def test_a_file_in_the_way_of_later_views_is_refused_at_once(tmp_path):
    (tmp_path / "run.ckpt.2").write_text("the user's")
    ran = []
    with pytest.raises(InputError, match=r"run.ckpt.2 would be the checkpoint of later views, but "):
        softvec.embed(
            DENSE, 16, kind="graph", checkpoint=tmp_path / "run.ckpt", callbacks=[lambda *e: ran.append(e)]
        )
    assert not ran
    assert (tmp_path / "run.ckpt.2").read_text() == "the user's"


def test_checkpoint_does_not_change_the_vectors_of_a_command(tmp_path):
    edges, saved = tmp_path / "edges.txt", tmp_path / "c"
    np.savetxt(edges, DENSE, fmt="%d")
    (tmp_path / "c.4").write_text("the user's")
    command = [sys.executable, "-m", "softvec", "embed", str(edges), "--seed", "0", "--dim", "16"]
    for name, more in (("a", []), ("b", ["--checkpoint", str(saved)])):
        subprocess.run([*command, "-o", str(tmp_path / f"{name}.svec"), *more], check=True)
    a, b = (softvec.Embedding.load(tmp_path / f"{name}.svec").vectors for name in "ab")
    assert np.array_equal(a, b)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svec", "b.svec", "c.4", "edges.txt"]

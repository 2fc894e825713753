"""One harness for each reader: read a file and use what was read, as a program would."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import warnings
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from softvec import Embedding, embed, kernels
from softvec.affinity import read_names
from softvec.api import to_affinity
from softvec.core.errors import InputError
from softvec.evaluate.observations import match_observations
from softvec.fit.checkpoint import Checkpoint
from softvec.names import Names
from softvec.read.labels import read_labels


class NotFinite(Exception):
    """A reader accepted NaN or infinite values."""


def _finite(values: Any) -> None:
    if values is not None and not np.isfinite(values).all():
        raise NotFinite


def read_data(path: Path, **options: Any) -> None:
    """Read data to embed, and multiply with its operator."""
    affinity = to_affinity(path, **options)
    n, m = affinity.shape
    _finite(affinity.operator @ np.ones((m, 3)))
    _finite(affinity.operator.T @ np.ones((n, 3)))
    _finite(affinity.operator.row_sums())
    if affinity.counts is not None:
        _finite(affinity.counts.data)
    for labels in (affinity.rows, affinity.columns):  # a few bytes may announce millions of rows
        assert len(list(islice(labels, 100_000))) == min(len(labels), 100_000)
    assert isinstance(repr(affinity), str)


def read_embedding(path: Path, *, mmap: bool = False) -> None:
    """Read vectors, look them up, search them."""
    emb = Embedding.load(path, mmap=mmap)
    if not mmap:  # mapped vectors are left unread
        _finite(emb.vectors)
        _finite(emb.context_vectors)
    _finite(emb.sizes)
    assert len(list(emb.names)) == len(emb)
    assert not len(emb) or emb.names.index(emb.names[len(emb) - 1]) < len(emb)
    if emb.context_names is not None:
        assert len(list(emb.context_names)) == len(emb.context_names)
    assert isinstance(repr(emb) + emb._repr_html_(), str)
    if len(emb) > 1:
        emb.most_similar(emb.names[0], n=2)
        emb.similarity(emb.names[0], emb.names[1])
        emb.to_dataframe()
        methods = every_method(emb)
        with suppress(InputError):  # one of them, which depends on the vectors
            methods[zlib.crc32(np.asarray(emb.vectors).tobytes()) % len(methods)]()


def every_method(emb: Embedding) -> list[Callable[[], Any]]:
    """Return calls of the other methods."""
    first, second = emb.names[0], emb.names[1]
    labels = [f"class {i % 2}" for i in range(len(emb))]

    def save(name: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            emb.save(f"{folder}/{name}")
            assert len(Embedding.load(f"{folder}/{name}")) == len(emb)

    return [
        lambda: emb.analogy(first, second, first, n=2),
        lambda: emb.most_similar_batch([first, second], n=2),
        lambda: emb.most_similar(first, n=2, among="context"),
        lambda: emb.nearest(np.asarray(emb.vectors[:2]), n=2),
        lambda: emb.cluster(2),
        lambda: emb.project("pca"),
        lambda: emb.layout("pca"),
        lambda: emb.links(3),
        lambda: emb.links(3, item=first),
        lambda: emb.recommend([first], n=2),
        lambda: emb.stability(),
        lambda: emb.person(first),
        lambda: emb.attributes_of(first),
        lambda: emb.predict(labels, C=1.0),
        lambda: emb.add([("new", first), ("new", second)]),
        lambda: emb.align(emb),
        lambda: emb.calibrate([(first, second)]),
        lambda: emb.map(labels),
        lambda: emb.context,
        *(partial(save, f"again{end}") for end in (".svec", ".npy", ".csv", ".vec", ".parquet", "/")),
    ]


def _forge(manifest: Path, key: str, digest: Any) -> None:
    """Give the parts that a manifest lists the sizes and digests of the files, as an attacker would."""
    try:
        head = json.loads(manifest.read_bytes())
        for part in head["parts"]:
            data = (manifest.parent / part["file"]).read_bytes()
            part |= {key: digest(data)} | ({"bytes": len(data)} if "bytes" in part else {})
        manifest.write_text(json.dumps(head))
    except Exception:  # NumPy raises nearly anything where a header is damaged
        return  # what is damaged is read as it is


def read_folder(path: Path) -> None:
    """Read a folder of vectors, by its manifest."""
    _forge(path, "sha256", lambda data: hashlib.sha256(data).hexdigest())
    read_embedding(path.parent)


def read_checkpoint(path: Path) -> None:
    """Read a checkpoint, by its manifest; the arrays beside it go where it has them."""
    shards = path.parent / "epoch-000003-of-2"
    shards.mkdir()
    try:
        for file in path.parent.glob("*.npy"):
            shutil.copy(file, shards)
        _forge(path, "crc", lambda data: zlib.crc32(np.load(BytesIO(data)).tobytes()))
        store = Checkpoint(str(path.parent), 1, "key")
        manifest = store.manifest()
        assert manifest is not None
        _finite(store.load(manifest, (1, 5), (1, 5)).X)
    finally:
        shutil.rmtree(shards)


@cache
def _friends() -> Embedding:
    edges = [(f"n{i}", f"n{(i * 3 + 1) % 11}") for i in range(11)]
    return embed(edges, 4, kind="graph", n_epochs=2)


def read_new_items(path: Path) -> None:
    """Read edges of new items, and add the items."""
    grown = _friends().add(path, isolated="drop")
    _finite(grown.vectors)
    assert len(list(grown.names)) == len(grown)


def read_states(path: Path) -> None:
    """Read observed states of people."""
    names = [(person, time) for time in (0, 20, 40) for person in ("ann", "bob", "cyd")]
    states = match_observations(Embedding(np.eye(9, 4), names), path, True)
    _finite(states.vectors)
    assert states.state.sum() <= states.observed.sum()


def read_groups(path: Path, *, numbered: bool = False) -> None:
    """Read labels of eight items."""
    groups = read_labels(path, Names.range(8) if numbered else Names([f"n{i}" for i in range(8)]))
    assert len(groups.texts) == 8
    assert groups.members.sum() >= 0


READERS: dict[str, Any] = {
    "data": read_data,
    "vectors": read_embedding,
    "mapped": lambda path, **options: read_embedding(path, mmap=True, **options),
    "labels": read_groups,
    "names": read_names,
    "checkpoint": read_checkpoint,
    "folder": read_folder,
    "additions": read_new_items,
    "states": read_states,
}


def outcome(reader: str, path: Path, options: dict[str, Any]) -> tuple[str, str]:
    """Read a file; return ``refused``, ``accepted`` or what went wrong, and its message."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            READERS[reader](path, **options)
        except InputError as error:
            clear = "\n" not in str(error).strip()
            return ("refused", str(error)) if clear else ("exception", f"several lines: {error}")
        except NotFinite:
            return "not_finite", ""
        except MemoryError as error:
            return "memory", f"{type(error).__name__}: {error}"
        except Exception as error:
            return "exception", f"{type(error).__name__}: {error} at {_place(error)}"
    return "accepted", ""


def _place(error: BaseException) -> str:
    """Return the innermost line of softvec in a traceback."""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "softvec" in file:
            place = f"{Path(file).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def use_compiled_kernels() -> None:
    """Send small files, too, to the compiled kernels that large ones go to."""
    kernels.SMALL = 0

"""Small valid files of every format that softvec reads; each is where mutations start from."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tempfile
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from tests.fuzz.arrow import arrow, arrow_types, odd_types, written


@dataclass(frozen=True)
class Seed:
    """A file, the reader it goes to, and the files that stand beside it."""

    reader: str
    name: str
    data: bytes
    beside: dict[str, bytes] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    odd: bool = False  # may be refused as it is


def _matrix(n: int = 8, m: int = 8) -> sparse.csr_array:
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((n, m)) < 0.4, rng.random((n, m)).round(3), 0.0)
    return sparse.csr_array(dense)


def _symmetric(n: int = 8) -> sparse.csr_array:
    A = _matrix(n, n)
    return sparse.csr_array(A + A.T)


def _texts() -> Iterator[tuple[str, bytes]]:
    pairs = b"".join(b"n%d n%d\n" % (i, (i * 3 + 1) % 11) for i in range(11))
    yield "edges.txt", b"# a comment\n" + pairs
    yield "integers.txt", b"".join(b"%d %d %d.5\n" % (i, (i * 3 + 1) % 11, i + 1) for i in range(11))
    yield "header.csv", b"source,target,weight\nann,bob,1\nbob,cyd,2.5\ncyd,ann,1e-3\n"
    yield "quoted.csv", b'"from","to"\n"ann, b","bob"\n"bob","c ""y"" d"\n'
    yield "shop.tsv", b"user\titem\trating\nann\ttea\t3\nbob\ttea\t1\nbob\trum\t5\n"
    yield (
        "contacts.txt",
        b"t i j\n" + b"".join(b"%d %d %d\n" % (20 * k, k % 5, (k + 1) % 5) for k in range(20)),
    )
    yield "words.txt", b"the cat sat on the mat\nthe dog sat on the log and the cat ran\nall is well\n"
    yield (
        "features.csv",
        b"".join(b"%s,%d.25,0.5,-1.5e-2,%d.75\n" % (b"abcdefg"[i : i + 1], i, 9 - i) for i in range(7)),
    )
    yield "utf16.txt", "añn bøb\nbøb çyd\n".encode("utf-16")
    yield "edges.txt.gz", gzip.compress(pairs * 3, mtime=0)
    yield "edges.txt.bz2", bz2.compress(pairs)
    yield "edges.txt.xz", lzma.compress(pairs)
    import pyarrow as pa

    yield "edges.txt.zst", pa.compress(pairs, codec="zstd", asbytes=True)


def _matrix_market() -> Iterator[tuple[str, bytes]]:
    from scipy.io import mmwrite

    A, S = _matrix(), _symmetric()
    yield "general.mtx", written(lambda f: mmwrite(f, A))
    yield "symmetric.mtx", written(lambda f: mmwrite(f, S, symmetry="symmetric"))
    yield "array.mtx", written(lambda f: mmwrite(f, A.toarray()))
    yield "array_symmetric.mtx", written(lambda f: mmwrite(f, S.toarray(), symmetry="symmetric"))
    yield "pattern.mtx", written(lambda f: mmwrite(f, sparse.coo_array(A != 0), field="pattern"))
    yield "rectangular.mtx.gz", gzip.compress(written(lambda f: mmwrite(f, _matrix(6, 9))), mtime=0)


def _numpy() -> Iterator[tuple[str, bytes]]:
    A = _matrix()
    for kind in ("csr", "csc", "coo", "bsr", "dia"):
        made = A.asformat(kind)
        yield f"{kind}.npz", written(lambda f, m=made, z=kind == "csc": sparse.save_npz(f, m, compressed=z))
    yield "wide.npz", written(lambda f: sparse.save_npz(f, _matrix(5, 12), compressed=False))
    yield "dense.npz", written(lambda f: np.savez(f, A.toarray()))
    parts = {"format": b"csr", "shape": A.shape, "data": A.data, "indices": A.indices, "indptr": A.indptr}
    names = {"rows.utf8": np.frombuffer(b"abcdefgh", np.uint8), "rows.offsets": np.arange(9)}
    yield "named.npz", written(lambda f: np.savez(f, **parts, **names))
    yield "square.npy", written(lambda f: np.save(f, A.toarray()))
    yield "counts.npy", written(lambda f: np.save(f, np.asfortranarray((A.toarray() * 9).astype(np.int16))))
    yield "tall.npy", written(lambda f: np.save(f, _matrix(9, 4).toarray().astype(np.float32)))
    yield "square.npy.gz", gzip.compress(written(lambda f: np.save(f, A.toarray())), mtime=0)


def _matlab() -> Iterator[tuple[str, bytes]]:
    from scipy.io import savemat

    A = _matrix()
    names = np.array([f"n{i}" for i in range(8)], dtype=object)
    for label, content in {
        "sparse": {"network": sparse.csc_array(A), "names": names},
        "dense": {"M": A.toarray(), "other": np.arange(4.0)},
        "bool": {"M": sparse.csc_array(A != 0)},
        "struct": {"M": A.toarray(), "info": {"a": 1, "b": "text", "c": {"d": [1, 2]}}},
        "text": {"names": np.array([f"n{i}" for i in range(8)]), "M": A.toarray().astype(np.int32)},
    }.items():
        for packed in (False, True):
            yield (
                f"{label}{'_z' * packed}.mat",
                written(lambda f, c=content, p=packed: savemat(f, c, do_compression=p)),
            )
    yield "four.mat", written(lambda f: savemat(f, {"M": A.toarray()}, format="4"))
    yield "four_sparse.mat", written(lambda f: savemat(f, {"M": sparse.csc_array(A)}, format="4"))


def _shapes() -> Iterator[tuple[str, bytes]]:
    """Wide tables, long lines, and nested or unusual JSON."""
    titles = ",".join(["", *(f"g{k}" for k in range(300))])
    body = "".join(",".join([f"c{i}", *(f"{(i * k) % 7}.5" for k in range(300))]) + "\n" for i in range(4))
    yield "broad.csv", f"{titles}\n{body}".encode()
    yield "long.txt", b"a b\nb c\nc " + 100_000 * b"a" + b"\n"
    yield "links.json", b'{"nodes":[{"name":"a"},{"name":"b"}],"links":[{"source":0,"target":1}]}'
    yield "rows.jsonl", b"".join(b'{"source": "n%d", "target": "n%d"}\n' % (i, i // 2) for i in range(1, 9))
    yield "pairs.json", b'[["a", "b"], ["b", "c"], ["c", "a"]]'
    deep = b"[" * 50 + b"1" + b"]" * 50
    yield "deep.jsonl", b'{"source": "a", "target": "b", "more": ' + deep + b"}\n"
    yield "quotes.csv", b"source,target\n'a','b'\nann,bob\nbob,cyd\ncyd,ann\n"


def _odd_shapes() -> Iterator[Seed]:
    """Files of one long line, of empty lines, of a very wide row, and JSON deeper than Python's stack."""
    yield Seed("data", "letters.txt", 300_000 * b"a", odd=True)
    yield Seed("data", "empty.txt", 300_000 * b"\n", odd=True)
    yield Seed("data", "zeros.txt", bytes(300_000), odd=True)
    yield Seed("data", "row.csv", b",".join(b"%d" % i for i in range(20_000)) + b"\n", odd=True)
    yield Seed("vectors", "row.csv", b"ann," + b",".join(b"%d.5" % i for i in range(5_000)) + b"\n", odd=True)
    for open_, close in ((b"[", b"]"), (b'{"a":', b"}")):
        deep = 20_000 * open_ + b"1" + 20_000 * close
        for name in ("deep.json", "deep.jsonl"):
            yield Seed("data", name, deep, odd=True)
        yield Seed("folder", "manifest.json", deep, odd=True)
        yield Seed("checkpoint", "checkpoint.json", deep, odd=True)


def _graphs() -> Iterator[tuple[str, bytes]]:
    import networkx as nx

    graph = nx.Graph([("ann", "bob", {"weight": 2.0}), ("bob", "cyd", {"weight": 0.5})])
    yield "friends.graphml", written(lambda f: nx.write_graphml_xml(graph, f))
    yield "friends.gml", written(lambda f: nx.write_gml(graph, f))
    yield "directed.gml", written(lambda f: nx.write_gml(nx.DiGraph([(0, 1), (1, 2)]), f))


def _anndata() -> Iterator[tuple[str, bytes]]:
    import anndata

    for label, X in {"sparse": sparse.csr_matrix(_matrix()), "dense": _matrix().toarray()}.items():
        data = anndata.AnnData(X)
        data.obs_names, data.var_names = [f"cell{i}" for i in range(8)], [f"gene{i}" for i in range(8)]
        data.obsp["connectivities"] = sparse.csr_matrix(_symmetric())
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{label}.h5ad"
            data.write_h5ad(path)
            yield path.name, path.read_bytes()


def _vectors() -> Iterator[Seed]:
    from softvec import Embedding

    rng = np.random.default_rng(2)
    n, d = 9, 4
    V = rng.standard_normal((n, d)).astype(np.float32)
    texts = [f"wörd{i}" for i in range(n)]
    kinds: dict[str, dict[str, Any]] = {
        "words": {"names": texts, "sizes": np.arange(n) + 1.0},
        "range": {"names": None},
        "integers": {"names": [3 * i + 1 for i in range(n)]},
        "pairs": {"names": [(f"n{i % 3}", i) for i in range(n)]},
        "mixed": {"names": [*texts[:-1], 7]},
        "shop": {"names": texts, "context_vectors": V[:5] + 1, "context_names": list("abcde")},
    }
    suffixes = ("svec", "vec", "bin", "parquet", "feather", "csv", "tsv", "npy", "vec.gz")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, more in kinds.items():
            for suffix in suffixes if kind in ("words", "integers", "shop") else ("svec", "parquet"):
                for old in Path(folder).iterdir():
                    old.unlink()
                path = Path(folder) / f"{kind}.{suffix}"
                Embedding(V, **more).save(path)
                beside = {p.name: p.read_bytes() for p in Path(folder).iterdir() if p != path}
                yield Seed("vectors", path.name, path.read_bytes(), beside)
                if suffix in ("svec", "npy"):
                    yield Seed("mapped", path.name, path.read_bytes(), beside)
    yield Seed("vectors", "glove.txt", b"the 0.1 0.2 0.3\nof 0.25 -1e-3 0.5\nnew york 1 2 3\n")


def _labels() -> Iterator[Seed]:
    yield Seed("labels", "codes.npy", written(lambda f: np.save(f, np.array([0, 1, -1, 2, 1, 0, 0, 2]))))
    yield Seed("labels", "several.npy", written(lambda f: np.save(f, (_matrix() > 0).toarray())))
    yield Seed("labels", "texts.npy", written(lambda f: np.save(f, np.array(list("abcabcab")))))
    yield Seed(
        "labels", "several.npz", written(lambda f: sparse.save_npz(f, sparse.csr_array(_matrix() != 0)))
    )
    yield Seed("labels", "plain.npz", written(lambda f: sparse.save_npz(f, _matrix(), compressed=False)))
    lines = b"".join(b"n%d\tclass %d\n" % (i, i % 3) for i in range(8))
    yield Seed("labels", "labels.tsv", lines)
    yield Seed("labels", "numbered.tsv", lines.replace(b"n", b""), options={"numbered": True})
    yield Seed("labels", "labels.txt.gz", gzip.compress(lines.replace(b"\t", b","), mtime=0))
    yield Seed("names", "names.txt", b"ann\nbob\ncyd\n")


def _checkpoints() -> Iterator[Seed]:
    import json

    meta = {"format": 1, "key": "key", "epoch": 3, "seed": 5, "history": {"loss": [1.0, 0.5, 0.4]}}
    arrays = {"X": np.ones((6, 3), np.float32), "labels": np.zeros(6, np.int64)}
    parts, beside = [], {}
    for name, array in arrays.items():
        for lo, hi in ((0, 3), (3, 6)):
            file = f"{name}-{lo}-{hi}.npy"
            beside[file] = written(lambda f, part=array[lo:hi]: np.save(f, part))
            crc = zlib.crc32(array[lo:hi].tobytes())
            parts.append({"array": name, "rows": [lo, hi], "file": f"epoch-000003-of-2/{file}", "crc": crc})
    whole = {**meta, "done": False, "history": [{"loss": 1.0}], "parts": parts}
    yield Seed("checkpoint", "checkpoint.json", json.dumps(whole).encode(), beside)


def _folders() -> Iterator[Seed]:
    from softvec import Embedding

    V = np.random.default_rng(3).standard_normal((9, 4)).astype(np.float32)
    shop = {"context_vectors": V[:5], "context_names": [("a", 1), "b", 3, 4.5, None]}
    for names, more in (
        ([f"wörd{i}" for i in range(9)], {"sizes": np.arange(9.0)}),
        (list(range(9)), {}),
        ([("n", i) for i in range(9)], shop),
    ):
        with tempfile.TemporaryDirectory() as folder:
            Embedding(V, names, **more).save(f"{folder}/vectors/")
            contents = {file.name: file.read_bytes() for file in Path(folder, "vectors").iterdir()}
        yield Seed("folder", "manifest.json", contents.pop("manifest.json"), contents)


def _additions() -> Iterator[Seed]:
    yield Seed("additions", "edges.txt", b"x n1\nx n2\ny n3\ny x\n")
    yield Seed("additions", "weights.csv", b"source,target,weight\nx,n1,2\nx,n2,0.5\ny,n3,1e-3\n")
    square = _symmetric(13)
    names = {"rows.utf8": np.frombuffer(b"".join(b"n%x" % i for i in range(13)), np.uint8)}
    parts = {"format": b"csr", "shape": square.shape, "data": square.data, "indices": square.indices}
    parts |= {"indptr": square.indptr, "rows.offsets": np.arange(0, 27, 2), **names}
    yield Seed("additions", "named.npz", written(lambda f: np.savez(f, **parts)))
    states = b"person,time,state\nann,0,1\nbob,0,0\ncyd,20,1\nann,20,0\nbob,45,\n"
    yield Seed("states", "states.csv", states)
    yield Seed("states", "states.tsv.gz", gzip.compress(states.replace(b",", b"\t"), mtime=0))


def seeds(only: str = "") -> list[Seed]:
    """Return all seeds, or those of a reader or whose names end so, in an order that does not change.

    AnnData and MATLAB files, each of which is read in a process of its own, are left out of all.
    """
    found: list[Seed] = []
    if only == "h5ad":
        for name, data in _anndata():
            found += [Seed("data", name, data, options={"kind": kind}) for kind in ("graph", "bipartite")]
        return found
    if only == "mat":
        return [Seed("data", name, data) for name, data in _matlab()]
    for make in (_texts, _matrix_market, _numpy, arrow, arrow_types, _shapes, _graphs):
        found += [Seed("data", name, data) for name, data in make()]
    for name, data in (*_numpy(), *_texts()):
        if name.startswith(("csr", "tall", "features")):
            found.append(Seed("data", name, data, options={"kind": "features", "n_neighbors": 2}))
        if name.startswith(("square", "dense", "tall")):
            found.append(Seed("data", name, data, options={"kind": "dense"}))
        if name.startswith(("wide", "edges.txt")):
            found.append(Seed("data", name, data, options={"kind": "bipartite"}))
    for make in (_vectors, _labels, _checkpoints, _folders, _additions, _odd_shapes):
        found += list(make())
    found += [Seed(reader, name, data, odd=True) for reader, name, data in odd_types()]
    return [seed for seed in found if seed.reader == only or seed.name.endswith(only)]

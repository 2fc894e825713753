"""Folders of vectors read part by part: neighbours and other files, with bounded memory."""

from __future__ import annotations

import json
import tracemalloc
import warnings

import numpy as np
import pyarrow as pa
import pytest

from softvec import Embedding
from softvec.cli import main
from softvec.core.errors import InputError
from softvec.embedding import search
from softvec.embedding.files import arrow, folder, parts
from softvec.embedding.files.formats import FORMATS

EXTENSION = {name: (format.extensions or ("/",))[0] for name, format in FORMATS.items()}


def vectors(n=300, d=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


@pytest.fixture
def many(tmp_path, monkeypatch):
    """Return a folder of 41 parts whose borders are no borders of blocks, and the same vectors in memory."""
    monkeypatch.setattr(folder, "_PART", 4 * 64 * 5000)
    monkeypatch.setattr(arrow, "ROWS", 1900)
    monkeypatch.setattr(search, "BLOCK", search.ROWS)
    V = vectors(201_234, 64)
    V[150_000] = V[3]  # a tie
    V[4] = 0.0
    emb = Embedding(V, range(10, 201_244), provenance={"made": "here"})
    emb.save(f"{tmp_path}/v/")
    assert len(list((tmp_path / "v").iterdir())) == 42
    return f"{tmp_path}/v/", emb


def test_neighbours_have_the_bits_of_the_whole(many):
    path, emb = many
    stored = parts.open_stored(path)
    assert stored.names == emb.names
    assert len(stored) == len(emb)
    for names in ([13], [14], list(range(10, 3000, 7)), [201_243, 10, 13]):
        assert stored.most_similar_batch(names, 7) == emb.most_similar_batch(names, 7)
    assert stored.most_similar([13, 99], [14], 5) == emb.most_similar([13, 99], [14], 5)
    assert stored.most_similar(13, n=1)[0][0] == 150_010
    assert stored.most_similar(13, exclude=[150_010], n=3) == emb.most_similar(13, exclude=[150_010], n=3)


def traced(work):
    """Return the peak bytes of arrays, of NumPy and of Arrow, while ``work`` runs, and its result."""
    before = pa.default_memory_pool()
    proxy = pa.proxy_memory_pool(before)
    pa.set_memory_pool(proxy)
    tracemalloc.start()
    try:
        result = work()
        return tracemalloc.get_traced_memory()[1] + proxy.max_memory(), result
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


@pytest.mark.alone
def test_memory_of_a_search_is_bounded(many):
    path, emb = many
    expected = emb.most_similar_batch(range(10, 40), 5)
    peak, answers = traced(lambda: parts.open_stored(path).most_similar_batch(range(10, 40), 5))
    assert answers == expected
    assert peak < emb.vectors.nbytes / 3
    everything, _ = traced(lambda: Embedding.load(path))
    assert everything > emb.vectors.nbytes


@pytest.mark.alone
@pytest.mark.parametrize("format", ["npy", "softvec", "word2vec-binary", "parquet", "feather", "folder"])
def test_memory_of_a_conversion_is_bounded(many, tmp_path, format, monkeypatch):
    monkeypatch.setattr(arrow, "ROWS", 5000)
    path, emb = many
    target = f"{tmp_path}/out{EXTENSION[format]}"
    peak, _ = traced(lambda: parts.open_stored(path).save(target, format))
    names = 120 * len(emb)  # text formats make a Python string of each name
    assert peak < emb.vectors.nbytes / 3 + (names if format in ("npy", "word2vec-binary") else 0)
    again = Embedding.load(target, format)
    np.testing.assert_array_equal(again.vectors, emb.vectors)
    assert again.names == emb.names


def test_conversions_write_the_files_of_a_conversion_from_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "_PART", 4 * 6 * 70)
    monkeypatch.setattr(arrow, "ROWS", 32)
    emb = Embedding(
        vectors(), [f"näme_{i}" for i in range(300)], sizes=np.arange(300.0), provenance={"made": "here"},
        context_vectors=vectors(90, seed=1), context_names=[f"c{i}" for i in range(90)],
    )  # fmt: skip
    emb.save(f"{tmp_path}/v/")
    stored = parts.open_stored(f"{tmp_path}/v/")
    for format in sorted(set(FORMATS) - {"folder"}):
        for side in ("rows", "context"):
            a, b = (tmp_path / f"{which}-{side}{EXTENSION[format]}" for which in "ab")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what text formats leave out
                emb.save(a, format, side=side)
                stored.save(b, format, side=side)
            files = [sorted(tmp_path.glob(f"{which}-{side}*")) for which in "ab"]
            assert len(files[0]) == len(files[1]) == FORMATS[format].files
            assert all(one.read_bytes() == two.read_bytes() for one, two in zip(*files)), format
            for file in (*files[0], *files[1]):
                file.unlink()
    emb.save(tmp_path / "a.svec")
    stored.save(tmp_path / "b.svec")
    assert (tmp_path / "a.svec").read_bytes() == (tmp_path / "b.svec").read_bytes()


def call(arguments):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert not end.value.code


def test_commands_leave_the_vectors_on_disk(tmp_path, capsys, monkeypatch):
    emb = Embedding(
        vectors(), [f"n{i}" for i in range(300)],
        context_vectors=vectors(90, seed=1), context_names=[f"c{i}" for i in range(90)],
    )  # fmt: skip
    emb.save(f"{tmp_path}/v/")
    monkeypatch.setattr(parts, "read", None)
    call(["neighbors", f"{tmp_path}/v/", "n7", "--context", "--json"])
    near = json.loads(capsys.readouterr().out)["n7"]
    assert [(item["name"], item["cosine"]) for item in near] == emb.most_similar("n7", among="context")
    call(["convert", f"{tmp_path}/v", f"{tmp_path}/out.npy", "--side", "rows", "--quiet"])
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), emb.vectors)
    assert (tmp_path / "out_names.txt").read_text().split() == emb.names.to_list()


def test_a_folder_is_converted_to_itself(tmp_path):
    emb = Embedding(vectors(), [f"n{i}" for i in range(300)])
    emb.save(f"{tmp_path}/v/")
    parts.open_stored(f"{tmp_path}/v/").save(f"{tmp_path}/v/")
    np.testing.assert_array_equal(Embedding.load(f"{tmp_path}/v/").vectors, emb.vectors)


def test_damage_is_found_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow, "ROWS", 32)
    V = vectors()
    V[77, 2] = np.inf
    emb = Embedding(vectors())
    object.__setattr__(emb, "vectors", V)  # a writer that does not look
    emb.save(f"{tmp_path}/v/")
    stored = parts.open_stored(tmp_path / "v")
    assert len(stored.vectors[:64]) == 64
    with pytest.raises(InputError, match=r"part-00000.parquet: the vector in row 78 holds"):
        stored.most_similar(3)


def test_vectors_of_a_folder_are_never_one_array_by_accident(tmp_path):
    Embedding(vectors()).save(f"{tmp_path}/v/")
    rows = parts.open_stored(f"{tmp_path}/v/").vectors
    with pytest.raises(TypeError, match="in slices"):
        np.asarray(rows)
    with pytest.raises(IndexError, match="rows 3 to 300 of 300"):
        rows[[300, 3]]
    np.testing.assert_array_equal(rows[[299, 3, 3]], vectors()[[299, 3, 3]])


def rewrite(path, **columns):
    """Put other columns into the only part of a folder, and its digest into the manifest."""
    import hashlib

    import pyarrow.parquet as pq

    part = path / "part-00000.parquet"
    table = pq.read_table(part)
    for name, values in columns.items():
        values = values.cast(table.schema.field(name).type)
        table = table.set_column(table.column_names.index(name), name, values)
    pq.write_table(table, part)
    head = json.loads((path / "manifest.json").read_text())
    digest = hashlib.sha256(part.read_bytes()).hexdigest()
    for entry in head["parts"]:
        for key, value in entry.items():
            if isinstance(value, str) and len(value) == len(digest):
                entry[key] = digest
        entry.update({"bytes": part.stat().st_size} if "bytes" in entry else {})
    (path / "manifest.json").write_text(json.dumps(head))


@pytest.mark.parametrize("text", ["[1", "[" * 100_000, "9" * 5000, '{"a": 1}'])
def test_a_name_that_is_not_json_is_refused(tmp_path, text):
    Embedding(vectors(3), [("a", 1), ("b", 2), ("c", 3)]).save(f"{tmp_path}/v/")
    rewrite(tmp_path / "v", name=pa.array(['["a", 1]', text, '["c", 3]']))
    with pytest.raises(InputError, match="a name is not valid JSON"):
        parts.open_stored(tmp_path / "v")
    with pytest.raises(InputError, match="a name is not valid JSON"):
        Embedding.load(tmp_path / "v")


@pytest.mark.parametrize("size", [np.nan, None, -1.0, np.inf])
def test_a_size_that_is_no_size_is_refused(tmp_path, size):
    Embedding(vectors(3), list("abc"), sizes=[1.0, 2.0, 3.0]).save(f"{tmp_path}/v/")
    rewrite(tmp_path / "v", size=pa.array([1.0, size, 3.0]))
    with pytest.raises(InputError, match=r"is damaged: (sizes have|a name or number is missing)"):
        parts.open_stored(tmp_path / "v")

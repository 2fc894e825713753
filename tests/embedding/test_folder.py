"""A folder of vectors: parquet parts and a manifest."""

from __future__ import annotations

import json
import mmap as mapping
import os
import shutil
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import softvec
from softvec import Embedding
from softvec.cli import main
from softvec.core.errors import InputError
from softvec.embedding.files import arrow, folder, parts


def vectors(n=300, d=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def same(a, b):
    np.testing.assert_array_equal(a.vectors, b.vectors)
    assert a.names == b.names
    assert a.provenance == b.provenance
    assert (a.context_vectors is None) == (b.context_vectors is None)
    if a.context_vectors is not None:
        np.testing.assert_array_equal(a.context_vectors, b.context_vectors)
        assert a.context_names == b.context_names


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mapping.mmap)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(folder, "_PART", 4 * 6 * 70)
    monkeypatch.setattr(arrow, "ROWS", 32)


@pytest.mark.parametrize("names", [
    [f"näme {i}" for i in range(300)], None, list(range(7, 307)), [("a", i) for i in range(300)],
], ids=["text", "range", "integers", "pairs"])  # fmt: skip
@pytest.mark.parametrize("mmap", [False, True])
def test_round_trip(tmp_path, small_parts, monkeypatch, names, mmap):
    monkeypatch.setattr(parts, "_IN_MEMORY", 0)
    monkeypatch.setattr("softvec.core.scratch._SMALL", 0)
    monkeypatch.setattr(parts, "available_memory", lambda: 0)
    emb = Embedding(vectors(), names, sizes=np.arange(300.0), provenance={"data": {"source": "x"}})
    emb.save(f"{tmp_path}/v/")
    assert sorted(os.listdir(tmp_path / "v")) == [
        "manifest.json",
        *(f"part-{k:05d}.parquet" for k in range(5)),
    ]
    again = Embedding.load(tmp_path / "v", mmap=mmap)
    same(emb, again)
    np.testing.assert_array_equal(again.sizes, emb.sizes)
    assert is_mapped(again.vectors) == mmap


def test_two_sides(tmp_path, small_parts):
    emb = Embedding(
        vectors(), context_vectors=vectors(90, seed=1), context_names=[f"c{i}" for i in range(90)]
    )
    emb.save(f"{tmp_path}/v/")
    same(emb, Embedding.load(f"{tmp_path}/v/"))


def test_any_table_tool_reads_the_parts(tmp_path):
    emb = Embedding(vectors(), [f"n{i}" for i in range(300)])
    emb.save(f"{tmp_path}/v/")
    table = pq.read_table(tmp_path / "v" / "part-00000.parquet")
    assert table.schema.field("vector").type == pa.list_(pa.float32(), 6)
    np.testing.assert_array_equal(np.stack(table.column("vector").to_numpy()), emb.vectors)
    assert table.column("name").to_pylist() == emb.names.to_list()


def test_a_new_save_replaces_the_old_one_at_once(tmp_path, small_parts, monkeypatch):
    old, new = Embedding(vectors()), Embedding(vectors(90, seed=1))
    old.save(f"{tmp_path}/v/")
    write = folder._write_part

    def fails(path, *rest):
        if path.name.startswith("part-00001"):
            raise KeyboardInterrupt
        return write(path, *rest)

    monkeypatch.setattr(folder, "_write_part", fails)
    for name in ("v", "new"):
        with pytest.raises(KeyboardInterrupt):
            new.save(f"{tmp_path}/{name}/")
    assert os.listdir(tmp_path) == ["v"]
    same(old, Embedding.load(tmp_path / "v"))
    monkeypatch.setattr(folder, "_write_part", write)
    new.save(tmp_path / "v")
    same(new, Embedding.load(tmp_path / "v"))
    assert len(os.listdir(tmp_path / "v")) == 3


@pytest.mark.skipif(os.name == "nt", reason="no locks of folders")
def test_a_second_writer_is_refused_while_the_first_is_at_work(tmp_path, small_parts, monkeypatch):
    first, second = Embedding(vectors()), Embedding(vectors(90, seed=1))
    write, refused = folder._write_part, []

    def interrupted(*args, **options):
        if not refused:
            refused.append(1)
            with pytest.raises(InputError, match=r"another process is writing to .*v/?; wait until"):
                second.save(f"{tmp_path}/v/")
        return write(*args, **options)

    monkeypatch.setattr(folder, "_write_part", interrupted)
    first.save(f"{tmp_path}/v/")
    assert refused
    same(first, Embedding.load(tmp_path / "v"))
    second.save(f"{tmp_path}/v/")
    same(second, Embedding.load(tmp_path / "v"))


def killed_while_writing(path, monkeypatch):
    """Leave what a killed writer leaves: the files it announced, one of them half written."""
    left = {}

    def killed(file, *_):
        left.update(name=file.name, head=(path / "manifest.json").read_text())
        raise SystemExit

    with monkeypatch.context() as patch, suppress(SystemExit):
        patch.setattr(folder, "_write_part", killed)
        Embedding(vectors()).save(f"{path}/")
    path.mkdir(exist_ok=True)
    (path / "manifest.json").write_text(left["head"])
    (path / left["name"]).write_text("whole")
    (path / f".{left['name'].replace('00000', '00001')}.abcd1234.part").write_text("half")


@pytest.mark.parametrize("saves", [0, 1])
def test_parts_of_a_killed_writer_go_with_the_next_save(tmp_path, saves, monkeypatch):
    emb = Embedding(vectors())
    monkeypatch.setattr(folder, "_PART", 4 * 6 * 200)
    for _ in range(saves):
        emb.save(f"{tmp_path}/v/")
    killed_while_writing(tmp_path / "v", monkeypatch)
    if saves:
        same(emb, Embedding.load(tmp_path / "v"))
    else:
        with pytest.raises(InputError, match="is unfinished"):
            Embedding.load(tmp_path / "v")
    emb.save(f"{tmp_path}/v/")
    written = [f"part-0000{k}-{1 + saves}.parquet" for k in (0, 1)]
    assert sorted(os.listdir(tmp_path / "v")) == ["manifest.json", *written]
    same(emb, Embedding.load(tmp_path / "v"))


NAMES_OF_OURS = [
    "part-00000.parquet", "part-00001.parquet", "part-00000-1.parquet", "context-00000.parquet",
    "part-00007-12.parquet", "manifest.json", ".part-00000.parquet.abcd1234.part", "own.txt",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES_OF_OURS)
def test_a_folder_with_foreign_files_is_refused(tmp_path, name):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / name).write_text("mine")
    with pytest.raises(InputError, match=r"holds other files|holds a manifest.json that softvec did not"):
        Embedding(vectors()).save(f"{tmp_path}/data/")
    with pytest.raises(InputError, match=r"holds other files|holds a manifest.json that softvec did not"):
        softvec.embed([(0, 1), (1, 2)], 2, output=tmp_path / "data")
    assert os.listdir(tmp_path / "data") == [name]
    assert (tmp_path / "data" / name).read_text() == "mine"


@pytest.mark.parametrize("name", [name for name in NAMES_OF_OURS if name != "manifest.json"])
def test_foreign_files_in_a_folder_of_ours_stay(tmp_path, name):
    Embedding(vectors()).save(f"{tmp_path}/v/")
    (tmp_path / "v" / name).write_text("mine")
    for seed in (1, 2):
        emb = Embedding(vectors(seed=seed))
        emb.save(f"{tmp_path}/v/")
        assert (tmp_path / "v" / name).read_text() == "mine"
        same(emb, Embedding.load(tmp_path / "v"))
    assert len(os.listdir(tmp_path / "v")) == 3


def test_a_manifest_that_lists_other_files_deletes_none(tmp_path):
    Embedding(vectors()).save(f"{tmp_path}/v/")
    (tmp_path / "mine.txt").write_text("mine")
    edit(tmp_path / "v", lambda head: head.update(writing=["../mine.txt"]))
    with pytest.raises(InputError, match="or a damaged one"):
        Embedding(vectors()).save(f"{tmp_path}/v/")
    assert (tmp_path / "mine.txt").exists()


@pytest.mark.parametrize("source", ["", "*.parquet", "part-00000.parquet"])
def test_the_folder_of_the_input_is_no_output(tmp_path, source, capsys):
    edges = tmp_path / "edges"
    edges.mkdir()
    for k in range(2):
        pq.write_table(pa.table({"a": [k, 1, 2], "b": [3, 4, 5]}), edges / f"part-0000{k}.parquet")
    before = {file.name: file.read_bytes() for file in edges.iterdir()}
    for more in ([], ["--cluster", "local:2"]):
        with pytest.raises(SystemExit) as end:
            main(["embed", f"{edges}/{source}", "-o", f"{edges}/", *more])
        assert end.value.code == 2
        assert "choose another output" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(InputError, match="choose another output"):
        softvec.embed(f"{edges}/{source}", output=f"{edges}/")
    assert {file.name: file.read_bytes() for file in edges.iterdir()} == before


def test_an_output_file_that_is_read_is_refused(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("a,b\nb,c\n")
    for source in (f"{tmp_path}/", f"{tmp_path}/*.csv", f"{tmp_path}/../{tmp_path.name}/a.csv"):
        with pytest.raises(SystemExit):
            main(["embed", source, "-o", f"{tmp_path}/a.csv"])
        assert "would replace" in " ".join(capsys.readouterr().err.split())


@pytest.fixture
def saved(tmp_path, small_parts):
    Embedding(vectors(), [f"n{i}" for i in range(300)]).save(f"{tmp_path}/v/")
    return tmp_path / "v"


def edit(saved, change):
    head = json.loads((saved / "manifest.json").read_text())
    change(head)
    (saved / "manifest.json").write_text(json.dumps(head))


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def set_part(key, value):
    return lambda head: head["parts"][1].update({key: value})


@pytest.mark.parametrize(("damage", "message"), [
    (lambda v: flip(v / "part-00002.parquet"), "part-00002.parquet is damaged"),
    (lambda v: (v / "part-00002.parquet").unlink(), "00002.parquet is missing"),
    (lambda v: os.truncate(v / "part-00002.parquet", 100), "has 100 bytes"),
    (lambda v: shutil.copy(v / "part-00001.parquet", v / "part-00002.parquet"), "2.parquet is damaged"),
    (lambda v: (v / "manifest.json").unlink(), "without a manifest.json"),
    (lambda v: (v / "manifest.json").write_text('{"form'), "is not JSON"),
    (lambda v: (v / "manifest.json").write_text("[]"), "does not describe a folder"),
    (lambda v: edit(v, lambda head: head.update(version=9)), "version 9"),
    (lambda v: edit(v, lambda head: head.update(vectors=10**12)), "is damaged"),
    (lambda v: edit(v, lambda head: head.update(dimensions=10**9)), "cannot hold"),
    (lambda v: edit(v, lambda head: head.update(dimensions=5)), "columns are not"),
    (lambda v: edit(v, lambda head: head.update(names="integer")), "columns are not"),
    (lambda v: edit(v, lambda head: head.pop("provenance")), "lacks the shape"),
    (lambda v: edit(v, set_part("file", "../../etc/passwd")), "is not a part of a folder"),
    (lambda v: edit(v, set_part("file", "/etc/part-00001.parquet")), "is not a part of a folder"),
    (lambda v: edit(v, set_part("file", "part-00000.parquet")), "lists a part twice"),
    (lambda v: edit(v, set_part("rows", -1)), "is not a part"),
    (lambda v: edit(v, set_part("rows", True)), "a part lacks"),
    (lambda v: edit(v, set_part("side", "left")), "is not a part"),
], ids=range(19))  # fmt: skip
def test_damage_is_refused(saved, damage, message):
    damage(saved)
    with pytest.raises(InputError, match=message):
        Embedding.load(saved)


def test_a_link_out_of_the_folder_is_refused(saved, tmp_path):
    shutil.move(saved / "part-00001.parquet", tmp_path / "outside.parquet")
    (saved / "part-00001.parquet").symlink_to(tmp_path / "outside.parquet")
    with pytest.raises(InputError, match="is not a plain file"):
        Embedding.load(saved)


def test_a_name_in_two_parts_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "_PART", 4 * 6 * 2)
    emb = Embedding(vectors(4), ["a", "b", "c", "d"])
    with monkeypatch.context() as patch:  # a writer that does not look
        patch.setattr("softvec.names.storage.refuse_duplicates", lambda store: None)
        object.__setattr__(emb, "names", type(emb.names)(["a", "b", "c", "a"]))
        emb.save(f"{tmp_path}/v/")
    with pytest.raises(InputError, match=r"duplicate name 'a' \(rows 0 and 3\)"):
        Embedding.load(tmp_path / "v")


def test_what_is_not_a_folder_is_refused(tmp_path):
    (tmp_path / "own.txt").write_text("mine")
    with pytest.raises(InputError, match=r"without a manifest.json"):
        Embedding.load(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        Embedding(vectors()).save(f"{tmp_path}/own.txt/")


def call(arguments):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert not end.value.code


def test_command_line(tmp_path, capsys, monkeypatch):
    (tmp_path / "e.txt").write_text("a b\nb c\nc a\nc d\n")
    out = f"{tmp_path}/vectors/"
    call(["embed", f"{tmp_path}/e.txt", "-o", out, "-d", "4", "--quiet"])
    emb = softvec.Embedding.load(out)
    assert emb.names.to_list() == ["a", "b", "c", "d"]
    capsys.readouterr()
    call(["neighbors", out, "a", "-n", "2", "--json"])
    near = json.loads(capsys.readouterr().out)["a"]
    assert [item["name"] for item in near] == [name for name, _ in emb.most_similar("a", n=2)]
    call(["convert", out, f"{tmp_path}/v.svec", "--quiet"])
    same(emb, Embedding.load(tmp_path / "v.svec"))
    call(["convert", f"{tmp_path}/v.svec", f"{tmp_path}/again/", "--quiet"])
    same(emb, Embedding.load(f"{tmp_path}/again/"))
    capsys.readouterr()
    monkeypatch.setattr(parts, "open_stored", None)  # info leaves the vectors alone
    call(["info", out, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["vectors"], told["dimensions"], told["names"]) == (4, 4, ["a", "b", "c", "d"])

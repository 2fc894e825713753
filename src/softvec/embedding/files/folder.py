"""A folder of vectors: parquet parts that other tools can read, and a manifest that lists them.

``part-00000.parquet``, ... hold the columns ``name``, ``vector`` (fixed-size lists of float32) and, if known,
``size``; ``context-00000.parquet``, ... the second side. ``manifest.json`` lists them. Only a folder that is
new, empty or has such a manifest is written to, and only files that it lists are deleted.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from softvec.core.checks import Json
from softvec.core.errors import InputError
from softvec.core.files import atomic_write, locked, refuse_input_as_output, remove_stale
from softvec.core.untrusted import reading
from softvec.embedding.core import Embedding
from softvec.embedding.files.arrow import COLUMNS, Side, description, name_type, sides_of, write_tables
from softvec.embedding.files.common import MOST_JSON, check_format, check_json, parse_json
from softvec.embedding.files.formats import MANIFEST
from softvec.embedding.files.record import check_record
from softvec.read.tables import check_rows

FORMAT, VERSION = "softvec-folder", 1
SIDES = {"rows": "part", "context": "context"}
_FILE = re.compile(r"(part|context)-\d{5,}(?:-(\d+))?\.parquet")
_UNFINISHED_MANIFEST = re.compile(rf"\.{re.escape(MANIFEST)}\.\w{{8}}\.part")
_WRITING = "writing"  # key of the manifest: files that a writer has begun, and may have left behind
_PART = 512 << 20  # bytes of vectors in a part
_MOST_MANIFEST = 4 * MOST_JSON  # 100,000 parts


@dataclass(frozen=True)
class PartFile:
    """A file of the folder, as its manifest lists it."""

    file: str
    side: str
    rows: int
    bytes: int
    sha256: str


# writing


def check_target(folder: str | os.PathLike[str], source: Any = None) -> None:
    """Raise an error unless this folder is new, is empty or has a manifest that softvec wrote.

    ``source`` is the data to embed; a folder that holds it is refused.
    """
    path = Path(folder)
    refuse_input_as_output(source, path)
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; give the name of a folder")
    others = [entry.name for entry in path.iterdir()] if path.is_dir() else []
    others = [name for name in others if not _UNFINISHED_MANIFEST.fullmatch(name)]
    if others and MANIFEST not in others:
        raise InputError(
            f"{path} holds other files (first: {min(others)!r}); give a new or an empty folder for vectors"
        )
    _own_manifest(path)


def write(emb: Embedding, folder: str | os.PathLike[str], format: str) -> None:
    """Write an embedding as a folder; until it is whole, a folder of vectors keeps the old ones."""
    check_target(folder)
    path, new = Path(folder), not os.path.exists(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make {folder}: {error.strerror or error}") from error
    with locked(path, wait=False):
        old = _own_manifest(path)
        sides = sides_of(emb)
        planned = _planned(sides, path)
        head = old or {"format": FORMAT, "version": VERSION, "parts": []}
        # before the first part is written: the parts of a process that is killed are known as ours
        _write_manifest(path, head | {_WRITING: [*head.get(_WRITING, []), *(file for file, _, _ in planned)]})
        try:
            parts = [_write_part(path / file, sides[side], rows) for file, side, rows in planned]
            _write_manifest(path, _described(emb, sides, parts))
        except BaseException:  # leave the folder as it was
            with suppress(OSError, InputError):
                if old is not None:
                    _write_manifest(path, old)
                else:
                    (path / MANIFEST).unlink()
                _remove(path, {file: None for file, _, _ in planned})
                if new:
                    path.rmdir()
            raise
        kept = {part.file for part in parts}
        _remove(path, {file: size for file, size in _listed(head).items() if file not in kept})


def _planned(sides: list[Side], path: Path) -> list[tuple[str, int, range]]:
    """Return the file, side and rows of each part.

    No file has this generation in its name yet, so that nothing is overwritten.
    """
    taken = [_FILE.fullmatch(entry.name) for entry in path.iterdir()]
    generation = 1 + max((int(match[2] or 0) for match in taken if match), default=-1)
    suffix = f"-{generation}.parquet" if generation else ".parquet"
    step = max(1, _PART // (4 * sides[0].vectors.shape[1]))
    return [
        (f"{SIDES[side.side]}-{number:05d}{suffix}", at, range(lo, min(lo + step, len(side.names))))
        for at, side in enumerate(sides)
        for number, lo in enumerate(range(0, max(len(side.names), 1), step))
    ]


def _write_part(path: Path, side: Side, rows: range) -> PartFile:
    import pyarrow as pa

    schema = pa.schema(side.fields())
    with atomic_write(path, "wb") as stream:
        write_tables(stream, schema, side.tables(schema, rows), "parquet")
    return PartFile(path.name, side.side, len(rows), path.stat().st_size, _digest(path))


def _described(emb: Embedding, sides: list[Side], parts: list[PartFile]) -> Json:
    """Return the manifest of these parts."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "vectors": len(emb.names),
        "context_vectors": None if emb.context_names is None else len(emb.context_names),
        "dimensions": emb.n_components,
        "dtype": "float32",
        **json.loads(check_json(json.dumps(description(emb, sides[0].encoding)))),
        "parts": [asdict(part) for part in parts],
    }


def _write_manifest(folder: Path, head: Json) -> None:
    with atomic_write(folder / MANIFEST, "w", encoding="utf-8") as file:
        json.dump(head, file, indent=1, allow_nan=False)


def _own_manifest(path: Path) -> Json | None:
    """Return the manifest of a folder, None if it has none; raise an error if it is not softvec's."""
    manifest = path / MANIFEST
    if not (manifest.exists() or manifest.is_symlink()):
        return None
    try:
        head: Json = _json(manifest)
        if head["format"] != FORMAT or manifest.is_symlink() or not all(map(_FILE.fullmatch, _listed(head))):
            raise InputError(f"{manifest} is not a manifest of vectors, or lists other files")
    except (InputError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} holds a {MANIFEST} that softvec did not write, or a damaged one; give another folder"
        ) from error
    return head


def _listed(head: Json) -> dict[str, int | None]:
    """Return the files that a manifest lists, with their bytes if known."""
    sizes: dict[str, int | None] = {part["file"]: part["bytes"] for part in head["parts"]}
    return sizes | dict.fromkeys(head.get(_WRITING, []))


def _remove(path: Path, files: Mapping[str, int | None]) -> None:
    """Delete files of ours, but for those that another program replaced, and what killed writers left."""
    for name, size in files.items():
        file = path / name
        if file.is_file() and not file.is_symlink() and size in (None, file.stat().st_size):
            file.unlink()
    unfinished = [re.escape(name) for name, size in files.items() if size is None]
    if unfinished:
        remove_stale(path, rf"\.(?:{'|'.join(unfinished)})\.")


# reading


@dataclass(frozen=True)
class Folder:
    """The manifest of a folder, checked; the parts are not opened yet."""

    path: Path
    head: Json
    parts: tuple[PartFile, ...]

    @property
    def dimensions(self) -> int:
        """Number of dimensions."""
        return int(self.head["dimensions"])

    def side(self, side: str) -> list[PartFile]:
        """Return the parts of a side."""
        return [part for part in self.parts if part.side == side]

    def rows(self, side: str) -> int:
        """Number of vectors of a side."""
        return sum(part.rows for part in self.side(side))

    def check_digests(self) -> None:
        """Raise an error if a part is not the file that the manifest describes."""
        for part in self.parts:
            if _digest(self.path / part.file) != part.sha256:
                raise InputError(
                    f"{self.path / part.file} is damaged: it is not the file that {MANIFEST} describes"
                )

    @contextmanager
    def opened(self, part: PartFile) -> Iterator[Any]:
        """Open a part as a parquet file, after checking its footer."""
        import pyarrow.parquet as pq

        path = self.path / part.file
        with reading(str(path), "parquet file"), open(path, "rb") as stream:
            file = pq.ParquetFile(stream)
            check_rows(file.metadata, part.bytes, str(path))
            self._check_schema(file.schema_arrow, path)
            if file.metadata.num_rows != part.rows:
                raise InputError(
                    f"{path} is damaged: it holds {file.metadata.num_rows:,} vectors, {MANIFEST} says "
                    f"{part.rows:,}"
                )
            yield file

    def _check_schema(self, schema: Any, path: Path) -> None:
        import pyarrow as pa

        types = {field.name: field.type for field in schema}
        known = {"name": name_type(self.head["names"]), "vector": pa.list_(pa.float32(), self.dimensions)}
        known |= {key: pa.from_numpy_dtype(kind) for key, kind in COLUMNS.items()}
        wrong = any(known.get(key) != kind for key, kind in types.items())
        if wrong or len(types) != len(schema) or not {"name", "vector"} <= set(types):
            raise InputError(f"{path} is damaged: its columns are not the names and vectors of {MANIFEST}")


def open_folder(path: str | os.PathLike[str]) -> Folder:
    """Read and check the manifest of a folder, and check that its parts exist."""
    folder = Path(path)
    name = folder / MANIFEST
    if not name.is_file():
        raise InputError(
            f"{path} is a directory without a {MANIFEST}; expected a file or a folder of vectors"
        )
    head = _checked(_json(name), name)
    check_record(head["provenance"], str(path))
    parts = tuple(_part(entry, name) for entry in head["parts"])
    if len({part.file for part in parts}) != len(parts):
        raise InputError(f"{name} is damaged: it lists a part twice")
    checked = Folder(folder, head, parts)
    expected = (head["vectors"], head.get("context_vectors") or 0)
    if (checked.rows("rows"), checked.rows("context")) != expected or not checked.side("rows"):
        raise InputError(f"{name} is damaged: the rows of its parts are not the {expected[0]:,} it claims")
    for part in parts:
        _check_file(folder / part.file, part, checked.dimensions)
    return checked


def _json(name: Path) -> Any:
    with open(name, "rb") as file:
        size = min(os.fstat(file.fileno()).st_size, _MOST_MANIFEST) + 1  # a read reserves all it may return
        return parse_json(file.read(size), f"{name} is damaged: it", _MOST_MANIFEST)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


_HEAD: dict[str, Callable[[Any], bool]] = {  # what the entries of a manifest must be
    "dimensions": lambda value: _is_count(value) and value > 0,
    "vectors": _is_count,
    "context_vectors": lambda value: value is None or _is_count(value),
    "dtype": lambda value: value == "float32",
    "names": lambda value: value in ("text", "integer", "json"),
    "provenance": lambda value: isinstance(value, dict),
    "parts": lambda value: isinstance(value, list) and len(value) > 0,
}


def _checked(head: Any, name: Path) -> Json:
    check_format(head, FORMAT, VERSION, f"{name} does not describe a folder of vectors", str(name))
    if not head.get("parts") and head.get(_WRITING):
        raise InputError(f"{name.parent} is unfinished: its writer was stopped; write it again")
    if not all(holds(head.get(key)) for key, holds in _HEAD.items()):
        raise InputError(f"{name} is damaged: it lacks the shape, the provenance or the parts")
    return head


def _part(entry: Any, name: Path) -> PartFile:
    """Check an entry of the manifest: a plain file name, so that no part lies outside the folder."""
    keys = {"file": str, "side": str, "rows": int, "bytes": int, "sha256": str}
    if not isinstance(entry, dict) or any(type(entry.get(key)) is not kind for key, kind in keys.items()):
        raise InputError(f"{name} is damaged: a part lacks its file, side, rows, bytes or sha256")
    part = PartFile(**{key: entry[key] for key in keys})
    if not _FILE.fullmatch(part.file) or part.side not in SIDES or min(part.rows, part.bytes) < 0:
        raise InputError(f"{name} is damaged: {part.file[:60]!r} is not a part of a folder of vectors")
    return part


def _check_file(path: Path, part: PartFile, dimensions: int) -> None:
    if path.is_symlink() or not path.is_file():
        raise InputError(f"{path} is missing, or is not a plain file, though {MANIFEST} lists it")
    if path.stat().st_size != part.bytes:
        raise InputError(
            f"{path} is damaged: it has {path.stat().st_size:,} bytes, {MANIFEST} says {part.bytes:,}"
        )
    if 4 * part.rows * dimensions > part.bytes:
        raise InputError(f"{path} is damaged: {part.bytes:,} bytes cannot hold {part.rows:,} vectors")


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

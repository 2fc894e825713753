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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from softvec.core.checks import plain_json
from softvec.core.errors import InputError
from softvec.core.files import atomic_write, locked, refuse_input_as_output, remove_stale
from softvec.core.untrusted import reading
from softvec.embedding.core import Embedding
from softvec.embedding.files.arrow import (
    FIT_COLUMNS,
    PARQUET,
    ROWS,
    SIZE,
    SideRows,
    description,
    matrices,
    sides_of,
)
from softvec.embedding.files.common import MANIFEST, MOST_JSON, Json, Options, check_json, parse_json
from softvec.embedding.files.record import check_record
from softvec.read.tables import check_rows

FORMAT, VERSION = "softvec-folder", 1
SIDES = {"rows": "part", "context": "context"}
_FILE = re.compile(r"(part|context)-\d{5,}(?:-(\d+))?\.parquet")
_UNFINISHED_MANIFEST = re.compile(rf"\.{re.escape(MANIFEST)}\.\w{{8}}\.part")
_WRITING = "writing"  # key of the manifest: files that a writer has begun, and may have left behind
_PART = 512 << 20  # bytes of a part, if one process writes them all
_MOST_MANIFEST = 4 * MOST_JSON  # 100,000 parts


@dataclass(frozen=True)
class PartFile:
    """A file of the folder, as its manifest lists it."""

    file: str
    side: str
    rows: int
    bytes: int
    sha256: str


def make_folder(folder: str | os.PathLike[str]) -> Path:
    """Make the folder if it does not exist; refuse one with files but no manifest of ours."""
    path = Path(folder)
    check_target(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make {folder}: {error.strerror or error}") from error
    return path


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
    if not others:
        return
    if MANIFEST not in others:
        raise InputError(
            f"{path} holds other files (first: {min(others)!r}); give a new or an empty folder for vectors"
        )
    _listed(path)


@contextmanager
def writing(folder: str | os.PathLike[str], counts: Mapping[str, int]) -> Iterator[int]:
    """Prepare the folder for so many parts of each side; yield the generation of their file names.

    No file has that generation yet, so nothing is overwritten. The names go into the manifest before the
    first part is written: parts of a process that was killed are known as ours. Older parts stay listed until
    :func:`write_manifest`; an error leaves the folder as it was.
    """
    new = not os.path.exists(folder)
    path = make_folder(folder)
    listed, taken = _listed(path), [_FILE.fullmatch(entry.name) for entry in path.iterdir()]
    generation = 1 + max((int(match[2] or 0) for match in taken if match), default=-1)
    names = [_file_name(side, k, generation) for side in SIDES for k in range(counts.get(side, 0))]
    before = _json(path / MANIFEST) if listed is not None else None
    head = before or {"format": FORMAT, "version": VERSION, "parts": []}
    unfinished = [*head.get(_WRITING, []), *names]
    _write_json(path, head | {_WRITING: unfinished})
    try:
        yield generation
    except BaseException:
        with suppress(OSError, InputError):
            if _WRITING not in _json(path / MANIFEST):  # the new vectors are in place
                raise
            if before is not None:
                _write_json(path, before)
            else:
                (path / MANIFEST).unlink()
            _remove(path, dict.fromkeys(names))
            if new:
                path.rmdir()
        raise


def _listed(path: Path) -> dict[str, int | None] | None:
    """Return the files that the manifest lists, with their bytes if known; None if there is no manifest."""
    manifest = path / MANIFEST
    if not (manifest.exists() or manifest.is_symlink()):
        return None
    try:
        head = _json(manifest)
        if head["format"] != FORMAT or manifest.is_symlink():
            raise InputError(f"{manifest} is not a manifest of vectors")
        listed = {part["file"]: part["bytes"] for part in head["parts"]}
        listed |= dict.fromkeys(head.get(_WRITING, []))
        if not all(_FILE.fullmatch(name) for name in listed):
            raise InputError(f"{manifest} lists other files")
    except (InputError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} holds a {MANIFEST} that softvec did not write, or a damaged one; give another folder"
        ) from error
    return listed


def _remove(path: Path, files: Mapping[str, int | None]) -> None:
    """Delete files of ours, but for those that another program replaced, and what killed writers left."""
    for name, size in files.items():
        file = path / name
        if file.is_file() and not file.is_symlink() and size in (None, file.stat().st_size):
            file.unlink()
    unfinished = [re.escape(name) for name, size in files.items() if size is None]
    if unfinished:
        remove_stale(path, rf"\.(?:{'|'.join(unfinished)})\.")


def _file_name(side: str, number: int, generation: int) -> str:
    return f"{SIDES[side]}-{number:05d}{f'-{generation}' if generation else ''}.parquet"


def write_part(
    folder: str | os.PathLike[str], number: int, rows: SideRows, encoding: str, *, generation: int = 0
) -> PartFile:
    """Write one part; ``encoding``, that of the names, is the same for all parts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = _file_name(rows.side, number, generation)
    schema = pa.schema({**dict(rows.fields(encoding)), "name": _name_type(encoding)})
    path = Path(folder) / file
    with atomic_write(path, "wb") as stream, pq.ParquetWriter(stream, schema, **PARQUET) as writer:
        for table in rows.tables(schema, encoding, ROWS):
            writer.write_table(table)
    return PartFile(file, rows.side, len(rows.names), path.stat().st_size, _digest(path))


def _name_type(encoding: str) -> Any:
    import pyarrow as pa

    return pa.int64() if encoding == "integer" else pa.large_string()


def write_manifest(
    folder: str | os.PathLike[str],
    parts: Sequence[PartFile],
    dimensions: int,
    encoding: str,
    described: Mapping[str, Any],
) -> Path:
    """Write the manifest, after all parts are written, and delete the parts that the old one listed.

    ``described`` is what no part holds: see :func:`softvec.embedding.files.arrow.description`.
    """
    old = _listed(Path(folder)) or {}
    counts = {side: sum(part.rows for part in parts if part.side == side) for side in SIDES}
    head = {
        "format": FORMAT,
        "version": VERSION,
        "vectors": counts["rows"],
        "context_vectors": counts["context"] if any(part.side == "context" for part in parts) else None,
        "dimensions": dimensions,
        "dtype": "float32",
        "names": encoding,
        **json.loads(check_json(json.dumps(plain_json(described)))),
        "parts": [asdict(part) for part in parts],
    }
    manifest = _write_json(Path(folder), head)
    kept = {part.file for part in parts}
    _remove(Path(folder), {name: size for name, size in old.items() if name not in kept})
    return manifest


def _write_json(folder: Path, head: Mapping[str, Any]) -> Path:
    with atomic_write(folder / MANIFEST, "w", encoding="utf-8") as file:
        json.dump(head, file, indent=1, allow_nan=False)
    return folder / MANIFEST


def write(emb: Embedding, folder: str | os.PathLike[str], options: Options) -> list[Path]:
    """Write an embedding as a folder, from one process."""
    with locked(make_folder(folder), wait=False):
        return _write_parts(emb, folder)


def _write_parts(emb: Embedding, folder: str | os.PathLike[str]) -> list[Path]:
    sides, encoding = sides_of(emb)
    step = max(1, _PART // (4 * emb.n_components))
    starts = {side.side: range(0, max(len(side.names), 1), step) for side in sides}
    parts = []
    with writing(folder, {side: len(each) for side, each in starts.items()}) as generation:
        for rows in sides:
            for k, lo in enumerate(starts[rows.side]):
                part = rows.taken(lo, lo + step)
                parts.append(write_part(folder, k, part, encoding, generation=generation))
        manifest = write_manifest(folder, parts, emb.n_components, encoding, description(emb))
    return [Path(folder) / part.file for part in parts] + [manifest]


@dataclass(frozen=True)
class Folder:
    """The manifest of a folder, checked; the parts are not opened yet."""

    path: Path
    dimensions: int
    names: str
    provenance: Mapping[str, Any]
    matrices: Mapping[str, NDArray[Any]]
    parts: tuple[PartFile, ...]

    def rows(self, side: str) -> int:
        """Number of vectors of a side."""
        return sum(part.rows for part in self.parts if part.side == side)

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
            _check_schema(file.schema_arrow, self, path)
            if file.metadata.num_rows != part.rows:
                raise InputError(
                    f"{path} is damaged: it holds {file.metadata.num_rows:,} vectors, {MANIFEST} says "
                    f"{part.rows:,}"
                )
            yield file


def open_folder(path: str | os.PathLike[str]) -> Folder:
    """Read and check the manifest of a folder, and check that its parts exist."""
    folder = Path(path)
    name = folder / MANIFEST
    if not name.is_file():
        raise InputError(
            f"{path} is a directory without a {MANIFEST}; expected a file or a folder of vectors"
        )
    head = _header(name)
    check_record(head["provenance"], str(path))
    parts = [_part(entry, name) for entry in head["parts"]]
    if len({part.file for part in parts}) != len(parts):
        raise InputError(f"{name} is damaged: it lists a part twice")
    record, arrays = head["provenance"], matrices(head, str(path))
    checked = Folder(folder, head["dimensions"], head["names"], record, arrays, tuple(parts))
    expected = (head["vectors"], head.get("context_vectors") or 0)
    if (checked.rows("rows"), checked.rows("context")) != expected:
        raise InputError(f"{name} is damaged: the rows of its parts are not the {expected[0]:,} it claims")
    for part in parts:
        _check_file(folder / part.file, part, head["dimensions"])
    return checked


def _json(name: Path) -> Any:
    with open(name, "rb") as file:
        size = min(os.fstat(file.fileno()).st_size, _MOST_MANIFEST) + 1  # a read reserves all it may return
        return parse_json(file.read(size), f"{name} is damaged: it", _MOST_MANIFEST)


_HEAD: dict[str, Callable[[Any], bool]] = {  # what the entries of a manifest must be
    "dimensions": lambda value: _is_count(value) and value > 0,
    "vectors": lambda value: _is_count(value),
    "context_vectors": lambda value: value is None or _is_count(value),
    "dtype": lambda value: value == "float32",
    "names": lambda value: value in ("text", "integer", "json"),
    "provenance": lambda value: isinstance(value, dict),
    "parts": lambda value: isinstance(value, list) and len(value) > 0,
}


def _header(name: Path) -> Json:
    head = _json(name)
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise InputError(f"{name} does not describe a folder of vectors written by softvec")
    if not _is_count(head.get("version")) or head["version"] > VERSION:
        raise InputError(
            f"{name} has version {head.get('version')!r}; softvec reads up to {VERSION}: install a newer one"
        )
    if not head.get("parts") and head.get(_WRITING):
        raise InputError(f"{name.parent} is unfinished: its writer was stopped; write it again")
    if not all(holds(head.get(key)) for key, holds in _HEAD.items()):
        raise InputError(f"{name} is damaged: it lacks the shape, the provenance or the parts")
    return head


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


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


def _check_schema(schema: Any, folder: Folder, path: Path) -> None:
    import pyarrow as pa

    types = {field.name: field.type for field in schema}
    known = {"name": _name_type(folder.names), "vector": pa.list_(pa.float32(), folder.dimensions)}
    known |= {SIZE: pa.float64(), **{key: pa.from_numpy_dtype(kind) for key, kind in FIT_COLUMNS.items()}}
    wrong = any(known.get(key) != kind for key, kind in types.items())
    if wrong or len(types) != len(schema) or not {"name", "vector"} <= set(types):
        raise InputError(f"{path} is damaged: its columns are not the names and vectors of {MANIFEST}")


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

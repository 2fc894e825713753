"""Vector files: detect the format, read and write, and say what a format cannot hold.

Formats: ``softvec`` (own, see :mod:`softvec.embedding.files.svec`), ``word2vec`` and ``word2vec-binary``
(read by gensim and many others), ``parquet`` and ``feather``, ``safetensors``, ``csv``, ``tsv`` (the two
files of the TensorBoard projector) and ``npy`` (with a second file for the names). Text formats and word2vec
may be gzipped (``.gz``). A path that ends in a slash is a ``folder`` of parquet parts with a manifest.
"""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softvec.core.errors import AdviceWarning, InputError, Option
from softvec.core.storage import is_url, written_to
from softvec.embedding.files.common import MANIFEST, Options, is_folder
from softvec.embedding.files.record import check_record
from softvec.names.storage import DuplicateName
from softvec.read.streams import Source, open_source

if TYPE_CHECKING:
    from softvec.embedding.core import Embedding
    from softvec.names import Names

__all__ = ["FORMATS", "MANIFEST", "check_names", "format_of", "is_folder", "read_vectors", "write_vectors"]


@dataclass(frozen=True)
class Format:
    """What a format can hold."""

    module: str
    extensions: tuple[str, ...]
    whole: bool = True  # both sides, sizes, the record and arrays of the fit, names of any type; else text
    text: bool = False  # safe to print
    gzip: bool = False
    from_memory: bool = False  # needs all vectors in memory; the others are written part by part
    spaces: bool = True  # names may hold spaces


FORMATS = {
    "softvec": Format("svec", (".svec", ".npz")),
    "word2vec": Format("word2vec", (".txt", ".vec", ".w2v"), whole=False, text=True, gzip=True, spaces=False),
    "word2vec-binary": Format("word2vec", (".bin",), whole=False, gzip=True, spaces=False),
    "parquet": Format("arrow", (".parquet", ".pq")),
    "feather": Format("arrow", (".feather", ".arrow")),
    "safetensors": Format("tensors", (".safetensors",), from_memory=True),
    "csv": Format("tables", (".csv",), whole=False, text=True, gzip=True),
    "tsv": Format("tables", (".tsv",), whole=False),
    "npy": Format("tables", (".npy",), whole=False),
    "folder": Format("folder", ()),
}
_MAGIC = {  # first bytes
    b"PK\x03\x04": "softvec", b"PK\x05\x06": "softvec", b"PAR1": "parquet", b"ARROW1": "feather",
    b"\x93NUMPY": "npy",
}  # fmt: skip
EXTENSIONS = {extension: name for name, format in FORMATS.items() for extension in format.extensions}


def format_of(path: str | os.PathLike[str], format: str | None = None) -> str:
    """Return the format to write ``path`` in, from ``format`` or from the extension.

    >>> format_of("words.bin"), format_of("words.vec.gz")
    ('word2vec-binary', 'word2vec')
    """
    if format is not None:
        if format not in FORMATS:
            raise InputError(f"format is {format!r}; expected one of {', '.join(FORMATS)}")
        return format
    name = os.fspath(path)
    if name == "-":
        return "word2vec"
    if is_folder(name):
        return "folder"
    extension = os.path.splitext(name.removesuffix(".gz"))[1]
    if extension.lower() not in EXTENSIONS:
        known = ", ".join(EXTENSIONS)
        raise InputError(
            f"{path} has the extension {extension!r}, which is not a known vector format; "
            f"use one of {known}, or name the format"
        )
    return EXTENSIONS[extension.lower()]


def write_vectors(
    emb: Embedding,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    side: str | None = None,
    index: bool = False,
) -> list[Path]:
    """Write named vectors; a reader sees the old file or the new one, never half of it.

    A warning says what the format leaves out.

    Parameters
    ----------
    emb : Embedding or StoredEmbedding
    path : path-like
        ``-`` writes to standard output.
    format : str, optional
        By default that of the extension.
    side : {"rows", "context"}, optional
        Write one side of a two-sided embedding. Formats that hold one side write the rows by default.
    index : bool
        Write the search index too (own format).

    Returns
    -------
    list of Path
        The files written.
    """
    chosen = format_of(path, format)
    _check_target(path, chosen, index)
    if is_url(path):
        with written_to(str(path)) as draft:
            return write_vectors(emb, draft, chosen, side=side, index=index)
    if side is not None:
        emb = _one_side(emb, side)
    check_names(chosen, emb.names, emb.context_names)
    lost = [] if FORMATS[chosen].whole else _lost(emb, chosen)
    emb = emb if FORMATS[chosen].whole else _one_side(emb, "rows")
    files: list[Path] = _module(chosen).write(emb, path, Options(chosen, index=index))
    if lost:
        warnings.warn(AdviceWarning(*lost), stacklevel=3)
    return files


def _module(format: str) -> Any:
    """Import the module of a format: ``read(source, options)`` and ``write(embedding, path, options)``."""
    return import_module(f"softvec.embedding.files.{FORMATS[format].module}")


def _check_target(path: str | os.PathLike[str], format: str, index: bool) -> None:
    if is_url(path) and format in ("folder", "npy", "tsv"):
        raise InputError(f"{path}: the {format} format is several files, which a URL is not; use .svec")
    if os.fspath(path).endswith(".gz") and not FORMATS[format].gzip:
        raise InputError(f"{path}: the {format} format is not written gzipped; drop the .gz")
    if index and format != "softvec":
        raise InputError(f"index is True, but {path} is not a .svec file; other formats cannot hold an index")
    if os.fspath(path) == "-" and not FORMATS[format].text and sys.stdout.isatty():
        raise InputError(f"the {format} format is binary; redirect the output to a file")


def check_names(format: str, *sides: Names | None) -> None:
    """Raise an error if a format cannot hold these names.

    All formats hold text, integers, other numbers, booleans, None and tuples of these, and no other objects.
    Text must be valid Unicode, but in the own format.
    """
    for names in sides:
        arrays = {} if names is None else names.to_arrays()  # refuses other objects
        texts = [array for key, array in arrays.items() if key.endswith(("utf8", "json"))]
        if names is None or format == "softvec" or not any(map(_has_surrogates, texts)):
            continue
        bad = next(name for name in names if _has_surrogates(np.frombuffer(_utf8(name), np.uint8)))
        raise InputError(
            f"the name {bad!r} is not valid Unicode (a lone surrogate); the {format} format cannot hold it: "
            "rename it, or save as .svec"
        )


def _utf8(name: Any) -> bytes:
    parts = name if isinstance(name, tuple) else (name,)
    return b" ".join(
        _utf8(part) if isinstance(part, tuple) else str(part).encode("utf-8", "surrogatepass")
        for part in parts
    )


def _has_surrogates(utf8: NDArray[np.uint8]) -> bool:
    """Whether UTF-8 holds a surrogate: the byte ED, then one from A0 on."""
    return bool(((utf8[:-1] == 0xED) & (utf8[1:] >= 0xA0)).any())


def _lost(emb: Embedding, format: str) -> list[str | Option]:
    """Return a line on what a format of text names and one side leaves out, empty if nothing."""
    from softvec.embedding.files.word2vec import changed_names

    candidates: list[tuple[list[str | Option], bool]] = [
        (["the context vectors (written with ", Option("side", "context"), ")"], emb.two_sided),
        (["the sizes"], emb.sizes is not None),
        (["the types"], "types" in emb.extras),
        (["the stability"], "stability" in emb.provenance),
        (["the record of the fit"], "parameters" in emb.provenance),
    ]
    several = [what for what, there in candidates if there]
    marks = ["", *[", "] * (len(several) - 2), " and "]
    lost = [part for mark, what in zip(marks, several) for part in (mark, *what)]
    changed = changed_names(emb.names, spaces=FORMATS[format].spaces)
    if not lost and not changed:
        return []
    kept = "; .svec, .parquet and other formats keep everything"
    text = f"the {format} format leaves out "
    return [*([text, *lost] if lost else []), *(["; " if lost else "", changed] if changed else []), kept]


def _one_side(emb: Embedding, side: str) -> Embedding:
    """Return the rows or the context as an embedding; the rows keep their measured stability."""
    if side == "rows":
        stability = {key: array for key, array in emb.extras.items() if key.startswith("stable_")}
        return emb._with(context_vectors=None, context_names=None, extras=stability)
    if side != "context":
        raise InputError(f"side is {side!r}; expected 'rows' or 'context'")
    if not emb.two_sided:
        raise InputError("side is 'context', but this embedding has one side only")
    return emb.context


def read_vectors(
    path: str | os.PathLike[str], format: str | None = None, *, mmap: bool = False, index: bool = False
) -> Embedding:
    """Read named vectors; the format is detected from the content, then from the extension.

    Parameters
    ----------
    path : path-like
        ``-`` reads standard input.
    format : str, optional
    mmap : bool
        Leave the vectors on disk and read pages as they are used (own format and npy).
    index : bool
        Read the search index too, if the file has one (own format).
    """
    if format is not None:
        format_of("x", format)  # an unknown name is an error before anything is read
    name = "standard input" if os.fspath(path) == "-" else os.fspath(path)
    if name != "standard input" and Path(path).is_dir():
        from softvec.embedding.files import parts

        emb = parts.read(path, mmap=mmap)
    else:
        emb = _read_file(_source(path), format, mmap, index)
    check_record(emb.provenance, name)
    return emb


def _source(path: str | os.PathLike[str]) -> Source:
    """Open a file, standard input or a pipe, compressed or not."""
    if is_url(path) and str(path).endswith((".npy", ".tsv", "/")):
        raise InputError(f"{path}: the names of its vectors are in another file; copy both to a disk")
    if os.fspath(path) != "-" and not is_url(path) and not Path(path).exists():
        raise InputError(f"{path}: no such file")
    source = open_source(path)
    if not source.start and not source.compression:
        raise InputError(f"{source.name} is empty; expected a file of vectors")
    return source


def _read_file(source: Source, format: str | None, mmap: bool, index: bool) -> Embedding:
    chosen = format or _sniff(source)
    try:
        emb: Embedding = _module(chosen).read(source, Options(chosen, mmap, index))
    except DuplicateName as error:
        raise InputError(f"{source.name}: {error}") from None
    return emb


def _sniff(source: Source) -> str:
    head = source.start[:4096]
    for magic, format in _MAGIC.items():
        if head.startswith(magic):
            return format
    if head[4:9] == b"\0\0\0\0{":  # a 64-bit length below 4 GiB, then JSON
        return "safetensors"
    by_name = EXTENSIONS.get(source.suffix)
    if by_name in ("csv", "tsv", "word2vec-binary"):
        return by_name
    if by_name not in (None, "word2vec"):
        raise InputError(f"{source.name} is not a {by_name} file: it is truncated, or has the wrong name")
    return "word2vec-binary" if _looks_binary(head) else "word2vec"


def _looks_binary(head: bytes) -> bool:
    """Whether this is word2vec's binary format: a header of two numbers, then bytes that are not text."""
    first, _, rest = head.partition(b"\n")
    if len(first.split()) != 2 or not all(part.isdigit() for part in first.split()):
        return False
    line, _, _ = rest.partition(b"\n")
    numbers = line.split(b" ")[1:]
    if len(rest) > len(line):
        numbers = numbers[-min(int(first.split()[1]), len(numbers)) :]
    else:
        numbers = numbers[:-1]  # the last number is cut off where the head ends
    try:
        if numbers and all(np.isfinite(float(part)) for part in numbers if part.strip()):
            return False
    except ValueError:
        pass
    return any(byte < 9 or 13 < byte < 32 for byte in rest) or not _is_text(rest)


def _is_text(head: bytes) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start > len(head) - 4  # a character cut at the end of the head
    return True

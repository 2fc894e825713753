"""Vector files: detect the format, read and write, and say what a format cannot hold.

Formats: ``softvec`` (own, see :mod:`softvec.embedding.files.svec`), ``word2vec`` and ``word2vec-binary``
(read by gensim and many others), ``parquet`` and ``feather``, ``csv``, ``tsv`` (the two
files of the TensorBoard projector) and ``npy`` (with a second file for the names). Text formats and word2vec
may be gzipped (``.gz``). A path that ends in a slash is a ``folder`` of parquet parts with a manifest.
"""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softvec.core.errors import AdviceWarning, InputError, Option
from softvec.core.storage import is_url, written_to
from softvec.core.untrusted import reading
from softvec.embedding.fields import checked_names
from softvec.embedding.files.record import check_record
from softvec.names.storage import DuplicateName
from softvec.read.streams import Source, open_source

if TYPE_CHECKING:
    from softvec.embedding.core import Embedding
    from softvec.names import Names

__all__ = ["FORMATS", "MANIFEST", "check_names", "format_of", "is_folder", "load", "save"]


MANIFEST = "manifest.json"  # of a folder of vectors


@dataclass(frozen=True)
class Format:
    """What a format can hold, and the module with its ``read`` and ``write``."""

    module: str
    extensions: tuple[str, ...]
    whole: bool = True  # both sides, sizes, the record and arrays of the fit, names of any type; else text
    text: bool = False  # safe to print
    gzip: bool = False
    spaces: bool = True  # names may hold spaces
    files: int = 1  # 0: a folder
    starts: tuple[bytes, ...] = ()  # first bytes; a format without them is told by its extension


FORMATS = {
    "softvec": Format("svec", (".svec", ".npz"), starts=(b"PK\x03\x04", b"PK\x05\x06")),
    "word2vec": Format("plain", (".txt", ".vec", ".w2v"), whole=False, text=True, gzip=True, spaces=False),
    "word2vec-binary": Format("plain", (".bin",), whole=False, gzip=True, spaces=False),
    "parquet": Format("arrow", (".parquet", ".pq"), starts=(b"PAR1",)),
    "feather": Format("arrow", (".feather", ".arrow"), starts=(b"ARROW1",)),
    "csv": Format("plain", (".csv",), whole=False, text=True, gzip=True),
    "tsv": Format("plain", (".tsv",), whole=False, files=2),
    "npy": Format("plain", (".npy",), whole=False, files=2, starts=(b"\x93NUMPY",)),
    "folder": Format("folder", (), files=0),
}
EXTENSIONS = {extension: name for name, format in FORMATS.items() for extension in format.extensions}


def is_folder(path: str) -> bool:
    """Whether a path is, or is meant to be, a folder of vectors: it ends in a slash, or has a manifest."""
    return path.endswith(("/", os.sep)) or os.path.isfile(os.path.join(path, MANIFEST))


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


def save(
    self: Embedding,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    side: str | None = None,
    extras: bool = True,
) -> None:
    """Write a file in the format of its extension; an interrupted save keeps the old file.

    ``.svec`` (own), ``.parquet`` and ``.feather`` keep everything, as does a folder of parquet parts
    (``vectors/``); ``.txt``/``.vec``/``.bin`` (word2vec), ``.csv``, ``.tsv`` (TensorBoard projector) and
    ``.npy`` keep names and vectors. A warning says what is left out.

    Parameters
    ----------
    path : path-like
        ``-`` writes to standard output.
    format : str, optional
        By default that of the extension.
    side : {"rows", "context"}, optional
        Write one side of a two-sided embedding. Formats that hold one side write the rows by default.
    extras : bool
        Whether to keep the arrays of the fit (:attr:`extras`).
    """
    chosen = format_of(path, format)
    kind = FORMATS[chosen]
    if is_url(path) and kind.files != 1:
        raise InputError(f"{path}: the {chosen} format is several files, which a URL is not; use .svec")
    if os.fspath(path).endswith(".gz") and not kind.gzip:
        raise InputError(f"{path}: the {chosen} format is not written gzipped; drop the .gz")
    if os.fspath(path) == "-" and not kind.text and sys.stdout.isatty():
        raise InputError(f"the {chosen} format is binary; redirect the output to a file")
    if is_url(path):
        with written_to(str(path)) as draft:
            return save(self, draft, chosen, side=side, extras=extras)
    emb = self if extras else self._with(extras={})
    if side is not None:
        emb = _one_side(emb, side)
    check_names(chosen, emb.names, emb.context_names)
    lost = [] if kind.whole else _lost(emb, chosen)
    _module(chosen).write(emb if kind.whole else _one_side(emb, "rows"), path, chosen)
    if lost:
        warnings.warn(AdviceWarning(*lost), stacklevel=2)


def _module(format: str) -> Any:
    """Import a format's module: ``read(source, format, mmap)`` and ``write(embedding, path, format)``."""
    return import_module(f"softvec.embedding.files.{FORMATS[format].module}")


def check_names(format: str, *sides: Names | None) -> None:
    """Raise an error if a format cannot hold these names.

    All formats hold text, integers, other numbers, booleans, None and tuples of these, and no other objects.
    Text must be valid Unicode, but in the own format.
    """
    for names in filter(None, sides):
        if _is_unicode(names) or format == "softvec":
            continue
        bad = next(name for name in names if not _is_unicode(type(names)([name])))
        raise InputError(
            f"the name {bad!r} is not valid Unicode (a lone surrogate); the {format} format cannot hold it: "
            "rename it, or save as .svec"
        )


def _is_unicode(names: Names) -> bool:
    """Whether text is free of surrogates: in UTF-8 the byte ED, then one from A0 on."""
    arrays = names.to_arrays()  # refuses other objects
    texts = [array for key, array in arrays.items() if key.endswith(("utf8", "json"))]
    return not any(((utf8[:-1] == 0xED) & (utf8[1:] >= 0xA0)).any() for utf8 in texts)


def _lost(emb: Embedding, format: str) -> list[str | Option]:
    """Return a line on what a format of text names and one side leaves out, empty if nothing."""
    from softvec.embedding.files.plain import changed_names

    parts: list[tuple[list[str | Option], bool]] = [
        (["the context vectors (written with ", Option("side", "context"), ")"], emb.two_sided),
        (["the sizes"], emb.sizes is not None),
        (["the types"], "types" in emb.extras),
        (["the stability"], "stability" in emb.provenance),
        (["the record of the fit"], "parameters" in emb.provenance),
    ]
    left_out = [what for what, there in parts if there]
    marks = [f"the {format} format leaves out ", *[", "] * (len(left_out) - 2), " and "]
    lost = [part for mark, what in zip(marks, left_out) for part in (mark, *what)]
    if changed := changed_names(emb.names, spaces=FORMATS[format].spaces):
        lost += ["; ", changed] if lost else [changed]
    return [*lost, "; .svec, .parquet and other formats keep everything"] if lost else []


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


def load(
    cls: type[Embedding],
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    names: Any = None,
    mmap: bool = False,
) -> Embedding:
    """Read any of the formats of :meth:`save`, detected from the content, then from the extension.

    Parameters
    ----------
    path : path-like
        ``-`` reads standard input.
    format : str, optional
    names : sequence or path, optional
        Names of the vectors in order, instead of those of the file; a file holds one per line.
    mmap : bool
        Leave the vectors on disk and read pages as they are used (own format and npy).
    """
    if format is not None:
        format_of("x", format)  # an unknown name is an error before anything is read
    name = "standard input" if os.fspath(path) == "-" else os.fspath(path)
    if name != "standard input" and Path(path).is_dir():
        from softvec.embedding.files import parts

        emb = parts.read(path, mmap=mmap)
    else:
        emb = _read_file(_source(path), format, mmap)
    check_record(emb.provenance, name)
    if names is None:
        return emb
    if isinstance(names, str | os.PathLike):
        from softvec.embedding.files.plain import parse_names
        from softvec.read.reader import read_names

        names = parse_names(read_names(names))
    return emb._with(names=checked_names(names, len(emb), "names"))


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


def _read_file(source: Source, format: str | None, mmap: bool) -> Embedding:
    starts = ((name, start) for name, its in FORMATS.items() for start in its.starts)
    true = next((name for name, start in starts if source.start.startswith(start)), None)
    chosen = format or true or _by_extension(source)
    if true not in (None, chosen):
        raise InputError(f"{source.name} is a {true} file, not {chosen}; leave out ", Option("format"))
    try:
        with reading(source.name, f"{chosen} file"):
            emb: Embedding = _module(chosen).read(source, chosen, mmap)
    except DuplicateName as error:
        raise InputError(f"{source.name}: {error}") from None
    return emb


def _by_extension(source: Source) -> str:
    """Return the format of a file without known first bytes; word2vec if its extension does not tell."""
    by_name = EXTENSIONS.get(source.suffix)
    if by_name in (None, "word2vec"):
        return "word2vec-binary" if _looks_binary(source.start[:4096]) else "word2vec"
    if FORMATS[by_name].starts:
        raise InputError(f"{source.name} is not a {by_name} file: it is truncated, or has the wrong name")
    return by_name


def _looks_binary(head: bytes) -> bool:
    """Whether this is word2vec's binary format: a header of two numbers, then bytes that are not text."""
    from softvec.embedding.files.plain import header_of

    first, _, rest = head.partition(b"\n")
    sizes = header_of(first)
    if sizes is None:
        return False
    line, end, _ = rest.partition(b"\n")
    numbers = line.split(b" ")[1:]  # and the last words of a name with spaces
    numbers = numbers[-min(sizes[1], len(numbers)) :] if end else numbers[:-1]  # one may be cut off
    with suppress(ValueError):
        if numbers and all(np.isfinite(float(part)) for part in numbers if part.strip()):
            return False
    try:
        rest.decode()
    except UnicodeDecodeError as error:
        if error.start <= len(rest) - 4:  # no character cut at the end of the head
            return True
    return any(byte < 9 or 13 < byte < 32 for byte in rest)

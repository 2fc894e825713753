"""MATLAB and AnnData files, read in a process of their own: damaged ones crash their libraries."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import IO, Any

from softvec.core.checks import Json
from softvec.core.errors import InputError, Option, guess, printable
from softvec.core.untrusted import check_expanded, most_expanded, one_line
from softvec.read.arrays import length_of, read_archive, sparse_matrix
from softvec.read.objects import Graph
from softvec.read.streams import Source

_START = 60  # seconds to import packages, from a slow disk
_SECONDS, _BYTES_PER_SECOND = 5, 1 << 20  # a read that takes longer hangs; a slow disk reads 100 times that
_LATE = -getattr(signal, "SIGALRM", 1 << 16)  # the code of a process that ran out of time
_CHILD = "from softvec.read.foreign_child import main; main()"
_WHAT = {"h5ad": ("AnnData file", "the HDF5 library"), "mat": ("MATLAB file", "SciPy")}
_HDF = b"\x89HDF\r\n\x1a\n"


@dataclass(frozen=True)
class AnnDataFile:
    """What is used of an AnnData: names, and one matrix, either ``X`` or one of ``obsp``."""

    obs_names: list[str]
    var_names: list[str]
    X: Any
    obsp: dict[str, Any]


def read_h5ad(source: Source, kind: str | None, key: str | None) -> AnnDataFile:
    """Read the graph ``obsp[key]`` of an .h5ad file, or what ``kind`` takes: X, or the usual graph."""
    name = source.name
    if source.path is None or source.compression is not None:
        raise InputError(f"{name} is AnnData, which can only be read from an uncompressed file")
    if importlib.util.find_spec("anndata") is None:
        raise InputError(f"{name} is AnnData, which needs the package anndata: pip install anndata")
    with source.open() as stream:
        words = [os.path.abspath(source.path), kind or "", key or ""]
        matrix, head = _read_apart(stream, "h5ad", words, name)
    graphs, part = dict.fromkeys(head["graphs"]), head["part"]
    if part is not None:
        matrix, graphs[part] = None, matrix
    return AnnDataFile(head["obs_names"], head["var_names"], matrix, graphs)


def read_mat(source: Source, variable: str | None = None) -> Graph:
    """Read a matrix from a MATLAB file: the named variable, or a sparse, square, large one, in this order."""
    with source.seekable() as stream:
        if stream.read(8) == _HDF:
            raise InputError(f"{source.name} is a MATLAB 7.3 file; save it with the option -v7")
        matrix, head = _read_apart(stream, "mat", [variable or ""], source.name)
    if matrix is not None:
        if head["others"]:
            text = f"{source.name}: of several matrices {printable(head['chosen'])} is read, not "
            guess(f"{text}{printable(head['others'][0])}; name one with ", Option("variable", ...))
        return Graph(matrix, head["names"], None, head["column_names"])
    matrices, variables = (
        ", ".join(map(printable, head[key][:8])) or "none" for key in ("matrices", "variables")
    )
    if head["matrices"]:
        raise InputError(f"{source.name} has no matrix {variable!r}; it has {matrices}")
    raise InputError(f"{source.name} holds no matrix; its variables are {variables}")


def _read_apart(stream: IO[bytes], format: str, words: list[str], name: str) -> tuple[Any, Json]:
    """Return what a process of its own reads of a file: a matrix, and what else it says."""
    stored, (what, library) = length_of(stream), _WHAT[format]
    seconds = _SECONDS + stored // _BYTES_PER_SECOND
    command = [sys.executable, "-P", "-c", _CHILD, format, str(most_expanded(stored)), str(seconds), *words]
    here = os.pathsep.join(str(entry) or os.getcwd() for entry in sys.path)
    with tempfile.TemporaryFile() as out:
        code = _LATE
        with contextlib.suppress(subprocess.TimeoutExpired):  # it also stops itself, once it has imported
            code = subprocess.run(
                command, stdin=stream, stdout=out, stderr=subprocess.DEVNULL, check=False,
                env={**os.environ, "PYTHONPATH": here}, timeout=_START + seconds,
            ).returncode  # fmt: skip
        if code == _LATE:
            raise InputError(f"{name} was not read in {seconds} seconds: it is damaged, or the disk is slow")
        if code:
            raise InputError(f"{name} is damaged: {library} crashes on it ({code})")
        out.seek(0)
        arrays = read_archive(out, name)
    head: Json = json.loads(arrays.pop("head").tobytes())
    if "error" in head:
        raise InputError(f"{name} is not a readable {what}: {one_line(ValueError(head['error']))}")
    if "too_large" in head:
        size, part = head["too_large"]
        check_expanded(size, stored, name, part)
    return sparse_matrix(arrays, stored, name) if "format" in arrays else arrays.get("dense"), head

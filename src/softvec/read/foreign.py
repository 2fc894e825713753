"""MATLAB and AnnData files, read in a process of their own: damaged ones crash their libraries."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from threading import Timer
from typing import IO, Any

import numpy as np
from scipy import sparse

from softvec.core.checks import Json
from softvec.core.errors import InputError, printable
from softvec.core.untrusted import check_expanded, most_expanded, one_line, reading
from softvec.operators.sparse import checked_csr
from softvec.read.arrays import length_of
from softvec.read.objects import Graph
from softvec.read.streams import Source

_START = 60  # seconds to import packages, from a slow disk
_SECONDS, _BYTES_PER_SECOND = 5, 1 << 20  # a read that takes longer hangs; a slow disk reads 100 times that
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
        matrix = checked_csr(matrix, source.name) if sparse.issparse(matrix) else matrix
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
    process = subprocess.Popen(
        command, stdin=stream, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": here},
    )  # fmt: skip
    assert process.stdout is not None
    timer = Timer(_START + seconds, process.kill)  # it stops itself, too, once its packages are imported
    timer.start()
    try:
        with reading(name, what, EOFError):
            return _parse(_Pipe(process.stdout), name, stored, what)
    except EOFError:
        late = timer.finished.is_set()
        code = process.wait()
        if late or code == -getattr(signal, "SIGALRM", 0):
            text = f"{name} was not read in {seconds} seconds: it is damaged, or the disk is slow"
            raise InputError(text) from None
        raise InputError(f"{name} is damaged: {library} crashes on it ({code})") from None
    finally:
        timer.cancel()
        process.kill()
        process.stdout.close()
        process.wait()


class _Pipe:
    """A pipe as NumPy reads it: in blocks, without a position; its end is that of the process."""

    def __init__(self, stream: IO[bytes]):
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        part = self._stream.read(size)
        if size and not part:
            raise EOFError
        return part

    def line(self) -> bytes:
        line = self._stream.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        return line


def _parse(pipe: _Pipe, name: str, stored: int, what: str) -> tuple[Any, Json]:
    head = json.loads(pipe.line())
    if "error" in head:
        raise InputError(f"{name} is not a readable {what}: {one_line(ValueError(head['error']))}")
    if "too_large" in head:
        size, part = head["too_large"]
        check_expanded(size, stored, name, part)
    arrays = [np.lib.format.read_array(pipe, allow_pickle=False) for _ in range(head["arrays"])]
    if head["format"] is None:
        return arrays[0] if arrays else None, head
    build = sparse.csr_matrix if head["format"] == "csr" else sparse.csc_matrix
    return build(tuple(arrays), shape=tuple(head["shape"])), head

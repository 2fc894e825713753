"""AnnData files (.h5ad), read in a process of their own: the HDF5 library crashes on some damaged ones."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Timer
from typing import IO, Any

import numpy as np
from scipy import sparse

from softvec.core.errors import InputError
from softvec.core.untrusted import check_expanded, most_expanded, one_line, reading
from softvec.read.anndata_child import READY

_START = 60  # seconds to import packages, from a slow disk
_SECONDS, _BYTES_PER_SECOND = 5, 1 << 20  # a read that takes longer hangs; a slow disk reads 100 times that
_CHILD = "from softvec.read.anndata_child import main; main()"


@dataclass(frozen=True)
class AnnDataFile:
    """What is used of an AnnData: names, and one matrix, either ``X`` or one of ``obsp``."""

    obs_names: list[str]
    var_names: list[str]
    X: Any
    obsp: dict[str, Any]


def read_h5ad(path: str | os.PathLike[str], name: str, kind: str | None, key: str | None) -> AnnDataFile:
    """Read the graph ``obsp[key]`` of an .h5ad file, or what ``kind`` takes: X, or the usual graph."""
    if importlib.util.find_spec("anndata") is None:
        raise InputError(f"{name} is AnnData, which needs the package anndata: pip install anndata")
    stored = os.stat(path).st_size
    seconds = _SECONDS + stored // _BYTES_PER_SECOND
    with (
        reading(name, "AnnData file"),
        _child(path, kind or "", key or "", most_expanded(stored), seconds + 5) as process,
    ):
        allowed, late = _START, Event()
        try:
            with _stopped_after(_START, process) as late:
                line = _line(process)
            allowed = seconds
            with _stopped_after(seconds, process) as late:
                return _parse(process, _line(process) if line == READY else line, name, stored)
        except (EOFError, ValueError) as error:
            if late.is_set():
                raise InputError(
                    f"{name} was not read in {allowed} seconds: it is damaged, or the disk is slow"
                ) from error
            if isinstance(error, EOFError):
                code = process.wait()
                raise InputError(f"{name} is damaged: the HDF5 library crashes on it ({code})") from error
            raise


@contextmanager
def _stopped_after(seconds: int, process: subprocess.Popen[bytes]) -> Iterator[Event]:
    """Kill a process that takes longer than the block may, and set the event."""
    late = Event()

    def stop() -> None:
        late.set()
        process.kill()

    timer = Timer(seconds, stop)
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()


@contextmanager
def _child(path: str | os.PathLike[str], *words: object) -> Iterator[subprocess.Popen[bytes]]:
    here = [str(entry) or os.getcwd() for entry in sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(here)}
    command = [sys.executable, "-P", "-c", _CHILD, os.path.abspath(path), *map(str, words)]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    try:
        yield process
    finally:
        process.kill()
        assert process.stdout is not None
        process.stdout.close()
        process.wait()


class _Pipe:
    """A pipe as NumPy reads it: in blocks, without a position."""

    def __init__(self, stream: IO[bytes]):
        self.read = stream.read


def _line(process: subprocess.Popen[bytes]) -> bytes:
    """Return the next line of a child; an end without one is that of the child."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    return line


def _parse(process: subprocess.Popen[bytes], line: bytes, name: str, stored: int) -> AnnDataFile:
    assert process.stdout is not None
    head = json.loads(line)
    if "error" in head:
        raise InputError(f"{name} is not a readable AnnData file: {one_line(ValueError(head['error']))}")
    if "size" in head:
        check_expanded(head["size"], stored, name, "its arrays")
    arrays = [
        np.lib.format.read_array(_Pipe(process.stdout), allow_pickle=False) for _ in range(head["arrays"])
    ]
    matrix: Any = arrays[0] if arrays else None
    if head["format"] is not None:
        build = sparse.csr_matrix if head["format"] == "csr" else sparse.csc_matrix
        matrix = build(tuple(arrays), shape=tuple(head["shape"]))
    graphs: dict[str, Any] = dict.fromkeys(head["graphs"])
    if head["part"] is None:
        return AnnDataFile(head["obs_names"], head["var_names"], matrix, graphs)
    return AnnDataFile(head["obs_names"], head["var_names"], None, {**graphs, head["part"]: matrix})

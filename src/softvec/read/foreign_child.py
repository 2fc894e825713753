"""Read a MATLAB or .h5ad file in a process of its own, and write a matrix and names to standard output.

SciPy's reader of MATLAB files and the HDF5 library crash or hang on some damaged files: what reads them must
not be the user's process. :mod:`softvec.read.foreign` starts this one and checks the archive that comes out.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import math
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any, BinaryIO

_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
_NUMBERS = frozenset(("sparse", "double", "single", "logical", *_INTEGERS))
_PARTS = ("data", "indices", "indptr")  # of a sparse matrix
_SPARE = 2 << 30  # address space for the stacks of threads and the like
_Read = tuple[Any, dict[str, Any]]  # a matrix or None, and all else in JSON


class TooLargeError(Exception):
    """The file claims more bytes than allowed; the arguments are how many, and what takes them."""


def main() -> None:
    """Read ``format limit seconds`` and the words for the reader of that format from the command line."""
    format, limit, seconds, *words = sys.argv[1:]
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)  # nothing but the answer goes there, whatever packages print
        warnings.simplefilter("ignore")
        try:
            if format == "h5ad":
                import anndata  # noqa: F401
                import h5py  # noqa: F401
            else:
                import scipy.io  # noqa: F401
            _limit_itself(int(limit), int(seconds))  # importing packages may take a minute, reading may not
            matrix, head = (_read_h5ad if format == "h5ad" else _read_mat)(int(limit), *words)
            _write(matrix, head, out)
        except TooLargeError as error:
            _write(None, {"too_large": error.args}, out)
        except Exception as error:
            message = f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else str(error)
            _write(None, {"error": message or type(error).__name__}, out)


def _limit_itself(limit: int, seconds: int) -> None:
    """Leave no core dump, end even if the parent is gone, and take a few times the memory of the data."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)
    with contextlib.suppress(ImportError, OSError, ValueError):  # not on Windows and macOS
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (used + _SPARE + 4 * limit, most))


def _write(matrix: Any, head: dict[str, Any], out: BinaryIO) -> None:
    """Write an archive of the matrix, as SciPy writes a sparse one, and of the rest as JSON."""
    import numpy as np

    arrays: dict[str, Any] = {"head": np.frombuffer(json.dumps(head).encode(), np.uint8)}
    if hasattr(matrix, "tocsr"):
        matrix = matrix if matrix.format in ("csr", "csc") else matrix.tocsr()
        arrays |= {key: np.asarray(getattr(matrix, key)) for key in ("format", "shape", *_PARTS)}
    elif matrix is not None:
        arrays["dense"] = np.asarray(matrix)
    np.savez(out, **arrays)


def load_mat(stream: Any, **options: Any) -> dict[str, Any]:
    """Call SciPy's ``loadmat``; from SciPy 1.17 on, sparse variables are arrays."""
    from scipy.io import loadmat

    if "spmatrix" in inspect.signature(loadmat).parameters:
        options["spmatrix"] = False
    loaded: dict[str, Any] = loadmat(stream, **options)
    return loaded


def _read_mat(limit: int, wanted: str) -> _Read:
    """Read a MATLAB file from standard input: a sparse, square, large matrix in this order, or ``wanted``."""
    from scipy.io import whosmat

    with os.fdopen(os.dup(0), "rb") as file:
        file.seek(0)
        listed = {name: (shape, kind) for name, shape, kind in whosmat(file)}
        total, tables = 0, []
        for name, (shape, kind) in listed.items():
            if kind in ("sparse", "logical"):  # of a sparse matrix of flags SciPy only tells the flags
                size, what = 64 * sum(shape), f"its matrix of {shape[0]:,} x {shape[1]:,}"
            else:
                size, what = 8 * math.prod(shape), "its variables"
            total += size
            if total > limit:
                raise TooLargeError(total, what)
            if kind in _NUMBERS and len(shape) == 2 and min(shape) > 1:
                tables.append(name)
        file.seek(0)
        loaded = load_mat(file, variable_names=[*tables, "names", "column_names"], squeeze_me=True)
    matrices = {name: loaded[name] for name in tables if loaded[name].dtype.kind in "fiub"}
    if not matrices or (wanted and wanted not in matrices):
        return None, {"variables": list(listed), "matrices": list(matrices)}

    chosen, others = (wanted, []) if wanted else _best(matrices)
    matrix = matrices[chosen]
    names = {key: _texts(loaded.get(key), n) for key, n in zip(("names", "column_names"), matrix.shape)}
    return matrix, {**names, "chosen": chosen, "others": others}


def _best(matrices: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the name of a sparse, square, large matrix, in this order, and those that are alike."""

    def rank(name: str) -> tuple[bool, bool, int]:
        n, m = matrices[name].shape
        return hasattr(matrices[name], "tocsr"), n == m, n * m

    best = max(matrices, key=rank)
    return best, [name for name in matrices if name != best and rank(name)[:2] == rank(best)[:2]]


def _texts(stored: Any, n: int) -> list[str] | None:
    """Return a cell or a matrix of n texts or numbers as texts; None for anything else."""
    import numpy as np

    items = [] if stored is None else np.ravel(stored).tolist()
    texts = ["" if isinstance(item, np.ndarray) and not item.size else item for item in items]
    plain = len(texts) == n and all(isinstance(text, str | int | float) for text in texts)
    return list(map(str, texts)) if plain else None


def _read_h5ad(limit: int, path: str, kind: str, key: str) -> _Read:
    """Read the graph ``obsp[key]`` of an .h5ad file, or what ``kind`` takes: X, or the usual graph."""
    import anndata

    _refuse_other_files(path, limit)
    data = anndata.read_h5ad(path)
    graphs = sorted(data.obsp)
    wanted = key or ("" if kind in ("features", "bipartite") else "connectivities")
    part = wanted if wanted in graphs else None
    matrix: Any = data.X if part is None else data.obsp[part]
    if matrix is not None and matrix.dtype.hasobject:
        raise ValueError(f"{'X' if part is None else f'obsp[{part!r}]'} does not hold numbers")
    names = {"obs_names": list(map(str, data.obs_names)), "var_names": list(map(str, data.var_names))}
    return matrix, {**names, "graphs": graphs, "part": part}


def _refuse_other_files(path: str, limit: int) -> None:
    """Raise an error where a dataset lies in another file, or all of them would take too many bytes."""
    import h5py

    total, seen = 0, set()
    with h5py.File(path, "r") as file:
        groups = [file["/"]]
        while groups:
            group = groups.pop()
            for name in group:
                if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
                    raise ValueError(f"{group.name}/{name} links to another file, which is not read")
                item = group[name]
                address = h5py.h5o.get_info(item.id).addr
                if isinstance(item, h5py.Group):
                    if address not in seen:  # else a link to a group above it
                        groups.append(item)
                    seen.add(address)
                elif isinstance(item, h5py.Dataset):
                    if item.external or item.is_virtual:
                        raise ValueError(f"{item.name} lies in another file, which is not read")
                    total += int(item.size or 0) * item.dtype.itemsize
    if total > limit:
        raise TooLargeError(total, "its arrays")

"""Read an .h5ad file in a process of its own, and write the wanted parts of it to standard output.

The HDF5 library crashes or hangs on some damaged files: what reads them must not be the user's process.
:mod:`softvec.read.anndata` starts this one and checks what comes out: a line of JSON, then arrays as .npy.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from typing import Any, BinaryIO

READY = b"ready\n"  # said once packages are imported: from then on a read may take seconds, not a minute


def main() -> None:
    """Read ``path kind key limit seconds`` from the command line; an error is a line of JSON too."""
    path, kind, key, limit, seconds = sys.argv[1:6]
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)  # nothing but the answer goes there, whatever packages print
        warnings.simplefilter("ignore")
        try:
            _refuse_core_dump()
            import anndata  # noqa: F401
            import h5py  # noqa: F401

            out.write(READY)
            out.flush()
            if hasattr(signal, "alarm"):  # ends a library that hangs, even if the parent is gone
                signal.alarm(int(seconds))
            size = _claimed_bytes(path)
            if size > int(limit):
                out.write(json.dumps({"size": size}).encode() + b"\n")
                return
            _answer(path, kind, key, out)
        except Exception as error:
            message = f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else str(error)
            out.write(json.dumps({"error": message or type(error).__name__}).encode() + b"\n")


def _refuse_core_dump() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _claimed_bytes(path: str) -> int:
    """Return the bytes of all datasets once unpacked; raise an error where one lies in another file."""
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
    return total


class _Pipe:
    """A pipe as NumPy writes to it: in blocks, without a position."""

    def __init__(self, stream: BinaryIO):
        self.write = stream.write


def _answer(path: str, kind: str, key: str, out: BinaryIO) -> None:
    import anndata
    import numpy as np
    from scipy import sparse

    data = anndata.read_h5ad(path)
    graphs = sorted(data.obsp)
    wanted = key or ("" if kind in ("features", "bipartite") else "connectivities")
    part = wanted if wanted in graphs else None
    matrix: Any = data.X if part is None else data.obsp[part]
    arrays, shape, format = [], None, None
    if sparse.issparse(matrix):
        matrix = matrix if matrix.format in ("csr", "csc") else matrix.tocsr()
        arrays, shape, format = [matrix.data, matrix.indices, matrix.indptr], matrix.shape, matrix.format
    elif matrix is not None:
        arrays = [np.asarray(matrix)]
    if any(array.dtype.hasobject for array in arrays):
        raise ValueError(f"{'X' if part is None else f'obsp[{part!r}]'} does not hold numbers")
    head = {
        "obs_names": list(map(str, data.obs_names)),
        "var_names": list(map(str, data.var_names)),
        "graphs": graphs,
        "part": part,
        "shape": shape,
        "format": format,
        "arrays": len(arrays),
    }
    out.write(json.dumps(head).encode() + b"\n")
    for array in arrays:
        np.lib.format.write_array(_Pipe(out), array, allow_pickle=False)

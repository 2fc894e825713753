"""Damaged .h5ad files: packages that crash, hang or lie stand in for the HDF5 library."""

import re

import pytest

from softvec.api import to_affinity
from softvec.core.errors import InputError
from softvec.read import foreign as reader

H5PY = """
class File:
    def __init__(self, *words): {opening}
    def __enter__(self): return self
    def __exit__(self, *error): pass
    def __getitem__(self, name): return self
    def __iter__(self): return iter(())
"""
ANNDATA = """
import types
import numpy as np
from scipy import sparse
def read_h5ad(path):
    matrix = sparse.csr_matrix(np.ones((3, 3)))
    {damage}
    names = {{"obs_names": ["a", "b", "c"], "var_names": ["x", "y"]}}
    return types.SimpleNamespace(**names, X=np.ones((3, 2)), obsp={{"connectivities": matrix}})
"""


@pytest.fixture
def damaged(tmp_path, monkeypatch):
    """Return a file that is read by packages which do as they are told."""

    def make(opening="pass", damage="pass"):
        (tmp_path / "h5py.py").write_text(H5PY.format(opening=opening))
        (tmp_path / "anndata.py").write_text(ANNDATA.format(damage=damage))
        (tmp_path / "cells.h5ad").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
        monkeypatch.syspath_prepend(tmp_path)
        return tmp_path / "cells.h5ad"

    return make


def test_what_is_whole_is_read(damaged):
    assert list(to_affinity(damaged(), key="connectivities").rows) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"opening": "import os; os.abort()"}, "is damaged: the HDF5 library crashes on it"),
        ({"damage": "import os; os.kill(os.getpid(), 11)"}, "is damaged: the HDF5 library crashes on it"),
        ({"opening": "pass\n    raise ImportError('no libhdf5')"}, "AnnData file: no libhdf5"),
        ({"damage": "import time; time.sleep(60)"}, "was not read in 1 seconds: it is damaged, or the disk"),
        ({"opening": "raise OSError('bad\\x1b[2J\\nheader')"}, "AnnData file: bad\\x1b[2J header"),
        ({"damage": "matrix.indices[0] = 9000"}, "an entry in column 9000, outside"),
        ({"damage": "matrix.indptr[1] = -5"}, "indptr"),
        ({"damage": "matrix = matrix.toarray().astype('O')"}, "obsp['connectivities'] does not hold numbers"),
        ({"damage": "print('hello', flush=True); raise MemoryError"}, "AnnData file: MemoryError"),
    ],
)  # fmt: skip
def test_damage_is_one_line(damaged, monkeypatch, told, message):
    if "sleep" in str(told):
        monkeypatch.setattr(reader, "_SECONDS", 1)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        to_affinity(damaged(**told), key="connectivities")
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)

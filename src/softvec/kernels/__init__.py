"""Hot loops. ``reference`` is the specification in NumPy, ``compiled`` the same functions in Numba."""

from types import ModuleType

# Multiply-adds below which importing and loading Numba (about 0.5 s) costs more than NumPy does.
SMALL = 2_000_000


def select(work: int) -> ModuleType:
    """Return the module of kernels for a job of ``work`` multiply-adds; a tiny one never imports Numba."""
    if work < SMALL:
        from softvec.kernels import reference

        return reference
    from softvec.kernels import compiled

    return compiled

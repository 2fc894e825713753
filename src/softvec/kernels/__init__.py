"""Hot loops. ``reference`` specifies those of a fit in NumPy, ``compiled`` has the same functions in Numba.

The other modules are parts of ``compiled``, or serve reading, names, matrices, normalisers and partitions.
"""

from types import ModuleType

# Steps below which importing and loading Numba (about 0.5 s) takes longer than NumPy or plain Python.
SMALL = 2_000_000


def worth_compiling(steps: int) -> bool:
    """Whether a job is large enough for the compiled kernels.

    A step is a multiply-add, a byte of text, or the end of an edge. A name that becomes a Python string
    counts as 10.
    """
    return steps >= SMALL


def select(work: int) -> ModuleType:
    """Return the kernel module for a job of ``work`` multiply-adds; a small job never imports Numba."""
    if not worth_compiling(work):
        from softvec.kernels import reference

        return reference
    from softvec.kernels import compiled

    return compiled

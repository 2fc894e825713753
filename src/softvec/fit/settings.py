"""The settings of a fit, in one place: defaults, documentation, command-line flags, checks.

:class:`softvec.EDRep`, :func:`softvec.embed` and ``softvec embed`` are generated from the fields below.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from softvec.core.checks import choice, integer, number
from softvec.core.errors import InputError

if TYPE_CHECKING:  # the command line reads the settings before it needs NumPy
    from numpy.typing import NDArray

    from softvec.operators import Operator

Callback: TypeAlias = Callable[[int, float, "NDArray[Any]"], Any]
GRADIENTS = ("row", "paper", "full")
CONSTRAINTS = ("sphere", "ball")
NORMALIZERS = ("mixture", "exact")
INITS = ("random", "power")


def _setting(
    default: Any,
    kind: str,
    doc: str,
    flag: str = "",
    help: str = "",
    metavar: str | None = None,
    decides_vectors: bool = True,
) -> Any:
    """Declare a setting: numpydoc type and text, and optionally its command-line flag and help."""
    shown = {"flag": flag, "help": help, "metavar": metavar}
    return field(
        default=default, metadata={"kind": kind, "doc": doc, "decides_vectors": decides_vectors, **shown}
    )


@dataclass(frozen=True)
class Settings:
    """All settings of a fit and their defaults; their metadata documents them."""

    n_components: int = _setting(128, "int, default=128", "Dimension d of the vectors.")
    n_clusters: int = _setting(
        1,
        "int, default=1",
        "Classes of the mixture. With more than one, k-means finds them during the fit.",
        "--clusters",
        "Classes of the mixture normaliser (default: 1).",
    )
    n_epochs: int = _setting(
        30,
        "int, default=30",
        "Passes over P.",
        "--epochs",
        "Passes over the data (default: 20 for graphs, else 30).",
    )
    learning_rate: float = _setting(
        0.7,
        "float, default=0.7",
        "Initial learning rate, in (0, 1]; decreases linearly to 0.",
        "--learning-rate",
        "Initial learning rate, in (0, 1] (default: 0.7).",
    )
    beta: float = _setting(
        6.0,
        "float, default=6.0",
        "Inverse temperature: the softmax is of ``beta`` times the cosine. 1 is the paper's setting.",
        "--beta",
        "Inverse temperature (default: 3 to 6 for graphs, by density; 12 for text; else 6).",
    )
    gradient: str = _setting(
        "row",
        '{"row", "paper", "full"}, default="row"',
        "Gradient of a symmetric fit: of each row's own cross-entropy with the other vectors fixed, the "
        "paper's, or the full gradient of the approximated loss.",
        "--gradient",
        "Gradient: row, paper or full (default: row).",
    )
    regularization: float = _setting(
        0.0,
        "float, default=0.0",
        "Weight of the term that centres the vectors; the paper uses 1, but 0 scores better "
        "(docs/decisions.md).",
    )
    init: Any = _setting(
        "random",
        '{"random", "power"} or array of shape (n, n_components), default="random"',
        "Initial vectors. A two-sided fit takes a pair of arrays.",
        decides_vectors=False,  # described apart: an array is hashed, not printed
    )
    power_steps: int = _setting(
        3,
        "int, default=3",
        'Products with P in ``init="power"``; more of them capture larger structures before the first epoch.',
    )
    symmetric: bool | str = _setting(
        "auto",
        'bool or "auto", default="auto"',
        'One set of vectors for rows and columns, or two. "auto": one if P is square.',
    )
    constraint: str = _setting(
        "sphere", '{"sphere", "ball"}, default="sphere"', "Unit vectors, or vectors of norm at most 1."
    )
    normalizer: str = _setting(
        "mixture",
        '{"mixture", "exact"}, default="mixture"',
        '"exact" sums over all pairs: for comparison on small problems.',
    )
    normalize: bool = _setting(
        True,
        "bool, default=True",
        "Divide each row of P by its sum. False keeps the sums as weights of the rows.",
    )
    dtype: Any = _setting(
        "float32",
        '{"float32", "float64"}, default="float32"',
        "Precision of the vectors. In float32, neighbours are read in half precision.",
    )
    n_jobs: int | None = _setting(
        None,
        "int or None, default=None",
        "Threads, for BLAS and the compiled loops; None means all cores. The result does not depend on it.",
        decides_vectors=False,
    )
    random_state: Any = _setting(None, "int, RandomState or None, default=None", "Same seed, same bits.")
    tol: float | None = _setting(
        None,
        "float or None, default=None",
        "Stop when the loss changes by less than this fraction in an epoch.",
    )
    callbacks: Sequence[Callback] | None = _setting(
        None,
        "sequence of callable, optional",
        "Called as ``callback(epoch, loss, X)`` after every epoch; True stops the fit.",
        decides_vectors=False,
    )
    checkpoint: str | os.PathLike[str] | None = _setting(
        None,
        "path-like or None, default=None",
        "A file written every ``checkpoint_every`` epochs and at the end. If it exists, the fit resumes "
        "from it, with the same bits as an uninterrupted fit; a finished fit is returned at once. Fused "
        "views of ``softvec.embed`` write two more, with ``.2`` and ``.3`` after the name. Delete them once "
        "the vectors are saved. A checkpoint of other data or settings is refused.",
        "--checkpoint",
        "File to save progress to and resume from; removed at the end (default: none).",
        "FILE",
        decides_vectors=False,
    )
    checkpoint_every: int = _setting(5, "int, default=5", "Epochs between two writes.", decides_vectors=False)
    scratch: str | os.PathLike[str] | None = _setting(
        None,
        "path-like or None, default=None",
        "A folder on a large disk, where temporary files hold vectors, their copies and matrices, so that "
        "data larger than memory can be fitted, with the same bits. Nothing is left in it.",
        "--scratch",
        "Folder on disk for data larger than memory; left empty at the end (default: all in memory).",
        "FOLDER",
        decides_vectors=False,
    )
    verbose: int = _setting(0, "int, default=0", "1 shows a progress bar.", decides_vectors=False)

    def __post_init__(self) -> None:
        for name, least in (("n_components", 1), ("n_clusters", 1), ("n_epochs", 0), ("checkpoint_every", 1)):
            integer(name, getattr(self, name), least)
        number("beta", self.beta, above=0)
        number("learning_rate", self.learning_rate, above=0, most=1)
        integer("power_steps", self.power_steps)
        number("regularization", self.regularization, 0)
        if self.tol is not None:
            number("tol", self.tol, 0)
        choice("gradient", self.gradient, GRADIENTS)
        choice("constraint", self.constraint, CONSTRAINTS)
        choice("normalizer", self.normalizer, NORMALIZERS)
        if self.symmetric not in (True, False, "auto"):
            raise InputError.of("symmetric", self.symmetric, 'True, False or "auto"')
        if isinstance(self.init, str) and self.init not in INITS:
            raise InputError.of("init", self.init, f"one of {', '.join(INITS)}, or an array")
        import numpy as np

        try:
            dtype = np.dtype(self.dtype)
        except TypeError as error:
            raise InputError.of("dtype", self.dtype, "float32 or float64") from error
        if dtype not in (np.float32, np.float64):
            raise InputError.of("dtype", self.dtype, "float32 or float64")

    def one_sided(self, P: Operator) -> bool:
        """Return whether rows and columns of P share their vectors."""
        return P.shape[0] == P.shape[1] if self.symmetric == "auto" else bool(self.symmetric)

    def rate(self, epoch: int) -> float:
        """Learning rate of an epoch: from ``learning_rate`` linearly to 0 (Algorithm 1, last line)."""
        return self.learning_rate * (1 - epoch / self.n_epochs)

    def described(self) -> dict[str, Any]:
        """Return the settings that decide the vectors, by name."""
        result = {
            setting.name: getattr(self, setting.name)
            for setting in fields(self)
            if setting.metadata["decides_vectors"]
        }
        result["init"] = self.init if isinstance(self.init, str) else "given"
        return result


SETTINGS = tuple(fields(Settings))


def documented(cls: type) -> type:
    """Fill ``%(settings)s`` in a docstring with the parameters of a fit."""
    import textwrap

    lines = []
    for setting in SETTINGS:
        lines.append(f"    {setting.name} : {setting.metadata['kind']}")
        lines.extend(f"        {line}" for line in textwrap.wrap(setting.metadata["doc"], 100))
    if cls.__doc__:
        cls.__doc__ = cls.__doc__.replace("    %(settings)s", "\n".join(lines))
    return cls

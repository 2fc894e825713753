"""The settings of a fit, in one place: defaults, documentation, command-line flags, checks.

The parameters of :class:`softvec.EDRep`, the documentation of :func:`softvec.embed` and the flags of
``softvec embed`` are made from the fields below.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from softvec.core.checks import choice, integer, number
from softvec.core.errors import InputError

if TYPE_CHECKING:  # the command line reads the settings before it needs NumPy
    from numpy.typing import NDArray

    from softvec.fit.recipes import View

Callback: TypeAlias = Callable[[int, float, "NDArray[Any]"], Any]
GRADIENTS = ("row", "paper", "full")
CONSTRAINTS = ("sphere", "ball")
NORMALIZERS = ("mixture", "edges", "exact")
INITS = ("random", "power")
VIEWS = ("auto", "walk", "fused", "links", "power")
EFFORTS = ("default", "fast")


@dataclass(frozen=True)
class Flag:
    """A flag of ``softvec embed``: names with spaces between them, help, and the range of an integer."""

    names: str
    help: str
    metavar: str | None = None
    least: int | None = None
    most: int | None = None
    panel: str | None = "Fit"


def _setting(
    default: Any,
    kind: str,
    doc: str,
    flag: Flag | None = None,
    *,
    decides_vectors: bool = True,
    of: str = "both",
) -> Any:
    """Declare a setting: numpydoc type and text, and optionally its command-line flag.

    ``of`` says who takes it: "EDRep", "embed" or "both".
    """
    metadata = {"kind": kind, "doc": doc, "flag": flag, "decides_vectors": decides_vectors, "of": of}
    return field(default=default, metadata=metadata)


_RECORD = {"decides_vectors": False, "of": "nobody"}


@dataclass(frozen=True)
class Settings:
    """All settings of a fit and their defaults; their metadata documents them.

    Those of ``softvec.embed`` come from :func:`softvec.fit.resolve.resolve`, which also writes down:

    Attributes
    ----------
    views : tuple of View
        The fits that are fused; empty for a single fit.
    rounds : int
        Rounds that solve for all rows at once, after the epochs.
    origin : mapping
        Where each value that is not the default of this class came from; of the view, why.
    ruled_out_by : tuple of str
        Options that keep a dense graph from fused views.
    softmax : mapping or None
        Calibration of the softmax of links, if links chose the view.
    """

    n_components: int = _setting(
        128,
        "int, default=128",
        "Dimension d of the vectors.",
        Flag(
            "--dim --dimensions -d",
            "Number of dimensions (default: 128, or as in --init).",
            least=1,
            panel=None,
        ),
    )
    walk_length: int = _setting(
        1,
        "int, optional",
        "Steps of the random walk: more steps relate items further apart.",
        Flag(
            "--walk-length -w",
            "Steps of the random walk (default: 3 for graphs and features, else 1).",
            least=1,
        ),
        decides_vectors=False,  # the operator has the walk
        of="embed",
    )
    view: str = _setting(
        "auto",
        '{"auto", "walk", "fused", "links", "power"}, default="auto"',
        '"walk" is a single fit. "fused" fits several walks on an undirected graph separately and projects '
        "them onto their principal components, with two coordinates for the degree. "
        '"auto" fuses if the end of an edge has 20 neighbours or more on average and no option implies a '
        'single fit. "links" is the view that predicts missing links best: the default, walks of one step, '
        "or two vectors for each node, as source and as target; chosen and calibrated on hidden links, in "
        'four to ten times the time. "power" takes power steps instead of epochs, as ``effort="fast"`` does.',
        Flag("--view", "Views of a graph: auto, walk, fused, links or power (default: auto)."),
        decides_vectors=False,
        of="embed",
    )
    effort: str = _setting(
        "default",
        '{"default", "fast"}, default="default"',
        '"fast" is for large graphs and first looks: power steps instead of epochs; scores are somewhat '
        'lower than with "default".',
        Flag("--effort", "Effort for a graph: default or fast (default: default)."),
        decides_vectors=False,
        of="embed",
    )
    n_clusters: int = _setting(
        1,
        "int, default=1",
        "Classes of the mixture. With more than one, k-means finds them during the fit.",
        Flag("--clusters", "Classes of the mixture normaliser (default: 1)."),
    )
    n_epochs: int = _setting(
        30,
        "int, default=30",
        "Passes over P.",
        Flag("--epochs", "Passes over the data (default: 20 for graphs, else 30)."),
    )
    learning_rate: float = _setting(
        0.7,
        "float, default=0.7",
        "Initial learning rate, in (0, 1]; decreases linearly to 0.",
        Flag("--learning-rate", "Initial learning rate, in (0, 1] (default: 0.7)."),
    )
    beta: float = _setting(
        6.0,
        "float, default=6.0",
        "Inverse temperature: the softmax is of ``beta`` times the cosine. 1 is the paper's setting.",
        Flag(
            "--beta",
            "Inverse temperature (default: 3 to 6 for graphs, 4 for two sides, 12 for text, else 6).",
        ),
    )
    gradient: str = _setting(
        "row",
        '{"row", "paper", "full"}, default="row"',
        "Gradient of a symmetric fit: of each row's own cross-entropy with the other vectors fixed, the "
        "paper's, or the full gradient of the approximated loss.",
        Flag("--gradient", "Gradient: row, paper or full (default: row)."),
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
        '{"mixture", "edges", "exact"}, default="mixture"',
        'Sum of the softmax: Gaussian classes, as in the paper; "edges" adds exact terms for each item and '
        "its neighbours, for a sharp softmax (beta above 6), in 1.4 to 2.8 times the time of an epoch; "
        '"exact" sums over all pairs: for comparison on small problems.',
    )
    normalize: bool = _setting(
        True,
        "bool, default=True",
        "Divide each row of P by its sum. False keeps the sums as weights of the rows.",
        of="EDRep",
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
        Flag("--threads -t", "Number of threads (default: all cores).", least=1, panel=None),
        decides_vectors=False,
    )
    random_state: Any = _setting(
        None,
        "int, RandomState or None, default=None",
        "Same seed, same bits.",
        Flag(
            "--seed",
            "Random seed: same seed, same result (default: random).",
            least=0,
            most=2**32 - 1,
            panel=None,
        ),
    )
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
        "A folder, or a URL such as ``s3://bucket/run`` that fsspec knows, written every "
        "``checkpoint_every`` epochs and at the end. If it exists, the fit resumes "
        "from it, with the same bits as an uninterrupted fit; a finished fit is returned at once. Fused "
        "views of ``softvec.embed`` write two more, with ``.2`` and ``.3`` after the name. Delete them once "
        "the vectors are saved. A checkpoint of other data or settings is refused.",
        Flag(
            "--checkpoint",
            "Folder to save progress to and resume from; removed at the end (default: none).",
            "FOLDER",
        ),
        decides_vectors=False,
    )
    checkpoint_every: int = _setting(5, "int, default=5", "Epochs between two writes.", decides_vectors=False)
    scratch: str | os.PathLike[str] | None = _setting(
        None,
        "path-like or None, default=None",
        "A folder on a large disk, where temporary files hold vectors, their copies and matrices, so that "
        "data larger than memory can be fitted, with the same bits. Nothing is left in it.",
        Flag(
            "--scratch",
            "Folder on disk for data larger than memory; left empty at the end (default: all in memory).",
            "FOLDER",
        ),
        decides_vectors=False,
    )
    verbose: int = _setting(0, "int, default=0", "1 shows a progress bar.", decides_vectors=False)
    base_measure: float = _setting(
        0.0,
        "float, optional",
        "A power p: items of size s (degree, word count) have weight s ** p in the softmax; 0.25 for text, "
        "1 for tables of two kinds of items, else 0 (equal weights).",
        decides_vectors=False,  # the weights are hashed
        of="embed",
    )
    shrinkage: float = _setting(
        0.0,
        "float, optional",
        "Shortens the vectors of items with few neighbours: with m of them, and a on average, the length is "
        "sqrt(m / (m + shrinkage * a)); 0.5 for undirected graphs by default, 0.25 with several views. With "
        "0 all vectors have length 1, as in the fitted softmax.",
        decides_vectors=False,  # applied after the fit
        of="embed",
    )
    views: tuple[View, ...] = field(default=(), metadata=_RECORD)
    rounds: int = field(default=0, metadata=_RECORD)
    origin: Mapping[str, str] = field(default_factory=dict, metadata=_RECORD)
    ruled_out_by: tuple[str, ...] = field(default=(), metadata=_RECORD)
    softmax: Mapping[str, Any] | None = field(default=None, metadata=_RECORD)

    @classmethod
    def checked(cls, **values: Any) -> Settings:
        """Return settings of a user or a file, checked; what is made from them is not checked again."""
        settings = cls(**values)
        settings._check()
        return settings

    def _check(self) -> None:
        for name in ("n_components", "n_clusters", "checkpoint_every", "walk_length"):
            integer(name, getattr(self, name))
        integer("n_epochs", self.n_epochs, 0)
        number("beta", self.beta, above=0)
        number("learning_rate", self.learning_rate, above=0, most=1)
        integer("power_steps", self.power_steps)
        number("regularization", self.regularization, 0)
        if self.tol is not None:
            number("tol", self.tol, 0)
        choice("gradient", self.gradient, GRADIENTS)
        choice("constraint", self.constraint, CONSTRAINTS)
        choice("normalizer", self.normalizer, NORMALIZERS)
        choice("effort", self.effort, EFFORTS)
        choice("view", self.view, VIEWS)
        if self.symmetric not in (True, False, "auto"):
            raise InputError.of("symmetric", self.symmetric, 'True, False or "auto"')
        if isinstance(self.init, str) and self.init not in INITS:
            raise InputError.of("init", self.init, f"one of {', '.join(INITS)}, or an array")
        self._check_embed_only()
        import numpy as np

        try:
            dtype = np.dtype(self.dtype)
        except TypeError as error:
            raise InputError.of("dtype", self.dtype, "float32 or float64") from error
        if dtype not in (np.float32, np.float64):
            raise InputError.of("dtype", self.dtype, "float32 or float64")

    def _check_embed_only(self) -> None:
        shrinkage, power = self.shrinkage, self.base_measure
        if isinstance(shrinkage, bool) or not isinstance(shrinkage, int | float) or not 0 <= shrinkage < inf:
            raise InputError.of("shrinkage", shrinkage, "a number of at least 0 (0: unit vectors)")
        if not isinstance(power, int | float) or not 0 <= power <= 2:
            raise InputError.of("base_measure", power, "a power between 0 (equal weights) and 2")

    @property
    def total_epochs(self) -> int:
        """Epochs of the whole fit, with all of its views."""
        return sum(view.n_epochs for view in self.views) if self.views else self.n_epochs

    def repeats(self, count: int) -> Iterator[Settings]:
        """Yield these settings ``count`` times, with the seeds s, s + 1, ..."""
        seed = self.random_state
        for step in range(count):
            yield self if seed is None or step == 0 else replace(self, random_state=seed + step)

    def one_sided(self, shape: tuple[int, int]) -> bool:
        """Return whether rows and columns of a matrix of this shape share their vectors."""
        return shape[0] == shape[1] if self.symmetric == "auto" else bool(self.symmetric)

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


OPTIONS = tuple(setting for setting in fields(Settings) if setting.metadata["of"] != "nobody")
SETTINGS = tuple(setting for setting in OPTIONS if setting.metadata["of"] != "embed")  # of the estimator


def documented(cls: type) -> type:
    """Fill ``%(settings)s`` in a docstring with the parameters of a fit."""
    if cls.__doc__:
        cls.__doc__ = cls.__doc__.replace("    %(settings)s", numpydoc(SETTINGS))
    return cls


def numpydoc(settings: Sequence[Field[Any]], indent: str = "    ") -> str:
    """Return the entries of settings in a docstring."""
    import textwrap

    lines = []
    for setting in settings:
        lines.append(f"{indent}{setting.name} : {setting.metadata['kind']}")
        lines.extend(f"{indent}    {line}" for line in textwrap.wrap(setting.metadata["doc"], 100))
    return "\n".join(lines)

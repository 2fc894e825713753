"""The settings of a fit, in one place: defaults, documentation, command-line flags, checks.

The parameters of :class:`softvec.EDRep`, the documentation of :func:`softvec.embed` and the flags of
``softvec embed`` are made from the fields below. Longer than 400 lines: each field carries its documentation.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from functools import partial
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar, get_args, get_origin

from softvec.core.checks import Json, choice, integer, number
from softvec.core.errors import InputError

if TYPE_CHECKING:  # the command line reads the settings before it needs NumPy
    from numpy.typing import NDArray

    from softvec.fit.resolve import View

T = TypeVar("T")
Callback: TypeAlias = Callable[[int, float, "NDArray[Any]"], Any]
Gradient = Literal["row", "paper", "full"]
Constraint = Literal["sphere", "ball"]
NormalizerName = Literal["mixture", "edges", "near", "exact"]
ViewName = Literal["auto", "walk", "fused", "links", "neighbours", "power"]
Effort = Literal["default", "fast"]
SECOND = {"edges": 0, "near": 128}  # second neighbours of an item with exact terms, at most
# The values of the types above, by the name in an annotation.
_CHOICES = {name: get_args(kind) for name, kind in list(globals().items()) if get_origin(kind) is Literal}
_INITS = ("random", "power")


class SharedOptions(TypedDict, total=False):
    """Options of a fit that :class:`softvec.EDRep` and :func:`softvec.embed` share."""

    n_epochs: int
    beta: float
    learning_rate: float
    gradient: Gradient
    n_clusters: int
    init: Any  # "random", "power", an array or an Embedding
    power_steps: int
    regularization: float
    symmetric: bool | Literal["auto"]
    constraint: Constraint
    normalizer: NormalizerName
    dtype: Any
    tol: float | None
    checkpoint: str | os.PathLike[str] | None
    checkpoint_every: int
    scratch: str | os.PathLike[str] | None


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
    doc: str,
    flag: Flag | None = None,
    *,
    kind: str = "",
    check: Callable[[str, Any], Any] | None = None,
    decides_vectors: bool = True,
    of: str = "both",
) -> Any:
    """Declare a setting: default, text, command-line flag and check.

    Its numpydoc type ``kind`` and its check follow from the annotation, unless they are given. ``of`` says
    who takes it: "EDRep", "embed" or "both"; ``embed`` alone applies it before or after the fit.
    """
    decides_vectors = decides_vectors and of != "embed"
    metadata = {"kind": kind, "doc": doc, "flag": flag, "check": check}
    return field(default=default, metadata={**metadata, "decides_vectors": decides_vectors, "of": of})


def _check_init(name: str, value: Any) -> None:
    if isinstance(value, str) and value not in _INITS:
        raise InputError.of(name, value, f"one of {', '.join(_INITS)}, or an array")


def _check_shrinkage(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise InputError.of(name, value, "a number of at least 0 (0: unit vectors)")


def _check_power(name: str, value: Any) -> None:
    if not isinstance(value, int | float) or not 0 <= value <= 2:
        raise InputError.of(name, value, "a power between 0 (equal weights) and 2")


def _check_dtype(name: str, value: Any) -> None:
    import numpy as np

    try:
        dtype = np.dtype(value)
    except TypeError as error:
        raise InputError.of(name, value, "float32 or float64") from error
    if dtype not in (np.float32, np.float64):
        raise InputError.of(name, value, "float32 or float64")


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
        "Steps of the random walk: more steps relate items further apart.",
        Flag(
            "--walk-length -w",
            "Steps of the random walk (default: 3 for graphs and features, else 1).",
            least=1,
        ),
        of="embed",
        kind="int, optional",
    )
    view: ViewName = _setting(
        "auto",
        '"walk" is a single fit. "fused" fits several walks on an undirected graph separately and projects '
        "them onto their principal components, with two coordinates for the degree. "
        '"auto" fuses if the end of an edge has 20 neighbours or more on average, or unlike nodes are '
        'linked, and no option implies a single fit. "links" is the view that predicts missing links best: '
        "the default, walks of one step, or two vectors for each node, as source and as target; chosen and "
        'calibrated on hidden links, in four to ten times the time; options hold for each. "neighbours" '
        'keeps the neighbours of a node nearest to it, at a cost for labels and links. "power" takes '
        'power steps, as ``effort="fast"``.',
        Flag("--view", "View of a graph: auto, walk, fused, links, neighbours, power (default: auto)."),
        of="embed",
    )
    effort: Effort = _setting(
        "default",
        '"fast" is for large graphs and first looks: power steps instead of epochs; scores are somewhat '
        'lower than with "default".',
        Flag("--effort", "Effort for a graph: default or fast (default: default)."),
        of="embed",
    )
    n_clusters: int = _setting(
        1,
        "Classes of the mixture. With more than one, k-means finds them during the fit.",
        Flag("--clusters", "Classes of the mixture normaliser (default: 1)."),
    )
    n_epochs: int = _setting(
        30,
        "Passes over P.",
        Flag("--epochs", "Passes over the data (default: 16; 20 for directed graphs, 30 without a graph)."),
        check=partial(integer, least=0),
    )
    learning_rate: float = _setting(
        0.7,
        "Initial learning rate, in (0, 1]; decreases linearly to 0.",
        Flag("--learning-rate", "Initial learning rate, in (0, 1] (default: 0.7)."),
        check=partial(number, above=0, most=1),
    )
    beta: float = _setting(
        6.0,
        "Inverse temperature: the softmax is of ``beta`` times the cosine. 1 is the paper's setting.",
        Flag(
            "--beta",
            "Inverse temperature (default: 3 to 6 for graphs, 4 for two sides, 16 for text, else 6).",
        ),
        check=partial(number, above=0),
    )
    gradient: Gradient = _setting(
        "row",
        "Gradient of a symmetric fit: of each row's own cross-entropy with the other vectors fixed, the "
        "paper's, or the full gradient of the approximated loss.",
        Flag("--gradient", "Gradient: row, paper or full (default: row)."),
    )
    regularization: float = _setting(
        0.0,
        "Weight of the term that centres the vectors; the paper uses 1, but 0 scores better "
        "(docs/decisions.md).",
        check=partial(number, least=0),
    )
    init: Any = _setting(
        "random",
        "Initial vectors. A two-sided fit takes a pair of arrays.",
        decides_vectors=False,  # described apart: an array is hashed, not printed
        check=_check_init,
        kind='{"random", "power"} or array of shape (n, n_components)',
    )
    power_steps: int = _setting(
        3,
        'Products with P in ``init="power"``; more of them capture larger structures before the first epoch.',
    )
    symmetric: bool | str = _setting(
        "auto",
        'One set of vectors for rows and columns, or two. "auto": one if P is square.',
        check=partial(choice, allowed=(True, False, "auto")),
        kind='bool or "auto"',
    )
    constraint: Constraint = _setting(
        "sphere",
        "Unit vectors, or vectors of norm at most 1.",
    )
    normalizer: NormalizerName = _setting(
        "mixture",
        'Sum of the softmax: Gaussian classes, as in the paper; "edges" adds exact terms for each item and '
        "its neighbours, for a sharp softmax (beta above 6), in 1.4 to 2.8 times the time of an epoch; "
        '"near" adds those of 128 second neighbours, and leaves out the item itself; '
        '"exact" sums over all pairs: for comparison on small problems.',
    )
    normalize: bool = _setting(
        True,
        "Divide each row of P by its sum. False keeps the sums as weights of the rows.",
        of="EDRep",
    )
    dtype: Any = _setting(
        "float32",
        "Precision of the vectors. In float32, neighbours are read in half precision.",
        check=_check_dtype,
        kind='{"float32", "float64"}',
    )
    n_jobs: int | None = _setting(
        None,
        "Threads, for BLAS and the compiled loops; None means all cores. The result does not depend on it.",
        Flag("--threads -t", "Number of threads (default: all cores).", least=1, panel=None),
        decides_vectors=False,
    )
    random_state: Any = _setting(
        None,
        "Same seed, same bits.",
        Flag(
            "--seed",
            "Random seed: same seed, same result (default: random).",
            least=0,
            most=2**32 - 1,
            panel=None,
        ),
        kind="int, RandomState or None",
    )
    tol: float | None = _setting(
        None,
        "Stop when the loss changes by less than this fraction in an epoch.",
        check=partial(number, least=0),
    )
    callbacks: Sequence[Callback] | None = _setting(
        None,
        "Called as ``callback(epoch, loss, X)`` after every epoch; True stops the fit.",
        decides_vectors=False,
        kind="sequence of callable, optional",
    )
    checkpoint: str | os.PathLike[str] | None = _setting(
        None,
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
        kind="path-like or None",
    )
    checkpoint_every: int = _setting(
        5,
        "Epochs between two writes.",
        decides_vectors=False,
    )
    scratch: str | os.PathLike[str] | None = _setting(
        None,
        "A folder on a large disk, where temporary files hold vectors, their copies and matrices, so that "
        "data larger than memory can be fitted, with the same bits. Nothing is left in it.",
        Flag(
            "--scratch",
            "Folder on disk for data larger than memory; left empty at the end (default: all in memory).",
            "FOLDER",
        ),
        decides_vectors=False,
        kind="path-like or None",
    )
    verbose: bool | int = _setting(0, "1 shows a progress bar.", decides_vectors=False)
    base_measure: float = _setting(
        0.0,
        "A power p: items of size s (degree, word count) have weight s ** p in the softmax; 0.25 for text, "
        "1 for tables of two kinds of items, else 0 (equal weights).",
        of="embed",
        check=_check_power,
        kind="float, optional",
    )
    shrinkage: float = _setting(
        0.0,
        "Shortens the vectors of items with few neighbours: with m of them, and a on average, the length is "
        "sqrt(m / (m + shrinkage * a)); 0.5 for undirected graphs by default, 0.25 with several views. With "
        "0 all vectors have length 1, as in the fitted softmax.",
        of="embed",
        check=_check_shrinkage,
        kind="float, optional",
    )
    views: tuple[View, ...] = field(default=(), metadata=_RECORD)
    rounds: int = field(default=0, metadata=_RECORD)
    origin: Mapping[str, str] = field(default_factory=dict, metadata=_RECORD)
    ruled_out_by: tuple[str, ...] = field(default=(), metadata=_RECORD)
    softmax: Mapping[str, Any] | None = field(default=None, metadata=_RECORD)

    @classmethod
    def checked(cls, **values: Any) -> Settings:
        """Return settings of a user or a file, checked; what is made from them is not checked again."""
        for option in OPTIONS:
            name, kind, value = option.name, str(option.type), values.get(option.name, option.default)
            check = option.metadata["check"] or (integer if kind == "int" else None)
            if value is option.default:
                continue
            if kind in _CHOICES:
                choice(name, value, _CHOICES[kind])
            elif check is not None:
                check(name, value)
        return cls(**values)

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

    def rates(self) -> list[float]:
        """Learning rate of each epoch: from ``learning_rate`` linearly to 0 (Algorithm 1, last line)."""
        return [self.learning_rate * (1 - epoch / self.n_epochs) for epoch in range(self.n_epochs)]

    def described(self) -> Json:
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


def configured(cls: type[T]) -> type[T]:
    """Give an estimator the signature and the documentation of its settings."""
    own = [Parameter(s.name, Parameter.KEYWORD_ONLY, default=s.default, annotation=s.type) for s in SETTINGS]
    own[0] = own[0].replace(kind=Parameter.POSITIONAL_OR_KEYWORD)
    warm = Parameter("warm_start", Parameter.KEYWORD_ONLY, default=False, annotation="bool")
    self = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    cls.__init__.__signature__ = Signature([self, *own, warm])  # type: ignore[misc, attr-defined]
    cls.__doc__ = (cls.__doc__ or "").replace("    %(settings)s", numpydoc(SETTINGS))
    return cls


def numpydoc(settings: Sequence[Field[Any]], indent: str = "    ") -> str:
    """Return the entries of settings in a docstring."""
    import textwrap

    lines = []
    for setting in settings:
        kind, default = setting.metadata["kind"] or str(setting.type).replace("|", "or"), setting.default
        if kind in _CHOICES:
            kind = "{" + ", ".join(f'"{name}"' for name in _CHOICES[kind]) + "}"
        if not kind.endswith("optional"):
            kind += f', default="{default}"' if isinstance(default, str) else f", default={default}"
        lines.append(f"{indent}{setting.name} : {kind}")
        lines.extend(f"{indent}    {line}" for line in textwrap.wrap(setting.metadata["doc"], 100))
    return "\n".join(lines)

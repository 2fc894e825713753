"""What the user wants: the arguments of :func:`softvec.embed`, typed, and checked before any data is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from softvec.affinity import Affinity
from softvec.affinity.sources import check_kind
from softvec.core.checks import integer, recorded
from softvec.core.errors import InputError, Option, did_you_mean, warn
from softvec.embedding import Embedding
from softvec.embedding.align import continued
from softvec.fit.resolve import BUILDER_DEFAULTS
from softvec.fit.settings import OPTIONS, Effort, Settings, SharedOptions, ViewName

FIT_OPTIONS = tuple(option.name for option in OPTIONS if option.metadata["of"] != "EDRep")
# Arguments of `embed` that are neither settings of a fit nor options of the data.
_OF_THE_CALL = ("kind", "repeats", "check_memory", "cluster", "partition", "attributes", "types")
# None stands for the default of the data, or is the default.
_NONE_IS_DEFAULT = {"n_components", "walk_length", "shrinkage"} | {
    option.name for option in OPTIONS if option.default is None
}

# Names of the same options in other libraries.
MEANT = {
    **dict.fromkeys(("d", "dim", "dims", "dimension", "dimensions", "size", "vector_size"), "n_components"),
    **dict.fromkeys(("seed", "random_seed"), "random_state"),
    **dict.fromkeys(("epochs", "epoch", "iterations", "n_iterations"), "n_epochs"),
    **dict.fromkeys(("lr", "alpha", "eta"), "learning_rate"),
    **dict.fromkeys(("threads", "workers", "n_threads"), "n_jobs"),
    **dict.fromkeys(("walk", "steps", "n_steps"), "walk_length"),
}
KindName = Literal["graph", "pairs", "bipartite", "temporal", "corpus", "features", "dense", "sets"]


class FitOptions(SharedOptions, total=False):
    """Options of a fit, documented in :class:`softvec.EDRep` and :func:`softvec.embed`."""

    base_measure: float
    shrinkage: float
    view: ViewName
    effort: Effort


class DataOptions(TypedDict, total=False):
    """Options of the builders of :mod:`softvec.affinity` and of the file readers."""

    # graphs, pairs, two-sided data
    directed: bool | None
    weighted: bool | None
    weight: Any
    weights: Any
    self_loops: Literal["drop", "keep"]
    duplicates: Literal["sum", "merge", "error"] | None
    isolated: Literal["keep", "drop"]
    negative: Literal["auto", "sign", "error", "drop", "abs"]
    signed: bool | None
    dangling: Literal["zero", "self", "error"]
    length: int
    names: Any
    column_names: Any
    columns: Any
    key: str | None
    # temporal contacts, text
    window: Any
    n_windows: int | None
    equal: Literal["time", "stamps"]
    self_weight: float
    min_count: int
    max_vocab: int | None
    weighting: str
    subsample: float | None
    context_subsample: float | None
    tokenizer: Any
    lowercase: bool
    # features, dense matrices
    n_neighbors: int | None
    metric: str
    mutual: bool
    method: str
    normalize: bool
    threshold: float | None
    top_k: int | None
    rank: int | None
    n_factors: int
    n_iter: int
    entries_per_row: int | None
    # files
    format: str
    delimiter: str
    header: bool
    comment: str | None
    encoding: str
    ids: Literal["auto", "integer", "string"]
    decimal: str
    missing: Literal["error", "drop"]
    min_weight: float | None
    variable: str
    pattern: str


class EmbedOptions(FitOptions, DataOptions, total=False):
    """All options of :func:`softvec.embed` that depend on the data, for editors and type checkers."""


@dataclass(frozen=True)
class Earlier:
    """What a fit takes over from an earlier one.

    Attributes
    ----------
    parameters : mapping
        Settings of the earlier fit that are kept.
    walk_length : int or None
    two_sided : bool
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    walk_length: int | None = None
    two_sided: bool = False

    @classmethod
    def of(cls, emb: Embedding) -> Earlier:
        """Return what the provenance of an embedding tells."""
        Settings.checked(**continued(emb))
        length = recorded(emb, "data", "options").get("length")
        return cls(continued(emb), None if length is None else int(length), emb.two_sided)


@dataclass(frozen=True)
class Request:
    """Arguments of :func:`softvec.embed`, checked.

    Attributes
    ----------
    settings : Settings
        The settings asked for; what was not asked for has the default of the class.
    given : frozenset of str
        Names of the settings that were asked for.
    kind : str or None
        Kind of data; None to detect it.
    data : mapping
        Options of the reader and of the builder.
    own_walk : bool
        Whether the data has a walk of its own: an Affinity, or an option of the builder.
    init : Embedding or None
        An earlier version of the vectors, to which the result is aligned.
    earlier : Earlier or None
        What is taken over from it; None if it has several views, which are fitted anew.
    repeats : int
        Number of fits, with different seeds.
    check_memory : bool
    cluster, partition : str or None
    attributes, types : object
        Attributes and types of the nodes of a graph; None for none.
    """

    settings: Settings = field(default_factory=Settings)
    given: frozenset[str] = frozenset()
    kind: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    own_walk: bool = False
    init: Embedding | None = None
    earlier: Earlier | None = None
    repeats: int = 1
    check_memory: bool = True
    cluster: str | None = None
    partition: str | None = None
    attributes: Any = None
    types: Any = None

    @classmethod
    def of(cls, data: Any = None, **options: Any) -> Request:
        """Sort and check the arguments of :func:`softvec.embed`; ``data`` is what will be embedded."""
        own = {name: options.pop(name) for name in _OF_THE_CALL if name in options}
        _refuse_unknown(options)
        known = _without_signed(options)
        fit = {name: value for name, value in known.items() if name in FIT_OPTIONS}
        builder = {name: value for name, value in known.items() if name not in fit}
        settings, given, init = _settings(fit)
        if own.get("kind") is not None:
            check_kind(own["kind"])
        integer("repeats", own.get("repeats", 1))
        request = cls(
            settings=settings,
            given=given,
            data=builder,
            own_walk=isinstance(data, Affinity) or "length" in builder,
            init=init,
            earlier=None if init is None or _has_views(init) else Earlier.of(init),
            **own,
        )
        for clashes, *message in CONTRADICTIONS:
            if clashes(request):
                raise InputError(*message)
        if init is not None and request.earlier is None:
            warn("init has several views, which are refitted and then aligned with it")
        return request

    @property
    def defaults(self) -> Mapping[str, Mapping[str, Any]]:
        """Default options of builders, by kind of data."""
        own = "subsample" in self.data or self.data.get("length", 1) != 1
        return {} if own else BUILDER_DEFAULTS


_ANEW = " give one vector to each node, anew; leave out "
_TWO_SIDES = " is a fit of two sides; leave out "
# What contradicts itself whatever the data is, and what is said then; the first is told.
CONTRADICTIONS: tuple[tuple[Any, ...], ...] = (
    (lambda r: r.settings.view == "fused" and (r.own_walk or "walk_length" in r.given),
     Option("view", "fused"), " sets its own walks; leave out ", Option("walk_length")),
    (lambda r: r.settings.effort == "fast" and r.init is not None,
     Option("effort", "fast"), " is for fits without init; leave it out"),
    (lambda r: r.settings.view == "links" and r.settings.effort == "fast",
     Option("view", "links"), _TWO_SIDES, Option("effort")),
    (lambda r: r.settings.view == "neighbours" and r.settings.effort == "fast",
     Option("view", "neighbours"), " is a fit by epochs; leave out ", Option("effort")),
    (lambda r: r.settings.view == "links" and r.settings.symmetric is True,
     Option("view", "links"), _TWO_SIDES, Option("symmetric")),
    (lambda r: r.repeats > 1 and (r.init is not None or r.settings.checkpoint is not None),
     "repeats use different seeds; leave out init and checkpoint"),
    (lambda r: r.attributes is not None and r.init is not None,
     Option("attributes"), _ANEW, Option("init")),
    (lambda r: r.attributes is not None and r.settings.view == "links",
     Option("attributes"), _ANEW, Option("view", "links")),
    (lambda r: r.cluster is None and r.partition is not None,
     Option("partition"), " is for a cluster; also pass ", Option("cluster")),
)  # fmt: skip


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    known = (*FIT_OPTIONS, *DataOptions.__annotations__)
    for name in options:
        if name not in known:
            meant = f"; did you mean {MEANT[name]!r}?" if name in MEANT else did_you_mean(name, known, 0.8)
            elsewhere = "; see softvec.embed for options of a fit, softvec.affinity for those of the data"
            raise InputError(f"unknown option {name!r}{meant or elsewhere}")


def _without_signed(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options with ``signed`` as a value of ``negative``."""
    others = {name: value for name, value in options.items() if name != "signed"}
    signed = options.get("signed")
    if signed is None:
        return others
    if "negative" in options:
        raise InputError(Option("signed"), " decides on negative weights; leave out ", Option("negative"))
    return {**others, "negative": "sign" if signed else "abs"}


def _settings(fit: Mapping[str, Any]) -> tuple[Settings, frozenset[str], Embedding | None]:
    """Return the settings asked for, their names, and the Embedding to start from, if there is one."""
    asked = {name: value for name, value in fit.items() if value is not None or name not in _NONE_IS_DEFAULT}
    init = asked.get("init")
    if not isinstance(init, Embedding):
        return Settings.checked(**asked), frozenset(asked), None
    del asked["init"]
    n_components = asked.get("n_components", init.n_components)
    if n_components != init.n_components:
        raise InputError.of(
            "n_components", n_components, f"{init.n_components}, the dimensions of init", "leave it out"
        )
    return Settings.checked(**{**asked, "n_components": n_components}), frozenset(asked), init


def _has_views(emb: Embedding) -> bool:
    return recorded(emb, "parameters").get("view") == "fused" or "attributes" in emb.provenance

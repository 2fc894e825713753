"""Checks of parameters, which return the value or raise an error; small conversions, parts of a record."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from softvec.core.errors import InputError, Message, Option

if TYPE_CHECKING:  # the command line reads the settings of a fit before it needs NumPy
    from numpy.typing import NDArray

Json = dict[str, Any]  # an object of JSON: a provenance, or a part of one


def choice(name: str, value: Any, allowed: Iterable[Any]) -> Any:
    """Return ``value`` if it is in ``allowed``.

    Examples
    --------
    >>> choice("init", "power", ("random", "power"))
    'power'
    """
    options = tuple(allowed)
    if value not in options:
        raise InputError.of(name, value, f"one of {', '.join(map(str, options))}")
    return value


def integer(name: str, value: Any, least: int = 1, most: int | None = None, of: str = "") -> int:
    """Return ``value`` as an integer between ``least`` and ``most``.

    Examples
    --------
    >>> integer("n_walks", 3)
    3
    """
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise InputError.of(name, value, f"an integer of at least {least}")
    if most is not None and value > most:
        raise InputError.of(name, value, f"an integer of at most {most:,}{f' ({of})' if of else ''}")
    return int(value)


def number(
    name: str, value: Any, least: float = -math.inf, *, above: float = -math.inf, most: float = math.inf
) -> float:
    """Return ``value`` as a finite float between ``least`` and ``most`` and greater than ``above``."""
    if not isinstance(value, bool):
        try:
            result = float(value)
        except (TypeError, ValueError):
            result = math.nan
        if math.isfinite(result) and least <= result <= most and result > above:
            return result
    bounds = [f"above {above:g}"] if math.isfinite(above) else []
    bounds += [f"of at least {least:g}"] if math.isfinite(least) else []
    bounds += [f"of at most {most:g}"] if math.isfinite(most) else []
    raise InputError.of(name, value, " ".join(["a number", " and ".join(bounds)]).strip())


def check_weighted(weighted: Any) -> None:
    """Raise an error if ``weighted`` is not a bool or None, such as the name of a column."""
    if weighted not in (None, True, False):
        remedy = Message("to name the weights, ", Option("weight", weighted))
        raise InputError.of("weighted", weighted, "True or False", remedy)


def is_number(value: Any) -> bool:
    """Whether ``float`` accepts a value."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: '1 edge', '2,000 edges'."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def unit_rows(X: NDArray[Any]) -> NDArray[Any]:
    """Return the rows divided by their norms; a zero row stays zero."""
    import numpy as np

    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1)


def plain_json(value: Any) -> Any:
    """Return a deep copy in JSON types: NaN and infinity become None, other objects their ``str``.

    Examples
    --------
    >>> import numpy as np
    >>> plain_json({1: np.float32(0.5), "a": (np.arange(2), float("nan"))})
    {'1': 0.5, 'a': [[0, 1], None]}
    """
    import numpy as np

    if isinstance(value, np.generic | np.ndarray):
        return plain_json(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def recorded(emb: Any, *path: str) -> Json:
    """Return an entry of an embedding's provenance if it is a dictionary, else an empty one."""
    record = emb.provenance
    for part in path:
        record = record.get(part)
        if not isinstance(record, dict):
            return {}
    return record  # type: ignore[no-any-return]

"""Flags of a fit, made from the settings of :mod:`softvec.fit.settings`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import Field
from functools import partial
from typing import Annotated, Any

import typer

from softvec.fit.settings import SETTINGS

fit_flag = partial(typer.Option, rich_help_panel="Fit")
_TYPES: dict[str, type] = {"int": int, "float": float}  # the rest is text


def with_fit_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the ``**fit`` of a command by a flag for each setting that declares one.

    The command gets those that were given, under the names of the settings.
    """
    flags = [_flag(setting) for setting in SETTINGS if setting.metadata["flag"]]
    names = {parameter.name for parameter in flags}
    signature = inspect.signature(command, eval_str=True)
    own = list(signature.parameters.values())
    assert own[-1].kind is inspect.Parameter.VAR_KEYWORD

    def run(**values: Any) -> None:
        command(**{name: value for name, value in values.items() if name not in names or value is not None})

    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__signature__ = signature.replace(parameters=[*own[:-1], *flags])  # type: ignore[attr-defined]
    return run


def _flag(setting: Field[Any]) -> inspect.Parameter:
    told = setting.metadata
    option = fit_flag(told["flag"], help=told["help"], metavar=told.get("metavar"))
    kind = _TYPES.get(str(setting.type), str)
    return inspect.Parameter(
        setting.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )

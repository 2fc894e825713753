"""Options of ``softvec embed`` for the fit; most are made from :mod:`softvec.fit.settings`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import Field
from functools import partial
from typing import Annotated, Any

import typer

from softvec.fit.settings import OPTIONS, Flag

fit_flag = partial(typer.Option, rich_help_panel="Fit")

TwoSided = Annotated[
    bool,
    fit_flag(
        "--two-sided", help="Separate vectors for columns (default: if rows and columns are different items)."
    ),
]
Init = Annotated[
    str | None,
    fit_flag(
        "--init",
        metavar="VECTORS",
        help="Vectors of an earlier version of the data to start from (default: random).",
    ),
]
Repeats = Annotated[
    int,
    fit_flag(
        "--repeats",
        help="Number of seeds; more than one measures the stability of neighbours and groups.",
        min=1,
    ),
]
Workers = Annotated[
    str | None,
    fit_flag(
        "--cluster",
        metavar="WORKERS",
        help="Workers that share the fit: local:4, ray://host:port, mpi or auto (default: none).",
    ),
]
Partition = Annotated[
    str | None,
    fit_flag(
        "--partition",
        help="With --cluster: stream renumbers items so that workers exchange less (default: none).",
    ),
]


def with_fit_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the ``**fit`` of a command by a flag for each setting that has one, before its own of the fit.

    The command receives only flags that the user set, under the names of the settings.
    """
    flags = [_flag(setting) for setting in OPTIONS if setting.metadata["flag"] is not None]
    names = {parameter.name for parameter in flags}
    signature = inspect.signature(command, eval_str=True)
    *own, last = signature.parameters.values()
    assert last.kind is inspect.Parameter.VAR_KEYWORD
    at = next((i for i, parameter in enumerate(own) if parameter.name == "two_sided"), len(own))
    order = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in (*own[:at], *flags, *own[at:])
    ]

    def run(**values: Any) -> None:
        command(**{name: value for name, value in values.items() if name not in names or value is not None})

    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__signature__ = signature.replace(parameters=order)  # type: ignore[attr-defined]
    return run


def _flag(setting: Field[Any]) -> inspect.Parameter:
    flag: Flag = setting.metadata["flag"]
    option = typer.Option(
        *flag.names.split(), help=flag.help, metavar=flag.metavar, min=flag.least, max=flag.most,
        rich_help_panel=flag.panel,
    )  # fmt: skip
    number = "int" if flag.least is not None else str(setting.type)
    kind = {"int": int, "float": float}.get(number, str)
    return inspect.Parameter(
        setting.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )

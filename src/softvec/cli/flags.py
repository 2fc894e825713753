"""Show options in errors and warnings as command-line flags."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from typer.core import TyperCommand

from softvec.cli.options import Json, Quiet, VectorFormat
from softvec.cli.terminal import Session, note
from softvec.core.errors import AdviceWarning, InputError, Message, NameOnly, Option

SESSION_FLAGS = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    for name, default, annotation in (
        ("format", None, VectorFormat), ("quiet", False, Quiet), ("json", False, Json)
    )
]  # fmt: skip
# Flags that set an option of the library to a fixed value.
_ONE_VALUE = {
    ("symmetric", False): "--two-sided",
    ("check_memory", False): "--force",
    ("everyone", False): "--active-only",
    ("missing", "drop"): "--drop-missing",
    ("negative", "abs"): "--unsigned",
    ("negative", "sign"): "--signed",
}


def with_session(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter ``session`` of a command by the flags that it holds."""
    signature = inspect.signature(command, eval_str=True)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "session"]
    flags = SESSION_FLAGS if "vectors" in signature.parameters else SESSION_FLAGS[1:]
    if len(own) == len(signature.parameters):
        return command

    def run(**values: Any) -> None:
        held = {flag.name: values.pop(flag.name) for flag in flags}
        command(**values, session=Session(**held))

    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__signature__ = signature.replace(parameters=[*own, *flags])  # type: ignore[attr-defined]
    return run


class FlagCommand(TyperCommand):
    """A command that shows its own flags where the library's errors and warnings name options.

    Parameters of a command have the names of the library's options, whatever their flags are called.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        warnings.showwarning = lambda message, *_, **__: note(
            with_flags(message.message if isinstance(message, AdviceWarning) else str(message), self)
        )
        try:
            return super().invoke(ctx)
        except InputError as error:
            raise InputError(with_flags(error.message, self)) from error


def with_flags(message: str | Message, command: Any) -> str:
    """Return a message of the library with the flags of a command in it."""
    return message if isinstance(message, str) else message.render(flag_writer(command.params))


def flag_writer(parameters: Iterable[Any]) -> Callable[[Option], str]:
    """Return a function that writes an option as a flag of a command with these parameters.

    An option without a flag is written with ``--set`` if the command has it, else as in Python.
    """
    parameter_of = {parameter.name: parameter for parameter in parameters}
    flags = {
        flag for parameter in parameter_of.values() for flag in (*parameter.opts, *parameter.secondary_opts)
    }

    def write(option: Option) -> str:
        fixed = _ONE_VALUE.get((option.name, option.value)) if isinstance(option.value, bool | str) else None
        if fixed in flags:
            return str(fixed)
        if option.name in parameter_of:
            return _own_flag(parameter_of[option.name], option.value)
        if "--set" not in flags or option.value is NameOnly:
            return str(option)
        return f"--set {option.name}={_typed(option.value)}"

    return write


def _own_flag(parameter: Any, value: Any) -> str:
    flag = next(text for text in parameter.opts if text.startswith("--"))
    if value is NameOnly or value is ... or value is True:
        return str(flag)
    if value is False:
        return str(parameter.secondary_opts[0])
    return f"{flag} {_typed(value)}"


def _typed(value: Any) -> str:
    """Return a value as it is typed after a flag."""
    if value is ... or isinstance(value, str):
        return "..." if value is ... else value
    return json.dumps(value, default=str)  # as --set reads it

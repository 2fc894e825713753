"""Groups of flags, and options in errors and warnings shown as flags."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

from typer.core import TyperCommand

from softvec.cli.terminal import note
from softvec.core.errors import AdviceWarning, InputError, NameOnly, Option
from softvec.core.files import refuse_input_as_output

_OUTPUTS = frozenset({"output", "target", "map_file", "curve", "plot"})  # parameters that are written

# Flags that set an option of the library to a fixed value.
_ONE_VALUE = {
    ("symmetric", False): "--two-sided",
    ("check_memory", False): "--force",
    ("everyone", False): "--active-only",
    ("missing", "drop"): "--drop-missing",
    ("negative", "abs"): "--unsigned",
    ("negative", "sign"): "--signed",
}


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is a dataclass by the flags that are its fields.

    The command receives the group of flags as one object.
    """
    signature = inspect.signature(command, eval_str=True)
    flags: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for name, parameter in signature.parameters.items():
        if not is_dataclass(parameter.annotation):
            flags.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        own = _flags_of(parameter.annotation)
        if name == "session" and "vectors" not in signature.parameters:
            own = own[1:]
        groups[name] = parameter.annotation, [flag.name for flag in own]
        flags += own

    def run(**values: Any) -> None:
        held = {
            name: group(**{flag: values.pop(flag) for flag in own}) for name, (group, own) in groups.items()
        }
        command(**values, **held)

    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__signature__ = signature.replace(parameters=flags)  # type: ignore[attr-defined]
    return run


def _flags_of(group: Any) -> list[inspect.Parameter]:
    """Return the fields of a dataclass as parameters."""
    hints, kind = get_type_hints(group, include_extras=True), inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(
            flag.name,
            kind,
            default=inspect.Parameter.empty if flag.default is MISSING else flag.default,
            annotation=hints[flag.name],
        )
        for flag in fields(group)
    ]


class FlagCommand(TyperCommand):
    """A command that shows its own flags where the library's errors and warnings name options.

    Parameters of a command have the names of the library's options, whatever their flags are called.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        others = getattr(getattr(ctx.parent, "command", None), "commands", {})
        write = flag_writer(self.params, others["embed"].params if "embed" in others else ())
        warnings.showwarning = lambda message, *_, **__: note(
            message.message.render(write) if isinstance(message, AdviceWarning) else str(message)
        )
        try:
            _keep_inputs(self.params, ctx.params)
            return super().invoke(ctx)
        except InputError as error:
            raise InputError(error.message.render(write)) from error


def _keep_inputs(parameters: Iterable[Any], values: dict[str, Any]) -> None:
    """Raise an error if a file that the command writes is one that it reads.

    The vectors of ``--init`` may be replaced: that is how vectors are updated in place.
    """
    files = {each.name for each in parameters if each.param_type_name == "argument" or each.metavar == "FILE"}
    for target in (values[name] for name in _OUTPUTS & values.keys() if values[name]):
        for name in sorted(files - _OUTPUTS):
            refuse_input_as_output(values[name], target)


def flag_writer(parameters: Iterable[Any], of_embed: Sequence[Any] = ()) -> Callable[[Option], str]:
    """Return a function that writes an option as a flag of a command with these parameters.

    An option without a flag is written with ``--set`` if the command has it, else as a flag of ``embed``.
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
            shown = flag_writer(of_embed)(option) if of_embed else ""
            return f"embed {shown}" if shown.startswith("--") else str(option)
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

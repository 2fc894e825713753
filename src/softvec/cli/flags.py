"""How commands declare their flags, those that several share, and options in messages shown as flags."""

from __future__ import annotations

import inspect
import json
import os
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer import Option as Flag
from typer.core import TyperCommand
from typer.models import ArgumentInfo

from softvec.cli.tables import plain_name
from softvec.cli.terminal import Session, note
from softvec.core.errors import AdviceWarning, InputError, NameOnly, Option
from softvec.core.files import refuse_input_as_output

if TYPE_CHECKING:
    from softvec.embedding import Embedding

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


def flag(names: str, help: str, default: Any = None, **more: Any) -> Any:
    """Declare a flag as a field of a command: names with spaces between; the default ``...`` is none."""
    if default is None:
        more["show_default"] = False  # the help says what happens
    option = typer.Option(*names.split(), help=help, **more)
    return field(default=MISSING if default is ... else default, metadata={"flag": option})


def argument(metavar: str, help: str, default: Any = ...) -> Any:
    """Declare an argument as a field of a command."""
    told = {"flag": typer.Argument(metavar=metavar, help=help)}
    return field(default=MISSING if default is ... else default, metadata=told)


@dataclass(frozen=True, kw_only=True)
class Command(Session, ABC):
    """A command: its fields are its arguments and flags, its docstring is its help."""

    @abstractmethod
    def run(self) -> None:
        """Do it."""


def callback_of(command: type[Command]) -> Callable[..., None]:
    """Return a function for typer whose parameters are the fields of a command.

    Arguments come first, and a command's own flags before those of its bases.
    """
    hints = get_type_hints(command, include_extras=True)
    bases = [vars(base).get("__annotations__", ()) for base in command.__mro__]

    def place(each: Field[Any]) -> tuple[int, int]:
        depth = next(i for i, declared in enumerate(bases) if each.name in declared)
        return (0, -depth) if isinstance(each.metadata.get("flag"), ArgumentInfo) else (1, depth)

    def parameter(each: Field[Any]) -> inspect.Parameter:
        default = inspect.Parameter.empty if each.default is MISSING else each.default
        hint, told = hints[each.name], each.metadata.get("flag")
        hint = hint if told is None else Annotated[hint, told]
        return inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)

    def run(**values: Any) -> None:
        command(**values).run()

    run.__name__, run.__module__ = command.__name__.lower(), command.__module__
    run.__doc__ = re.sub(r"\n( {6}\S)", r"\n\n\1", command.__doc__ or "")  # an example is a paragraph
    parameters = [parameter(each) for each in sorted(fields(command), key=place)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


class FlagCommand(TyperCommand):
    """A command that shows its own flags where the library's errors and warnings name options.

    Parameters of a command have the names of the library's options, whatever their flags are called.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        others = getattr(getattr(ctx.parent, "command", None), "commands", {})
        write = flag_writer(self.params, others["embed"].params if "embed" in others else ())
        said: set[str] = set()  # a command may read a file twice

        def show(message: Warning | str, *_: Any, **__: Any) -> None:
            text = message.message.render(write) if isinstance(message, AdviceWarning) else str(message)
            if text not in said:
                note(text)
            said.add(text)

        warnings.showwarning = show
        try:
            _keep_inputs(self.params, ctx.params)
            return super().invoke(ctx)
        except InputError as error:
            raise InputError(error.message.render(write)) from error


def _keep_inputs(parameters: Iterable[Any], values: Mapping[str, Any]) -> None:
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


# flags and arguments of several commands


def _regularization(text: str) -> float | str:
    """Return the value of ``--C``: a number, or "cv"."""
    value = "cv" if text == "cv" else _number(text, float)
    if value is None:
        raise InputError(f"--C is {text!r}; expected a positive number or cv")
    return value  # type: ignore[no-any-return]


def columns_of(text: str | None) -> list[int] | list[str] | None:
    """Return the columns: positions if all are numbers, else names."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    return [int(part) for part in parts] if all(part.isdigit() for part in parts) else parts


_MOST = 2**32 - 1  # the largest seed of both NumPy and scikit-learn
Seed = Annotated[int | None, Flag("--seed", help="Random seed: same seed, same result.", min=0, max=_MOST)]
Threads = Annotated[
    int | None, Flag("--threads", "-t", help="Number of threads (default: all cores).", min=1)
]
Regularization = Annotated[
    str,
    Flag("--C", callback=_regularization, help="Inverse regularisation, or cv for cross-validation."),
]
Labels = Annotated[
    str, typer.Argument(metavar="LABELS", help="Known labels: lines of name and label, .npy or .npz.")
]
Columns = Annotated[
    str | None,
    Flag(
        "--columns", callback=columns_of,
        help="Columns of a table, e.g. from,to,weight or 0,1 (default: detected).",
    ),
]  # fmt: skip
Others = Annotated[
    list[str] | None,
    Flag("--set", metavar="NAME=VALUE", help="Any other option of the reader (default: none)."),
]


@dataclass(frozen=True, kw_only=True)
class VectorCommand(Command):
    """A command on a file of vectors."""

    vectors: str = argument("VECTORS", "Vector file (.svec, .txt, .bin, .parquet, ...), or -.")
    format: str | None = flag("--format", "Format of the vector file (default: detected).")

    def load(self) -> Embedding:
        """Read the vectors."""
        return load_vectors(self.vectors, self, self.format)

    def open(self) -> Embedding:
        """Read the vectors; those of a folder stay on disk."""
        if self.vectors == "-" or not os.path.isdir(self.vectors):
            return self.load()
        from softvec.embedding.files.parts import open_stored

        with self.working(f"reading {self.vectors}"):
            return open_stored(self.vectors)

    def say_zeros(self, emb: Embedding, names: Iterable[Any], what: str) -> None:
        """Say which of some items have a zero vector, and so none of what was asked for."""
        zeros = [str(plain_name(name)) for name in names if not emb[name].any()]
        if zeros:
            shown = ", ".join(zeros[:5]) + (", ..." if len(zeros) > 5 else "")
            self.say(f"{shown}: a zero vector, as of an item without edges, has no {what}")


def load_vectors(path: str, session: Session, format: str | None = None) -> Embedding:
    """Read a file of vectors."""
    from softvec.embedding import Embedding

    with session.working(f"reading {path}"):
        return Embedding.load(path, format, mmap=path != "-")


def resolve(names: Any, text: str) -> Hashable:
    """Return the item name for a word on the command line.

    Strings are looked up as they are, then as integers, then as pairs: ``ada@3`` is ``("ada", 3)``, then as
    persons, the first parts of pairs.
    """
    number = _number(text, int)
    left, at, right = text.rpartition("@")
    firsts, seconds = (left, _number(left, int)), (right, _number(right, int), _number(right, float))
    readings = [text, number, *((a, b) for a in firsts for b in seconds if at and None not in (a, b))]
    for name in readings:
        if name is not None and name in names:
            return name
    pairs = names.owners()
    if pairs is not None:
        return resolve(pairs[0], text)
    return number if number is not None and isinstance(names[0], int) else text


def _number(text: str, kind: type[int] | type[float]) -> Any:
    try:
        return kind(text)
    except ValueError:
        return None


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """Parse ``name=value`` pairs; values are JSON or a constant of Python if they can be, else text.

    >>> parse_settings(["n_neighbors=20", "metric=cosine", "mutual=true", "symmetric=False"])
    {'n_neighbors': 20, 'metric': 'cosine', 'mutual': True, 'symmetric': False}
    """
    constants = {"True": True, "False": False, "None": None}
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--set {pair} is not of the form name=value")
        try:
            value = json.loads(text)
        except ValueError:
            value = constants.get(text, text)
        values[name.strip().replace("-", "_")] = value
    return values


def given(**options: Any) -> dict[str, Any]:
    """Return the options that the user set: those that are not None."""
    return {name: value for name, value in options.items() if value is not None}

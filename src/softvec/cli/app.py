"""The commands of ``softvec`` and their help."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option as Flag

from softvec.cli import analyse, demo, embed, files, items, map, query
from softvec.cli.flags import Command, FlagCommand, callback_of

app = typer.Typer(
    name="softvec",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Turn graphs, text, pairs, contacts and tables into vectors.",
    epilog="Start with [bold]softvec demo[/bold], or [bold]softvec embed FILE[/bold].",
)


def _version(wanted: bool) -> None:
    if wanted:
        from softvec._version import __version__

        typer.echo(f"softvec {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, Flag("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Turn graphs, text, pairs, contacts and tables into vectors."""


_COMMANDS: dict[str, tuple[type[Command], ...]] = {
    "Make vectors": (embed.Embed, items.Add, demo.Demo),
    "Use vectors": (
        query.Neighbors,
        query.Similarity,
        items.Links,
        items.Recommend,
        items.Predict,
        items.Epidemic,
        analyse.Communities,
        analyse.Evaluate,
        map.Plot,
        map.Map,
        analyse.Normalizer,
    ),
    "Files": (files.Info, files.Convert),
}
for _panel, _commands in _COMMANDS.items():
    for _command in _commands:
        app.command(cls=FlagCommand, rich_help_panel=_panel)(callback_of(_command))

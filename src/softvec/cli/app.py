"""The commands of ``softvec`` and their help."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option as Flag

from softvec.cli import analyse, demo, embed, files, items, map, query
from softvec.cli.flags import FlagCommand, with_groups

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


for _command, _panel in (
    (embed.embed, "Make vectors"),
    (items.add, "Make vectors"),
    (demo.demo, "Make vectors"),
    (query.neighbors, "Use vectors"),
    (query.similarity, "Use vectors"),
    (items.links, "Use vectors"),
    (items.recommend, "Use vectors"),
    (items.predict, "Use vectors"),
    (items.epidemic, "Use vectors"),
    (analyse.communities, "Use vectors"),
    (analyse.evaluate, "Use vectors"),
    (map.plot, "Use vectors"),
    (map.map, "Use vectors"),
    (files.info, "Files"),
    (files.convert, "Files"),
    (analyse.normalizer, "Use vectors"),
):
    app.command(cls=FlagCommand, rich_help_panel=_panel)(with_groups(_command))

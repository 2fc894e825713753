"""``softvec embed``."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Argument
from typer import Option as Flag

from softvec.cli.embed_flags import DataFlags, FitFlags
from softvec.cli.options import (
    check_target,
    default_output,
    load_vectors,
    parse_settings,
)
from softvec.cli.terminal import Session
from softvec.core.errors import InputError, Option


def embed(
    source: Annotated[str, Argument(metavar="INPUT", help="Data file or folder, or - for standard input.")],
    output: Annotated[
        str | None,
        Flag("-o", "--output", help="Vector file; its extension sets the format (default: INPUT.svec)."),
    ] = None,
    map_file: Annotated[
        str | None, Flag("--map", metavar="FILE", help="Interactive map, one .html file (default: none).")
    ] = None,
    data: DataFlags = DataFlags(),  # noqa: B008 - replaced by its flags
    fit: FitFlags = FitFlags(),  # noqa: B008
    output_format: Annotated[
        str | None, Flag("--format", help="Output format (default: from the extension).")
    ] = None,
    force: Annotated[bool, Flag("--force", help="Run even if memory seems too small.")] = False,
    *,
    session: Session,
) -> None:
    """Embed a data file and save the vectors.

    The input may be an edge list (text, gz, zst), a matrix (.mtx, .npz, .npy,
    .mat), a graph (.graphml, .gml), a table (.csv, .parquet), text (one
    document per line, or a folder), contacts (t i j), or features.

    [dim]Examples:[/dim]

      softvec embed edges.txt

      softvec embed edges.txt --map map.html

      softvec embed moby.npz --names moby_words.txt -o moby.svec

      softvec embed novels.txt.gz -k corpus --window 5 -o words.bin

      softvec embed sales.csv -k bipartite --columns user,item

      softvec embed contacts.csv -k temporal --window 15min

      softvec embed edges.csv --attributes people.csv

      softvec embed edges_of_today.txt --init edges.svec

      softvec embed edges.txt --cluster local:4

      softvec embed 'edges/*.parquet' --cluster local:4 -o vectors/

      zcat edges.gz | softvec embed - -o - | head -1
    """
    from softvec.api import embed_request
    from softvec.cli.report import Shown, remove_checkpoint, report
    from softvec.request import Request

    settings = fit.options()
    target, written_as = _planned_output(source, output, output_format, map_file, settings.get("checkpoint"))
    options = settings | _without_flags(parse_settings(data.more or [])) | data.options()
    if fit.init is not None:
        options["init"] = load_vectors(fit.init, session)
    request = Request.of(
        source, kind=data.kind, repeats=fit.repeats, check_memory=not force, cluster=fit.cluster,
        partition=fit.partition, attributes=data.attributes, **options,
    )  # fmt: skip
    watch = Shown(source, session, force)
    emb = embed_request(source, request, watch, written_as=written_as)
    if emb is None:  # a rank of MPI that only works
        return
    emb.save(target, written_as)
    remove_checkpoint(request.settings.checkpoint, emb.provenance)
    stability = repr(emb.stability()).strip("<>") if "stability" in emb.provenance else ""
    report(emb, target, session, stability)
    if map_file is not None:
        from softvec.cli.map import edges_for_map, write_map

        write_map(emb, map_file, session, edges=edges_for_map(watch.affinity, session))


def _planned_output(
    source: str, output: str | None, format: str | None, map_file: str | None, checkpoint: str | None
) -> tuple[str, str]:
    """Return the output file and its format; raise an error now if it could not be written after the fit."""
    from softvec.core.files import refuse_input_as_output
    from softvec.embedding.files.formats import format_of

    target = output or default_output(source, ".svec")
    written_as = format_of(target, format)
    refuse_input_as_output(source, target)
    check_target(target)
    if map_file is not None:
        from softvec.cli.map import check_map_target

        check_map_target(map_file)
    if checkpoint is not None:
        from softvec.core.storage import Storage

        Storage(checkpoint).check_writable()
    return target, written_as


def _without_flags(options: dict[str, Any]) -> dict[str, Any]:
    """Refuse options in ``--set`` that must be set by their flags."""
    for name in ("kind", "walk_length", "n_components"):
        if name in options:
            raise InputError(f"--set {name}=... has its own option: ", Option(name))
    return options

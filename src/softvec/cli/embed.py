"""``softvec embed``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from softvec.cli.embed_flags import DataFlags, FitFlags
from softvec.cli.flags import Command, argument, flag
from softvec.cli.options import load_vectors, parse_settings
from softvec.cli.tables import check_target, default_output
from softvec.core.errors import InputError, Option


@dataclass(frozen=True, kw_only=True)
class Embed(Command):
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

    source: str = argument("INPUT", "Data file or folder, or - for standard input.")
    output: str | None = flag(
        "-o --output", "Vector file; its extension sets the format (default: INPUT.svec)."
    )
    map_file: str | None = flag("--map", "Interactive map, one .html file (default: none).", metavar="FILE")
    data: DataFlags
    fit: FitFlags
    output_format: str | None = flag("--to", "Output format (default: from the extension).")
    force: bool = flag("--force", "Run even if memory seems too small.", False)

    def run(self) -> None:
        """Embed, save, and say what was done."""
        from softvec.api import embed_request
        from softvec.cli.report import Shown, remove_checkpoint, report
        from softvec.request import Request

        data, fit, settings = self.data, self.fit, self.fit.options()
        target, written_as = self._planned_output(settings.get("checkpoint"))
        options = settings | _without_flags(parse_settings(data.more or [])) | data.options()
        if fit.init is not None:
            options["init"] = load_vectors(fit.init, self)
        request = Request.of(
            self.source,
            kind=data.kind,
            attributes=data.attributes,
            check_memory=not self.force,
            repeats=fit.repeats,
            cluster=fit.cluster,
            partition=fit.partition,
            **options,
        )
        watch = Shown(self.source, self, self.force)
        emb = embed_request(self.source, request, watch, written_as=written_as)
        if emb is None:  # a rank of MPI that only works
            return
        emb.save(target, written_as)
        remove_checkpoint(request.settings.checkpoint, emb.provenance)
        report(emb, target, self)
        if self.map_file is not None:
            from softvec.cli.map import edges_for_map, write_map

            write_map(emb, self.map_file, self, edges=edges_for_map(watch.affinity, self))

    def _planned_output(self, checkpoint: str | None) -> tuple[str, str]:
        """Return the output file and its format; refuse now what could not be written after the fit."""
        from softvec.core.files import refuse_input_as_output
        from softvec.core.storage import Storage
        from softvec.embedding.files.formats import format_of

        target = self.output or default_output(self.source, ".svec")
        written_as = format_of(target, self.output_format)
        refuse_input_as_output(self.source, target)
        check_target(target)
        if self.map_file is not None:
            from softvec.cli.map import check_map_target

            check_map_target(self.map_file)
        if checkpoint is not None:
            Storage(checkpoint).check_writable()
        return target, written_as


def _without_flags(options: dict[str, Any]) -> dict[str, Any]:
    """Refuse options in ``--set`` that must be set by their flags."""
    for name in ("kind", "walk_length", "n_components"):
        if name in options:
            raise InputError(f"--set {name}=... has its own option: ", Option(name))
    return options

"""``softvec embed``, with the flags of the data, and those of the fit, most of them from its settings."""

from __future__ import annotations

from dataclasses import Field, dataclass, fields, make_dataclass
from functools import partial
from typing import Any

from softvec.cli.flags import Command, argument, columns_of, flag, given, load_vectors, parse_settings
from softvec.cli.tables import check_target, default_output
from softvec.core.errors import InputError, Option
from softvec.fit.settings import OPTIONS, Flag

_data = partial(flag, rich_help_panel="Data")
_fit = partial(flag, rich_help_panel="Fit")
_DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}


@dataclass(frozen=True, kw_only=True)
class DataFlags:
    """How the data is read."""

    kind: str | None = _data(
        "--kind -k",
        "Kind of data: graph, pairs, bipartite, temporal, corpus, features, dense, sets (default: detected).",
    )
    names: str | None = _data(
        "--names",
        "File of row names, one per line (default: those in the data, or 0, 1, ...).",
        metavar="FILE",
    )
    attributes: str | None = _data(
        "--attributes", "Table of node attributes, matched by name (default: none).", metavar="FILE"
    )
    types: str | None = _data(
        "--types", "Types of nodes: lines of name and type (default: none).", metavar="FILE"
    )
    directed: bool | None = _data(
        "--directed/--undirected",
        "Direction of edges (default: that of a matrix or graph file, else undirected).",
    )
    weighted: bool | None = _data("--weighted/--unweighted", "Use weights (default: if present).")
    signed: bool | None = _data(
        "--signed/--unsigned",
        "Negative weights as signs of links, or as positive ones (default: signs if all are whole).",
    )
    weight: str | None = _data(
        "--weight", "Column or attribute of the weights (default: detected).", metavar="COLUMN"
    )
    columns: str | None = _data(
        "--columns",
        "Columns of a table, e.g. from,to,weight or 0,1 (default: detected).",
        callback=columns_of,
    )
    delimiter: str | None = _data("--delimiter", "Column separator (default: detected).")
    header: bool | None = _data("--header/--no-header", "Whether line 1 is a header (default: detected).")
    format: str | None = _data(
        "--input-format", "Format: text, mtx, npz, npy, mat, parquet, graphml, ... (default: detected)."
    )
    drop_missing: bool = _data(
        "--drop-missing", "Leave out rows of a table with missing values, and count them.", False
    )
    min_weight: float | None = _data(
        "--min-weight", "Leave out edges of a table with smaller weights (default: none)."
    )
    window: str | None = _data(
        "--window",
        "Text: words on each side (default: 5). Contacts: length of a time window, e.g. 900, or 15min for "
        "dates (default: none).",
    )
    min_count: int | None = _data(
        "--min-count", "Text: minimum number of occurrences of a word (default: 5)."
    )
    more: list[str] | None = _data(
        "--set", "Any other option of the reader or of the fit (default: none).", metavar="NAME=VALUE"
    )

    def data_options(self) -> dict[str, Any]:
        """Return the options of the reader and the builder that the user set, as the library takes them."""
        taken = ("kind", "attributes", "drop_missing", "more")
        values = {each.name: getattr(self, each.name) for each in fields(DataFlags) if each.name not in taken}
        weight = self.weight
        values |= {
            "weight": int(weight) if weight is not None and weight.isdigit() else weight,
            "delimiter": _DELIMITERS.get(self.delimiter or "", self.delimiter),
            "window": _window(self.window),
            "missing": "drop" if self.drop_missing else None,
        }
        return given(**values)


def _window(text: str | None) -> float | str | None:
    """Return a number, or a duration such as 15min as text, which only contacts with dates take."""
    from softvec.core.dates import duration

    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        duration("--window", text)
        return text
    if not 0 < value < float("inf"):
        raise InputError(f"--window is {value:g}; expected a number above 0")
    return int(value) if value == int(value) else value


def _flag(setting: Field[Any]) -> tuple[str, Any, Any]:
    """Return the flag of a setting as a field of a dataclass."""
    own: Flag = setting.metadata["flag"]
    number = "int" if own.least is not None else str(setting.type)
    kind = {"int": int, "float": float}.get(number, str)
    limits = {"metavar": own.metavar, "min": own.least, "max": own.most}
    return setting.name, kind | None, flag(own.names, own.help, rich_help_panel=own.panel, **limits)


SettingFlags = make_dataclass(
    "SettingFlags",
    [_flag(setting) for setting in OPTIONS if setting.metadata["flag"] is not None],
    frozen=True,
    kw_only=True,
)


@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """Flags that are neither options of the data nor settings of a fit."""

    two_sided: bool = _fit(
        "--two-sided",
        "Separate vectors for columns (default: if rows and columns are different items).",
        False,
    )
    init: str | None = _fit(
        "--init",
        "Vectors of an earlier version of the data to start from (default: random).",
        metavar="VECTORS",
    )
    repeats: int = _fit(
        "--repeats",
        "Number of seeds; more than one measures the stability of neighbours and groups.",
        1,
        min=1,
    )
    cluster: str | None = _fit(
        "--cluster",
        "Workers that share the fit: local:4, ray://host:port, mpi or auto (default: none).",
        metavar="WORKERS",
    )
    partition: str | None = _fit(
        "--partition", "With --cluster: stream renumbers items so that workers exchange less (default: none)."
    )
    output_format: str | None = flag("--to", "Output format (default: from the extension).")
    force: bool = flag("--force", "Run even if memory seems too small.", False)


@dataclass(frozen=True, kw_only=True)
class Embed(DataFlags, SettingFlags, RunFlags, Command):  # type: ignore[misc, valid-type]
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

    def run(self) -> None:
        """Embed, save, and say what was done."""
        from softvec.api import embed_request
        from softvec.cli.report import Shown, remove_checkpoint, report
        from softvec.request import Request

        settings = given(**{each.name: getattr(self, each.name) for each in fields(SettingFlags)})
        target, written_as = self._planned_output(settings.get("checkpoint"))
        more = parse_settings(self.more or [])
        for name in ("kind", "walk_length", "n_components"):
            if name in more:
                raise InputError(f"--set {name}=... has its own option: ", Option(name))
        settings |= given(symmetric=False if self.two_sided else None)
        options = settings | more | self.data_options()
        if self.init is not None:
            options["init"] = load_vectors(self.init, self)
        request = Request.of(
            self.source,
            kind=self.kind,
            attributes=self.attributes,
            check_memory=not self.force,
            repeats=self.repeats,
            cluster=self.cluster,
            partition=self.partition,
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

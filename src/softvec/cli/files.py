"""``softvec info`` and ``softvec convert``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from softvec.cli.flags import VectorCommand, argument, flag, load_vectors
from softvec.cli.tables import print_table
from softvec.cli.terminal import Session, gibibytes, print_json
from softvec.core.checks import Json, counted
from softvec.core.errors import InputError

if TYPE_CHECKING:
    from softvec.embedding import Embedding


@dataclass(frozen=True, kw_only=True)
class Convert(VectorCommand):
    """Convert vectors to another format.

    .svec (own), .txt .vec .bin (word2vec, gensim), .parquet, .feather,
    .csv, .tsv (TensorBoard projector), .npy.

    [dim]Examples:[/dim]
      softvec convert words.svec words.bin
      softvec convert glove.6B.50d.txt glove.svec
      softvec convert words.svec - --to word2vec | head -1
    """

    target: str = argument("OUTPUT", "Output file, or -.")
    to: str | None = flag("--to", "Output format (default: from the extension).")
    side: str | None = flag(
        "--side", "Of a two-sided embedding: rows or context (default: both if possible)."
    )

    def run(self) -> None:
        """Write the vectors."""
        from softvec.embedding.files.formats import format_of

        chosen = format_of(self.target, self.to)
        emb = self.open()
        emb.save(self.target, chosen, side=self.side)
        written = emb.context_vectors if self.side == "context" else emb.vectors
        n = 0 if written is None else len(written)
        text = f"{counted(n, 'vector')} -> {self.target} ({chosen})"
        self.wrote(self.target, text, format=chosen, vectors=n, dimensions=emb.n_components)


@dataclass(frozen=True, kw_only=True)
class Info(VectorCommand):
    """Summarise a vector file, or show how softvec would read a data file.

    [dim]Examples:[/dim]
      softvec info words.svec
      softvec info edges.txt.gz
    """

    vectors: str = argument("FILE", "Vector or data file, or -.")
    dim: int = flag("--dim --dimensions -d", "Dimensions to estimate memory for.", 128, min=1)

    def run(self) -> None:
        """Print what is known, line by line."""
        described = _described(self.vectors, self.dim, self.format)
        if self.json:
            print_json(described)
            return
        if (described.get("vectors", described.get("rows")) or 0) > len(described["names"]):
            described = described | {"names": [*described["names"], "..."]}
        if isinstance(described.get("parameters"), dict):
            described = described | {"parameters": _as_flags(described["parameters"])}
        rows = [
            (key.replace("_", " "), _text(value)) for key, value in described.items() if value is not None
        ]
        print_table(("", self.vectors), rows)


def _as_flags(parameters: Json) -> Json:
    """Return the settings of a fit by the flags of ``embed`` that set them."""
    from softvec.fit.settings import OPTIONS

    flags = {each.name: each.metadata["flag"].names.split()[0] for each in OPTIONS if each.metadata["flag"]}
    return {flags.get(name, name): value for name, value in parameters.items()}


def _described(file: str, dim: int, format: str | None) -> Json:
    from softvec.embedding.files.formats import is_folder
    from softvec.embedding.files.parts import peek
    from softvec.embedding.files.record import RecordError

    if file != "-" and is_folder(file):  # its manifest and first names tell, without reading all vectors
        folder, first = peek(file)
        context = folder.rows("context") or None
        counts = {"vectors": folder.rows("rows"), "context_vectors": context, "parts": len(folder.parts)}
        return _vectors(first) | counts
    undeclared = file != "-" and format is None  # it may hold data
    try:
        emb = load_vectors(file, Session(quiet=True), format)
    except InputError as no_vectors:
        if not undeclared or isinstance(no_vectors, RecordError):
            raise
        return _data(file, dim, no_vectors)
    if undeclared and _reads_as_edges(emb, file):
        return _data(file, dim, InputError())
    return _vectors(emb)


def _reads_as_edges(emb: Embedding, file: str) -> bool:
    """Whether a table that could hold vectors of one or two dimensions is a list of edges."""
    import warnings

    from softvec.read.detect import detect

    if emb.n_components > 2 or emb.provenance:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return detect(file).kind not in ("features", "corpus")
        except InputError:
            return False


def _vectors(emb: Embedding) -> Json:
    from softvec.cli.report import mapping, measured_loss

    record = dict(emb.provenance)
    data, history, view = (mapping(record.get(key)) for key in ("data", "history", "view"))
    return {
        "holds": "vectors",
        "vectors": len(emb),
        "dimensions": emb.n_components,
        "names": [str(emb.names[i]) for i in range(min(5, len(emb)))],
        "context_vectors": None if emb.context_vectors is None else len(emb.context_vectors),
        "data": data.get("summary"),
        "source": data.get("source"),
        "view": f"{view['chosen']} ({view['why']})" if {"chosen", "why"} <= set(view) else None,
        "mean_neighbours": data.get("mean_neighbours"),
        "parameters": record.get("parameters"),
        "epochs": len(history.get("loss") or []) or None,
        **measured_loss(record),
        "softmax": mapping(record.get("softmax")) or None,
        "diagnosis": record.get("diagnosis"),
        "stability": record.get("stability"),
        "made_by": f"softvec {record['softvec']}" if "softvec" in record else None,
    }


def _data(file: str, dim: int, no_vectors: Exception) -> Json:
    """Read the file as embed would; if that fails too, raise the more helpful of the two errors."""
    from softvec.api import requested_affinity
    from softvec.fit.memory import available_memory, needed_memory
    from softvec.fit.resolve import resolve
    from softvec.request import Request

    request = Request.of(file, n_components=dim)
    try:
        affinity = requested_affinity(file, request)
    except InputError as no_data:
        vector_file = str(file).endswith((".svec", ".bin", ".vec"))
        raise (no_vectors if vector_file else no_data) from None
    free, facts = available_memory(), affinity.facts
    return {
        "holds": affinity.kind,
        "summary": affinity.summary,
        "rows": affinity.shape[0],
        "columns": affinity.shape[1],
        "entries": (affinity.operator if affinity.counts is None else affinity.counts).nnz,
        "names": [str(affinity.rows[i]) for i in range(min(5, len(affinity.rows)))],
        "memory_to_embed": gibibytes(needed_memory(facts, resolve(request, facts))),
        "memory_free": None if free is None else gibibytes(free),
    }


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):  # a seed has no thousands separators: it may be copied
        parts = ((k, v if "seed" in k else _text(v)) for k, v in value.items() if v is not None)
        return ", ".join(f"{key} {text}" for key, text in parts)
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)

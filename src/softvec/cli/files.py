"""``softvec info`` and ``softvec convert``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument
from typer import Option as Flag

from softvec.cli.options import Vectors, load_vectors, open_vectors
from softvec.cli.terminal import Session, gibibytes, print_json, print_table, say
from softvec.core.errors import InputError

if TYPE_CHECKING:
    from softvec.embedding import Embedding


def convert(
    vectors: Vectors,
    target: Annotated[str, Argument(metavar="OUTPUT", help="Output file, or -.")],
    to: Annotated[str | None, Flag("--to", help="Output format (default: from the extension).")] = None,
    side: Annotated[
        str | None,
        Flag("--side", help="Of a two-sided embedding: rows or context (default: both if possible)."),
    ] = None,
    *,
    session: Session,
) -> None:
    """Convert vectors to another format.

    .svec (own), .txt .vec .bin (word2vec, gensim), .parquet, .feather,
    .safetensors, .csv, .tsv (TensorBoard projector), .npy.

    [dim]Examples:[/dim]

      softvec convert words.svec words.bin

      softvec convert glove.6B.50d.txt glove.svec

      softvec convert words.svec - --to word2vec | head -1
    """
    from softvec.core.checks import counted
    from softvec.embedding.files.formats import FORMATS, format_of, write_vectors

    chosen = format_of(target, to)
    emb = (load_vectors if FORMATS[chosen].from_memory else open_vectors)(vectors, session)
    write_vectors(emb, target, chosen, side=side)
    written = emb.context_vectors if side == "context" else emb.vectors
    n = 0 if written is None else len(written)
    if session.json and target != "-":
        print_json({"output": target, "format": chosen, "vectors": n, "dimensions": emb.n_components})
    say(session, f"{counted(n, 'vector')} -> {target} ({chosen})")


def info(
    vectors: Annotated[str, Argument(metavar="FILE", help="Vector or data file, or -.")],
    dim: Annotated[
        int, Flag("--dim", "--dimensions", "-d", help="Dimensions to estimate memory for.", min=1)
    ] = 128,
    *,
    session: Session,
) -> None:
    """Summarise a vector file, or show how softvec would read a data file.

    [dim]Examples:[/dim]

      softvec info words.svec

      softvec info edges.txt.gz
    """
    described = _described(vectors, dim, session)
    if session.json:
        print_json(described)
        return
    if described.get("vectors", described.get("rows", 0)) > len(described["names"]):
        described = described | {"names": [*described["names"], "..."]}
    rows = [(key.replace("_", " "), _text(value)) for key, value in described.items() if value is not None]
    print_table(("", vectors), rows)


def _described(file: str, dim: int, session: Session) -> dict[str, Any]:
    from softvec.embedding.files.formats import is_folder
    from softvec.embedding.files.record import RecordError

    if file != "-" and is_folder(file):
        return _folder(file)
    undeclared = file != "-" and session.format is None  # it may hold data
    try:
        emb = load_vectors(file, Session(quiet=True, format=session.format))
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


def _folder(file: str) -> dict[str, Any]:
    """Describe a folder of vectors by its manifest and first names, without reading all vectors."""
    from softvec.embedding.files.parts import peek

    folder, first = peek(file)
    context = folder.rows("context") or None
    counts = {"vectors": folder.rows("rows"), "context_vectors": context, "parts": len(folder.parts)}
    return _vectors(first) | counts


def _vectors(emb: Embedding) -> dict[str, Any]:
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


def _data(file: str, dim: int, no_vectors: Exception) -> dict[str, Any]:
    """Read the file as embed would; if that fails too, raise the more helpful of the two errors."""
    from softvec.api import read
    from softvec.fit.memory import available_memory, needed_memory
    from softvec.fit.resolve import resolve
    from softvec.request import Request

    request = Request.of(file, n_components=dim)
    try:
        affinity = read(file, request)
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
    if isinstance(value, dict):
        return ", ".join(
            f"{k} {v if 'seed' in k else _text(v)}" for k, v in value.items() if v is not None
        )  # a seed has no thousands separators: it may be copied
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)

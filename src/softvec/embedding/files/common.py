"""What the modules of several formats share: checks of JSON, of vectors and of embeddings."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softvec._version import __version__
from softvec.core.errors import InputError
from softvec.core.untrusted import one_line
from softvec.embedding.core import Embedding
from softvec.names import Names
from softvec.names.storage import DuplicateName

MOST_JSON = 8 << 20  # bytes: parsed and checked within two seconds


def check_json(text: str) -> str:
    """Return JSON to be written; raise an error if it is too long to be read again."""
    if len(text) > MOST_JSON:
        raise InputError(f"the provenance has {len(text):,} bytes of JSON; at most {MOST_JSON:,} are saved")
    return text


def parse_json(raw: bytes | str, what: str, most: int = MOST_JSON) -> Any:
    """Parse the JSON in a file; ``what`` is named in an error."""
    if len(raw) > most:
        raise InputError(f"{what} has {len(raw):,} bytes of JSON, more than the {most:,} allowed")
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{what} is not JSON ({one_line(error)})") from None


def require_finite(
    vectors: NDArray[Any], name: str, texts: Sequence[str] | None = None, *, first: int = 0
) -> None:
    """Raise an error that names the first row with missing, NaN or infinite values.

    ``first`` is the number of row 0 of ``vectors`` in the file.
    """
    if not np.isfinite(vectors).all():
        row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        where = f"in row {first + row + 1:,}" if texts is None else f"of {texts[row]!r}"
        raise InputError(f"{name}: the vector {where} holds missing, NaN or infinite values")


def check_format(head: Any, format: str, version: int, what: str, name: str) -> None:
    """Raise an error unless a description is of a format, in a version that is known."""
    if not isinstance(head, dict) or head.get("format") != format:
        raise InputError(f"{what} written by softvec")
    its = head.get("version")
    if type(its) is not int or not 0 <= its <= version:
        raise InputError(
            f"{name} has version {its!r} of the format; softvec {__version__} reads up to {version}: "
            "install a newer softvec"
        )


def checked_embedding(
    name: str,
    vectors: Sequence[Any],
    names: Sequence[Names],
    sizes: Any,
    provenance: Mapping[str, Any],
    extras: Mapping[str, Any],
) -> Embedding:
    """Return an embedding of the one or two sides in a file; an error says that the file is damaged."""
    context = {"context_vectors": vectors[1], "context_names": names[1]} if len(vectors) > 1 else {}
    contents = {"sizes": sizes, "provenance": provenance, "extras": extras, **context}
    try:
        return Embedding(vectors[0], names[0], copy=False, **contents)
    except DuplicateName:
        raise
    except InputError as error:
        raise InputError(f"{name} is damaged: {error}") from error


def npy_chunks(array: Any) -> tuple[bytes, Iterator[memoryview]]:
    """Return the header of a .npy file, and its data in pieces of 4 MiB."""
    dtype = array.dtype.newbyteorder("<")
    header = io.BytesIO()
    shape = tuple(array.shape)
    layout = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, layout)
    rows = array if shape else np.asarray(array).reshape(1)
    step = max(1, (1 << 22) // max(1, dtype.itemsize * int(np.prod(shape[1:]))))
    pieces = (np.ascontiguousarray(rows[lo : lo + step], dtype) for lo in range(0, len(rows), step))
    return header.getvalue(), (piece.reshape(-1).view(np.uint8).data for piece in pieces)

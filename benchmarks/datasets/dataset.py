"""An entry of the registry: the files of a data set, where they come from, their licence."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Dataset:
    """A public data set.

    Attributes
    ----------
    name, kind, description : str
        ``kind`` is "graph", "pairs", "temporal", "vectors", "text" or "words".
    files : dict of str to str
        File names within the data directory, and the SHA-256 of the copies used for softvec's own results.
    page : str
        Web page of the data set.
    address : dict of str to str
        URL of each file of ``files`` (or a single one, "archive", from which all are converted); empty if the
        data set cannot be downloaded automatically.
    convert : str
        Name of the function of :mod:`benchmarks.datasets.convert` that makes ``files`` from the download.
    licence : str
    facts : dict of str to int
        Known counts, which are checked: ``nodes``, ``edges``, ``classes``.
    """

    name: str
    kind: str
    description: str
    files: dict[str, str]
    page: str
    licence: str
    address: dict[str, str] = field(default_factory=dict)
    convert: str = ""
    facts: dict[str, int] = field(default_factory=dict)


def graph(
    name: str,
    description: str,
    page: str,
    licence: str,
    facts: tuple[int, int, int],
    adjacency_sum: str,
    labels_sum: str,
    *,
    multi: bool = False,
    archive: str = "",
    convert: str = "",
) -> Dataset:
    """Return the entry of a graph with labels: two array files."""
    labels = f"graphs/{name}_labels.{'npz' if multi else 'npy'}"
    return Dataset(
        name,
        "graph",
        description,
        {f"graphs/{name}.npz": adjacency_sum, labels: labels_sum},
        page,
        licence,
        {"archive": archive} if archive else {},
        convert,
        dict(zip(("nodes", "edges", "classes"), facts)),
    )


def text(
    name: str, kind: str, description: str, page: str, licence: str, files: dict[str, tuple[str, str]]
) -> Dataset:
    """Return the entry of text files: each with its checksum and, if it can be downloaded, its address."""
    return Dataset(
        name,
        kind,
        description,
        {path: checksum for path, (checksum, _) in files.items()},
        page,
        licence,
        {path: address for path, (_, address) in files.items() if address},
        "text" if all(address for _, address in files.values()) else "",
    )

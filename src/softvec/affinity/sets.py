"""Sets of items, or hyperedges: baskets, co-authors, gene sets. A set is a node beside its members."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from scipy import sparse

from softvec.affinity.base import Affinity
from softvec.affinity.matrices import EdgeRules, from_edges
from softvec.affinity.types import with_types
from softvec.core.checks import counted
from softvec.core.errors import InputError
from softvec.read.edges import EdgeBuilder
from softvec.read.objects import edges_of_rows
from softvec.read.streams import extension, text_lines

Sets = Mapping[Hashable, Iterable[Hashable]]


def sets(data: Any, *, isolated: str = "keep", length: int = 1) -> Affinity:
    """Build the graph of sets and their members, each member linked to the sets that hold it.

    Sets are nodes of the type ``"set"``, members of the type ``"member"``: see ``types`` of
    :func:`softvec.embed`.

    Parameters
    ----------
    data : mapping, iterable of collections, sparse matrix, xgi or hypernetx hypergraph, or path
        Members by name of the set; sets without names are called ``"set 0"``, ``"set 1"``, ... A matrix has a
        row for each member and a column for each set. A file has a set in each line, its members separated by
        tabs, commas or blanks, or is a .gmt or .gaf file.
    isolated, length
        As in :func:`random_walk`.

    Examples
    --------
    >>> sets({"breakfast": {"tea", "bread"}, "dinner": {"bread", "wine"}}).summary
    '5 nodes, 4 edges, undirected, unweighted; types: 3 member, 2 set'
    """
    if isinstance(data, str | os.PathLike):
        data = read_sets(data)
    given = _named(data)
    members: dict[Hashable, list[Hashable]] = {
        name: list(dict.fromkeys(_members(name, of))) for name, of in given.items()
    }
    pairs = [(member, name) for name, of in members.items() for member in of]
    clash = next((member for member, _ in pairs if member in members), None)
    if clash is not None:
        raise InputError(f"{clash!r} is the name of a set and of a member; rename one of them")
    if not pairs:
        raise InputError(f"nothing to embed: {counted(len(members), 'set')} without members")
    affinity = from_edges(edges_of_rows(pairs, EdgeBuilder()), EdgeRules(isolated=isolated, length=length))
    return with_types(affinity, {name: "set" if name in members else "member" for name in affinity.rows})


def is_hypergraph(data: Any) -> bool:
    """Whether an object is a hypergraph of xgi or hypernetx."""
    return hasattr(data, "incidence_dict") or hasattr(getattr(data, "edges", None), "members")


def read_sets(where: str | os.PathLike[str]) -> Sets:
    """Read sets from a file: GMT (name, description, members), GAF (genes by term), or a set in each line."""
    lines, suffix = text_lines(where, "sets"), extension(Path(where))
    if suffix == ".gaf":
        return _of_annotations(lines, where)
    if suffix != ".gmt":
        mark = next((mark for mark in "\t," if any(mark in line for line in lines)), None)
        rows = [[cell.strip() for cell in line.split(mark)] for line in lines]
        return {f"set {number}": filter(None, row) for number, row in enumerate(rows)}
    named: dict[Hashable, Iterable[Hashable]] = {}
    for number, line in enumerate(lines, 1):
        name, *rest = line.split("\t")
        if len(rest) < 2 or name in named:
            wrong = f"the set {name!r} occurs twice" if name in named else "fewer than three fields"
            raise InputError(
                f"{where}, line {number}: {wrong}; expected name, description and genes, by tabs"
            )
        named[name] = filter(None, rest[1:])
    return named


def _of_annotations(lines: list[str], where: Any) -> Sets:
    """Return the genes of each term of a gene association file; annotations with NOT are left out."""
    named: dict[Hashable, list[Hashable]] = {}
    for number, line in enumerate(lines, 1):
        fields = line.split("\t")
        if line.startswith("!"):
            continue
        if len(fields) < 15:
            raise InputError(f"{where}, line {number}: {len(fields)} fields; expected at least 15, by tabs")
        if "NOT" not in fields[3].split("|"):
            named.setdefault(fields[4], []).append(fields[2])
    return named


def _named(data: Any) -> Sets:
    """Return the members of each set by its name."""
    if hasattr(data, "incidence_dict"):  # hypernetx
        return dict(data.incidence_dict)
    if is_hypergraph(data):  # xgi
        return {f"set {key}": of for key, of in data.edges.members(dtype=dict).items()}
    if isinstance(data, Mapping):
        return data
    if sparse.issparse(data):
        columns = sparse.csc_array(data)
        spans = pairwise(columns.indptr.tolist())
        return {f"set {j}": columns.indices[a:b].tolist() for j, (a, b) in enumerate(spans)}
    if isinstance(data, Iterable) and not isinstance(data, str | bytes) and not hasattr(data, "columns"):
        return {f"set {number}": of for number, of in enumerate(data)}
    raise InputError(f"{type(data).__name__} is not sets; expected a mapping of names to members, or a list")


def _members(name: Hashable, of: Any) -> Iterable[Hashable]:
    if isinstance(of, str | bytes) or not isinstance(of, Iterable):
        raise InputError(f"the set {name!r} is {of!r}; expected a collection of members")
    return of

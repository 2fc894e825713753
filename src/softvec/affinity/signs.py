"""Signed links: a graph of friends and a graph of foes over the same nodes."""

from __future__ import annotations

from softvec.affinity.base import Affinity
from softvec.affinity.compress import pattern
from softvec.affinity.matrices import EdgeRules, assemble, canonical


def by_sign(affinity: Affinity) -> list[Affinity]:
    """Return the affinities of the positive and of the negative links, over the same names.

    Examples
    --------
    >>> from softvec.affinity import pairs
    >>> friends, foes = by_sign(pairs([("a", "b", 1), ("b", "c", -2)], negative="sign"))
    >>> foes.matrix.toarray()
    array([[0., 0., 0.],
           [0., 0., 2.],
           [0., 2., 0.]])
    """
    assert affinity.signed is not None
    rows, rules = affinity.rows, EdgeRules.of(affinity)
    parts = [canonical(sign * affinity.signed, "drop") for sign in (1, -1)]
    return [assemble(part if affinity.weighted else pattern(part), rows, rows, rules, True) for part in parts]

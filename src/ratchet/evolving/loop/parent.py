"""Which version is to be bettered next: the one that counts, or, exploring, one drawn from the archive. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import exp
from random import Random

from ratchet.evolving.candidate import Candidate

PATIENCE = 30
"""Pairs at which a mean difference counts half: a lucky few say little."""
REACH = 0.05
"""Points of score at which a version is drawn e times as often as one that has them less: the smallest gain that the
gate looks for."""


def parent_of(archive: Sequence[Candidate], incumbent: Candidate, *, explore: bool, seed: int, n: int) -> Candidate:
    """The parent of proposal `n`.

    Exploring, every version that was measured and did not meddle may be drawn: more often the better it did, and the
    fewer children it has, so that no line of descent is searched alone (the weights of DGM, arXiv 2505.22954, with a
    mean that is shrunk by its pairs in place of one score). The same arguments give the same parent.
    """
    if not explore:
        return incumbent
    gains = _gains(archive)
    children = Counter(each.parent for each in archive if each.n)
    found = {each.id: each for each in archive if each.id in gains}
    best = max(gains[id_] for id_ in found)
    weights = [exp((gains[id_] - best) / REACH) / (1 + children[id_]) for id_ in found]
    return Random(f"{seed}/{n}").choices([*found.values()], weights)[0]  # noqa: S311  (no secret)


def _gains(archive: Sequence[Candidate]) -> dict[str, float]:
    """Version -> what it seems to be worth against the agent as it was, in points of score."""
    gains: dict[str, float] = {}
    for each in archive:  # an incumbent comes before what was measured against it
        if each.n == 0:
            gains[each.id] = 0.0
        elif each.pairs and not each.reason.startswith("refused") and each.incumbent in gains:
            shrunk = each.mean * each.pairs / (each.pairs + PATIENCE)
            gains.setdefault(each.id, gains[each.incumbent] + shrunk)
    return gains

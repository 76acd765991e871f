"""The JSON shapes of evolving: documented, stable, the same on each surface. More fields may come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import cast

from ratchet.evolving.bench.agents import shown
from ratchet.evolving.candidate import Candidate, Evolution
from ratchet.records import Json

Shape = dict[str, Json]
_DEEPEST = 100  # versions below one another; what came from a deeper one stands beside it: no reader nests without end


def evolution(held: Evolution) -> Shape:
    """What `ratchet evolve --json` prints: a run, and what it is worth on the sealed tasks (`report`; null before that
    is measured, or where nothing was kept). Gains are in points of score (0.05 is five points)."""
    return {
        "id": held.id,
        "state": held.state,
        "reason": held.reason,
        "agent": shown(held.agent),
        "benchmark": held.benchmark,
        "benchmark_hash": held.benchmark_hash,
        "proposer": held.proposer,
        "proposals": held.proposals,
        "batch": held.batch,
        "explore": held.explore,
        "seed": held.seed,
        "incumbent": held.incumbent,
        "runs": held.runs,
        "cost_usd": round(float(held.cost_usd), 6),
        "duration_s": round(float(held.duration_s), 3),
        "budget_usd": held.usd,
        "budget_s": held.seconds,
        "report": None if held.report is None else cast("Shape", asdict(held.report)),
        "applied": held.applied,
        "unsafe": held.unsafe,
        "started_at": held.started_at,
        "ended_at": held.ended_at,
    }


def candidate(held: Candidate, *, whole: bool = False) -> Shape:
    """One version of the archive; `whole` with its diff."""
    shape: Shape = {
        "n": held.n,
        "id": held.id,
        "state": held.state,
        "reason": held.reason,
        "parent": held.parent,
        "retry_of": held.retry_of,
        "proposer": held.proposer,
        "hypothesis": held.hypothesis,
        "expected": held.expected,
        "batch": held.batch,
        "incumbent": held.incumbent,
        "level": held.level,
        "e_value": held.e_value,
        "pairs": held.pairs,
        "mean": held.mean,
        "unmeasured": held.unmeasured,
        "cost_usd": round(float(held.cost_usd), 6),
        "tree": held.tree,
        "settings": dict(held.settings),
    }
    return {**shape, "diff": held.diff} if whole else shape


def detail(held: Evolution, candidates: Sequence[Candidate]) -> Shape:
    """What `ratchet evolve show --json` prints: the run and its archive."""
    return {**evolution(held), "candidates": [candidate(each, whole=True) for each in candidates]}


def tree(held: Evolution, candidates: Sequence[Candidate]) -> Shape:
    """What `ratchet evolve tree --json` prints: each version with those that came from it."""
    below = branches(candidates)

    def node(each: Candidate) -> Shape:
        made = [child for child in below.get(each.n, ()) if child.id != child.parent]  # the others changed nothing
        return {**candidate(each), "children": [node(child) for child in made]}

    return {"id": held.id, "incumbent": held.incumbent, "root": node(candidates[0])}


def branches(candidates: Sequence[Candidate]) -> dict[int, list[Candidate]]:
    """What stands below each row of an archive, by its number; the first row is above all. What came from a version
    that stands in several rows is below the first of them: a proposal may lead back to what was there before."""
    root = candidates[0]
    found: dict[int, list[Candidate]] = {}
    first = {root.id: root}
    above, depth = {root.n: root}, {root.n: 0}
    for each in candidates[1:]:
        up = first.get(each.parent, root)
        if depth[up.n] >= _DEEPEST:
            up = above[up.n]
        found.setdefault(up.n, []).append(each)
        above[each.n], depth[each.n] = up, depth[up.n] + 1
        first.setdefault(each.id, each)
    return found

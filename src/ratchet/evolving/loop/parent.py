"""Which version is to be bettered next: the one that counts, or, exploring, one drawn from the archive. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import exp
from random import Random

from ratchet.evolving.bench.benchmark import Evaluation
from ratchet.evolving.candidate import Candidate

PATIENCE = 30
"""Pairs at which a mean difference counts half: a lucky few say little."""
TASK_PATIENCE = 4
"""The same for the pairs of one task, of which a race has a handful."""
REACH = 0.05
"""Points of score at which a version is drawn e times as often as one that has them less: the smallest gain that the
gate looks for."""

TaskGains = Mapping[str, Mapping[str, tuple[float, int]]]
"""Version -> task -> the sum of its differences to what stood then, and their number."""


def parent_of(
    archive: Sequence[Candidate],
    incumbent: Candidate,
    *,
    explore: bool,
    seed: int,
    n: int,
    gained: TaskGains | None = None,
) -> Candidate:
    """The parent of proposal `n`.

    Exploring, every version that was measured and did not meddle may be drawn: by halves the better it did in the mean
    (the weights of DGM, arXiv 2505.22954, with a mean that is shrunk by its pairs in place of one score), and the more
    tasks it leads (the Pareto front of GEPA, arXiv 2507.19457), so that what helps on a few tasks and costs elsewhere
    is built upon, too; and less often the more children it has. The same arguments give the same parent.
    """
    if not explore:
        return incumbent
    gains = _gains(archive)
    children = Counter(each.parent for each in archive if each.n)
    found = {each.id: each for each in archive if each.id in gains}
    best = max(gains[id_] for id_ in found)
    did = {id_: exp((gains[id_] - best) / REACH) for id_ in found}
    leads = _leads([*found.values()], gained or {})
    did_all, leads_all = sum(did.values()), sum(leads.values()) or 1.0
    weights = [(did[id_] / did_all + leads[id_] / leads_all) / (1 + children[id_]) for id_ in found]
    return Random(f"{seed}/{n}").choices([*found.values()], weights)[0]  # noqa: S311  (no secret)


def task_gains(archive: Iterable[Candidate], made: Iterable[Evaluation]) -> TaskGains:
    """By task, what each version scored more than what stood then, on the runs that both made with the same seed."""
    against = {each.id: each.incumbent for each in archive if each.pairs}
    scores = {(each.candidate, each.task, each.seed): each.score for each in made if each.measured}
    gains: dict[str, dict[str, tuple[float, int]]] = defaultdict(dict)
    for (version, task, seed), score in scores.items():
        beside = scores.get((against.get(version, ""), task, seed))
        if beside is not None:
            total, count = gains[version].get(task, (0.0, 0))
            gains[version][task] = (total + score - beside, count + 1)
    return gains


def _leads(versions: Sequence[Candidate], gained: TaskGains) -> dict[str, float]:
    """Count the tasks that each version leads; those that several lead are shared out."""
    worth: dict[str, dict[str, float]] = {}
    for each in versions:  # an incumbent comes before what was measured against it
        shrunk = {task: total / (count + TASK_PATIENCE) for task, (total, count) in gained.get(each.id, {}).items()}
        stood = worth.get(each.incumbent, {})
        worth[each.id] = {task: stood.get(task, 0.0) + shrunk.get(task, 0.0) for task in {*stood, *shrunk}}
    leads = dict.fromkeys(worth, 0.0)
    for task in sorted({task for tasks in worth.values() for task in tasks}):
        best = max(tasks.get(task, 0.0) for tasks in worth.values())
        first = [id_ for id_, tasks in worth.items() if tasks.get(task, 0.0) == best]
        for id_ in first:
            leads[id_] += 1 / len(first)
    return leads


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

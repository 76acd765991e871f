"""Go on with words: what a person says next, and the plan that it comes to, as rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from math import ceil

from ratchet.errors import Refused
from ratchet.healing import rows as episodes
from ratchet.healing.episode import Budget, Episode, PlanStep
from ratchet.healing.planning.plan import TaskPlan, combined
from ratchet.healing.planning.planning import Planning
from ratchet.ports import Store

_UNDONE = ("solver", "asked", "status", "reason", "task", "wish", "start", "since", "diff", "ended_at", "budget")


def planned(
    store: Store,
    held: Episode,
    planning: Planning,
    *,
    given: TaskPlan | None,
    shown: Callable[[TaskPlan], TaskPlan | None],
) -> Episode:
    """Make the plan of an episode's words, have it seen, and write it down before anything is done.

    Without a yes the episode is left `planned`, and can be resumed. Raises Refused, the episode ended as
    that, where the words come to nothing that fails.
    """
    try:
        made = planning.given(given) if given is not None else planning.made()
        said = shown(made)
        plan = made if said is None or said == made else planning.given(said)
    except Refused as error:
        episodes.write(store, held, "ended", status="refused", reason=str(error), ended_at=time.time())
        raise
    task = replace(held.task, steps=plan.steps, check=combined(plan.steps), beyond=plan.beyond)
    budget = held.budget
    if not held.since:  # each step may take as many attempts as one task
        budget = replace(budget, attempts=budget.attempts * max(1, sum(each.now == "fails" for each in plan.steps)))
    if said is None:
        changes = {"status": "planned", "reason": "nothing was done yet", "ended_at": time.time()}
        return episodes.write(store, held, "planned", task=task, wish="", budget=budget, **changes)
    return replace(episodes.write(store, held, "planned", task=task, wish="", budget=budget), attempts=held.attempts)


def begin(store: Store, held: Episode, words: str, budget: Budget, *, episode_id: str = "") -> Episode:
    """Take up an episode again with what a person says: from its best files, with a budget of its own; from where
    it began, where these are a guess of the search."""
    task = held.task
    steps = task.steps or (PlanStep(do=task.instruction or "Make the check pass.", check=task.check),)
    before = task.instruction.rstrip()
    before += "." if before and before[-1] not in ".!?:" else ""  # where it is shown on one line
    said = replace(task, steps=steps, instruction=f"{before}\n\nThen the person said: {words}".strip())
    if held.applied == "apply":  # its files are the project's now
        said = replace(said, id=episodes.task_id_of(task.folder, (), said.instruction))
        named = {"solver": held.solver, "asked": held.asked, "wish": words, "episode_id": episode_id}
        return episodes.begin(store, said, budget, seed=held.seed, **named)
    best = max((each for each in held.attempts if each.checkpoint), key=lambda each: (each.score, each.n), default=None)
    again = episodes.write(
        store,
        held,
        "followed",
        task=said,
        wish=words,
        status="running",
        reason="",
        diff="",
        ended_at=0.0,
        start=0 if held.is_guess else best.n if best is not None else held.start,
        since=max((each.n for each in held.attempts), default=0),
        budget=replace(
            budget,
            attempts=budget.attempts,
            usd=held.cost_usd + budget.usd,
            seconds=ceil(held.duration_s + budget.seconds),
        ),
    )
    return replace(again, attempts=held.attempts)


def undo(store: Store, before: Episode, begun: Episode) -> None:
    """Leave an episode as it was before words that came to nothing."""
    if begun.id == before.id:
        now = episodes.episode(store, begun.id)
        episodes.write(store, now, "", **{name: getattr(before, name) for name in _UNDONE})

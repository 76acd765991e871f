"""Proposals: one for each pattern of an agent, from the first idea to what became of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from ratchet.arguments import named_row
from ratchet.errors import Conflict, Refused
from ratchet.failures.redaction.text import clean
from ratchet.ids import hex_of
from ratchet.improving.trials.guard import Guard
from ratchet.improving.trials.trials import OPEN, trial, trials
from ratchet.ports import Fix, Problem, Store, Where
from ratchet.records import Change, Json, Proposal, ProposalState, Row, Trial, as_row, record_of, whole_in
from ratchet.store.timeline import note

PREFIX = "settings:"
STATES: tuple[ProposalState, ...] = ("open", "trial", "kept", "reverted", "undecided", "rejected", "closed")


def proposals(store: Store, *, states: Sequence[ProposalState] = STATES, agent: str | None = None) -> list[Proposal]:
    """Proposals, newest first."""
    where: dict[str, Json | tuple[str, Json]] = {"state": ("in", [*states])}
    if agent is not None:
        where["agent"] = agent
    said: Where = where
    return [record_of(Proposal, row) for row in store.find("proposals", said, order=("-created_at",)).rows]


def proposal(store: Store, proposal_id: str) -> Proposal:
    """One proposal. Raises NotFound."""
    return record_of(Proposal, named_row(store, "proposals", proposal_id, "proposal", "proposals list"))


def put_forward(store: Store, problem: Problem, suggested: Sequence[Fix], *, now: float) -> Proposal | None:
    """Keep the first suggestion that is new as the pattern's proposal; None when there is one already, or nothing new.

    What was rejected, or was tried and not kept, is not proposed again by itself.
    """
    with store.transaction():
        going = proposals(store, states=("open", "trial"), agent=problem.agent)
        if any(each.pattern == problem.pattern for each in going):
            return None
        for fix in suggested:
            change = _change(problem, fix)
            if change is not None and any(each.change and _same_edit(each.change, change) for each in going):
                return None  # another pattern led to the same change
            named = _named(problem, fix, change)
            held = store.get("proposals", named)
            if held is None or held.get("state") == "closed":
                return _opened(store, problem, fix, change, named, held, now)
    return None


def approve(store: Store, guard: Guard, proposal_id: str, *, now: float, deadline_s: float | None = None) -> Proposal:
    """Start what is proposed: open its trial, or close advice as taken. A rejected or reverted one may be approved
    anew, which spends another alpha. Raises NotFound, Refused while its target is under trial, Conflict, UsageError."""
    held = proposal(store, proposal_id)
    if held.state == "trial":
        raise Refused(f"proposal {proposal_id} is under trial already: ratchet trials show {held.trial}")
    if held.change is None:
        return _move(store, held, "closed", "taken", now, reason="advice, taken by a person")
    opened = guard.open(held.change, now=now, deadline_s=deadline_s)
    return begun(store, held, opened, now)


def begun(store: Store, held: Proposal, opened: Trial, now: float) -> Proposal:
    """Note that a proposal's trial is open."""
    return _move(store, held, "trial", "approved", now, trial=opened.id, reason="")


def reject(store: Store, proposal_id: str, *, now: float, reason: str = "") -> Proposal:
    """Do not do it, and do not propose it again. Raises NotFound, Refused while it is under trial, Conflict."""
    held = proposal(store, proposal_id)
    if held.state == "trial":
        raise Refused(f"proposal {proposal_id} is under trial: end it first with ratchet trials stop {held.trial}")
    return _move(store, held, "rejected", "rejected", now, reason=clean(reason) or "rejected by a person")


def close(store: Store, held: Proposal, *, now: float, reason: str) -> Proposal:
    """The pattern is over: nothing to fix any more. Raises Conflict."""
    return _move(store, held, "closed", "closed", now, reason=reason)


def catch_up(store: Store, *, now: float) -> int:
    """Bring proposals to where their trials are: a crash may have come between the two. How many moved."""
    moved = 0
    for going in trials(store, states=OPEN):
        row = store.get("proposals", going.change.origin) if going.change.origin else None
        if row is not None and row.get("trial") != going.id:
            begun(store, record_of(Proposal, row), going, now)
            moved += 1
    for held in proposals(store, states=("trial",)):
        found = trial(store, held.trial)
        if found.closed_at:
            state = cast("ProposalState", found.state)
            _move(store, held, state, found.state, now, trial=found.id, reason=found.reason)
            moved += 1
    return moved


def _opened(
    store: Store, problem: Problem, fix: Fix, change: Change | None, named: str, held: Row | None, now: float
) -> Proposal:
    new = Proposal(
        id=named,
        agent=problem.agent,
        pattern=problem.pattern,
        kind=problem.kind,
        title=fix.title,
        fix=fix.fix,
        state="open",
        change=None if change is None else replace(change, origin=named),
        evidence={"failures": problem.count, "calls": problem.calls, "window_s": problem.window_s},
        created_at=now,
        updated_at=now,
    )
    revision = whole_in(held, "revision")
    if not store.swap("proposals", named, revision, as_row(new)):
        raise Conflict(f"proposal {named} was made by somebody else at this moment")
    note(store, "proposal", named, "opened", now, title=fix.title, agent=problem.agent, pattern=problem.pattern)
    return replace(new, revision=revision + 1)


def _change(problem: Problem, fix: Fix) -> Change | None:
    if not fix.new:
        return None
    return Change(
        target=fix.target or PREFIX + problem.agent,
        new=dict(fix.new),
        agent=problem.agent,
        reason=f"{problem.count} failures of {problem.kind}: {fix.title}",
        fix=fix.fix,
        pattern=problem.pattern,
        metric=fix.metric,
        neutral_ok=fix.neutral_ok,
        trade=dict(fix.trade),
    )


def _named(problem: Problem, fix: Fix, change: Change | None) -> str:
    """The same idea for the same pattern has the same id, whoever has it and whenever."""
    values = json.dumps(dict(change.new) if change else fix.title, sort_keys=True, ensure_ascii=False)
    return "p" + hex_of(f"{problem.agent}\0{problem.pattern}\0{fix.fix}\0{values}")[:16]


def _same_edit(one: Change, other: Change) -> bool:
    return one.target == other.target and dict(one.new) == dict(other.new)


def _move(store: Store, held: Proposal, state: ProposalState, verb: str, now: float, **changes: str) -> Proposal:
    moved = replace(held, state=state, updated_at=now, **changes)  # type: ignore[arg-type]
    with store.transaction():
        if not store.swap("proposals", held.id, held.revision, as_row(moved)):
            raise Conflict(f"proposal {held.id} was changed by somebody else meanwhile; look again")
        note(store, "proposal", held.id, verb, now, reason=moved.reason, trial=moved.trial)
    return replace(moved, revision=held.revision + 1)

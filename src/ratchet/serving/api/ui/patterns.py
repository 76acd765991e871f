"""Patterns, as a list with filters and decisions, one pattern whole, and what fails by command."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Literal, cast, get_args

from fastapi import Depends, Request
from starlette.responses import Response

from ratchet.failures.kinds.groups import group_of
from ratchet.failures.kinds.table import KINDS
from ratchet.lessons.failing import BY, FINDINGS, By
from ratchet.records import Decided, Outcome, text_in
from ratchet.serving.api import looks
from ratchet.serving.api.access import READS, WRITES
from ratchet.serving.api.problems import HttpProblem
from ratchet.serving.api.serving import Operations, Shared
from ratchet.serving.api.ui import asking
from ratchet.serving.api.ui.asking import Form, Start, back, ids, own, part
from ratchet.serving.api.ui.charts import every_day
from ratchet.serving.api.ui.drawing import Drawn, below, stacked
from ratchet.serving.api.ui.ranges import ordered, range_links, with_query
from ratchet.serving.api.ui.rendering import day, drawn
from ratchet.sessions.listing import title_of

if TYPE_CHECKING:
    from ratchet.failures.patterns.patterns import PatternRow

router = asking.router()
Ids = Annotated[list[str], Depends(ids)]
STATES = ("open", "regressed", "muted", "ignored", "resolved", "all")
_ORDERS: dict[str, Callable[[PatternRow], float | str]] = {
    "count": lambda each: each.times,
    "sessions": lambda each: each.sums.sessions,
    "cost": lambda each: each.sums.wasted_s,
    "impact": lambda each: each.impact,
    "last": lambda each: each.sums.last_seen,
    "first": lambda each: each.sums.first_seen,
    "message": lambda each: each.template.lower(),
}
_DAY_S = 86_400.0
_MUTES = {"1 day": _DAY_S, "1 week": 7 * _DAY_S, "30 days": 30 * _DAY_S}


@dataclass(frozen=True, slots=True)
class RecentSession:
    """A session that a pattern failed in: its newest failure, and all of them by the name of their step."""

    session: str
    title: str
    newest: Outcome
    steps: list[tuple[str, list[Outcome]]]


@router.get("/ui/patterns", dependencies=[READS])
def patterns(
    request: Request,
    held: Shared,
    q: str = "",
    kind: str = "",
    agent: str = "",
    state: Literal["open", "regressed", "muted", "ignored", "resolved", "all"] = "open",
    start: Start = 0,
) -> Response:
    """All patterns that fit a filter, in the order of every other surface."""
    listed = looks.patterns(held, agent=agent or None, kind=kind or None, late=True)
    decided = {each.id: each.triage.state for each in listed.decided()}
    found = _fitting(listed.rows, q)
    states = Counter[str](decided[each.id] for each in found if each.id in decided)
    states["open"] = len(found) - sum(states.values()) + states["regressed"]
    states["all"] = len(found)
    chosen = found
    if states[state] < len(found):
        chosen = [each for each in found if _is_in(decided.get(each.id, "open"), state)]
    chosen, order = ordered(request, chosen, _ORDERS, "")
    shown, following = part(request, chosen, start)
    rows = listed.built(shown)
    failing = held.runtime.failing
    within = failing.window()
    return drawn(
        request,
        "patterns.html",
        rows=rows,
        next=following,
        total=len(chosen),
        kinds=sorted(KINDS),
        over_time=failing.over_time([each.id for each in rows], within),
        nothing=(0,) * within.columns,
        within=within,
        order=order,
        mutes=_MUTES,
        tabs=[(name, states[name], with_query(request, state=name)) for name in STATES],
        asked={"q": q, "kind": kind, "agent": agent, "state": state},
    )


def _fitting(found: Sequence[PatternRow], q: str) -> Sequence[PatternRow]:
    words = q.lower().split()
    return (
        [each for each in found if all(word in f"{each.template} {each.id}".lower() for word in words)]
        if words
        else found
    )


def _is_in(held: str, state: str) -> bool:
    return state == "all" or held == state or (state == "open" and held == "regressed")


@router.post("/ui/patterns/triage", dependencies=[WRITES])
def triage_several(given: Form, chosen: Ids, runtime: Operations) -> Response:
    """Decide about the patterns that were ticked."""
    for each in chosen:
        _decide(runtime, each, given)
    return back(own(given.get("to", "/ui/patterns")))


@router.get("/ui/patterns/{pattern_id}", dependencies=[READS])
def pattern(pattern_id: str, request: Request, held: Shared) -> Response:
    """One pattern: its messages, trend, what fixed it, sessions, what people decided."""
    runtime = held.runtime
    detail = runtime.pattern(pattern_id, known=())
    days = every_day(detail.days, until=min(time.time(), detail.pattern.last_seen + _DAY_S))
    group = str(group_of(detail.pattern.kind))
    columns = [
        Drawn(label=day(at), parts={group: n}, below=tick)
        for (at, n), tick in zip(days, below([at for at, _ in days], step_s=_DAY_S), strict=True)
    ]
    return drawn(
        request,
        "pattern.html",
        detail=detail,
        held=detail.pattern,
        chart=stacked(columns, {group: group}, "failures"),
        rows=[[time.strftime("%Y-%m-%d 00:00", time.gmtime(at)), count] for at, count in days],
        recent=_recent(runtime, detail.recent),
        events=runtime.timeline.of([detail.pattern.id])[-20:],
        mutes=_MUTES,
    )


@router.get("/ui/patterns/{pattern_id}/together", dependencies=[READS])
def together(pattern_id: str, request: Request, held: Shared) -> Response:
    """The patterns of other agents that come together with one: all are compared, which takes longer than its page."""
    runtime = held.runtime
    known = held.glance.at(runtime.store, runtime.correlations, "correlations", late=True)
    found = runtime.failing.pattern(pattern_id)
    rows = [
        (each.patterns[side], each.agents[side], each)
        for each in known
        if found.id in each.patterns
        for side in (1 if each.patterns[0] == found.id else 0,)
    ]
    said = runtime.store.find("patterns", {"id": ("in", [other for other, _, _ in rows])}).rows
    words = {text_in(row, "id"): text_in(row, "template") for row in said}
    return drawn(request, "together.html", held=found, rows=rows, words=words)


@router.post("/ui/patterns/{pattern_id}/triage", dependencies=[WRITES])
def triage(pattern_id: str, given: Form, runtime: Operations) -> Response:
    """Decide about one pattern."""
    return back(f"/ui/patterns/{_decide(runtime, pattern_id, given)}")


def _recent(runtime: Operations, failures: Sequence[Outcome]) -> list[RecentSession]:
    """The newest failures by their session, newest first; steps of one name together."""
    found = []
    for session, each in groupby(failures, key=lambda one: one.session):
        newest, *others = each
        steps: dict[str, list[Outcome]] = {}
        for one in (newest, *others):
            name = (one.step.head or one.step.tool) if one.step else one.task or one.agent
            steps.setdefault(name, []).append(one)
        found.append(RecentSession(session, title_of(runtime.store, session), newest, list(steps.items())))
    return found


def _decide(runtime: Operations, pattern_id: str, given: dict[str, str]) -> str:
    state, length = given.get("state", ""), given.get("mute", "")
    if state and state not in get_args(Decided):
        raise HttpProblem(422, "invalid", f"a pattern cannot be {state[:40]!r}", "Use a button of the page.")
    return runtime.failing.triage(
        pattern_id,
        state=cast("Decided", state) if state else None,
        until=time.time() + _MUTES.get(length, _DAY_S) if state == "muted" else None,
        assigned=given.get("assigned"),
        note=given.get("note"),
    ).id


@router.post("/ui/patterns/{pattern_id}/split", dependencies=[WRITES])
def split(pattern_id: str, given: Form, runtime: Operations) -> Response:
    """Undo a merge."""
    return back(f"/ui/patterns/{runtime.split(pattern_id, given.get('signature', ''))}")


_WHOLE: tuple[By, ...] = ("hour", "model", "project")
"""What is listed whole, also where nothing failed of it."""


@router.get("/ui/fails", dependencies=[READS])
def fails(request: Request, held: Shared, by: By = "command", project: str = "") -> Response:
    """Count what fails by command, tool, file, project, model or hour, in a range."""
    within = held.runtime.failing.window(request.query_params.get("range", ""))
    found = looks.fails(held, by, within, project)
    orders: dict[str, Callable[..., float | str]] = {
        "name": lambda each: each.name.lower(),
        "failures": lambda each: each.failures,
        "share": lambda each: each.share or 0.0,
        "calls": lambda each: each.runs,
        "sessions": lambda each: each.sessions,
        "time": lambda each: each.duration_s,
        "tokens": lambda each: each.tokens,
    }
    failed = [each for each in found if each.failures or each.excused or by in _WHOLE]
    rows, order = ordered(request, failed, orders, "name" if by == "hour" else "failures")
    return drawn(
        request,
        "fails.html",
        rows=rows[: asking.ROWS],
        hidden=max(0, len(rows) - asking.ROWS) + len(found) - len(failed),
        quiet=len(found) - len(failed),
        by=by,
        order=order,
        within=within,
        ranges=range_links(request),
        tabs=[(name, with_query(request, by=name)) for name in BY],
        projects=[each.name for each in looks.fails(held, "project", within)][:50],
        project=project,
        findings=FINDINGS,
    )

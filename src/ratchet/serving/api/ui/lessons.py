"""Lessons, with their evidence and its effect against control."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Literal, get_args

from fastapi import Depends, Request
from starlette.responses import Response

from ratchet.errors import NotFound, RatchetError
from ratchet.lessons.backtest.telling import cost, failed_of, of_lesson, said, titles
from ratchet.lessons.standing import WAITING
from ratchet.records import Lesson, LessonState, Outcome, text_in, whole_in
from ratchet.runtime import Runtime
from ratchet.serving.api.access import READS, WRITES
from ratchet.serving.api.problems import HttpProblem
from ratchet.serving.api.serving import Operations
from ratchet.serving.api.ui import asking
from ratchet.serving.api.ui.asking import Form, Start, back, ids, own, part
from ratchet.serving.api.ui.rendering import drawn
from ratchet.sessions.listing import title_of

router = asking.router()
Ids = Annotated[list[str], Depends(ids)]
_SESSIONS, _LOOKED_UP = 5, 60  # sessions that are shown side by side, and outcomes that are looked up for them
STATES: tuple[LessonState, ...] = get_args(LessonState)
_MEANING = {
    "": "when this fails, do that",
    "active": "agents are handed them",
    "candidate": WAITING,
    "quarantined": "never advice",
    "retired": "handed to nobody any more",
}


@router.get("/ui/lessons", dependencies=[READS])
def lessons(
    request: Request, runtime: Operations, q: str = "", state: LessonState | Literal[""] = "", start: Start = 0
) -> Response:
    """All lessons that fit a filter, active ones first."""
    every = runtime.lessons.list()
    counted = Counter(each.state for each in every)
    found = [each for each in every if state in ("", each.state)]
    words = q.lower().split()
    if words:
        found = [each for each in found if all(word in f"{each.text} {each.when}".lower() for word in words)]
    rows, following = part(request, found, start)
    return drawn(
        request,
        "lessons.html",
        tabs=[("", sum(counted.values())), *((name, counted[name]) for name in STATES)],
        meaning=_MEANING[state],
        rows=rows,
        next=following,
        total=len(found),
        asked={"q": q, "state": state},
    )


@router.get("/ui/report", dependencies=[READS])
def report(request: Request, runtime: Operations) -> Response:
    """The measured effect of lessons and changes."""
    found, replayed = runtime.report(), runtime.lessons.replayed()
    counted = () if found.cases else runtime.store.sum_by("lessons", ("state",), ("count:*",))
    waiting = Counter({text_in(row, "state"): whole_in(row, "count:*") for row in counted})
    return drawn(request, "report.html", found=found, waiting=waiting, replayed=said(replayed) if replayed else "")


@router.get("/ui/backtest", dependencies=[READS])
def backtest(request: Request, runtime: Operations) -> Response:
    """The newest replay of all sessions: what lessons would have saved."""
    found = runtime.lessons.replayed()
    told = said(found) if found is not None else ""
    lists = titles(found) if found else []
    return drawn(
        request,
        "backtest.html",
        found=found,
        said=told,
        cost=cost,
        failed_of=failed_of,
        title_of=lambda session: title_of(runtime.store, session),
        titles=lists,
    )


@router.post("/ui/backtest", dependencies=[WRITES])
def replay(runtime: Operations) -> Response:
    """Replay all sessions now."""
    runtime.lessons.backtest()
    return back("/ui/backtest")


@router.post("/ui/lessons/decide", dependencies=[WRITES])
def decide_several(given: Form, chosen: Ids, runtime: Operations) -> Response:
    """Decide about the lessons that were ticked: all that can be, whatever becomes of the others."""
    decide = _decision(given)
    refused = []
    for each in chosen:
        try:
            decide(runtime, each)
        except RatchetError as error:
            refused.append(str(error))
    to = own(given.get("to", "/ui/lessons"))
    if refused:
        raise HttpProblem(
            409,
            "refused",
            f"{len(chosen) - len(refused)} of {len(chosen)} lessons were changed; {refused[0]}",
            "Go back, and look at the others one by one.",
        )
    return back(to)


@router.get("/ui/lessons/{lesson_id}", dependencies=[READS])
def lesson(lesson_id: str, request: Request, runtime: Operations) -> Response:
    """One lesson whole, with the steps that it was learnt from."""
    held = runtime.lessons.show(lesson_id)
    return drawn(
        request,
        "lesson.html",
        held=held,
        effect=runtime.lessons.effect(held.id),
        told=runtime.lessons.told(held.id),
        replay=of_lesson(held),
        sessions=_steps(runtime, held.evidence),
        edits=_edits(runtime, held.changes),
        events=runtime.timeline.of([held.id])[-20:],
    )


def _steps(runtime: Operations, evidence: Sequence[str]) -> list[tuple[str, str, list[Outcome], list[Outcome]]]:
    """The sessions that taught it, newest first, each with its title: what failed, and what worked then."""
    found: dict[str, list[Outcome]] = {}
    for each in evidence[-_LOOKED_UP:]:
        try:
            outcome = runtime.sessions.outcome(each)
        except NotFound:
            continue  # retention has left no more than the lesson
        found.setdefault(outcome.session, []).append(outcome)
    held = [sorted(steps, key=lambda each: each.started_at) for steps in found.values()]
    held.sort(key=lambda steps: -steps[-1].started_at)
    return [
        (session := steps[0].session, title_of(runtime.store, session), *_ended(steps)) for steps in held[:_SESSIONS]
    ]


_EDIT = re.compile(r"(\S+) session (\S+?)(?:: (.+))?\n")
"""How the text of an edit that ended a failure begins (`lessons.changes`)."""


def _edits(runtime: Operations, changes: Sequence[str]) -> list[tuple[str, str, str, str, str]]:
    """Each edit with the day, session and title of the session that made it, and the remedy that it shows; "" where it
    does not say."""
    found = []
    for each in changes:
        began = _EDIT.match(each)
        day, session, remedy = began.groups("") if began else ("", "", "")
        title = title_of(runtime.store, session) if session else ""
        found.append((day, session, title, remedy, each[began.end() :] if began else each))
    return found


def _ended(steps: list[Outcome]) -> tuple[list[Outcome], list[Outcome]]:
    """Split steps into those that failed and those that worked then: else the last one, which failed otherwise."""
    failed, worked = [each for each in steps if not each.ok], [each for each in steps if each.ok]
    return (failed, worked) if worked or len(failed) < _PAIR else (failed[:-1], failed[-1:])


_PAIR = 2


@router.post("/ui/lessons/{lesson_id}/decide", dependencies=[WRITES])
def decide(lesson_id: str, given: Form, runtime: Operations) -> Response:
    """Approve a lesson (in other words, where they were edited), retire it, or take the last decision back."""
    return back(f"/ui/lessons/{_decision(given)(runtime, lesson_id).id}")


def _decision(given: dict[str, str]) -> Callable[[Runtime, str], Lesson]:
    match given.get("act", ""):
        case "approve":
            do, globally = given.get("do", ""), given.get("globally", "") == "on"
            return lambda runtime, each: _approve(runtime, each, do, globally=globally)
        case "retire":
            return lambda runtime, each: runtime.lessons.retire(each, reason=given.get("reason", ""))
        case "quarantine":
            return lambda runtime, each: runtime.lessons.quarantine(each, reason=given.get("reason", ""))
        case "undo":
            return lambda runtime, each: runtime.lessons.undo(each)
        case other:
            raise HttpProblem(422, "invalid", f"no decision {other[:40]!r}", "Use a button of the page.")


def _approve(runtime: Runtime, lesson_id: str, do: str, *, globally: bool) -> Lesson:
    """Approve; what was not edited stays as it is, byte for byte."""
    held = runtime.lessons.show(lesson_id)
    edited = do.replace("\r\n", "\n")
    return runtime.lessons.approve(held.id, do="" if edited == held.text else edited, globally=globally)

"""Lessons, with their evidence and its effect against control."""

from __future__ import annotations

from typing import cast, get_args

from fastapi import Request
from starlette.responses import Response

from ratchet.lessons.backtest.telling import figures, of_lesson, said
from ratchet.records import LessonState
from ratchet.serving.api.access import READS, WRITES
from ratchet.serving.api.serving import Operations
from ratchet.serving.api.ui import asking
from ratchet.serving.api.ui.asking import Start, back, here, part
from ratchet.serving.api.ui.rendering import drawn

router = asking.router()
STATES: tuple[LessonState, ...] = get_args(LessonState)


@router.get("/ui/lessons", dependencies=[READS])
def lessons(request: Request, runtime: Operations, q: str = "", state: str = "", start: Start = 0) -> Response:
    """All lessons that fit a filter, active ones first."""
    found = runtime.lessons.list(state=cast("LessonState", state) if state else None)
    words = q.lower().split()
    if words:
        found = [each for each in found if all(word in f"{each.text} {each.when}".lower() for word in words)]
    rows, following = part(request, found, start)
    return drawn(
        request,
        "lessons.html",
        rows=rows,
        next=following,
        total=len(found),
        here=here(request),
        states=STATES,
        asked={"q": q, "state": state},
    )


@router.get("/ui/backtest", dependencies=[READS])
def backtest(request: Request, runtime: Operations) -> Response:
    """The newest replay of all sessions: what lessons would have saved."""
    found = runtime.lessons.replayed()
    told, rows = (said(found), figures(found)) if found is not None else ("", [])
    return drawn(request, "backtest.html", found=found, said=told, figures=rows)


@router.post("/ui/backtest", dependencies=[WRITES])
def replay(runtime: Operations) -> Response:
    """Replay all sessions now."""
    runtime.lessons.backtest()
    return back("/ui/backtest")


@router.get("/ui/lessons/{lesson_id}", dependencies=[READS])
def lesson(lesson_id: str, request: Request, runtime: Operations) -> Response:
    """One lesson whole."""
    held = runtime.lessons.show(lesson_id)
    effect = runtime.lessons.effect(lesson_id)
    return drawn(request, "lesson.html", held=held, effect=effect, replay=of_lesson(held))


@router.post("/ui/lessons/{lesson_id}/approve", dependencies=[WRITES])
def approve(lesson_id: str, runtime: Operations) -> Response:
    """From now on agents are handed it."""
    return back(f"/ui/lessons/{runtime.lessons.approve(lesson_id).id}")


@router.post("/ui/lessons/{lesson_id}/retire", dependencies=[WRITES])
def retire(lesson_id: str, runtime: Operations) -> Response:
    """Hand it to nobody any more."""
    return back(f"/ui/lessons/{runtime.lessons.retire(lesson_id).id}")

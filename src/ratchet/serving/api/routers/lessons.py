"""Lessons, and what people decide about them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from ratchet.records import LessonState
from ratchet.serving.api import inputs
from ratchet.serving.api.access import READS, WRITES
from ratchet.serving.api.answers import answer, tagged
from ratchet.serving.api.pages import Cursor, Limit, paged
from ratchet.serving.api.problems import HttpProblem, said
from ratchet.serving.api.serving import Operations
from ratchet.serving.shapes.lessons import CorrectionShape, LessonShape
from ratchet.serving.shapes.served import PageShape

router = APIRouter(prefix="/v1/lessons", tags=["lessons"])
Folder = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=1_000,
        pattern=r"^[^\x00]+$",
        description="A project: its folder, its name or the end of one.",
    ),
]


@router.get("", response_model=PageShape[LessonShape], dependencies=[READS], responses=said(404))
def lessons(
    request: Request,
    runtime: Operations,
    state: LessonState | None = None,
    project: Folder = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Lessons, active ones first, then by what they save; with `project` those that count in that folder."""
    found = runtime.lessons.list(state=state, project=project)
    return tagged(request, paged(found, lambda each: each.id, LessonShape.built, limit=limit, cursor=cursor))


@router.post("", status_code=201, response_model=LessonShape, dependencies=[WRITES], responses=said(409))
def add(asked: inputs.NewLesson, runtime: Operations) -> Response:
    """Write a lesson; a candidate until it is approved. Advice that switches a check off is quarantined."""
    scope = asked.scope or ("project" if asked.project else "global")
    if scope == "project" and not asked.project:
        raise HttpProblem(422, "invalid", "body.project: is missing", "Name the project's folder, or use scope global.")
    project = asked.project or ""
    added = runtime.lessons.add(when=asked.when, do=asked.do, scope=scope, project=project, source=asked.source)
    return answer(LessonShape.built(added), 201, {"Location": f"/v1/lessons/{added.id}"})


@router.get("/words", response_model=PageShape[CorrectionShape], dependencies=[READS], responses=said(404))
def words(
    request: Request,
    runtime: Operations,
    every: bool = False,
    project: Folder = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Quotes of what people said to agents; `every` gives also those in which little speaks for a rule."""
    found = runtime.lessons.words(project=project, every=every)
    named = CorrectionShape.built
    return tagged(
        request, paged(found, lambda each: f"{each.step} {each.quote[:40]}", named, limit=limit, cursor=cursor)
    )


@router.get("/{lesson_id}", response_model=LessonShape, dependencies=[READS], responses=said(404))
def lesson(lesson_id: str, request: Request, runtime: Operations) -> Response:
    """One lesson."""
    return tagged(request, LessonShape.built(runtime.lessons.show(lesson_id)))


@router.post("/{lesson_id}/approve", response_model=LessonShape, dependencies=[WRITES], responses=said(404, 409))
def approve(lesson_id: str, runtime: Operations, asked: inputs.Approval | None = None) -> Response:
    """Hand it to agents from now on."""
    given = asked or inputs.Approval()
    return answer(LessonShape.built(runtime.lessons.approve(lesson_id, do=given.do, globally=given.globally)))


@router.post("/{lesson_id}/retire", response_model=LessonShape, dependencies=[WRITES], responses=said(404, 409))
def retire(lesson_id: str, runtime: Operations, asked: inputs.Reason | None = None) -> Response:
    """Hand it to nobody any more."""
    return answer(LessonShape.built(runtime.lessons.retire(lesson_id, reason=asked.reason if asked else "")))


@router.post("/{lesson_id}/quarantine", response_model=LessonShape, dependencies=[WRITES], responses=said(404, 409))
def quarantine(lesson_id: str, asked: inputs.NeededReason, runtime: Operations) -> Response:
    """Mark it as harmful: never advice."""
    return answer(LessonShape.built(runtime.lessons.quarantine(lesson_id, reason=asked.reason)))


@router.post("/{lesson_id}/undo", response_model=LessonShape, dependencies=[WRITES], responses=said(404, 409))
def undo(lesson_id: str, runtime: Operations) -> Response:
    """Take the last decision about it back."""
    return answer(LessonShape.built(runtime.lessons.undo(lesson_id)))

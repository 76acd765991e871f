"""Skills: lessons that are more than a line, each with the measured effect of every folder that it was written into."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from ratchet.serving.api import inputs
from ratchet.serving.api.access import READS, RUNS, WRITES
from ratchet.serving.api.answers import answer, tagged
from ratchet.serving.api.pages import Cursor, Limit, paged
from ratchet.serving.api.problems import said
from ratchet.serving.api.serving import Operations
from ratchet.serving.shapes.lessons import LessonShape
from ratchet.serving.shapes.served import PageShape
from ratchet.serving.shapes.skills import SkillShape
from ratchet.serving.shapes.tasks import redacted

router = APIRouter(prefix="/v1/skills", tags=["lessons"])


@router.get("", response_model=PageShape[SkillShape], dependencies=[READS])
def skills(request: Request, runtime: Operations, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """List skills by name: what each is for, where it was written, and how often its failure came before and since."""
    page = paged(runtime.cures.skills(), lambda each: each.skill.lesson, SkillShape.built, limit=limit, cursor=cursor)
    return tagged(request, redacted(page))


@router.get("/{skill}", response_model=SkillShape, dependencies=[READS], responses=said(404, 409))
def skill(skill: str, request: Request, runtime: Operations) -> Response:
    """One skill whole, by its name or its lesson's id."""
    return tagged(request, redacted(SkillShape.built(runtime.cures.show_skill(skill))))


@router.post("/{skill}/approve", response_model=LessonShape, dependencies=[WRITES], responses=said(404, 409))
def approve(skill: str, runtime: Operations) -> Response:
    """Let agents be told of a skill that was made here. One that others wrote is trusted where its files are."""
    return answer(LessonShape.built(runtime.cures.approve_skill(skill)))


@router.post("/{skill}/retire", response_model=LessonShape, dependencies=[RUNS], responses=said(404, 409))
def retire(skill: str, runtime: Operations, asked: inputs.Reason | None = None) -> Response:
    """Offer a skill to nobody any more, and take out the folders that it was written into."""
    return answer(LessonShape.built(runtime.cures.retire_skill(skill, reason=asked.reason if asked else "")))

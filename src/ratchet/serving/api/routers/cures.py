"""Permanent changes that lessons become: seen by who reads, made and taken out by who may run things here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from ratchet.serving.api import inputs
from ratchet.serving.api.access import READS, Needs
from ratchet.serving.api.answers import answer, tagged
from ratchet.serving.api.pages import Cursor, Limit, paged
from ratchet.serving.api.problems import said
from ratchet.serving.api.roots import allowed
from ratchet.serving.api.serving import Operations, Shared
from ratchet.serving.shapes.lessons import CureShape
from ratchet.serving.shapes.served import PageShape
from ratchet.serving.shapes.tasks import redacted
from ratchet.serving.shapes.trials import TrialShape

router = APIRouter(prefix="/v1/lessons", tags=["lessons"])
RUNS = Depends(Needs("run"))
Folder = Annotated[str, Query(alias="dir", min_length=1, max_length=4_000, pattern="^/")]


@router.get("/cures", response_model=PageShape[CureShape], dependencies=[READS])
def cures(request: Request, folder: Folder, held: Shared, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """List what active lessons of a project's folder could become, each as a diff. Changes nothing."""
    found = held.runtime.cures.list(Path(allowed(folder, held)))
    page = paged(found, lambda each: f"{each.lesson} {each.kind}", CureShape.built, limit=limit, cursor=cursor)
    return tagged(request, redacted(page))


@router.get("/{lesson_id}/cures", response_model=list[CureShape], dependencies=[READS], responses=said(404, 409))
def of_lesson(lesson_id: str, request: Request, folder: Folder, held: Shared) -> Response:
    """List what one lesson could become in a folder, those included that replay speaks against."""
    found = held.runtime.cures.show(lesson_id, Path(allowed(folder, held)))
    return tagged(request, redacted([CureShape.built(each) for each in found]))


@router.post(
    "/{lesson_id}/cures", status_code=201, response_model=TrialShape, dependencies=[RUNS], responses=said(404, 409)
)
def apply(lesson_id: str, asked: inputs.NewCure, held: Shared) -> Response:
    """Make one of these changes, on trial: it is taken out again where it does not help."""
    made = held.runtime.cures.apply(lesson_id, asked.kind, Path(allowed(asked.dir, held)))
    return answer(redacted(TrialShape.built(made)), 201, {"Location": f"/v1/trials/{made.id}"})


@router.post("/{lesson_id}/cures/undo", response_model=list[TrialShape], dependencies=[RUNS], responses=said(404, 409))
def undo(lesson_id: str, runtime: Operations) -> Response:
    """Take out all that the lesson became, byte for byte where nobody changed the file since."""
    return answer(redacted([TrialShape.built(each) for each in runtime.cures.undo(lesson_id)]))

"""Patterns: what keeps failing."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from ratchet.lessons.failing import RANGES, By
from ratchet.records import Decided
from ratchet.serving.api import looks
from ratchet.serving.api.access import READS, WRITES
from ratchet.serving.api.answers import answer, tagged
from ratchet.serving.api.pages import Cursor, Limit, paged
from ratchet.serving.api.problems import said
from ratchet.serving.api.serving import Operations, Shared
from ratchet.serving.shapes.failures import FailsShape, PatternDetailShape, PatternShape, SplitShape
from ratchet.serving.shapes.served import PageShape

router = APIRouter(prefix="/v1/patterns", tags=["patterns"])


@router.get("", response_model=PageShape[PatternShape], dependencies=[READS])
def patterns(
    request: Request,
    held: Shared,
    agent: str | None = None,
    kind: str | None = None,
    excused: Annotated[bool, Query(description="Cascades and refusals by a person, too.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """List what keeps failing: what recurs first, each with the lessons about it."""
    found = looks.patterns(held, agent=agent, kind=kind, excused=excused)
    page = paged(found.rows, lambda each: each.id, lambda each: each, limit=limit, cursor=cursor)
    items = [PatternShape.built(each) for each in found.built(page.items)]
    return tagged(request, PageShape(items=items, next=page.next, total=page.total))


@router.get("/by/{what}", response_model=FailsShape, dependencies=[READS], responses=said(404))
def fails(
    what: By,
    request: Request,
    runtime: Operations,
    span: Annotated[str, Query(alias="range", description=f"{', '.join(RANGES)}; empty: where the data is.")] = "all",
    project: Annotated[str, Query(max_length=4_000, description="Only this project, by its name.")] = "",
) -> Response:
    """Count calls and failures by command, tool, file, project, model or hour of the day: what fails most first."""
    rows = runtime.failing.by(what, span=span, project=project)
    return tagged(request, FailsShape.built(None, by=what, rows=rows))


@router.get("/{pattern_id}", response_model=PatternDetailShape, dependencies=[READS], responses=said(404))
def pattern(pattern_id: str, request: Request, runtime: Operations) -> Response:
    """One pattern: its signatures, examples (redacted), lessons, and what it comes together with."""
    return tagged(request, PatternDetailShape.shown(runtime.pattern(pattern_id)))


class Split(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    signature: str = Field(min_length=1, max_length=200, description="One of the pattern's signatures.")


@router.post("/{pattern_id}/split", response_model=SplitShape, dependencies=[WRITES], responses=said(404, 409))
def split(pattern_id: str, asked: Split, runtime: Operations) -> Response:
    """Undo a merge: the signature gets a pattern of its own, and keeps it."""
    return answer(SplitShape(pattern=runtime.split(pattern_id, asked.signature)))


class Decision(BaseModel):
    """A person's decision. A field that is left out stays as it is."""

    model_config = ConfigDict(extra="forbid", strict=True)

    state: Decided | None = Field(None, description="A resolved pattern that fails again is `regressed`.")
    until: Annotated[float, Field(gt=0, lt=1e11)] | None = Field(None, description="When a mute ends, in Unix seconds.")
    assigned: str | None = Field(None, max_length=200, description="Who looks after it; empty for nobody.")
    note: str | None = Field(None, max_length=2_000)


@router.post("/{pattern_id}/triage", response_model=PatternShape, dependencies=[WRITES], responses=said(404, 409))
def triage(pattern_id: str, asked: Decision, runtime: Operations) -> Response:
    """Resolve, ignore, mute or open a pattern, assign it, leave a note."""
    found = runtime.failing.triage(
        pattern_id, state=asked.state, until=asked.until, assigned=asked.assigned, note=asked.note
    )
    return answer(PatternShape.built(found))

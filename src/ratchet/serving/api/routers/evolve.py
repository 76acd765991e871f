"""Evolutions of agents: runs, and the archive of each. They are started from the command line."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from ratchet.serving.api.access import Needs
from ratchet.serving.api.answers import tagged
from ratchet.serving.api.pages import Cursor, Limit, paged
from ratchet.serving.api.problems import said
from ratchet.serving.api.serving import Operations
from ratchet.serving.shapes.bench import EvaluationShape
from ratchet.serving.shapes.evolving import EvolutionDetailShape, EvolutionListedShape, EvolutionTreeShape
from ratchet.serving.shapes.served import PageShape
from ratchet.serving.shapes.tasks import redacted

router = APIRouter(prefix="/v1/evolve", tags=["evolve"], dependencies=[Depends(Needs("read"))])


@router.get("", response_model=PageShape[EvolutionListedShape])
def evolutions(request: Request, runtime: Operations, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Runs, newest first, each with what it tried and the version that it kept last."""
    book = runtime.evolutions
    page = paged(book.list(), lambda each: each.id, lambda each: each, limit=limit, cursor=cursor)
    items = EvolutionListedShape.listed(book, page.items)
    return tagged(request, redacted(PageShape(items=items, next=page.next, total=page.total)))


@router.get("/{run_id}", response_model=EvolutionDetailShape, responses=said(404))
def evolution(run_id: str, request: Request, runtime: Operations) -> Response:
    """One run with its archive: every version that was proposed, its diff, its evidence, and what became of it."""
    book = runtime.evolutions
    return tagged(request, redacted(EvolutionDetailShape.built(book.show(run_id), candidates=book.candidates(run_id))))


@router.get("/{run_id}/tree", response_model=EvolutionTreeShape, responses=said(404))
def tree(run_id: str, request: Request, runtime: Operations) -> Response:
    """Each version with those that came from it."""
    book = runtime.evolutions
    return tagged(request, redacted(EvolutionTreeShape.grown(book.show(run_id), book.candidates(run_id))))


@router.get("/{run_id}/evaluations", response_model=PageShape[EvaluationShape], responses=said(404))
def evaluations(
    run_id: str, request: Request, runtime: Operations, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Every evaluation that the run paid for."""
    book = runtime.evolutions
    found = book.evaluations(book.show(run_id).id)
    page = paged(
        found,
        lambda each: f"{each.candidate} {each.task} {each.seed}",
        EvaluationShape.built,
        limit=limit,
        cursor=cursor,
    )
    return tagged(request, redacted(page))

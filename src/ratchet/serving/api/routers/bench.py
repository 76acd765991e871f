"""Benchmarks, and how agents did on them. Runs are started from the command line: they cost hours and money."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from ratchet.errors import NotFound
from ratchet.serving.api.access import Needs
from ratchet.serving.api.answers import tagged
from ratchet.serving.api.pages import Cursor, Limit, paged
from ratchet.serving.api.problems import said
from ratchet.serving.api.serving import Operations
from ratchet.serving.shapes.bench import (
    BenchComparisonShape,
    BenchmarkDetailShape,
    BenchmarkShape,
    EvaluationShape,
    MeasuredBenchRunShape,
    PastBenchRunShape,
)
from ratchet.serving.shapes.served import PageShape
from ratchet.serving.shapes.tasks import redacted

router = APIRouter(prefix="/v1/bench", tags=["bench"], dependencies=[Depends(Needs("read"))])
RunId = Annotated[str, Query(min_length=1, max_length=200)]


@router.get("", response_model=list[BenchmarkShape])
def benchmarks(request: Request, runtime: Operations) -> Response:
    """The benchmarks that there are, with their kinds and splits."""
    book = runtime.benchmarks
    return tagged(request, [BenchmarkShape.built(book.benchmark(name)) for name in book.names()])


@router.get("/runs", response_model=PageShape[PastBenchRunShape])
def runs(
    request: Request,
    runtime: Operations,
    benchmark: Annotated[str | None, Query(max_length=200)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Runs, newest first, with their scores."""
    found = runtime.benchmarks.history(name=benchmark)
    page = paged(found, lambda each: each.id, PastBenchRunShape.past, limit=limit, cursor=cursor)
    return tagged(request, redacted(page))


@router.get("/compare", response_model=BenchComparisonShape, responses=said(404, 409))
def compare(request: Request, runtime: Operations, first: RunId, second: RunId) -> Response:
    """The second run against the first, in pairs of the same tasks."""
    return tagged(request, redacted(BenchComparisonShape.compared(runtime.benchmarks.compare(first, second))))


@router.get("/runs/{run_id}", response_model=MeasuredBenchRunShape, responses=said(404))
def run(run_id: str, request: Request, runtime: Operations) -> Response:
    """One run: its score, and each task's, with intervals."""
    book = runtime.benchmarks
    held, found = book.figures(run_id)
    return tagged(
        request, redacted(MeasuredBenchRunShape.measured(held, found, book.noise(run_id) if held.aa else None))
    )


@router.get("/runs/{run_id}/evaluations", response_model=PageShape[EvaluationShape], responses=said(404))
def evaluations(
    run_id: str, request: Request, runtime: Operations, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Every evaluation of a run, in the order in which they ended."""
    page = paged(
        runtime.benchmarks.evaluations(run_id),
        lambda each: f"{each.candidate} {each.task} {each.seed}",
        EvaluationShape.built,
        limit=limit,
        cursor=cursor,
    )
    return tagged(request, redacted(page))


@router.get("/{name}", response_model=BenchmarkDetailShape, responses=said(404))
def benchmark(name: str, request: Request, runtime: Operations) -> Response:
    """One benchmark with its tasks; never what its graders know."""
    book = runtime.benchmarks
    if name not in book.names():  # a folder's name would be read, which is for people of this machine
        raise NotFound(f"no benchmark {name}; GET /v1/bench lists those that there are")
    return tagged(request, redacted(BenchmarkDetailShape.built(book.benchmark(name))))

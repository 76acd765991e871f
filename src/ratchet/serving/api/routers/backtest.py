"""Replay of past sessions: the proof of lessons on one's own data."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from ratchet.errors import NotFound
from ratchet.serving.api.access import Needs
from ratchet.serving.api.answers import answer, tagged
from ratchet.serving.api.problems import said
from ratchet.serving.api.serving import Operations
from ratchet.serving.shapes.lessons import BacktestShape

router = APIRouter(prefix="/v1/backtest", tags=["lessons"])


@router.get("", response_model=BacktestShape, dependencies=[Depends(Needs("read"))], responses=said(404))
def backtest(request: Request, runtime: Operations) -> Response:
    """The newest replay of all sessions."""
    found = runtime.lessons.replayed()
    if found is None:
        raise NotFound("no session was replayed yet: POST to /v1/backtest, or run `ratchet backtest`")
    return tagged(request, BacktestShape.built(found))


@router.post("", response_model=BacktestShape, dependencies=[Depends(Needs("write"))])
def replay(runtime: Operations) -> Response:
    """Replay all sessions now: some seconds for a gigabyte of histories."""
    return answer(BacktestShape.built(runtime.lessons.backtest()))

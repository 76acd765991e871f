"""Fixes that were thought of, for people to decide."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request
from starlette.responses import Response

from ratchet.records import ProposalState
from ratchet.serving.api import inputs
from ratchet.serving.api.access import READS, WRITES
from ratchet.serving.api.answers import answer, tagged
from ratchet.serving.api.pages import Cursor, Limit, paged
from ratchet.serving.api.problems import said
from ratchet.serving.api.serving import Operations
from ratchet.serving.shapes.served import PageShape
from ratchet.serving.shapes.tasks import redacted
from ratchet.serving.shapes.trials import ProposalShape

router = APIRouter(prefix="/v1/proposals", tags=["proposals"])


@router.get("", response_model=PageShape[ProposalShape], dependencies=[READS])
def proposals(
    request: Request,
    runtime: Operations,
    state: ProposalState | None = None,
    agent: str | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Proposals, newest first."""
    book = runtime.proposals
    found = book.list(state=state, agent=agent)
    page = paged(found, lambda each: each.id, partial(ProposalShape.told, book), limit=limit, cursor=cursor)
    return tagged(request, redacted(page))


@router.get("/{proposal_id}", response_model=ProposalShape, dependencies=[READS], responses=said(404))
def proposal(proposal_id: str, request: Request, runtime: Operations) -> Response:
    """One proposal."""
    book = runtime.proposals
    return tagged(request, redacted(ProposalShape.told(book, book.show(proposal_id))))


@router.post("/{proposal_id}/approve", response_model=ProposalShape, dependencies=[WRITES], responses=said(404, 409))
def approve(proposal_id: str, runtime: Operations, asked: inputs.ProposalApproval | None = None) -> Response:
    """Start its trial; advice without a change is closed as taken."""
    found = runtime.proposals.approve(proposal_id, deadline_s=asked.deadline_s if asked else None)
    return answer(redacted(ProposalShape.told(runtime.proposals, found)))


@router.post("/{proposal_id}/reject", response_model=ProposalShape, dependencies=[WRITES], responses=said(404, 409))
def reject(proposal_id: str, runtime: Operations, asked: inputs.Reason | None = None) -> Response:
    """Do not do it, and do not propose it for this pattern again."""
    book = runtime.proposals
    return answer(redacted(ProposalShape.told(book, book.reject(proposal_id, reason=asked.reason if asked else ""))))

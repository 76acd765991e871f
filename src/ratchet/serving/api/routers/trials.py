"""Changes on trial."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from ratchet.records import TrialState
from ratchet.serving.api import inputs
from ratchet.serving.api.access import READS, WRITES
from ratchet.serving.api.answers import answer, tagged
from ratchet.serving.api.pages import Cursor, Limit, paged
from ratchet.serving.api.problems import said
from ratchet.serving.api.serving import Operations
from ratchet.serving.shapes.served import PageShape
from ratchet.serving.shapes.tasks import redacted
from ratchet.serving.shapes.trials import TrialDetailShape, TrialShape

router = APIRouter(prefix="/v1/trials", tags=["trials"])


@router.get("", response_model=PageShape[TrialShape], dependencies=[READS])
def trials(
    request: Request,
    runtime: Operations,
    state: TrialState | None = None,
    agent: str | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Trials, newest first."""
    found = runtime.trials.list(state=state, agent=agent)
    return tagged(request, redacted(paged(found, lambda each: each.id, TrialShape.built, limit=limit, cursor=cursor)))


@router.post("", status_code=201, response_model=TrialShape, dependencies=[WRITES], responses=said(404, 409))
def start(asked: inputs.NewTrial, runtime: Operations) -> Response:
    """Try new values of a target beside the old ones."""
    opened = runtime.trials.open(
        asked.target,
        asked.new,
        agent=asked.agent,
        reason=asked.reason,
        metric=asked.metric,
        trade=asked.trade,
        mode=asked.mode,
        deadline_s=asked.deadline_s,
    )
    return answer(redacted(TrialShape.built(opened)), 201, {"Location": f"/v1/trials/{opened.id}"})


@router.get("/{trial_id}", response_model=TrialDetailShape, dependencies=[READS], responses=said(404))
def trial(trial_id: str, request: Request, runtime: Operations) -> Response:
    """One trial with both arms and the evidence as of now."""
    return tagged(request, redacted(TrialDetailShape.shown(runtime.trials.show(trial_id))))


@router.post("/{trial_id}/stop", response_model=TrialShape, dependencies=[WRITES], responses=said(404, 409))
def stop(trial_id: str, runtime: Operations, asked: inputs.Stop | None = None) -> Response:
    """End it at once: the old values stay, unless `keep`."""
    asked = asked or inputs.Stop(keep=False)
    return answer(redacted(TrialShape.built(runtime.trials.stop(trial_id, keep=asked.keep, reason=asked.reason))))

"""Metrics for Prometheus."""

from __future__ import annotations

import logging

from fastapi import APIRouter, Depends
from starlette.responses import Response

from ratchet.errors import BackendError
from ratchet.serving.api.access import Needs
from ratchet.serving.api.meter import CONTENT_TYPE, Labels
from ratchet.serving.api.serving import Shared

log = logging.getLogger(__name__)
router = APIRouter(tags=["metrics"], dependencies=[Depends(Needs("read"))])
Values = list[tuple[Labels, float]]
Gauges = dict[str, tuple[str, Values]]


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus' text form"}
    },
)
def metrics(held: Shared) -> Response:
    """Requests, outcomes, streams, tasks and health, in Prometheus' text form. A store that is down is said so, and
    hides nothing else."""
    gauges: Gauges = {
        "ratchet_streams": ("Streams that are open.", [((), float(held.feed.listening))]),
        "ratchet_journal_lost_total": ("Records that could not be written.", [((), float(held.runtime.recorder.lost))]),
    }
    try:
        tasks = held.runtime.tasks.counts()
        found = held.runtime.health(drained=False)
        by_state: Values = [((("state", state),), float(n)) for state, n in sorted(tasks.items())]
        gauges["ratchet_tasks"] = ("Tasks by state.", by_state)
        by_agent: Values = [((("agent", name),), score) for name, score in sorted(found.agents.items())]
        gauges["ratchet_agent_health"] = ("Health of an agent, 0 to 1.", by_agent)
        up = 1.0
    except BackendError as error:
        log.warning("metrics.store_down", extra={"why": str(error)})
        up = 0.0
    gauges["ratchet_store_up"] = ("Whether the store can be read.", [((), up)])
    return Response(held.meter.text(gauges), headers={"Content-Type": CONTENT_TYPE})

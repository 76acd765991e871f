"""Changes on trial with both arms and their evidence, and what is proposed."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from ratchet.serving.api.access import READS, WRITES
from ratchet.serving.api.problems import HttpProblem
from ratchet.serving.api.serving import Operations
from ratchet.serving.api.ui import asking, charts
from ratchet.serving.api.ui.asking import Form, Start, back, part
from ratchet.serving.api.ui.rendering import drawn

router = asking.router()
_GOING = 10  # trials whose arms are counted for the list; the others say how they ended


@router.get("/ui/trials", dependencies=[READS])
def trials(request: Request, runtime: Operations, start: Start = 0) -> Response:
    """All trials, newest first."""
    found = runtime.trials.list()
    rows, following = part(request, found, start)
    going = [each for each in rows if each.state in ("open", "paused")][:_GOING]
    stands = {each.id: runtime.trials.show(each.id) for each in going}
    return drawn(request, "trials.html", rows=rows, next=following, total=len(found), stands=stands)


@router.get("/ui/trials/{trial_id}", dependencies=[READS])
def trial(trial_id: str, request: Request, runtime: Operations) -> Response:
    """One trial as it stands."""
    found = runtime.trials.show(trial_id)
    return drawn(
        request,
        "trial.html",
        held=found.trial,
        said=found.evidence,
        events=found.events,
        words=found.words,
        runs=runtime.trials.runs(found.trial.id),
        chart=charts.evidence(found.evidence.curve, found.evidence.threshold),
    )


@router.post("/ui/trials/{trial_id}/stop", dependencies=[WRITES])
def stop(trial_id: str, runtime: Operations) -> Response:
    """End it at once: the old values stay."""
    return back(f"/ui/trials/{runtime.trials.stop(trial_id, reason='stopped on the page').id}")


@router.get("/ui/proposals", dependencies=[READS])
def proposals(request: Request, runtime: Operations, start: Start = 0) -> Response:
    """List what was thought of, newest first."""
    found = runtime.proposals.list()
    rows, following = part(request, found, start)
    return drawn(request, "proposals.html", rows=rows, next=following, total=len(found))


@router.post("/ui/proposals/{proposal_id}/approve", dependencies=[WRITES])
def approve(proposal_id: str, given: Form, runtime: Operations) -> Response:
    """Start it as a trial."""
    deadline = given.get("deadline_s", "").strip()
    if deadline and not (deadline.isascii() and deadline.isdigit() and len(deadline) < 8):
        raise HttpProblem(422, "invalid", f"{deadline[:40]!r} is no number of seconds", "Write whole seconds, or none.")
    held = runtime.proposals.approve(proposal_id, deadline_s=float(deadline) if deadline else None)
    return back(f"/ui/trials/{held.trial}" if held.trial else "/ui/proposals")


@router.post("/ui/proposals/{proposal_id}/reject", dependencies=[WRITES])
def reject(proposal_id: str, runtime: Operations) -> Response:
    """Never propose it again."""
    runtime.proposals.reject(proposal_id, reason="rejected on the page")
    return back("/ui/proposals")

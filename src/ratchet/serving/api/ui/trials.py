"""Changes on trial with both arms and their evidence, and what is proposed."""

from __future__ import annotations

from collections import Counter

from fastapi import Request
from starlette.responses import Response

from ratchet.records import Json, Proposal, ProposalState, text_in, whole_in
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
    """List what was thought of: what a person has to decide first, there changes before advice, and what failed most;
    then what is on trial, then what was decided, the newest first."""
    found = sorted(runtime.proposals.list(), key=_urgency)
    rows, following = part(request, found, start)
    on_trial = [each for each in rows if each.state == "trial"][:_GOING]
    patterns: Json = [*{each.pattern for each in rows}]
    known = runtime.store.find("patterns", {"id": ("in", patterns)}).rows if patterns else ()
    return drawn(
        request,
        "proposals.html",
        rows=rows,
        next=following,
        total=len(found),
        first=start == 0,
        counted=Counter(_STANDS[each.state] for each in found),
        stands=_STANDS,
        old={each.id: runtime.proposals.old(each) for each in rows},
        standing={each.id: runtime.trials.show(each.trial).words for each in on_trial},
        templates={text_in(row, "id"): text_in(row, "template") for row in known},
    )


_STANDS: dict[ProposalState, str] = {
    "open": "open",
    "trial": "trial",
    "kept": "decided",
    "reverted": "decided",
    "undecided": "decided",
    "rejected": "decided",
    "closed": "decided",
}


def _urgency(each: Proposal) -> tuple[int, bool, int, float]:
    """Order proposals: what waits for a person, by how much fails; what is tried; what is over, the newest first."""
    place = ("open", "trial", "decided").index(_STANDS[each.state])
    failures = 0 if place else whole_in(each.evidence, "failures")
    return place, each.change is None, -failures, -(each.updated_at or each.created_at)


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

"""Skills, each with its files and what came of its failure since it was written down for agents."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from ratchet.serving.api.access import READS, RUNS, WRITES
from ratchet.serving.api.serving import Operations
from ratchet.serving.api.ui import asking
from ratchet.serving.api.ui.asking import Form, Start, back, part
from ratchet.serving.api.ui.rendering import drawn

router = asking.router()


@router.get("/ui/skills", dependencies=[READS])
def skills(request: Request, runtime: Operations, start: Start = 0) -> Response:
    """All skills by name: for what, in which folders, and whether they help there."""
    found = runtime.cures.skills()
    rows, following = part(request, found, start)
    return drawn(request, "skills.html", rows=rows, next=following, total=len(found))


@router.get("/ui/skills/{skill}", dependencies=[READS])
def skill(skill: str, request: Request, runtime: Operations) -> Response:
    """One skill whole: when to take it up, its files, its exports with their measured effect."""
    return drawn(request, "skill.html", held=runtime.cures.show_skill(skill))


@router.post("/ui/skills/{skill}/approve", dependencies=[WRITES])
def approve(skill: str, runtime: Operations) -> Response:
    """Let agents be told of it."""
    return back(f"/ui/skills/{runtime.cures.approve_skill(skill).id}")


@router.post("/ui/skills/{skill}/retire", dependencies=[RUNS])
def retire(skill: str, given: Form, runtime: Operations) -> Response:
    """Offer it to nobody any more, and take its folders out."""
    return back(f"/ui/skills/{runtime.cures.retire_skill(skill, reason=given.get('reason', '')).id}")

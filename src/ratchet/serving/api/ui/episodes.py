"""Healing as a timeline of coloured nodes, with cause, fix, cost and the exact diff of each attempt."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from ratchet.healing.report import BY_CHANCE, next_steps
from ratchet.serving.api.access import READS, RUNS
from ratchet.serving.api.pages import Cursor
from ratchet.serving.api.problems import HttpProblem
from ratchet.serving.api.serving import Operations
from ratchet.serving.api.ui import asking
from ratchet.serving.api.ui.asking import ROWS, Form, Start, back, following, part
from ratchet.serving.api.ui.rendering import drawn

router = asking.router()
_NODES = 2_500


@router.get("/ui/episodes", dependencies=[READS])
def episodes(request: Request, runtime: Operations, after: Cursor = None) -> Response:
    """All episodes, newest first."""
    rows, cursor, total = runtime.episodes.page(limit=ROWS, cursor=after)
    more = following(request, "after", cursor) if cursor else ""
    return drawn(request, "episodes.html", rows=rows, next=more, total=total)


@router.get("/ui/episodes/{episode_id}", dependencies=[READS])
def episode(episode_id: str, request: Request, runtime: Operations, start: Start = 0) -> Response:
    """One episode as it stands."""
    held = runtime.episodes.show(episode_id)
    rows, more = part(request, held.attempts, start)
    return drawn(
        request,
        "episode.html",
        held=held,
        nodes=held.attempts[:_NODES],
        hidden=max(0, len(held.attempts) - _NODES),
        rows=rows,
        next=more,
        queued=False,
        can_rewind=held.status != "running",
        next_steps=next_steps(held),
        by_chance=BY_CHANCE,
    )


@router.post("/ui/episodes/{episode_id}/rewind", dependencies=[RUNS])
def rewind(episode_id: str, given: Form, runtime: Operations) -> Response:
    """Take it back to the files after an attempt."""
    to = given.get("to", "")
    if not (to.isascii() and to.isdigit()) or len(to) > 9:
        raise HttpProblem(422, "invalid", f"{to[:40]!r} is no attempt", "Use a button of the page.")
    return back(f"/ui/episodes/{runtime.episodes.rewind(episode_id, to=int(to)).id}")

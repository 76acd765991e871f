"""Runs of teams: what many agents did together, task by task."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from ratchet.serving.api.access import READS
from ratchet.serving.api.pages import Cursor
from ratchet.serving.api.serving import Operations
from ratchet.serving.api.ui import asking
from ratchet.serving.api.ui.asking import ROWS, Start, following, part
from ratchet.serving.api.ui.rendering import drawn
from ratchet.sessions import teams as runs_of_teams

router = asking.router()


@router.get("/ui/teams", dependencies=[READS])
def teams(request: Request, runtime: Operations, team: str = "", after: Cursor = None) -> Response:
    """All runs, newest first."""
    found = runtime.sessions.team_runs(team=team or None, limit=ROWS, cursor=after)
    more = following(request, "after", found.next) if found.next else ""
    return drawn(request, "teams.html", rows=found.items, next=more, team=team)


@router.get("/ui/teams/{run_id:path}", dependencies=[READS])
def team_run(run_id: str, request: Request, runtime: Operations, start: Start = 0) -> Response:
    """One run as it stands."""
    held = runtime.sessions.team_run(run_id)
    rows, more = part(request, held.tasks, start)
    said = runs_of_teams.said
    return drawn(request, "team_run.html", held=held, rows=rows, next=more, text_of=said)

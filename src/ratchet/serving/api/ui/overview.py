"""The first page, and the live feed."""

from __future__ import annotations

from functools import cache

from fastapi import Request
from starlette.responses import FileResponse, Response

from ratchet.serving.api.access import READS
from ratchet.serving.api.problems import HttpProblem
from ratchet.serving.api.serving import Operations, Shared
from ratchet.serving.api.ui import asking
from ratchet.serving.api.ui.asking import back
from ratchet.serving.api.ui.charts import over_time
from ratchet.serving.api.ui.rendering import FOLDER, HEADERS, drawn

router = asking.router()
_AGENTS = 20
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".md": "text/plain"}


@router.get("/", dependencies=[READS])
def overview(request: Request, held: Shared) -> Response:
    """Health over time, what is rising, what was saved."""
    held.runtime.drain()
    seen = held.glance.at(held.runtime.store, held.runtime.overview, "overview")
    agents = sorted(seen.health.agents.items(), key=lambda each: (each[1], each[0]))
    chart = over_time([(each.at, each.calls, each.rate) for each in seen.spans], line="Success", place=2, shares=True)
    return drawn(
        request,
        "overview.html",
        seen=seen,
        chart=chart,
        agents=agents[:_AGENTS],
        more_agents=max(0, len(agents) - _AGENTS),
    )


@router.get("/ui", dependencies=[READS])
def beginning() -> Response:
    """Redirect to where the pages begin, for who types it."""
    return back("/")


@router.get("/ui/live", dependencies=[READS])
def live(request: Request, runtime: Operations) -> Response:
    """Show what happens, as it happens."""
    return drawn(request, "live.html", rows=runtime.timeline.page(limit=100).rows)


@router.get("/ui/static/{name:path}")
def static(name: str) -> Response:
    """Scripts, styles and the icon: shipped files only, to everybody."""
    if name not in _static():
        raise HttpProblem(404, "not-found", f"no file {name[:100]!r}", "Reload the page.")
    path = FOLDER / "static" / name
    headers = {**HEADERS, "Cache-Control": "public, max-age=3600"}
    return FileResponse(path, media_type=_KINDS[path.suffix], headers=headers)


@cache
def _static() -> frozenset[str]:
    folder = FOLDER / "static"
    return frozenset(
        each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.suffix in _KINDS and each.is_file()
    )

"""The first page, and the live feed."""

from __future__ import annotations

from functools import cache

from fastapi import Request
from starlette.responses import FileResponse, Response

from ratchet.failures.kinds.groups import GROUPS
from ratchet.improving.overview import Overview
from ratchet.records import text_in
from ratchet.runtime import Runtime
from ratchet.serving.api.access import READS
from ratchet.serving.api.problems import HttpProblem
from ratchet.serving.api.serving import Operations, Shared
from ratchet.serving.api.ui import asking
from ratchet.serving.api.ui.asking import back
from ratchet.serving.api.ui.drawing import Drawn, below, stacked
from ratchet.serving.api.ui.ranges import range_links
from ratchet.serving.api.ui.rendering import FOLDER, HEADERS, drawn, moment
from ratchet.sessions.cost import Cost

router = asking.router()
_AGENTS, _LATEST = 20, 5
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".md": "text/plain"}


@router.get("/", dependencies=[READS])
def overview(request: Request, held: Shared) -> Response:
    """Show what failed in a range, what it cost, what waits for a person, and what was saved."""
    runtime = held.runtime
    runtime.drain()
    asked = request.query_params.get("range", "")
    seen, spent = held.glance.at(runtime.store, lambda: _look(runtime, asked), ("overview", asked), late=True)
    window = seen.failing.window
    columns = [
        Drawn(label=moment(each.at), parts={str(group): n for group, n in each.groups.items()}, below=tick)
        for each, tick in zip(seen.failing.columns, below(window.moments, step_s=window.step_s), strict=True)
    ]
    trials = [runtime.trials.show(each.id) for each in runtime.trials.list(state="open", limit=3)]
    return drawn(
        request,
        "overview.html",
        seen=seen,
        found=seen.failing,
        spent=spent,
        chart=stacked(columns, {str(group): str(group) for group in GROUPS}, "failures"),
        rows=[
            [moment(each.at), each.calls, each.failures, *(each.groups.get(group, 0) for group in GROUPS)]
            for each in seen.failing.columns
            if each.calls
        ],
        groups=[*GROUPS],
        ranges=range_links(request),
        agents=seen.agents[:_AGENTS],
        more_agents=max(0, len(seen.agents) - _AGENTS),
        trials=trials,
        proposals=len(runtime.proposals.list(state="open")),
        latest=runtime.sessions.list(limit=_LATEST).items,
    )


def _look(runtime: Runtime, asked: str) -> tuple[Overview, Cost]:
    """One look at a range, and what was spent in it."""
    seen = runtime.overview(asked)
    within = seen.failing.window
    return seen, runtime.sessions.costs(since=within.since, until=within.until).total


@router.get("/ui", dependencies=[READS])
def beginning() -> Response:
    """Redirect to where the pages begin, for who types it."""
    return back("/")


_PAGED = {
    "pattern": "patterns",
    "lesson": "lessons",
    "trial": "trials",
    "episode": "episodes",
    "evolution": "evolve",
    "benchrun": "bench",
}
"""The nouns whose records have a page, and where; `app.js` has them, too."""


@router.get("/ui/live", dependencies=[READS])
def live(request: Request, runtime: Operations) -> Response:
    """Show what happens, as it happens."""
    rows = runtime.timeline.page(limit=100).rows
    said = {
        text_in(row, "id"): text_in(row, text)
        for noun, text in (("patterns", "template"), ("lessons", "text"))
        for row in runtime.store.find(noun, {"id": ("in", [each["record"] for each in rows])}).rows
    }
    return drawn(request, "live.html", rows=rows, said=said, paged=_PAGED)


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

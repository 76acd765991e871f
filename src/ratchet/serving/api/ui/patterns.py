"""Patterns, as a list with filters, and one pattern whole."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response

from ratchet.failures.kinds.table import KINDS
from ratchet.serving.api import looks
from ratchet.serving.api.access import READS, WRITES
from ratchet.serving.api.serving import Operations, Shared
from ratchet.serving.api.ui import asking
from ratchet.serving.api.ui.asking import Start, back, form, here, part
from ratchet.serving.api.ui.charts import every_day, over_time
from ratchet.serving.api.ui.rendering import drawn

router = asking.router()
Form = Annotated[dict[str, str], Depends(form)]


@router.get("/ui/patterns", dependencies=[READS])
def patterns(
    request: Request, held: Shared, q: str = "", kind: str = "", agent: str = "", start: Start = 0
) -> Response:
    """All patterns that fit a filter, those that recur first."""
    found = looks.patterns(held, agent=agent or None, kind=kind or None)
    words = q.lower().split()
    if words:
        found = [each for each in found if all(word in each.template.lower() for word in words)]
    rows, following = part(request, found, start)
    return drawn(
        request,
        "patterns.html",
        rows=rows,
        next=following,
        total=len(found),
        here=here(request),
        kinds=sorted(KINDS),
        asked={"q": q, "kind": kind, "agent": agent},
    )


@router.get("/ui/patterns/{pattern_id}", dependencies=[READS])
def pattern(pattern_id: str, request: Request, runtime: Operations) -> Response:
    """One pattern: template, trend, what fixed it, examples, sessions."""
    detail = runtime.pattern(pattern_id)
    chart = over_time(every_day(detail.days, until=time.time()), line="Failures", place=1)
    return drawn(request, "pattern.html", detail=detail, held=detail.pattern, chart=chart)


@router.post("/ui/patterns/{pattern_id}/split", dependencies=[WRITES])
def split(pattern_id: str, given: Form, runtime: Operations) -> Response:
    """Undo a merge."""
    return back(f"/ui/patterns/{runtime.split(pattern_id, given.get('signature', ''))}")

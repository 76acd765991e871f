"""The page that finds everything by its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from fastapi import Query, Request
from starlette.responses import Response

from ratchet.errors import NotFound, UsageError
from ratchet.failures.kinds.table import KINDS
from ratchet.serving.api.access import READS
from ratchet.serving.api.serving import Operations
from ratchet.serving.api.ui import asking
from ratchet.serving.api.ui.asking import moment_of
from ratchet.serving.api.ui.ranges import with_query
from ratchet.serving.api.ui.rendering import drawn

if TYPE_CHECKING:
    from ratchet.sessions.finding import SearchHit

router = asking.router()
_SHOWN, _MOST = 20, 200  # of each noun, at first and once more was asked for
_NOUNS = (
    ("pattern", "Patterns", "/ui/patterns/"),
    ("lesson", "Lessons", "/ui/lessons/"),
    ("step", "Steps", "/ui/outcomes/"),
    ("diff", "Edits", "/ui/outcomes/"),
    ("words", "What was said", ""),
)
_PASTE_CHARS = 60_000


@router.get("/ui/search", dependencies=[READS])
def search(
    request: Request,
    runtime: Operations,
    q: str = "",
    project: str = "",
    agent: str = "",
    tool: str = "",
    kind: str = "",
    command: str = "",
    file: str = "",
    failed: str = "",
    since: str = "",
    until: str = "",
    span: Annotated[str, Query(alias="range")] = "",
    most: Annotated[int, Query(ge=_SHOWN, le=_MOST)] = _SHOWN,
) -> Response:
    """Everything that has these words: steps, edits, what people said, patterns, lessons; of a paste what fixes it."""
    found, wrong = None, ""
    asked = {"project": project, "failed": failed, "agent": agent, "tool": tool, "kind": kind}
    asked |= {"command": command, "file": file, "since": since, "until": until}
    if q.strip() or any(asked.values()):
        within = runtime.failing.window(span) if span and not since else None
        try:
            found = runtime.sessions.search(
                q[:_PASTE_CHARS],
                project=project or None,
                agent=agent,
                tool=tool,
                kind=kind,
                command=command,
                file=file,
                failed=failed == "on",
                since=within.since if within else moment_of(since),
                until=moment_of(until),
                limit=most,
            )
        except (UsageError, NotFound) as error:  # the words stay where they can be mended
            wrong = str(error)
    hits = found.hits if found is not None else ()
    nouns = [(said, href, [each for each in hits if each.noun == noun]) for noun, said, href in _NOUNS]
    return drawn(
        request,
        "search.html",
        q=q,
        found=found,
        wrong=wrong,
        nouns=nouns,
        more=with_query(request, most=str(_MOST)) if most < _MOST and _is_cut(nouns, most) else "",
        kinds=sorted(KINDS),
        asked={**asked, "range": span},
    )


def _is_cut(nouns: Sequence[tuple[str, str, Sequence[SearchHit]]], most: int) -> bool:
    """Tell whether there may be more; steps and edits are looked for together."""
    patterns, lessons, steps, edits, words = (len(hits) for _, _, hits in nouns)
    return max(patterns, lessons, steps + edits, words) >= most

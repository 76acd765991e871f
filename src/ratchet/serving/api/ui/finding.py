"""Pages that find: everything by its words, and the fix for an error that is pasted."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response

from ratchet.errors import NotFound
from ratchet.lessons.recall import Recalled
from ratchet.serving.api import looks
from ratchet.serving.api.access import READS
from ratchet.serving.api.serving import Operations, Shared
from ratchet.serving.api.ui import asking
from ratchet.serving.api.ui.asking import form
from ratchet.serving.api.ui.rendering import drawn

router = asking.router()
Form = Annotated[dict[str, str], Depends(form)]
_SHOWN = 20
_PASTE_CHARS = 60_000
_SILENT = {
    "nothing": "Nothing was learnt yet, so there is nothing to look in. Next: ratchet learn",
    "empty": "The text holds no words to look for: paste the error as the program printed it.",
    "unlike": "Nothing known is surely about this.",
    "ambiguous": "Several remedies fit this text equally well, so none is sure: paste more of the output.",
}


@router.get("/ui/search", dependencies=[READS])
def search(request: Request, held: Shared, q: str = "") -> Response:
    """Everything that holds these words: patterns, lessons, and what recall says where it is an error."""
    words, runtime = q.lower().split(), held.runtime
    found = looks.patterns(held, excused=True) if words else []
    patterns = [
        each for each in found if _holds(words, each.template, each.id, each.kind, *each.agents, each.triage.note)
    ]
    lessons = [
        each
        for each in (runtime.lessons.list() if words else [])
        if _holds(words, each.text, each.when, each.id, each.example)
    ]
    return drawn(
        request,
        "search.html",
        q=q,
        patterns=patterns[:_SHOWN],
        more_patterns=max(0, len(patterns) - _SHOWN),
        lessons=lessons[:_SHOWN],
        more_lessons=max(0, len(lessons) - _SHOWN),
        recalled=_recalled(runtime, q) if words else None,
    )


@router.get("/ui/recall", dependencies=[READS])
def recall(request: Request) -> Response:
    """Ask for the fix of an error."""
    return drawn(request, "recall.html", text="", found=None, silent="")


@router.post("/ui/recall", dependencies=[READS])
def recalled(request: Request, given: Form, runtime: Operations) -> Response:
    """Answer a pasted error with what is known: surely, and possibly."""
    text = given.get("text", "")[:_PASTE_CHARS]
    found = _recalled(runtime, text) if text.strip() else None
    silent = _SILENT.get(found.silent, "") if found is not None else _SILENT["nothing" if text.strip() else "empty"]
    return drawn(request, "recall.html", text=text, found=found, silent=silent)


def _recalled(runtime: Operations, text: str) -> Recalled | None:
    """None where nothing was ever recorded."""
    try:
        return runtime.recall(text, limit=5)
    except NotFound:
        return None


def _holds(words: list[str], *texts: str) -> bool:
    text = " ".join(texts).lower()
    return all(word in text for word in words)

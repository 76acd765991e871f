"""The page that answers an error with what is known to fix it, and offers what failed here as questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request
from starlette.responses import Response

from ratchet.errors import NotFound
from ratchet.failures.health import EXCUSED
from ratchet.lessons.recall import Recalled, RecalledLesson
from ratchet.records import Json, Outcome, Pattern, outcome_of, text_in
from ratchet.runtime import Runtime
from ratchet.serving.api import looks
from ratchet.serving.api.access import READS
from ratchet.serving.api.serving import Served, Shared
from ratchet.serving.api.ui import asking
from ratchet.serving.api.ui.asking import Form
from ratchet.serving.api.ui.rendering import drawn
from ratchet.sessions.listing import title_of

router = asking.router()
_PASTE_CHARS = 60_000
_QUESTIONS, _LOOKED_THROUGH = 6, 60  # that are offered of each sort, and newest failures among which those are
_PROOFS = 8  # newest outcomes behind a lesson that are looked at for the last time it was seen
_ALIKE = 3  # patterns that are told as like the text
_SILENT = {
    "nothing": "Nothing was learnt yet, so there is nothing to look in. Next: ratchet learn",
    "empty": "The text holds no words to look for: paste the error as the program printed it.",
    "unlike": "Nothing known is surely about this.",
    "ambiguous": "Several remedies fit this text equally well, so none is sure: paste more of the output.",
    "unproven": "What fits worked in one session only, so it is not sure.",
    "itself": "Known, and the text itself says what to do, so no agent is told.",
    "looked_up": "Known: what to do is worked out where the step fails, from the project's files.",
    "others": "Known, but others wrote it and it holds no command that may be shown, until you read and approve it.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LastProof:
    """The last session in which a lesson was seen: the step that failed, and the one that worked then, where each is
    still kept."""

    session: str
    title: str
    at: float
    failed: Outcome | None
    worked: Outcome | None


@router.get("/ui/recall", dependencies=[READS])
def recall(request: Request, held: Shared, text: str = "", step: str = "") -> Response:
    """Answer the text or the failed step that the address names; without either, offer what failed here to ask for."""
    if step:
        failure = held.runtime.sessions.outcome(step).failure
        text = failure.message if failure is not None else ""
    return _answered(request, held, text) if text or step else _asked(request, held)


@router.post("/ui/recall", dependencies=[READS])
def recalled(request: Request, given: Form, held: Shared) -> Response:
    """Answer a pasted error with what is known: surely, and possibly."""
    return _answered(request, held, given.get("text", ""))


def _asked(request: Request, held: Served) -> Response:
    """The empty form, with what failed here last and most as questions: each leads to the answer for a real step."""
    runtime = held.runtime
    offered: dict[str, Outcome] = {}
    for each in runtime.sessions.outcomes(ok=False, limit=_LOOKED_THROUGH).items:
        if each.failure is not None and each.failure.kind not in EXCUSED:
            offered.setdefault(each.failure.signature, each)
    listed = looks.patterns(held, late=True)
    common = []
    for pattern in listed.built(listed.rows[:_QUESTIONS]):
        newest = runtime.sessions.outcomes(signature=pattern.signature, limit=1).items
        common += [(pattern, newest[0].id)] if newest else []
    named: list[Json] = [*[*offered][:_QUESTIONS]]
    rows = runtime.store.find("signatures", {"signature": ("in", named)}).rows if named else ()
    templates = {text_in(row, "signature"): text_in(row, "template") for row in rows}
    last = [(each, templates.get(signature, "")) for signature, each in offered.items()][:_QUESTIONS]
    return drawn(request, "recall.html", text="", found=None, silent="", last=last, common=common)


def _answered(request: Request, held: Served, text: str) -> Response:
    runtime, text = held.runtime, text[:_PASTE_CHARS]
    found = _recalled(runtime, text) if text.strip() else None
    told = found.lessons + found.possibly if found is not None else ()
    return drawn(
        request,
        "recall.html",
        text=text,
        found=found,
        silent=_SILENT.get(found.silent, "") if found is not None else _SILENT["nothing" if text.strip() else "empty"],
        proofs=_proofs(runtime, told),
        alike=_alike(held, text) if found is not None else [],
    )


def _recalled(runtime: Runtime, text: str) -> Recalled | None:
    """None where nothing was ever recorded."""
    try:
        return runtime.recall(text, limit=5)
    except NotFound:
        return None


def _alike(held: Served, text: str) -> list[tuple[Pattern, float]]:
    """Patterns that are like the text, whether or not anything was learnt of them, with their likeness."""
    likeness = dict(held.runtime.failing.like(text)[:_ALIKE])
    listed = looks.patterns(held, late=True) if likeness else None
    if listed is None:
        return []
    found = listed.built([row for row in listed.rows if row.id in likeness])
    return sorted(((each, likeness[each.id]) for each in found), key=lambda each: -each[1])


def _proofs(runtime: Runtime, told: Sequence[RecalledLesson]) -> dict[str, LastProof]:
    """Find when each of these lessons was seen last. One query, and one a session for its title."""
    ids: Json = [*{each for held in told for each in held.lesson.evidence[-_PROOFS:]}]
    rows = runtime.store.find("outcomes", {"id": ("in", ids)}).rows if ids else ()
    known = {each.id: each for each in map(outcome_of, rows)}
    found = {}
    for held in told:
        kept = [known[each] for each in held.lesson.evidence[-_PROOFS:] if each in known]
        steps = sorted(kept, key=lambda each: each.started_at)
        if not steps:
            continue
        newest = steps[-1].session
        failed = [each for each in steps if each.session == newest and not each.ok]
        worked = [each for each in steps if each.session == newest and each.ok]
        found[held.id] = LastProof(
            session=newest,
            title=title_of(runtime.store, newest) if newest else "",
            at=steps[-1].started_at,
            failed=failed[-1] if failed else None,
            worked=worked[-1] if worked else None,
        )
    return found

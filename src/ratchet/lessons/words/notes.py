"""Picks the agent's own sentence about a fix: said between the failure and the run that showed the end of it.

It is the agent's account, not a proof: kept beside what was seen to work, and fenced wherever it is shown. One that
speaks of what is never advice is not kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import cast

from ratchet.lessons.mining.calls import ToolCall
from ratchet.lessons.mining.checks import forbidden
from ratchet.records import Json, Row, number_in, text_in

NOTE_CHARS = 200
_LEAST_CHARS = 25  # a shorter one is "Fixed." or "Let me see."
_LEAST_SHARED = 2  # names of the finding or of the fix: with one alone the sentence may be about anything
_SENTENCE = re.compile(r"[^.!?。！？:\n]{1,400}(?:[.:](?=\S)[^.!?。！？:\n]{0,200})*[.!?。！？]?")
_NAME = re.compile(r"[^\W\d]\w{3,}")


def notes_of(resolutions: Iterable[Row], sayings: Sequence[Row], calls: Iterable[ToolCall]) -> dict[str, str]:
    """Resolution id -> the sentence that is most about it. `sayings` are an agent's of the same session."""
    by_id = {call.id: call for call in calls}
    found: dict[str, str] = {}
    for row in resolutions:
        failed, end = by_id.get(text_in(row, "failed_id")), by_id.get(text_in(row, "worked_id"))
        if not sayings or row.get("way") != "edit" or not row.get("worked") or failed is None or end is None:
            continue
        near = [
            each for each in sayings if text_in(each, "thread") == failed.thread and _within(each, failed.at, end.ended)
        ]
        note = _best(near, _names(row))
        if note:
            found[text_in(row, "id")] = note
    return found


def _within(saying: Row, since: float, until: float) -> bool:
    return since <= number_in(saying, "at") <= until


def _names(row: Row) -> frozenset[str]:
    """The names of a finding and of what ended it."""
    lines = [line for name in ("removed", "added") for line in cast("list[Json]", row.get(name) or [])]
    text = " ".join(map(str, [row.get("key"), row.get("message"), *lines]))
    return frozenset(name.lower() for name in _NAME.findall(text))


def _best(sayings: Iterable[Row], names: frozenset[str]) -> str:
    best, score = "", _LEAST_SHARED - 1
    for saying in sayings:
        for sentence in _SENTENCE.findall(text_in(saying, "text")):
            said = " ".join(sentence.split())
            shared = len(names & {name.lower() for name in _NAME.findall(said)})
            if shared > score and len(said) >= _LEAST_CHARS and not forbidden(said):
                best, score = said, shared
    return best[:NOTE_CHARS]


def note_for(rows: Sequence[Row], told: Sequence[Collection[str]]) -> Mapping[str, Json]:
    """The note of a lesson, from the newest fix that it tells of and that has one: `note` and the session it is of. Why
    a rule was switched off somewhere is no note: that reason is of its place alone."""
    told = [each for each in told if not any(form.startswith("suppress ") for form in each)]
    for row in reversed(rows):
        forms = set(map(str, cast("list[Json]", row.get("forms") or [])))
        if row.get("note") and row.get("worked") and any(forms & {*each} for each in told):
            return {"note": row["note"], "noted_in": row["session"]}
    return {"note": "", "noted_in": ""}

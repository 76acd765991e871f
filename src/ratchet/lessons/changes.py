"""Shows the edits that ended what a lesson is about: a hunk of each session that it was learnt from."""

from __future__ import annotations

import time
from textwrap import dedent
from typing import TYPE_CHECKING, cast

from ratchet.lessons.hunk_lines import cut
from ratchet.lessons.mining.fix_texts import named
from ratchet.records import Json, Row, number_in, text_in

if TYPE_CHECKING:
    from ratchet.ports import Store

_SESSIONS = 5


def changes_of(store: Store, lesson: Row) -> tuple[str, ...]:
    """The hunks that ended a lesson's finding as it says, those of the remedy that is told first before the others',
    newest session first, one of each; () where no edit did. A hunk is the day and session in a line, and of several
    remedies the one that it shows, then its lines as those of a diff. Raises StoreError."""
    told = cast("list[list[str]]", lesson.get("told") or [])
    if lesson.get("rule") != "edit" or not told:
        return ()
    remedies = [frozenset(each) for each in told]
    rows = store.find("resolutions", {"lesson_id": lesson["id"]}, order=("-at", "id")).rows
    found: dict[tuple[str, int], str] = {}
    for row in rows:
        at = next((at for at, forms in enumerate(remedies) if forms.intersection(_lines(row, "forms"))), None)
        shown = named(remedies[at]) if at is not None and len(remedies) > 1 else ""
        if row["worked"] and at is not None and (hunk := _hunk(row, shown)):
            found.setdefault((text_in(row, "session"), at), hunk)
    newest = [*found.items()][:_SESSIONS]
    return tuple(hunk for _, hunk in sorted(newest, key=lambda each: each[0][1]))


def _hunk(row: Row, shown: str) -> str:
    removed, added = _lines(row, "removed"), _lines(row, "added")
    if not removed and not added:
        return ""
    code = dedent("\n".join((*removed, *added))).split("\n")
    signs = ["- "] * len(removed) + ["+ "] * len(added)
    day = time.strftime("%Y-%m-%d", time.gmtime(number_in(row, "at")))
    lines = cut([sign + line for sign, line in zip(signs, code, strict=True)])
    return "\n".join((f"{day} session {text_in(row, 'session')}{f': {shown}' if shown else ''}", *lines))


def _lines(row: Row, name: str) -> list[str]:
    return [*map(str, cast("list[Json]", row.get(name) or []))]

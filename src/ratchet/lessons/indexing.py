"""Keeps of each session by which words its steps are found, and what its tokens were used for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ratchet.failures.searching import mark, month_mark, words_in
from ratchet.lessons.exposure import project_name
from ratchet.lessons.mining.spending import is_loop, is_mined, spending, spent_by
from ratchet.recording.texts import ResultText, results_of
from ratchet.records import Row, number_in, outcome_of, text_in
from ratchet.store.sums import add_spending, replace_spending

if TYPE_CHECKING:
    from ratchet.ports import Store

KEPT_CHARS = 2_000
"""Characters of a result that are kept where results of steps that worked are."""
_TEXT_CHARS = 4_000  # of a field that is searched: the head of a long command, a message's first lines
_FIELDS = ("tool", "head", "target", "input", "change")


def keep_index(store: Store, session: str, rows: Sequence[Row], project: str, *, keep_steps: bool) -> None:
    """Index the steps of a session that are not yet, and put its spending in the place of what was kept of it before.
    `rows` are its outcomes in the order of time."""
    project = project or project_name(next((folder for row in rows if (folder := text_in(row, "project"))), ""))
    known = {text_in(row, "id") for row in store.sum_by("steps", ("id",), (), {"session": session})}
    fresh = [row for row in rows if text_in(row, "id") not in known]
    worked = [outcome_of(row) for row in fresh if row.get("ok")] if keep_steps else []
    texts = results_of(store, worked, limit=KEPT_CHARS) if worked else {}
    store.insert_new(
        "steps",
        [_step_row(row, session, project) | ({"result": said} if (said := _kept(texts, row)) else {}) for row in fresh],
    )
    answers = store.find("message_tokens", {"session": session}, order=("at",)).rows
    replace_spending(
        store, session, [{**row, "session": session, "project": project} for row in spending(rows, answers)]
    )


def keep_unmined(store: Store, rows: Sequence[Row]) -> None:
    """Count what outcomes took that no mining counts, as they come. They are not indexed, which would slow the drain
    of a busy agent several times: a failure among them is found by its pattern."""
    by_folder: dict[str, list[Row]] = {}
    for row in rows:
        if not is_mined(row) and not is_loop(row):
            by_folder.setdefault(text_in(row, "project"), []).append(row)
    kept = [
        {**each, "session": "", "project": project_name(folder)}
        for folder, own in sorted(by_folder.items())
        for each in spent_by(own)
    ]
    add_spending(store, kept)


def _step_row(row: Row, session: str, project: str) -> Row:
    at = number_in(row, "started_at")
    terms = [*words_in(_said_by(row)), *marks_of(row, project), month_mark(at)]
    return {"id": row["id"], "session": session, "at": at, "words": " ".join(terms), "revision": 1}


def _kept(texts: Mapping[str, ResultText], row: Row) -> str:
    found = texts.get(text_in(row, "id"))
    return found.text if found else ""


def _said_by(row: Row) -> str:
    """The text of a step: what failed first, since the first words are kept."""
    step = row.get("step")
    said = [text_in(row.get("failure"), "message"), *(text_in(step, name) for name in _FIELDS), text_in(row, "task")]
    return "\n".join(each[:_TEXT_CHARS] for each in said)


def marks_of(row: Row, project: str) -> list[str]:
    """The marks of an outcome: what a search may be narrowed to."""
    held = {
        "agent": text_in(row, "agent"),
        "project": project,
        "tool": (text_in(row.get("step"), "tool") or text_in(row, "task")).lower(),
        "kind": text_in(row.get("failure"), "kind"),
        "model": text_in(row, "model"),
        "ok": "" if row.get("ok") else "no",
    }
    return [mark(name, value) for name, value in held.items() if value]

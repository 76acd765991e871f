"""Finds the steps behind a row of "what fails here": the failed runs of a command, or those that named a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ratchet.failures.health import EXCUSED
from ratchet.failures.intent import call_name, is_shell
from ratchet.lessons.exposure import project_name
from ratchet.records import Json, Outcome, Row, number_in, outcome_of, text_in

if TYPE_CHECKING:
    from ratchet.ports import Store, Where

_AT_ONCE, _LOOKED_AT = 50, 500  # sessions with a failure, the newest first


def behind(
    store: Store, *, command: str = "", file: str = "", project: str = "", since: float | None = None, limit: int
) -> list[Outcome]:
    """The failed steps that called this command or tool (`call_name`), and whose failure names this file (as
    `fails_by` does), newest first: at most `limit`, of the newest 500 sessions with a failure. `project` is a name."""
    where: Where = {"failures": (">", 0)} | ({} if since is None else {"max_at": (">=", since)})
    found: list[Outcome] = []
    cursor: str | None = None
    for _ in range(_LOOKED_AT // _AT_ONCE):
        page = store.find("session_tallies", where, order=("-max_at",), limit=_AT_ONCE, cursor=cursor)
        sessions: list[Json] = [row["session"] for row in page.rows]
        failed = store.find("outcomes", {"session": ("in", sessions), "ok": False}).rows
        found += [
            outcome_of(row)
            for row in failed
            if number_in(row, "started_at") >= (since or 0)
            and (not command or _called(row) == command)
            and (not file or _names(row, file))
            and (not project or project_name(text_in(row, "project")) == project)
            and text_in(row.get("failure"), "kind") not in EXCUSED
        ]
        cursor = page.cursor
        if cursor is None or len(found) >= limit:
            break
    return sorted(found, key=lambda each: (-each.started_at, each.id))[:limit]


def _called(row: Row) -> str:
    step = row.get("step")
    return call_name(text_in(step, "tool"), text_in(step, "head")) if step else ""


def _names(row: Row, file: str) -> bool:
    """Tell whether a command's failure names this very file, by its path in the project or by a whole one."""
    said = text_in(row.get("failure"), "message")
    if file not in said or not is_shell(text_in(row.get("step"), "tool")):
        return False
    root = re.escape(text_in(row, "project").rstrip("/"))
    return bool(re.search(rf"(?<![\w./-])(?:{root}/|\./)?{re.escape(file)}(?![\w/-])", said))

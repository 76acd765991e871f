"""Finds the steps behind a row of "what fails here": the failed runs of a command, or those that named a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from ratchet.failures.health import EXCUSED
from ratchet.failures.intent import call_name, is_shell
from ratchet.failures.searching import mark, words_in
from ratchet.lessons.repositories import known_as
from ratchet.records import Json, Outcome, Row, number_in, outcome_of, text_in

if TYPE_CHECKING:
    from ratchet.ports import Store, Where

_SESSIONS = 100  # with a failure, the newest, that are read through; in older ones the words of a step find it


def behind(
    store: Store, *, command: str = "", file: str = "", project: str = "", since: float | None = None, limit: int
) -> list[Outcome]:
    """The failed steps that called this command or tool (`call_name`), and whose failure names this file (a path or
    the end of one), newest first: at most `limit`. `project` is a name.

    All of the newest 100 sessions with a failure; of older ones those that the index has by these words, which it lacks
    where a long failure came first.
    """
    where: Where = {"failures": (">", 0)} | ({} if since is None else {"max_at": (">=", since)})
    page = store.find("session_tallies", where, order=("-max_at",), limit=_SESSIONS)
    sessions: list[Json] = [row["session"] for row in page.rows]
    rows = store.find("outcomes", {"session": ("in", sessions), "ok": False}).rows
    if page.cursor is not None:
        words = [mark("ok", "no"), *words_in(command), *words_in(file)]
        indexed: list[Json] = [row["id"] for row in store.having("steps", words, limit=limit)]
        rows = [*rows, *store.find("outcomes", {"id": ("in", indexed)}).rows]
    named = cache(lambda folder: known_as(store, folder))
    called = cache(call_name)  # a thousand steps call a few dozen programs
    found = {
        text_in(row, "id"): row
        for row in rows
        if number_in(row, "started_at") >= (since or 0)
        and (not command or _called(row, called) == command)
        and (not file or _names(row, file))
        and (not project or named(text_in(row, "project")) == project)
        and text_in(row.get("failure"), "kind") not in EXCUSED
    }
    newest = sorted(found.values(), key=lambda row: (-number_in(row, "started_at"), text_in(row, "id")))
    return [outcome_of(row) for row in newest[:limit]]


def _called(row: Row, called: Callable[[str, str], str]) -> str:
    step = row.get("step")
    return called(text_in(step, "tool"), text_in(step, "head")) if step else ""


def _names(row: Row, file: str) -> bool:
    """Tell whether a command's failure names a file that ends so, or is it within the step's project."""
    said, root = text_in(row.get("failure"), "message"), f"{text_in(row, 'project').rstrip('/')}/"
    if not is_shell(text_in(row.get("step"), "tool")):
        return False
    return any(
        name in said and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w/-])", said)
        for name in dict.fromkeys((file, file.removeprefix(root)))
    )

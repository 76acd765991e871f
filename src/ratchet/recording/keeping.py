"""Keeps what histories say of sessions besides their outcomes: tokens of each answer, and where each step stands.

Called in the transaction that moves a file's cursor: read again after a crash, nothing counts twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ratchet import ids
from ratchet.failures.redaction.text import FOLDER, label
from ratchet.records import Json, MessageTokens, Row, names_of, number_in, text_in, whole_in

if TYPE_CHECKING:
    from ratchet.ports import Store

CLASSES = ("given", "stored", "cached", "made")
"""Tokens of an answer by what they cost: read anew, written to a cache, read from one, made."""
COUNTED = (*CLASSES, "stored_hour", "begun")
"""What is summed up of them: `stored_hour` are among those written to a cache, `begun` answers of which the history
counts what was made only as it began."""


def file_identity(path: str) -> str:
    """The short name of a history file, which its steps and its cursor bear."""
    return ids.hex_of(path)[:16]


def keep_tokens(store: Store, found: Iterable[MessageTokens]) -> Counter[str]:
    """Keep the tokens of answers; return the sessions that have more of them, with 0 each since no step came.

    Of an answer that stands in several lines or files the largest counts, whatever the order; the first call that any
    of them names is its step.
    """
    merged: dict[str, Row] = {}
    for each in found:
        merged[each.id] = _larger(merged.get(each.id), _row_of(each))
    if not merged:
        return Counter()
    held = {str(row["id"]): row for row in store.find("message_tokens", {"id": ("in", [*merged])}).rows}
    changed = []
    for key, row in merged.items():
        before = held.get(key)
        after = _larger(before, row)
        if after != before:
            changed.append((before or {}, after))
    store.swap_many("message_tokens", [after for _, after in changed])
    told = [(before, after) for before, after in changed if after.get("session")]
    store.add("session_tallies", _met([after for _, after in told]))
    store.add("session_models", _added(told))
    return Counter({text_in(after, "session"): 0 for _, after in told})


class StepPlace(NamedTuple):
    """Place of a step: the byte at which its line begins (-1: it has none of its own), and the line's hash. `at` is
    when the step began."""

    step: str
    at: float
    start: int
    digest: str


def keep_places(store: Store, path: str, found: Iterable[StepPlace]) -> None:
    """Keep where steps stand in a file."""
    file = file_identity(path)
    rows: list[Row] = [
        {"id": each.step, "file": file, "start": each.start, "digest": each.digest, "at": each.at} for each in found
    ]
    store.insert_new("step_places", rows)


def note_files(store: Store, rows: Sequence[Row], step: str) -> None:
    """Note as `file` of each row the history in which the step named by its field `step` stands; none of a step that
    was recorded as it ran."""
    asked: list[Json] = [*{text_in(row, step) for row in rows}]
    places = store.find("step_places", {"id": ("in", asked)}).rows if asked else ()
    files = {text_in(row, "id"): text_in(row, "file") for row in places}
    for row in rows:
        if file := files.get(text_in(row, step)):
            row["file"] = file


def _row_of(each: MessageTokens) -> Row:
    row: Row = {name: value for name in names_of(MessageTokens) if (value := getattr(each, name)) != ""}
    for name in ("agent", "session", "thread", "model"):
        if name in row:
            row[name] = label(str(row[name]))
    if "project" in row:
        row["project"] = label(str(row["project"]), FOLDER)
    return row


def _larger(one: Row | None, other: Row) -> Row:
    if one is None:
        return other
    more = one if _size(one) >= _size(other) else {**other, "revision": one.get("revision", 0)}
    step = text_in(one, "step") or text_in(other, "step")
    at: Json = min(number_in(one, "at"), number_in(other, "at"))
    begun = {"begun": _begun(one, other)} if "begun" in other else {}
    more = {**more, "at": at, **({"step": step} if step else {}), **begun}
    return {name: value for name, value in more.items() if name != "revision" or value}


def _begun(one: Row, other: Row) -> int:
    """1 where neither count of an answer tells its output whole: the same beginning in both. One that was kept before
    this was told says nothing of it."""
    if one.get("begun") is None:
        return whole_in(other, "begun")
    return int(bool(one["begun"] and other["begun"] and one.get("made") == other.get("made")))


def _size(row: Row) -> tuple[int, int]:
    return sum(whole_in(row, name) for name in CLASSES), whole_in(row, "stored_hour")


def _met(rows: Iterable[Row]) -> list[Row]:
    """Sessions as their answers tell of them: one in which nothing was called is a session, too."""
    found: dict[str, Row] = {}
    for row in rows:
        session, at = text_in(row, "session"), number_in(row, "at")
        held = found.get(session)
        if held is None:
            named: Row = {name: row.get(name) or "" for name in ("session", "agent", "project", "model")}
            found[session] = {**named, "min_at": at, "max_at": at}
        else:
            held["min_at"], held["max_at"] = min(number_in(held, "min_at"), at), max(number_in(held, "max_at"), at)
    return list(found.values())


def _added(changed: Iterable[tuple[Row, Row]]) -> list[Row]:
    """Count the tokens that changes add to each session and model."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for before, after in changed:
        key = text_in(after, "session"), text_in(after, "model")
        sums = found.get(key) or found.setdefault(key, dict.fromkeys((*COUNTED, "messages"), 0))
        for name in COUNTED:
            sums[name] += whole_in(after, name) - whole_in(before, name)
        sums["messages"] += not before
    return [{"session": session, "model": model, **sums} for (session, model), sums in found.items()]

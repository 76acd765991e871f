"""Keeps what people said: words as they were heard, and the moves that a session makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from ratchet.lessons.mining.calls import ToolCall
from ratchet.lessons.words.moves import Heard, Move, moves
from ratchet.ports import Store
from ratchet.recording.rows import said_row
from ratchet.records import Json, Row, Saying, names_of, number_in, text_in, whole_in

_LISTS = frozenset(("obeyed", "why"))


def hear(store: Store, said: Iterable[Saying]) -> None:
    """Store words, each once, and mark their sessions to be searched. Joins the caller's transaction."""
    rows = [said_row(each) for each in said]
    new = [rows[at] for at in store.insert_new("sayings", rows)] if rows else []
    for session in sorted({str(row["session"]) for row in new} - {""}):
        held = store.get("sessions", session) or {}
        store.swap("sessions", session, whole_in(held, "revision"), {"pending": True, "at": number_in(new[0], "at")})


def keep_moves(store: Store, session: str, calls: Sequence[ToolCall], project: str) -> bool:
    """Put what people said in a session in the place of what was kept of it before; tell whether that is news."""
    words = store.find("sayings", {"session": session, "who": "person"}).rows
    found = [_row_of(each, session, project, words) for each in moves(map(_heard, words), calls)]
    since = calls[0].at if calls else 0.0  # what is older was forgotten as an outcome, not as evidence
    held = store.find("moves", {"session": session, "at": (">=", since)}).rows
    if [_bare(row) for row in sorted(held, key=_id)] == [_bare(row) for row in sorted(found, key=_id)]:
        return False
    store.delete("moves", {"session": session, "at": (">=", since)})
    store.insert_new("moves", found)
    return True


def move_of(row: Row) -> Move:
    """The move that a row of table `moves` holds."""
    told = {name: row.get(name) for name in names_of(Move)}
    for name in _LISTS:
        told[name] = tuple(map(str, cast("list[Json]", told[name] or [])))  # type: ignore[assignment]
    return Move(**told)  # type: ignore[arg-type]


def _row_of(each: Move, session: str, project: str, words: Sequence[Row]) -> Row:
    row: Row = {name: getattr(each, name) for name in names_of(Move)}
    for name in _LISTS:
        row[name] = list(getattr(each, name))
    folder = next((text_in(word, "folder") for word in words), "")
    return {**row, "session": session, "project": project, "person": person_of(folder)}


def person_of(folder: str) -> str:
    """Tell whose home a folder lies in, "" where that cannot be told: people are counted by it."""
    parts = folder.replace("\\", "/").split("/")
    return next((parts[at + 1] for at, name in enumerate(parts[:-1]) if name.lower() in ("users", "home")), "")


def _heard(row: Row) -> Heard:
    return Heard(
        id=str(row["id"]),
        way="interrupted" if row.get("way") == "interrupted" else "review" if row.get("way") == "review" else "typed",
        at=number_in(row, "at"),
        text=text_in(row, "text"),
        chars=whole_in(row, "chars"),
        after=text_in(row, "after"),
    )


def _id(row: Row) -> str:
    return str(row["id"])


def _bare(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "revision" and value not in (None, "", [], 0)}

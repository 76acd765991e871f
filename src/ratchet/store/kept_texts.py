"""Layout 9: lessons are found by the features of whole texts. What was found by words of masked ones is given its text.

Where a failure that a lesson was learnt from is still there, its redacted message is kept with the lesson; else the
lesson goes on being known by its masked text. The same for both databases, which differ in the mark of a parameter.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ratchet import ids
from ratchet.failures.features import KEPT
from ratchet.records import Row, text_in
from ratchet.store.derived import terms_of

if TYPE_CHECKING:
    from ratchet.store.declaring import Table

_ROWS = 500  # rows read at once


class Executing(Protocol):
    """As much of a database's connection as a change of rows needs."""

    def execute(self, query: str, params: Sequence[Any] = ..., /) -> Any: ...


def keep_texts(connection: Executing, mark: str) -> None:
    """Give each lesson its source, its whole text and the terms by which it is found."""
    last, texts, masked = "", 0, 0
    while rows := connection.execute(
        f'SELECT "id", "signature", "when_text", "source", "body" FROM "lessons" WHERE "id" > {mark} ORDER BY "id" '
        f"LIMIT {_ROWS}",
        (last,),
    ).fetchall():
        for lesson_id, signature, when, source, body in rows:
            held = json.loads(body) if body else {}
            mined = str(held.get("provenance") or "").startswith("mined from sessions")
            said = _message(connection, mark, held.get("evidence") or (), signature)
            texts, masked = texts + bool(said), masked + (not said)
            row: Row = {"said": said, "when_text": when or ""}
            connection.execute(
                f'UPDATE "lessons" SET "source" = {mark}, "said" = {mark}, "terms" = {mark} WHERE "id" = {mark}',
                (source or ("session" if mined else "person"), said or None, terms_of(row), lesson_id),
            )
        last = rows[-1][0]
    if texts or masked:
        told = f"lessons are found by whole texts: {texts} by what failed, {masked} by the masked text that was kept"
        _say(connection, mark, "layout 9", told)


def keep_features(connection: Executing, mark: str) -> None:
    """Give each lesson the features that its text has today (layout 23): the header that a client's shell tool writes
    above every output is none of them, and a traceback's names are."""
    from ratchet.store.schema import TABLES

    changed = _make_anew(connection, mark, TABLES["lessons"], "terms")
    if changed:
        _say(connection, mark, "layout 23", f"lessons are found by the features of their texts: {changed} had others")


def keep_words(connection: Executing, mark: str) -> None:
    """Give each row of a table that is found by its words what its declaration makes of it (layout 14)."""
    from ratchet.store.schema import TABLES

    for table in (each for each in TABLES.values() if each.words in each.made):
        _make_anew(connection, mark, table, table.words)


def keep_terms(connection: Executing, mark: str) -> None:
    """Give each pattern the terms by which it is found (layout 20)."""
    from ratchet.store.schema import TABLES

    _make_anew(connection, mark, TABLES["patterns"], "terms")


def _say(connection: Executing, mark: str, layout: str, reason: str) -> None:
    columns = '"id", "noun", "record", "verb", "at", "body"'
    connection.execute(
        f'INSERT INTO "events" ({columns}) VALUES ({", ".join([mark] * 6)})',
        (ids.uuid7(), "store", layout, "migrated", time.time(), json.dumps({"reason": reason})),
    )


def _make_anew(connection: Executing, mark: str, table: Table, column: str) -> int:
    """Write what the declaration makes of each row; return how many rows held something else."""
    from ratchet.store.rows import read_names, row_of

    make, names, last, count = table.made[column], read_names(table), "", 0
    columns = ", ".join(f'"{name}"' for name in names)
    asked = f'SELECT {columns} FROM "{table.name}" WHERE "id" > {mark} ORDER BY "id" LIMIT {_ROWS}'
    while rows := connection.execute(asked, (last,)).fetchall():
        for values in rows:
            row = row_of(table, values)
            last = str(row["id"])
            made = make(row)
            if made != row.get(column):
                changed = f'UPDATE "{table.name}" SET "{column}" = {mark} WHERE "id" = {mark}'
                connection.execute(changed, (made, last))
                count += 1
    return count


def _message(connection: Executing, mark: str, evidence: Iterable[object], signature: object) -> str:
    """The message of the first of these outcomes with that signature, "" where none is left."""
    for outcome_id in evidence:
        asked = f'SELECT "body" FROM "outcomes" WHERE "id" = {mark} AND "signature" = {mark}'
        found = connection.execute(asked, (str(outcome_id), signature)).fetchone()
        if found and found[0]:
            message = text_in(json.loads(found[0]).get("failure"), "message")
            if message:
                return message[:KEPT]
    return ""

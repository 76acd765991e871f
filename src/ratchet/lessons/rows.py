"""Rows of lessons, read."""

from __future__ import annotations

from typing import cast

from ratchet.records import Json, Lesson, LessonState, Row, Scope


def lesson_of(row: Row) -> Lesson:
    """The lesson that a row of the table `lessons` holds."""

    def said(name: str) -> str:
        return str(row.get(name) or "")

    def number(name: str) -> int:
        return int(cast(int, row.get(name) or 0))

    def several(name: str) -> tuple[str, ...]:
        return tuple(map(str, cast("list[Json]", row.get(name) or [])))

    return Lesson(
        id=said("id"),
        text=said("text"),
        state=cast(LessonState, said("state")),
        scope=cast(Scope, said("scope")),
        signature=said("signature"),
        kind=said("kind"),
        tried=number("tried"),
        worked=number("worked"),
        when=said("when_text"),
        example=said("example"),
        tool=said("tool"),
        head=said("head"),
        target=said("target"),
        projects=several("projects"),
        reason=said("reason"),
        evidence=several("evidence"),
        provenance=said("provenance"),
        revision=number("revision"),
    )

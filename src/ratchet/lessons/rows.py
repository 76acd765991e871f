"""Rows of lessons, read."""

from __future__ import annotations

import re
from dataclasses import replace

from ratchet.failures.features import KEPT
from ratchet.lessons.fence import shown
from ratchet.lessons.rests import IN_A_HOME, folder_of, stale
from ratchet.lessons.standing import LessonStanding, place, unsaid
from ratchet.records import Json, Lesson, Row, record_of, text_in


def lesson_of(row: Row) -> Lesson:
    """The lesson that a row of the table `lessons` holds."""
    said = {name: value for name, value in row.items() if value is not None}
    lacking: Row = {"text": "", "signature": "", "kind": "", "tried": 0, "worked": 0}
    standing = LessonStanding(row)
    when = str(said.get("when_text", ""))
    return record_of(
        Lesson,
        {**lacking, **said},
        when=when,
        met=str(said.get("met") or when),
        stale=stale(row, folder_of(row)),
        is_edit=said.get("rule") == "edit",
        is_habit=standing.is_habit,
        project=text_in(row, "project"),
        place=place(standing),
        unsaid=unsaid(standing),
    )


WITHHELD = "(a person's words: they stay in this home until --with-evidence is asked for)"


def without_evidence(lesson: Lesson) -> Lesson:
    """A lesson as it leaves the home: without anybody's words and without where they were said."""
    if not lesson.quote and not lesson.note:
        return lesson
    text = WITHHELD if lesson.is_quote else lesson.text
    return replace(lesson, quote="", text=text, step="", sessions=(), note="", noted_in="")


_TEXTS = ("text", "when_text", "met", "example", "failed", "tried_in_vain")


def in_any_clone(row: Row) -> Row:
    """A lesson's row as it reads on every machine: paths in a folder of its project begin with `.`, those in a
    person's home with `~`."""
    projects = row.get("projects")
    folders = {str(each).rstrip("/") for each in projects} if isinstance(projects, list) else set()
    named = [re.escape(each) for each in folders if each.startswith("/")]
    named.sort(key=len, reverse=True)  # a worktree before the folder around it
    own = re.compile(rf"(?<![\w./~-])(?:{'|'.join(named)})(?![\w-]|\.\w)" if named else r"(?!)")

    def read(value: Json) -> Json:
        if isinstance(value, str):
            return re.sub(IN_A_HOME, "~", own.sub(".", value)) if "/" in value else value
        if isinstance(value, list):
            return [read(each) for each in value]
        return {name: read(each) for name, each in value.items()} if isinstance(value, dict) else value

    return {**row, **{name: read(row[name]) for name in _TEXTS if name in row}}


def told(when: str, source: str) -> Row:
    """The part of a row by which a lesson is found: the redacted text that it is about, and who said so."""
    return {"said": when[:KEPT], "source": source}


def for_agents(lesson: Lesson) -> Lesson:
    """A lesson as an agent may see it (`fence.shown`)."""
    if not lesson.foreign:
        return lesson
    seen = shown({"foreign": True, "kind": lesson.kind, "parts": [*lesson.parts]})
    text, when, provenance = str(seen["text"]), str(seen["when_text"]), str(seen["provenance"])
    shown_of = replace(lesson, text=text, when=when, met=when, example="", target="", head="", provenance=provenance)
    return replace(shown_of, skill="", steps=(), changes=())

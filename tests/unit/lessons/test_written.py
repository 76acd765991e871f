"""People's own lessons: wordings of one remedy are one, and of two that contradict each other the newer counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.lessons import lessons
from ratchet.ports import Store
from ratchet.records import Lesson, LessonState
from ratchet.testing.stores import open_store

PORT = "Error: listen EADDRINUSE: address already in use :::3000"
WORDINGS = [
    "Stop the old server first: `npm run stop`",
    "Run `npm run stop` first.",
    "`npm run stop`, then start it again",
    "First do `npm run stop`",
    "Use `npm run stop` before anything else.",
    "Please run `npm  run stop`",
    "The old server holds it; `npm run stop` ends it.",
    "`npm run stop`",
    "Do `npm run stop`, please",
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path)
    yield opened
    opened.close()


def add(store: Store, do: str, *, state: LessonState = "active", project: str = "/a", when: str = PORT) -> Lesson:
    return lessons.add(store, when=when, do=do, state=state, project=project)


def test_nine_wordings_of_one_remedy_are_one_lesson(store: Store) -> None:
    ids = [add(store, each).id for each in WORDINGS]
    (found,) = lessons.listed(store)
    assert (found.id, found.text, found.state) == (ids[0], WORDINGS[0], "active")


def test_the_newer_of_two_that_contradict_counts_and_says_so(store: Store) -> None:
    older = add(store, "Run `npm run stop` first.")
    newer = add(store, "Do not run `npm run stop`: use another port with `PORT=3001`.")
    assert newer.replaces == (older.id,)
    retired = lessons.show(store, older.id)
    assert retired.state == "retired"
    assert retired.reason == f"{newer.id} was written later for the same failure and says otherwise"


def test_a_candidate_replaces_nothing(store: Store) -> None:
    older = add(store, "Run `npm run stop` first.")
    assert add(store, "Use `lsof -ti:3000` and end that.", state="candidate").replaces == ()
    assert lessons.show(store, older.id).state == "active"


def test_other_projects_and_other_failures_are_no_rivals(store: Store) -> None:
    add(store, "Run `npm run stop` first.")
    add(store, "Use `make stop`.", project="/b")
    add(store, "Use `npm ci`.", when="Error: Cannot find module 'vite'")
    assert [each.state for each in lessons.listed(store)] == ["active"] * 3

"""Triggers as the hooks read them, without the lessons that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ratchet.lessons.ahead import trigger
from ratchet.lessons.ahead.trigger import Trigger
from ratchet.lessons.delivery import publish_triggers
from ratchet.records import Row, text_in
from ratchet.store.sqlite import SqliteStore


def trigger_file(home: Path, project: str, triggers: Sequence[Trigger]) -> None:
    path = Path(trigger.path_of(str(home), project))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{each.written()}\n" for each in triggers))


def a_trigger(**given: str) -> Trigger:
    fields = {"needle": "--out-format", "kind": "flag", "tool": "", "head": "golangci-lint run"}
    more = {
        "word": "--out-format",
        "lesson": "l-1",
        "pattern": "p-1",
        "text": "`golangci-lint run` has no `--out-format`",
    }
    return Trigger(**{**fields, **more, **given})


def sighting(lesson: Row, ran: str) -> Row:
    """A step that ran in the project of a mined lesson, and what worked after it, of which it was learnt."""
    told = lesson.get("told")
    return {
        "id": f"r-{lesson['id']}", "session": "s", "project": lesson.get("project"), "failed_id": "a", "worked_id": "b",
        "signature": "", "key": "", "lesson_id": lesson["id"], "at": 1.0, "wasted_s": 0.0, "failed_s": 0.0,
        "wasted_tokens": 0, "failed_tokens": 0, "group": lesson.get("group"), "text": lesson.get("text"),
        "forms": [form for each in told if isinstance(each, list) for form in each] if isinstance(told, list) else [],
        "worked": True, "failed_input": ran, "do": lesson.get("example") or "", "tool": "", "head": "",
    }  # fmt: skip


def prove(home: Path, project: str) -> dict[str, str]:
    """Put proven lessons about three steps into a home, none of them withheld; each step and what is said before it."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "ratchet.toml").write_text("withheld_share = 0.0\nproven_withheld_share = 0.0\n")
    rows: list[Row] = [
        {"id": "l-1", "rule": "flag", "group": "step flag git push --ahead", "text": "x"},
        {"id": "l-2", "rule": "through", "group": "step through pytest uv run"},
        {"id": "l-3", "rule": "made", "group": "step make bin/shop", "example": "go build -o bin/shop ./cmd"},
        {"id": "l-4", "rule": "place", "group": "step place"},
    ]
    held: Row = {
        "state": "active", "decided": "active", "scope": "project", "project": project, "source": "session",
        "signature": "", "kind": "command_failed", "tool": "Bash", "head": "", "target": "", "when_text": "x",
        "text": "x", "tried": 2, "worked": 2, "right": 1, "wrong": 0, "uses": 0, "wins": 0, "created_at": 1.0,
        "updated_at": 1.0,
    }  # fmt: skip
    store = SqliteStore(home / "ratchet.db")
    lessons: list[Row] = [{**held, **row} for row in rows]
    store.insert_new("lessons", lessons)
    store.insert_new("resolutions", [sighting(row, text_in(row, "group")) for row in lessons])
    publish_triggers(store, home)
    store.close()
    return {
        "git push --ahead 2>&1 | cat": "`git push` has no `--ahead`",
        "pytest -q": "`pytest` failed here as such; `uv run pytest` worked",
        "bin/shop --help": "`bin/shop` is not there; `go build -o bin/shop ./cmd` makes it",
    }

"""Triggers as the hooks read them, without the lessons that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ratchet.lessons.ahead import trigger
from ratchet.lessons.ahead.trigger import Trigger
from ratchet.lessons.delivery import publish_triggers
from ratchet.records import Row
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
    store.insert_new("lessons", [{**held, **row} for row in rows])
    publish_triggers(store, home)
    store.close()
    return {
        "git push --ahead 2>&1 | cat": "`git push` has no `--ahead`",
        "pytest -q": "`pytest` failed here as such; `uv run pytest` worked",
        "bin/shop --help": "`bin/shop` is not there; `go build -o bin/shop ./cmd` makes it",
    }

"""Triggers as the hooks read them, without the lessons that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ratchet.lessons.ahead import trigger
from ratchet.lessons.ahead.trigger import Trigger


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

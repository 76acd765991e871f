"""Small histories for the tests of sources, written by hand in the shapes of real ones."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ratchet.ports import Source
from ratchet.records import Json, MessageTokens, Outcome, Quarantined, Row, Saying

SESSION = "11111111-2222-4333-8444-555555555555"


@dataclass
class Taught:
    """What reading a file yielded."""

    outcomes: list[Outcome] = field(default_factory=list)
    said: list[Saying] = field(default_factory=list)
    tokens: list[MessageTokens] = field(default_factory=list)
    bad: list[Quarantined] = field(default_factory=list)
    note: str = ""
    offset: int = 0
    carry: Row = field(default_factory=dict)

    @property
    def only(self) -> Outcome:
        assert len(self.outcomes) == 1, self.outcomes
        return self.outcomes[0]

    @property
    def ids(self) -> list[str]:
        return [outcome.id for outcome in self.outcomes]

    @property
    def failed(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if not outcome.ok]


def read(source: Source, path: Path, offset: int = 0, carry: Row | None = None) -> Taught:
    """All that a source reads from `offset` on; the carry goes through JSON, as it does in the store."""
    held: Row = json.loads(json.dumps(carry or {}))
    taught = Taught(carry=held, offset=offset)
    for piece in source.read(str(path), offset, held):
        json.dumps(held)
        for item in piece.items:
            if isinstance(item, Outcome):
                taught.outcomes.append(item)
            elif isinstance(item, Saying):
                taught.said.append(item)
            elif isinstance(item, MessageTokens):
                taught.tokens.append(item)
            else:
                taught.bad.append(item)
        taught.note = piece.note
        taught.offset = piece.offset
    return taught


def lines(path: Path, records: Iterable[Json]) -> Path:
    """A file with one record a line."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def stamp(second: float) -> str:
    """A time within one minute."""
    return f"2026-02-01T10:00:{second:06.3f}Z"


def claude(kind: str, second: float, **more: Json) -> Row:
    """A record of Claude Code."""
    return {
        "parentUuid": None,
        "isSidechain": False,
        "cwd": "/home/dev/shop",
        "sessionId": SESSION,
        "version": "2.1.39",
        "type": kind,
        "uuid": f"u-{kind}-{second}",
        "timestamp": stamp(second),
        **more,
    }


def use(
    key: str, tool: str, given: Json, second: float, *, message: str = "msg_1", tokens: int = 0, **more: Json
) -> Row:
    """An assistant's record with one tool_use."""
    block: Json = {"type": "tool_use", "id": key, "name": tool, "input": given}
    usage: Json = {"input_tokens": tokens, "output_tokens": 0}
    body: Json = {"id": message, "role": "assistant", "model": "claude-opus-4", "content": [block], "usage": usage}
    return claude("assistant", second, message=body, **more)


def result(key: str, said: Json, second: float, *, is_error: bool | None = None, **more: Json) -> Row:
    """A user's record with one tool_result."""
    block: Row = {"type": "tool_result", "tool_use_id": key, "content": said}
    if is_error is not None:
        block["is_error"] = is_error
    return claude("user", second, message={"role": "user", "content": [block]}, **more)


def codex(kind: str, payload: Row, second: float) -> Row:
    """A wrapped record of Codex."""
    return {"timestamp": stamp(second), "type": kind, "payload": payload}

"""Writes down a session of an agent as stored rows, for tests of what is learnt from it."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ratchet.failures.intent import intent
from ratchet.failures.kinds.kind import kind_of
from ratchet.failures.signature import sign, template_of
from ratchet.records import Json, Row


def shell(command: str, error: str = "", **more: Json) -> Row:
    """A call of Bash; one that failed if it has an error text."""
    return call("Bash", {"command": command}, error, **more)


def call(tool: str, tool_input: Row, error: str = "", **more: Json) -> Row:
    """A call of any tool, without its place in a session yet."""
    head, target = intent(tool, tool_input)
    command = tool_input.get("command")
    step: Row = {
        "tool": tool,
        "head": head,
        "target": target,
        "input": str(command) if tool == "Bash" else json.dumps(tool_input, separators=(",", ":")),
    }
    old, new = tool_input.get("old_string"), tool_input.get("new_string", tool_input.get("content"))
    change = [f"- {line}" for line in str(old).split("\n")] if old else []
    change += [f"+ {line}" for line in str(new).split("\n")] if new else []
    if change:
        step["change"] = "\n".join(change)
    row: Row = {"agent": "claude-code", "task": tool, "ok": not error, "source": "claude-code", "step": step}
    if error:
        kind = str(more.pop("kind", "") or kind_of(error, tool=tool))
        template = template_of(error)
        row["failure"] = {"message": error, "kind": kind, "template": template, "signature": sign(kind, template)}
    return row | more


def session(
    calls: Iterable[Row], name: str = "s1", *, project: str = "/w/shop", start: float = 1_700_000_000.0
) -> list[Row]:
    """The calls as the rows of one session, ten seconds apart, each taking one second."""
    rows = []
    for number, each in enumerate(calls):
        place: Row = {
            "id": f"o-{name}-{number}",
            "session": name,
            "project": project,
            "started_at": start + 10 * number,
            "duration_s": 1.0,
            "tokens": 100,
        }
        rows.append({**place, **each})
    return rows

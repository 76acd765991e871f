"""A tool call that a client tells of, as the Outcome that the reader of its histories would give, under the same id.

Lean: hook processes import this.
"""

from __future__ import annotations

from ratchet import ids
from ratchet.failures import tool_call
from ratchet.failures.redaction.text import FOLDER, label
from ratchet.failures.verdict import failure_row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ratchet.records import Json, Row


def failed_row(
    agent: str,
    tool: str,
    given: Json,
    said: str,
    *,
    session: str,
    key: str = "",
    flag: bool | None = None,
    exit_code: int | None = None,
    kind: str = "",
    thread: str = "",
    project: str = "",
) -> Row | None:
    """The Outcome of a call that failed, as it is journalled; None of one that did not. `key` is the client's name of
    the call, `flag` whether it says that the call failed (None: it does not say)."""
    import time

    step = tool_call.step_row(tool, given, _written)
    failure = failure_row(
        said,
        flag=flag,
        tool=tool,
        head=_text(step, "head"),
        given=_text(step, "input"),
        exit_code=exit_code,
        kind=kind,
    )
    if failure is None:
        return None
    row: Row = {
        "id": ids.outcome_id(agent, session, key or ids.uuid7()),
        "agent": agent,
        "task": label(tool),
        "ok": False,
        "started_at": time.time(),
        "source": agent,
        "session": session,
        "thread": label(thread),
        "project": label(project, FOLDER),
        "failure": {name: value for name, value in failure.items() if value not in ("", None)},
        "step": step,
    }
    return {name: value for name, value in row.items() if value != ""}


def unnamed(tool: str, given: Json, before: int) -> str:
    """Key of a failed call that its client's events do not name: what was asked, and how often that failed before in
    the same session."""
    from ratchet.recording import wire

    return f"{tool}-{ids.hex_of(wire.written([tool, given]))[:24]}-{before}"


def _written(value: Json) -> str:
    """JSON as `json` writes it, which is loaded for what is none alone: it costs a hook more than its whole start."""
    from ratchet.recording import wire

    try:
        return wire.written(value)
    except ValueError:  # NaN
        import json

        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""

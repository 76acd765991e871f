"""Takes a tool call of any program's agent: records it, and hands back what is known about its failure."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict

from ratchet.failures import tool_call as toolcall
from ratchet.failures.redaction.text import text_of
from ratchet.failures.unflagged import says_failure
from ratchet.ids import uuid7
from ratchet.lessons import reply
from ratchet.recording import recorder
from ratchet.recording import run as runs

if TYPE_CHECKING:
    from os import PathLike

    from ratchet.records import Json, Row

log = logging.getLogger(__name__)

_SOURCE = "python"
_OWN = frozenset(("tool", "input", "output", "call"))  # fields that `record` does not know


class Called(TypedDict):
    """Fields of a tool call. `input` is what the tool was given: a text, or anything that JSON can say. `session` names
    the agent's conversation, `call` this call in it; `project` is the working directory unless given."""

    tool: str
    input: NotRequired[object]
    session: NotRequired[str]
    call: NotRequired[str]
    thread: NotRequired[str]
    project: NotRequired[str | PathLike[str]]
    duration_s: NotRequired[float]


class FailedCall(Called):
    """Fields of a failed tool call. `error` is a text or an exception."""

    error: str | BaseException
    status: NotRequired[int]
    exit_code: NotRequired[int]


class SucceededCall(Called):
    """Fields of a tool call that ended well. `output` is what the tool returned."""

    output: NotRequired[object]


def failed(home: str, append: Callable[[Row], bool], agent: str, given: FailedCall) -> str:
    """Journal a failed call; the fenced lessons for it, "" where none is known or the coin withholds them. Never
    raises: it stands inside a host's own error path."""
    try:
        error = given.get("error")
        kind = toolcall.certain_kind(error) if isinstance(error, str) else runs.told_by(error).get("kind")
        return _told(home, append, agent, given, {"ok": False, "kind": kind or None})
    except Exception:
        log.warning("failed() could not look a lesson up; the host goes on without", exc_info=True)
        return ""


def succeeded(home: str, append: Callable[[Row], bool], agent: str, given: SucceededCall) -> str:
    """Journal a call that ended well. One whose output says otherwise ("fatal: ..." and exit code 0) is a failure, and
    gets that one's answer. Never raises."""
    try:
        output = given.get("output")
        if isinstance(output, str):
            step = toolcall.step_row(text_of(given["tool"]), _json(given.get("input")))
            tool, head, asked = (str(step.get(name) or "") for name in ("tool", "head", "input"))
            if says_failure(toolcall.ends(output, toolcall.JUDGED_CHARS), tool=tool, head=head, given=asked):
                return _told(home, append, agent, given, {"ok": False, "error": output}, flagged=False)
        return _told(home, append, agent, given, {"ok": True})
    except Exception:
        log.warning("succeeded() could not be recorded; the host goes on without", exc_info=True)
        return ""


def _told(
    home: str,
    append: Callable[[Row], bool],
    agent: str,
    given: Called,
    how: dict[str, object],
    *,
    flagged: bool = True,
) -> str:
    said = {name: value for name, value in given.items() if name not in _OWN}
    said |= {"id": given.get("call") or uuid7(), "task": text_of(given["tool"]), "source": _SOURCE}
    row = recorder.row_of(agent, {"project": _here(), **said, **how})
    row["step"] = toolcall.step_row(text_of(given["tool"]), _json(given.get("input")))
    failure = row.get("failure")
    if isinstance(failure, dict):
        failure["message"] = toolcall.message_text(str(failure.get("message") or ""))
        failure["flagged"] = flagged
    return reply.to_failure(home, row, append) if append(row) else ""


def _here() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:  # a folder that is gone
        return None


def _json(value: object) -> Json:
    """A tool's input as a reader of histories would find it: JSON that came as text is opened, what is no JSON is told
    by its own text."""
    if isinstance(value, str):
        if not value.lstrip().startswith(("{", "[")):
            return value
        try:
            opened: Json = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return opened
    plain: Json = json.loads(json.dumps(value, default=text_of))
    return plain

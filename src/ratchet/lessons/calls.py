"""Takes a tool call of any program's agent: records it, and hands back what is known about its failure."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict

from ratchet.failures import tool_call as toolcall
from ratchet.failures.redaction.text import redact_json, text_of
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
_NEEDED = {True: ("tool",), False: ("tool", "error")}  # by whether the call ended well


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
    return _answered(home, append, agent, given, ok=False)


def succeeded(home: str, append: Callable[[Row], bool], agent: str, given: SucceededCall) -> str:
    """Journal a call that ended well. One whose output says otherwise ("fatal: ..." and exit code 0) is a failure, and
    gets that one's answer. Never raises."""
    return _answered(home, append, agent, given, ok=True)


def _answered(home: str, append: Callable[[Row], bool], agent: str, given: Mapping[str, object], *, ok: bool) -> str:
    try:
        row = _row(agent, given, ok=ok)
    except Exception:  # the edge to the host: its values may do anything
        log.warning("a tool call could not be understood; only that it happened is kept", exc_info=True)
        row = recorder.least_row(agent, ok=ok)
    try:
        return reply.to_failure(home, row, append, given=_json(given.get("input"), [])) if append(row) else ""
    except Exception:
        log.warning("no lesson could be looked up for a tool call; the host goes on without", exc_info=True)
        return ""


def _row(agent: str, given: Mapping[str, object], *, ok: bool) -> Row:
    """The Outcome of a call as it is journalled, what is wrong with its arguments named in it."""
    invalid = [name for name in _NEEDED[ok] if given.get(name) is None]
    tool = text_of(given.get("tool") or "unknown")
    step = toolcall.step_row(tool, _json(given.get("input"), invalid))
    said = {name: value for name, value in given.items() if name not in _OWN}
    said |= {"id": given.get("call") or uuid7(), "task": tool, "source": _SOURCE, "ok": ok}
    error, output = given.get("error"), given.get("output")
    if ok and isinstance(output, str) and _tells_of_failure(output, step):
        said |= {"ok": False, "error": output}
    elif not ok and isinstance(error, str):
        said["kind"] = toolcall.certain_kind(error) or None
    elif not ok and isinstance(error, BaseException):
        said["kind"] = runs.told_by(error).get("kind")
    row = recorder.row_of(agent, {"project": _here(), **said}, invalid)
    row["step"] = step
    failure = row.get("failure")
    if isinstance(failure, dict):
        failure["message"] = toolcall.message_text(str(failure.get("message") or ""))
        failure["flagged"] = not ok
    return row


def _tells_of_failure(output: str, step: Row) -> bool:
    tool, head, asked = (str(step.get(name) or "") for name in ("tool", "head", "input"))
    return says_failure(toolcall.ends(output, toolcall.JUDGED_CHARS), tool=tool, head=head, given=asked)


def _here() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:  # a folder that is gone
        return None


def _json(value: object, invalid: list[str]) -> Json:
    """A tool's input as a reader of histories would find it: JSON that came as text is opened, what is no JSON is told
    by its own text. What cannot be told is added to `invalid`."""
    if isinstance(value, str):
        if not value.lstrip().startswith(("{", "[")):
            return value
        try:
            opened: Json = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return opened
    try:
        plain: Json = json.loads(json.dumps(value, default=text_of))
    except (TypeError, ValueError, RecursionError):  # a key that is no text, a circle, a depth without end
        return redact_json(value, invalid, "input")
    return plain

"""The usual spellings of one finished run as a JSON object: what it says about success, error, time and cost."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ratchet.recording.sources import fields
from ratchet.records import Json, Row

TASK = (
    "task",
    "task_name",
    "task_type",
    "operation",
    "op",
    "tool",
    "tool_name",
    "function",
    "action",
    "step",
    "job",
    "test",
    "case",
)
AGENT = (
    "agent",
    "agent_id",
    "agent_name",
    "agentId",
    "agentName",
    "service",
    "service_name",
    "logger",
    "app",
    "worker",
)
TOOL = ("tool", "tool_name", "toolName")
INPUT = ("tool_input", "input", "args", "arguments", "parameters", "params", "command")
SESSION = ("session", "session_id", "sessionId", "conversation_id", "thread_id", "run_id", "trace_id", "episode_id")
PROJECT = ("project", "cwd", "repo", "repository", "workdir")
MODEL = ("model", "model_name", "model_id")
STARTED = (
    "started_at",
    "start_time",
    "startTime",
    "start",
    "ts",
    "timestamp",
    "time",
    "@timestamp",
    "datetime",
    "created_at",
)
ENDED = ("ended_at", "end_time", "endTime", "finished_at", "completed_at")
COST = ("cost_usd", "total_cost_usd", "cost", "total_cost", "usd")
EXIT_CODE = ("exit_code", "exitCode", "returncode", "return_code", "rc", "exit_status")
STATUS_CODE = ("status_code", "statusCode", "http_status", "http_status_code", "http_code", "response_code")
ERROR = ("error", "error_message", "errorMessage", "error_msg", "err", "exception", "failure_reason", "failure")
TRACE = ("traceback", "stack_trace", "stacktrace", "stack", "exc_info", "stderr")
SAID = ("message", "msg", "reason", "detail", "details", "text", "output", "result", "response", "notes")
ERROR_TYPE = ("error_type", "errorType", "exception_type", "exc_type", "error_class", "exception_class", "error_kind")

_GOOD_FLAGS = (
    "success",
    "ok",
    "passed",
    "pass",
    "succeeded",
    "is_success",
    "successful",
    "resolved",
    "solved",
    "correct",
)
_BAD_FLAGS = ("failed", "is_error", "isError", "errored", "failure", "error", "has_error")
_WORDS = (
    "status",
    "outcome",
    "result",
    "state",
    "verdict",
    "conclusion",
    "level",
    "severity",
    "levelname",
    "log_level",
)
_GOOD_WORDS = re.compile(
    r"\A(?:ok|success|succeeded|successful|passed|pass|completed?|done|finished|resolved|solved|correct|true)\Z"
)
_BAD_WORDS = re.compile(
    r"\A(?:error|failed|failure|fail|errored|exception|timeout|timed_?out|aborted|crash|crashed|rejected|denied|invalid"
    r"|cancell?ed|killed|broken|wrong|incorrect|unresolved|false|critical|fatal|panic|emergency|alert)\Z"
)
# Neither: a run that goes on, or a line of a log that reports no failure.
_OPEN_WORDS = re.compile(
    r"\A(?:running|pending|started|start|in_progress|queued|skipped|skip|unknown|info|debug|trace|notice|warn|warning)\Z"
)
_DURATION = re.compile(r"\A\s*([0-9.]{1,20})\s*(ns|us|µs|ms|s|sec|secs|seconds|m|min|h)?\s*\Z")
_UNIT_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "m": 60.0, "min": 60.0, "h": 3600.0}
_NO_ERROR = frozenset(("", "none", "null", "no", "false", "0", "n/a", "ok", "[]", "{}"))


@dataclass(frozen=True, slots=True)
class RecordVerdict:
    """Verdict of a record on its run: it was fine, it failed, or (None) it says neither yet."""

    ok: bool | None
    word: str = ""  # the word that said so ("timeout", "cancelled")


def verdict(record: Row) -> RecordVerdict | None:
    """A record's own verdict; None when it bears no field that could hold one.

    Flags come first, then a status in words, exit and HTTP codes, the presence of an error, and last a score.
    """
    for names, good in ((_GOOD_FLAGS, True), (_BAD_FLAGS, False)):
        for name in names:
            flag = fields.boolean(record.get(name))
            if flag is not None:
                return RecordVerdict(flag if good else not flag)
    found = _by_word(record)
    if found is not None and found.ok is not None:
        return found
    code = _by_code(record)
    if code is not None:
        return RecordVerdict(code)
    if error_text(record):
        return RecordVerdict(False)
    if found is not None:
        return found
    if any(name in record for name in ("error", "exception", "err")):
        return RecordVerdict(True)
    graded = score(record)
    return RecordVerdict(graded >= 0.5) if graded is not None else None


def _by_word(record: Row) -> RecordVerdict | None:
    open_word = None
    for name in _WORDS:
        word = fields.text(record.get(name)).strip().lower().replace("-", "_").replace(" ", "_")
        if _GOOD_WORDS.match(word):
            return RecordVerdict(True, word)
        if _BAD_WORDS.match(word):
            return RecordVerdict(False, word)
        if _OPEN_WORDS.match(word):
            open_word = RecordVerdict(None, word)
    return open_word


def _by_code(record: Row) -> bool | None:
    exit_code = fields.whole(fields.first(record, EXIT_CODE))
    status = status_code(record)
    if exit_code is None and status is None:
        return None
    return not exit_code and (status is None or status < 400)


def status_code(record: Row) -> int | None:
    """The HTTP status: a field of its own, `status` as a number, or inside `response` or `error`."""
    for holder in (record, fields.row(record.get("response")), fields.row(record.get("error"))):
        for name in (*STATUS_CODE, "status", "code"):
            found = fields.whole(holder.get(name))
            if found is not None and 100 <= found <= 599 and (name != "code" or holder is not record):
                return found
    return None


def error_text(record: Row) -> str:
    """The error that a record names, with its traceback; "" when it names none."""
    said = _spoken(fields.first(record, ERROR))
    if not said:
        body = fields.row(fields.row(record.get("response")).get("body"))
        said = _spoken(body.get("error"))
    trace = _spoken(fields.first(record, TRACE))
    if trace and (said or "\n" in trace):
        return trace if said in trace else f"{said}\n{trace}"
    return said


def failure_text(record: Row) -> str:
    """Return what is known of a failure: its error, else what the record says otherwise."""
    return error_text(record) or _spoken(fields.first(record, TRACE)) or _spoken(fields.first(record, SAID))


def said_text(record: Row) -> str:
    """Return what a run that calls itself a success gave back."""
    return _spoken(fields.first(record, ("error", "output", "result", "response", "message", "stdout", "stderr")))


def _spoken(value: Json) -> str:
    """A value as an error's text: strings as they are, objects by their type, message and code."""
    if isinstance(value, str):
        return "" if value.strip().lower() in _NO_ERROR else value
    if isinstance(value, list):
        return "\n".join(filter(None, (_spoken(item) for item in value[:50])))
    if isinstance(value, dict):
        inner = value.get("error")
        if isinstance(inner, dict):
            return _spoken(inner)
        kind, code = (fields.text(fields.first(value, names)) for names in (("type", "name", "class"), ("code",)))
        said = _spoken(fields.first(value, ("message", "msg", "detail", "description", "text", "error", "body")))
        trace = _spoken(fields.first(value, TRACE))
        first = ": ".join(part for part in (kind, code if code != kind else "", said) if part)
        return trace if said and said in trace else "\n".join(part for part in (first, trace) if part)
    return ""


def error_type(record: Row) -> str:
    """The exception's class, where the record names it apart from the text."""
    error = fields.row(fields.first(record, ("error", "exception")))
    return fields.text(fields.first(record, ERROR_TYPE)) or fields.text(fields.first(error, ("type", "name", "class")))


def score(record: Row) -> float | None:
    """The score in [0, 1]; a quality or rating of 1 to 5 is mapped onto it."""
    for name in ("score", "reward"):
        found = fields.number(record.get(name))
        if found is not None and 0.0 <= found <= 1.0:
            return found
    for name in ("quality", "rating", "stars"):
        found = fields.number(record.get(name))
        if found is not None and 1.0 <= found <= 5.0:
            return (found - 1.0) / 4.0
    return None


def duration_s(record: Row) -> float | None:
    """Read how long it ran. A name ends in its unit; one without a unit counts seconds."""
    for stem in ("duration", "latency", "elapsed", "runtime", "took", "time", "execution_time", "response_time"):
        for suffix, scale in (("_ms", 1e-3), ("Ms", 1e-3), ("_us", 1e-6), ("_ns", 1e-9), ("_s", 1.0), ("_sec", 1.0)):
            found = fields.number(record.get(stem + suffix))
            if found is not None:
                return found * scale
        found = fields.number(record.get(f"{stem}_seconds"))
        if found is None and stem != "time":
            found = _written_duration(record.get(stem))
        if found is not None:
            return found
    began, ended = (fields.instant(fields.first(record, names)) for names in (STARTED, ENDED))
    return ended - began if began is not None and ended is not None and ended >= began else None


def _written_duration(value: Json) -> float | None:
    written = _DURATION.match(value) if isinstance(value, str) else None
    if not written:
        return fields.number(value)
    found = fields.number(written[1])
    return None if found is None else found * _UNIT_S.get(written[2] or "s", 1.0)


def tokens(record: Row) -> int | None:
    """All tokens, in and out."""
    plain = fields.tokens(fields.first(record, ("tokens", "total_tokens", "token_count", "tokens_used", "totalTokens")))
    if plain is not None:
        return plain
    for name in ("usage", "tokens", "token_usage"):
        usage = fields.row(record.get(name))
        total = fields.tokens(fields.first(usage, ("total_tokens", "totalTokens", "total")))
        if total is not None:
            return total
        parts = [fields.tokens(part) for key, part in usage.items() if not key.startswith(("cached", "reasoning"))]
        if any(part is not None for part in parts):
            return sum(part or 0 for part in parts)
    both = [fields.tokens(record.get(f"{of}_tokens")) for of in ("input", "output", "prompt", "completion")]
    return sum(part or 0 for part in both) if any(part is not None for part in both) else None

"""OTLP logs and metrics: coding agents' own events become outcomes, errors become failures, all else is kept as it is.

Sources: the monitoring pages of Claude Code (`claude_code.tool_result`, `api_request`, `api_error`, `tool_decision`)
and of Codex (`codex.tool_result`, `codex.api_request`); the OpenTelemetry logs and metrics data models.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ratchet import ids
from ratchet.failures import tool_call as toolcall
from ratchet.failures.redaction.text import clean, redact_json
from ratchet.failures.unflagged import says_failure
from ratchet.recording.sources import calls, fields
from ratchet.recording.sources.otlp import NAME, SESSION_NAMES, plain, value_of
from ratchet.recording.sources.otlp_ids import TRACE_BYTES, hex_id
from ratchet.recording.sources.otlp_judged import EVALUATION, evaluated, name_of
from ratchet.recording.sources.otlp_wire import NESTED
from ratchet.records import Failure, Json, Outcome, Row, Step

_RESOURCE_LOGS, _SCOPE_LOGS, _RECORDS = NESTED["logs"]
_RESOURCE_METRICS, _SCOPE_METRICS, _METRICS = NESTED["metrics"]
_AGENTS = {"claude_code": "claude-code", "codex": "codex"}
_SESSION = (*SESSION_NAMES, "conversation.id", "session_id")
_ERROR_FROM = 17
"""The severity number from which on a log record tells of an error (OpenTelemetry logs data model)."""
_POINTS = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")
_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens")
_MOST_CHARS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Content of an export request: outcomes, and the rest as events of the timeline."""

    outcomes: tuple[Outcome, ...] = ()
    events: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class _Record:
    """One log record with its attributes as a plain object, those of its resource below its own."""

    name: str
    attributes: Row
    body: str
    severity: int
    at: float
    service: str
    trace: str = ""

    def text(self, *names: str) -> str:
        return fields.text(fields.first(self.attributes, names))

    def number(self, name: str) -> float | None:
        return fields.number(self.attributes.get(name))


def logs(request: Mapping[str, Json], now: float) -> Kept:
    """Read a log export request. `now` dates records that bear no time."""
    outcomes: list[Outcome] = []
    events: list[Row] = []
    for record in _records(request, now):
        outcome = _outcome(record)
        if outcome is not None:
            outcomes.append(outcome)
        else:
            said: Row = {"body": record.body} if record.body else {}
            events.append(_event("log", record.name or "record", record.text(*_SESSION), record.at, record, said))
    return Kept(outcomes=tuple(outcomes), events=tuple(events))


def metrics(request: Mapping[str, Json], now: float) -> Kept:
    """Read a metric export request: an event for each data point."""
    events: list[Row] = []
    for resource in fields.rows(fields.first(request, _RESOURCE_METRICS)):
        about = plain(fields.row(resource.get("resource")).get("attributes"))
        for scope in fields.rows(fields.first(resource, _SCOPE_METRICS)):
            for metric in fields.rows(fields.first(scope, _METRICS)):
                events += _points(metric, about, now)
    return Kept(events=tuple(events))


def _records(request: Mapping[str, Json], now: float) -> Iterator[_Record]:
    for resource in fields.rows(fields.first(request, _RESOURCE_LOGS)):
        about = plain(fields.row(resource.get("resource")).get("attributes"))
        for scope in fields.rows(fields.first(resource, _SCOPE_LOGS)):
            for record in fields.rows(fields.first(scope, _RECORDS)):
                attributes = {**about, **plain(record.get("attributes"))}
                body = value_of(record.get("body"))
                time = fields.first(record, ("timeUnixNano", "time_unix_nano", "observedTimeUnixNano"))
                if time in (0, "0"):
                    time = record.get("observedTimeUnixNano")
                said = body if isinstance(body, str) else json.dumps(body) if body is not None else ""
                named = fields.first(record, ("eventName", "event_name")) or attributes.get("event.name")
                yield _Record(
                    name=_full_name(fields.text(named), said),
                    attributes=attributes,
                    body=toolcall.safe(said, _MOST_CHARS),
                    severity=_severity(record),
                    at=fields.instant(fields.first(attributes, ("event.timestamp",)) or time) or now,
                    service=fields.text(about.get("service.name")),
                    trace=hex_id(fields.text(fields.first(record, ("traceId", "trace_id"))), TRACE_BYTES),
                )


def _full_name(name: str, body: str) -> str:
    """An event's name with its agent's: Claude Code puts that into the body and only the rest into `event.name`."""
    agent = body.partition(".")[0]
    return f"{agent}.{name}" if name and "." not in name and agent in _AGENTS and body == f"{agent}.{name}" else name


def _severity(record: Row) -> int:
    number = fields.first(record, ("severityNumber", "severity_number"))
    if isinstance(number, str) and number.startswith("SEVERITY_NUMBER_"):
        word = number.removeprefix("SEVERITY_NUMBER_").rstrip("234")
        return {"TRACE": 1, "DEBUG": 5, "INFO": 9, "WARN": 13, "ERROR": 17, "FATAL": 21}.get(word, 0)
    return fields.whole(number) or 0


def _outcome(record: _Record) -> Outcome | None:
    """The finished run that a record tells of; None for a record that tells of none."""
    agent, _, event = record.name.partition(".")
    if agent in _AGENTS:
        if event == "tool_result":
            return _tool_result(record, _AGENTS[agent])
        if event == "tool_decision":
            return _refusal(record, _AGENTS[agent])
        if event in ("api_request", "api_error"):
            return _request(record, _AGENTS[agent])
        return None
    if EVALUATION in (record.name, record.body):
        return _evaluation(record)
    if record.severity < _ERROR_FROM and not record.text("exception.type", "exception.message"):
        return None
    session = record.text(*_SESSION)
    return Outcome(
        id=ids.outcome_id(NAME, session, _key(record)),
        agent=record.service or NAME,
        task=toolcall.safe(record.name or record.text("logger.name", "code.function") or "log", 300),
        ok=False,
        started_at=record.at,
        source=NAME,
        session=session,
        failure=_failure(record, record.text("exception.message", "error.message") or record.body),
    )


def _evaluation(record: _Record) -> Outcome | None:
    """Read what an evaluator found of an answer, in the session of that answer or else in its trace."""
    found = evaluated([record.attributes])
    if found is None:
        return None
    session = record.text(*_SESSION) or record.trace
    return Outcome(
        id=ids.outcome_id(NAME, session, _key(record)),
        agent=record.text("gen_ai.agent.name") or record.service or NAME,
        task=toolcall.safe(name_of(record.attributes), 300),
        ok=found.failure is None,
        score=found.score,
        started_at=record.at,
        model=record.text("gen_ai.response.model", "gen_ai.request.model"),
        source=NAME,
        session=session,
        failure=found.failure,
    )


def _tool_result(record: _Record, agent: str) -> Outcome:
    tool = record.text("tool_name", "tool.name") or "tool"
    said = record.text("error", "error.message", "output")
    ok = fields.boolean(record.attributes.get("success"))
    denied = record.text("decision") == "reject"
    step = calls.step_of(tool, _tool_input(record))
    failure: Failure | None = None
    if denied or ok is False:
        failure = _failure(record, said, kind="user_denied" if denied else toolcall.certain_kind(said))
    elif said and ok is None and says_failure(said, tool=tool, head=step.head, given=step.input):
        failure = Failure(message=toolcall.message_text(said), flagged=False)
    return _call(record, agent, tool, failure, step=step)


def _refusal(record: _Record, agent: str) -> Outcome | None:
    """A step that the person refused never gets a result, so the decision is what is known of it. One that names no
    call could not be told from its result, where there is one after all."""
    refused = record.text("decision") in ("reject", "denied", "abort") and record.text("tool_use_id", "call_id")
    if not refused:
        return None
    tool = record.text("tool_name", "tool.name") or "tool"
    failure = Failure(message="the user refused the step", kind="user_denied")
    return _call(record, agent, tool, failure, step=calls.step_of(tool, _tool_input(record)))


def _request(record: _Record, agent: str) -> Outcome:
    said = record.text("error", "error.message")
    status = fields.whole(fields.first(record.attributes, ("status_code", "http.response.status_code")))
    failed = record.name.endswith("api_error") or bool(said) or (status or 0) >= 400
    return _call(record, agent, "model", _failure(record, said) if failed else None)


def _call(record: _Record, agent: str, task: str, failure: Failure | None, *, step: Step | None = None) -> Outcome:
    session = record.text(*_SESSION)
    call = record.text("tool_use_id", "call_id") if step else ""
    counts = [fields.tokens(record.attributes.get(name)) for name in _TOKENS]
    took = record.number("duration_ms")
    duration_s = None if took is None else max(0.0, took / 1e3)
    return Outcome(
        id=ids.outcome_id(agent, session, call or _key(record)),
        agent=agent,
        task=toolcall.safe(task, 300),
        ok=failure is None,
        started_at=record.at - (duration_s or 0.0),
        duration_s=duration_s,
        cost_usd=record.number("cost_usd"),
        tokens=sum(each or 0 for each in counts) if any(each is not None for each in counts) else None,
        model=record.text("model"),
        source=agent,
        session=session,
        failure=failure,
        step=step,
    )


def _tool_input(record: _Record) -> Json:
    given = fields.first(record.attributes, ("tool_parameters", "tool_input", "arguments"))
    if isinstance(given, str) and given[:1] in "{[":
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return given
    if isinstance(given, dict):
        command = fields.first(given, ("full_command", "bash_command"))
        return {**given, "command": command} if command else given
    return given or ""


def _failure(record: _Record, said: str, *, kind: str = "") -> Failure:
    type_ = record.text("exception.type", "error.type", "error_type")
    trace = record.text("exception.stacktrace")
    text = "\n".join(filter(None, (f"{type_}: {said}" if type_ and type_ not in said else said, trace)))
    status = fields.whole(fields.first(record.attributes, ("status_code", "http.response.status_code")))
    return Failure(
        message=toolcall.message_text(text) or f"{record.name or 'a record'} tells of an error, without a message",
        type=type_[:200],
        kind=kind,
        status=status if status is not None and 100 <= status <= 599 else None,
    )


def _key(record: _Record) -> str:
    """Return what tells a record from others of its session: its own number, else all that it says."""
    number = record.attributes.get("event.sequence")
    if number is not None and record.text(*_SESSION):
        return f"{record.name}:{number}"
    return _digest([record.name, record.at, record.body, record.attributes])


def _digest(value: Json) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()[:32]


def _points(metric: Row, about: Row, now: float) -> Iterator[Row]:
    name = fields.text(metric.get("name"))
    for shape in _POINTS:
        for point in fields.rows(fields.row(metric.get(shape)).get("dataPoints")):
            attributes = {**about, **plain(point.get("attributes"))}
            at = fields.instant(fields.first(point, ("timeUnixNano", "time_unix_nano"))) or now
            value = fields.number(fields.first(point, ("asDouble", "asInt", "sum")))
            record = _Record(name, attributes, "", 0, at, "")
            said: Row = {"value": value, "unit": fields.text(metric.get("unit"))[:40]}
            if "count" in point:
                said["count"] = fields.whole(point["count"])
            yield _event("metric", name or "metric", record.text(*_SESSION), at, record, said)


def _event(noun: str, verb: str, session: str, at: float, record: _Record, said: Row) -> Row:
    """An event of the timeline, redacted. The same data twice is one event."""
    told: list[str] = []
    return {
        "id": "e" + _digest([noun, verb, at, record.attributes, said])[:24],
        "noun": noun,
        "record": clean(session, 200) or noun,
        "verb": clean(verb, 200),
        "at": at,
        **said,
        "attributes": redact_json(record.attributes, told, "attributes"),
    }

"""OTLP JSON traces, a document or a document a line: what models, tools, agents and chains did, and every failing span.
A receiver keeps every other span, too.

Understands the gen_ai names in both generations, OpenInference and OpenLLMetry (traceloop). Sources: the OTLP/JSON
encoding of opentelemetry-proto, the semantic conventions for generative AI, the OpenInference specification.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ratchet import ids
from ratchet.failures import tool_call as toolcall
from ratchet.failures.unflagged import says_failure
from ratchet.ports import Read
from ratchet.recording.sources import calls, fields
from ratchet.recording.sources.document import is_document, read_document
from ratchet.recording.sources.lines import objects_in, peek
from ratchet.recording.sources.otlp_ids import PARENT, SPAN_BYTES, TRACE_BYTES, hex_id
from ratchet.recording.sources.otlp_judged import EVALUATION, evaluated, finished, stopped
from ratchet.recording.sources.otlp_wire import NESTED
from ratchet.recording.sources.reading import Item, moment, read_records
from ratchet.records import Failure, Json, Outcome, Quarantined, Row, Step

NAME = "otlp"
_RESOURCES, _SCOPES, _SPANS = NESTED["traces"]
_OTHER_SIGNALS = NESTED["logs"][0] + NESTED["metrics"][0]
_CLAIM = re.compile(rb'"resource_?[sS]pans"\s*:')
SESSION_NAMES = (
    "session.id",
    "gen_ai.conversation.id",
    "traceloop.association.properties.session_id",
    "langfuse.session.id",
)
_AGENT = ("gen_ai.agent.name", "agent.name", "graph.node.id", "traceloop.workflow.name", "traceloop.entity.name")
_TOOL = ("gen_ai.tool.name", "tool.name", "mcp.tool.name")
_TOOL_INPUT = ("gen_ai.tool.call.arguments", "tool.parameters", "tool_call.function.arguments", "input.value")
_TOOL_OUTPUT = ("gen_ai.tool.call.result", "output.value", "traceloop.entity.output")
_MODEL = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "llm.request.model", "ai.model.id")
_TOTAL = ("gen_ai.usage.total_tokens", "llm.token_count.total", "llm.usage.total_tokens")
_IN = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "ai.usage.promptTokens")
_OUT = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")
_COST = ("gen_ai.usage.cost", "llm.cost.total", "operation.cost")
_STATUS = ("http.response.status_code", "http.status_code", "error.status_code", "rpc.grpc.status_code")
_KIND = ("openinference.span.kind", "traceloop.span.kind", "gen_ai.operation.name")
_MODEL_KINDS = frozenset(("", "llm", "embedding", "chat", "text_completion", "generate_content", "embeddings"))
_BEGAN = ("startTimeUnixNano", "start_time_unix_nano")
_ENDED = ("endTimeUnixNano", "end_time_unix_nano")
_MEANINGFUL = re.compile(r"\A(?:gen_ai|llm|openinference|traceloop|tool|mcp|ai)\.")
_ERROR_EVENTS = frozenset(("exception", "error", "gen_ai.error"))
_CHOICE = "gen_ai.choice"


class Otlp:
    """The Source of OTLP JSON traces."""

    name = NAME

    def claims(self, head: bytes) -> bool:
        """Tell whether it holds `resourceSpans`, on a line or in a document."""
        return any(name in record for record in objects_in(head) for name in _RESOURCES) or (
            is_document(head) and _CLAIM.search(head) is not None
        )

    def read(self, path: str, offset: int, carry: Row) -> Iterator[Read]:
        """See `ports.Source`. A span's id is its trace's and its own in one spelling: met live and in a file, it counts
        once."""
        traces = Traces(path, carry)
        if is_document(peek(path)):
            return read_document(path, carry, traces.take_document, name=NAME)
        return read_records(path, offset, carry, traces.take, name=NAME)


@dataclass(frozen=True, slots=True)
class _Span:
    """A span with its attributes as a plain object."""

    record: Row
    attributes: Row
    events: tuple[tuple[str, Row], ...]
    service: str


class Traces:
    """Reads the export requests of one file, or of a receiver, which keeps `every` span that it is sent."""

    def __init__(self, path: str, carry: Row, *, every: bool = False) -> None:
        self._path = path
        self._carry = carry
        self._every = every

    def take_document(self, document: Json) -> list[Item] | None:
        """The spans of one export request, or of a list of them."""
        if isinstance(document, list):
            taken = [self.take(each, 0) for each in fields.rows(document)]
            found = [items for items in taken if items is not None]
            return [item for items in found for item in items] if found else None
        return self.take(document, 0) if isinstance(document, dict) else None

    def take(self, record: Row, line: int) -> list[Item] | None:
        """The Outcomes of one export request; none for logs and metrics; None for what is no OTLP."""
        if any(name in record for name in _OTHER_SIGNALS):
            return []
        resources = fields.first(record, _RESOURCES)
        if not isinstance(resources, list):
            return None
        items: list[Item] = []
        for span in _spans(resources):
            if not fields.text(span.record.get("spanId")) and not fields.text(span.record.get("span_id")):
                items.append(Quarantined(path=self._path, line=line, reason="a span without a spanId"))
            elif self._every or _fails(span) or _means_something(span):
                items.append(self._outcome(span))
        return items

    def _outcome(self, span: _Span) -> Outcome:
        record, attributes = span.record, span.attributes
        trace = hex_id(fields.text(fields.first(record, ("traceId", "trace_id"))), TRACE_BYTES)
        own = hex_id(fields.text(fields.first(record, ("spanId", "span_id"))), SPAN_BYTES)
        above = hex_id(fields.text(fields.first(record, ("parentSpanId", "parent_span_id"))), SPAN_BYTES)
        began, ended = (fields.instant(fields.first(record, names)) for names in (_BEGAN, _ENDED))
        tool = _string(attributes, _TOOL)
        step = _step(tool, fields.first(attributes, _TOOL_INPUT)) if tool else None
        found = evaluated([held for name, held in span.events if name == EVALUATION] or [attributes])
        failure = _failure(span, step) or stopped(attributes, [held for name, held in span.events if name == _CHOICE])
        failure = failure or (found.failure if found else None)
        return Outcome(
            id=ids.outcome_id(NAME, "", f"{trace}:{own}"),
            agent=_string(attributes, _AGENT) or span.service or NAME,
            task=toolcall.safe(tool or fields.text(record.get("name")), 300),
            ok=failure is None,
            score=found.score if found else None,
            started_at=moment(began, self._path, self._carry),
            duration_s=max(0.0, ended - began) if began is not None and ended is not None else None,
            cost_usd=fields.number(fields.first(attributes, _COST)),
            tokens=_tokens(attributes),
            model=_string(attributes, _MODEL),
            source=NAME,
            session=_string(attributes, SESSION_NAMES) or trace,
            failure=failure,
            step=step,
            context={PARENT: ids.outcome_id(NAME, "", f"{trace}:{above}")} if above.strip("0") else {},
        )


def _spans(resources: list[Json]) -> Iterator[_Span]:
    for resource in fields.rows(resources):
        about = plain(fields.row(resource.get("resource")).get("attributes"))
        service = _string(about, ("service.name",))
        session = _string(about, SESSION_NAMES)
        for scope in fields.rows(fields.first(resource, _SCOPES)):
            for record in fields.rows(fields.first(scope, _SPANS)):
                attributes = plain(record.get("attributes"))
                if session:
                    attributes.setdefault("session.id", session)
                events = tuple(
                    (fields.text(event.get("name")), plain(event.get("attributes")))
                    for event in fields.rows(record.get("events"))
                )
                yield _Span(record, attributes, events, service)


def plain(pairs: Json) -> Row:
    """Attributes as an object: OTLP writes a list of `{key, value: {stringValue | intValue | ...}}`."""
    if isinstance(pairs, dict):
        return dict(pairs)
    return {fields.text(pair.get("key")): value_of(pair.get("value")) for pair in fields.rows(pairs)}


def value_of(held: Json, depth: int = 4) -> Json:
    """The plain value of an OTLP `AnyValue`."""
    if not isinstance(held, dict) or not depth:
        return held
    for name, value in held.items():
        kind = name.replace("_", "").lower()
        if kind == "intvalue":
            return fields.whole(value)
        if kind == "arrayvalue":
            values = fields.row(value).get("values")
            return [value_of(item, depth - 1) for item in values] if isinstance(values, list) else []
        if kind == "kvlistvalue":
            return {
                fields.text(pair.get("key")): value_of(pair.get("value"), depth - 1)
                for pair in fields.rows(fields.row(value).get("values"))
            }
        return value
    return None


def _means_something(span: _Span) -> bool:
    """Tell whether a span is the work of a model, a tool, an agent or a chain; others (HTTP, database) are detail."""
    return any(_MEANINGFUL.match(name) for name in span.attributes)


def _status_is_error(span: _Span) -> bool:
    code = fields.row(span.record.get("status")).get("code")
    return code in (2, "2", "STATUS_CODE_ERROR", "ERROR", "Error")


def _error_events(span: _Span) -> list[Row]:
    return [held for name, held in span.events if name in _ERROR_EVENTS or name.endswith(".exception")]


def _handled(event: Row) -> bool:
    """Tell whether an exception was met and mended within the span: OTel's `exception.escaped`, the `handled` of others
    (`exception.handled`, Sentry's `exception.mechanism.handled`)."""
    told = [value for name, value in event.items() if name.rpartition(".")[2] == "handled"]
    return fields.boolean(event.get("exception.escaped")) is False or any(map(fields.boolean, told))


def _fails(span: _Span) -> bool:
    """By status; where none is set, by a named error, or by an exception event that was not handled. A span whose
    status is fine, or whose model came to its end all the same, handled what it met."""
    if _status_is_error(span):
        return True
    if fields.row(span.record.get("status")).get("code") in (1, "1", "STATUS_CODE_OK", "OK", "Ok"):
        return False
    named = fields.text(span.attributes.get("error.type"))
    return bool(named) or (not all(map(_handled, _error_events(span))) and not finished(span.attributes))


def _failure(span: _Span, step: Step | None) -> Failure | None:
    attributes = span.attributes
    if not _fails(span):
        said = fields.text(fields.first(attributes, _TOOL_OUTPUT))
        judged = toolcall.ends(said, toolcall.JUDGED_CHARS)
        if not step or not said or not says_failure(judged, tool=step.tool, head=step.head, given=step.input):
            return None
        return Failure(message=toolcall.message_text(said), flagged=False)
    met = _error_events(span)
    event = next((each for each in met if not _handled(each)), met[0] if met else {})
    kind = _string(event, ("exception.type",)) or _string(attributes, ("error.type", "exception.type"))
    said = fields.text(fields.row(span.record.get("status")).get("message"))
    return Failure(
        message=toolcall.message_text(_error_text(event, attributes, said, kind)),
        type=kind[:200],
        status=next(_http_codes((attributes.get(name) for name in _STATUS), kind), None),
    )


def _error_text(event: Row, attributes: Row, said: str, kind: str) -> str:
    message = _string(event, ("exception.message", "message")) or _string(
        attributes, ("error.message", "exception.message")
    )
    trace = _string(event, ("exception.stacktrace",)) or _string(attributes, ("exception.stacktrace",))
    if trace and message in trace:
        return trace
    first = f"{kind}: {message}" if kind and message and kind not in message else message or said or kind
    return "\n".join(part for part in (first, trace) if part) or "the span's status is error, without a message"


def _http_codes(values: Iterable[Json], kind: str) -> Iterator[int]:
    for value in (*values, kind):
        code = fields.whole(value)
        if code is not None and 100 <= code <= 599:
            yield code


def _step(tool: str, given: Json) -> Step:
    if isinstance(given, str) and given[:1] in "{[":
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = str(given)
    return calls.step_of(tool, given)


def _tokens(attributes: Row) -> int | None:
    """A model call's own tokens. Agents and chains repeat the sum of their calls, which would count twice."""
    kind = _string(attributes, _KIND).lower()
    if kind not in _MODEL_KINDS or (not kind and _string(attributes, _AGENT)):
        return None
    total = fields.tokens(fields.first(attributes, _TOTAL))
    if total is not None:
        return total
    both = [fields.tokens(fields.first(attributes, names)) for names in (_IN, _OUT)]
    return sum(part or 0 for part in both) if any(part is not None for part in both) else None


def _string(attributes: Row, names: tuple[str, ...]) -> str:
    return fields.text(fields.first(attributes, names))

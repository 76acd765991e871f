"""An OTLP/HTTP request as it comes over the wire, and the answer to it: JSON or protobuf, gzip or not.

Source: the OTLP specification, section OTLP/HTTP; opentelemetry-proto for the messages (extra `otel`, asked for by
protobuf only).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, cast, get_args

from ratchet.errors import Refused, UsageError
from ratchet.recording.sources.unpacked import Encoding, unpacked
from ratchet.records import Json, Row
from ratchet.registry import adding

if TYPE_CHECKING:
    from google.protobuf.message import Message

Signal = Literal["traces", "logs", "metrics"]
JSON, PROTOBUF = "application/json", "application/x-protobuf"
MOST_BYTES = 64 * 1_048_576
"""Of one request, unpacked."""
MOST_RECORDS, MOST_OBJECTS = 100_000, 1_000_000
"""Of one request: resources, scopes and records in all, and objects and lists of any depth. An exporter's batch holds
8,192 records (the OpenTelemetry Collector's default); an empty one is three bytes, and a hundred times that in memory.
"""
_IDS = frozenset(("traceId", "spanId", "parentSpanId"))
_DEEPEST = 64
NESTED: dict[Signal, tuple[tuple[str, ...], ...]] = {
    "traces": (
        ("resourceSpans", "resource_spans"),
        ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans"),
        ("spans",),
    ),
    "logs": (("resourceLogs", "resource_logs"), ("scopeLogs", "scope_logs"), ("logRecords", "log_records")),
    "metrics": (("resourceMetrics", "resource_metrics"), ("scopeMetrics", "scope_metrics"), ("metrics",)),
}
"""The lists of a request of each signal, from the outermost in, by all names that they go by."""
_REJECTED = {"traces": "rejectedSpans", "logs": "rejectedLogRecords", "metrics": "rejectedDataPoints"}


def decoded(signal: Signal, body: bytes, *, content_type: str = JSON, encoding: str = "") -> Row:
    """The export request, spelled as OTLP/JSON whatever it came as. Ids are lower-case hex.

    Raises UsageError for a body that is no such request, Refused where protobuf cannot be read here.
    """
    body = _unpacked(body, encoding.strip().lower())
    kind = content_type.partition(";")[0].strip().lower()
    if kind == PROTOBUF:
        return _from_protobuf(signal, body)
    if kind != JSON:
        raise UsageError(f"OTLP comes as {JSON} or {PROTOBUF}, not as {kind[:80]!r}: set the Content-Type")
    _need_few(body.count(b"{") + body.count(b"["), MOST_OBJECTS, "objects")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the body is no OTLP/JSON: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"the body is no OTLP/JSON: an object is due, not a {type(found).__name__}")
    for other, nested in NESTED.items():
        if other != signal and any(name in found for name in nested[0]):
            raise UsageError(f"the body holds {other}: send it to /v1/{other}")
    _need_few(_objects_all_the_way(found, NESTED[signal]), MOST_RECORDS, "records")
    return found


def _need_few(count: int, most: int, what: str) -> None:
    if count > most:
        raise UsageError(f"the body holds more than {most:,} {what}: send smaller batches")


def _objects_all_the_way(held: Row, nested: Sequence[tuple[str, ...]], at: str = "") -> int:
    """Count the objects of the nested lists.

    Raises UsageError where something else stands in one: skipped in silence it were lost.
    """
    count = 0
    for name in nested[0] if nested else ():
        each = held.get(name)
        if each is not None and not isinstance(each, list):
            raise UsageError(f"the body is no OTLP/JSON: {at}{name} is a list, not a {type(each).__name__}")
        for n, item in enumerate(each or ()):
            if not isinstance(item, dict):
                raise UsageError(f"the body is no OTLP/JSON: {at}{name}[{n}] is an object, not a {type(item).__name__}")
            count += 1 + _objects_all_the_way(item, nested[1:], f"{at}{name}[{n}].")
    return count


def answered(signal: Signal, rejected: int, why: str, *, content_type: str = JSON) -> tuple[bytes, str]:
    """The answer and its content type, in the encoding of the request. What was rejected is told with its reason."""
    partial: Row = {_REJECTED[signal]: str(rejected), "errorMessage": why} if rejected else {}
    said: Row = {"partialSuccess": partial} if partial else {}
    if content_type.partition(";")[0].strip().lower() != PROTOBUF:
        return json.dumps(said).encode(), JSON
    from google.protobuf.json_format import ParseDict

    message = _message(signal, "Response")
    ParseDict(said, message)
    return message.SerializeToString(), PROTOBUF


def _unpacked(body: bytes, encoding: str) -> bytes:
    if encoding in ("", "identity"):
        return body
    if encoding not in get_args(Encoding):
        raise UsageError(f"Content-Encoding {encoding[:40]!r} is not read here: send gzip, zstd, or none")
    plain = unpacked(body, cast("Encoding", encoding), MOST_BYTES)
    if len(plain) > MOST_BYTES:
        raise UsageError(f"the body unpacks to more than {MOST_BYTES >> 20} MB: send smaller batches")
    return plain


def _from_protobuf(signal: Signal, body: bytes) -> Row:
    message = _message(signal, "Request")
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError

    _need_few(_records_in(memoryview(body), len(NESTED[signal])), MOST_RECORDS, "records")
    try:
        message.ParseFromString(body)
        count = _messages_in(message, MOST_OBJECTS)
        found = MessageToDict(message) if count <= MOST_OBJECTS else None
    except (DecodeError, ValueError, RecursionError) as error:
        raise UsageError(f"the body is no OTLP protobuf request for {signal}: {error or 'it is cut short'}") from error
    _need_few(count, MOST_OBJECTS, "objects")
    return cast("Row", _with_hex_ids(found))


def _records_in(body: memoryview, depth: int) -> int:
    """Count the messages of the outer `depth` levels of protobuf's wire format, before memory is taken for them.

    What it cannot follow is the parser's to refuse. Resources (1), scopes (2) and records (2) have the same numbers in
    all signals.
    """
    field, count, at = (0x0A, 0x12, 0x12)[-depth], 0, 0
    while at < len(body) and count <= MOST_RECORDS:
        tag, at = _varint(body, at)
        if tag & 7 == 2:
            length, at = _varint(body, at)
            if tag == field:
                count += 1 + (_records_in(body[at : at + length], depth - 1) if depth > 1 else 0)
            at += length
        elif tag & 7 == 0:
            at = _varint(body, at)[1]
        elif tag & 7 in (1, 5):
            at += 8 if tag & 7 == 1 else 4
        elif tag & 7 > 5:
            break  # a group's begin and end (3, 4) are tags alone
    return count


def _varint(body: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(body) and shift < 64:
        value |= (body[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not body[at - 1] & 0x80:
            break
    return value, at


def _messages_in(message: Message, most: int) -> int:
    """Count the messages within one, to a little more than `most`."""
    count = 0
    for field, held in message.ListFields():
        if field.message_type is None:
            continue
        for each in held if isinstance(held, Sequence) else (held,):
            count += 1 + _messages_in(each, most - count)
            if count > most:
                return count
    return count


def _message(signal: Signal, what: Literal["Request", "Response"]) -> Message:
    try:
        from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
        from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
    except ImportError as error:
        raise Refused(
            f"OTLP as protobuf needs the extra `otel`: {adding('otel')}, or send OTLP/JSON "
            "(OTEL_EXPORTER_OTLP_PROTOCOL=http/json)"
        ) from error
    modules = {"traces": trace_service_pb2, "logs": logs_service_pb2, "metrics": metrics_service_pb2}
    names = {"traces": "ExportTraceService", "logs": "ExportLogsService", "metrics": "ExportMetricsService"}
    return cast("Message", getattr(modules[signal], names[signal] + what)())


def _with_hex_ids(value: Json, depth: int = _DEEPEST) -> Json:
    """Protobuf's own JSON writes bytes as base64, OTLP's writes ids as hex: so one span has one id."""
    if isinstance(value, list):
        return [_with_hex_ids(each, depth - 1) for each in value] if depth else []
    if not isinstance(value, dict):
        return value
    if not depth:
        return {}
    return {
        name: base64.b64decode(each).hex() if name in _IDS and isinstance(each, str) else _with_hex_ids(each, depth - 1)
        for name, each in value.items()
    }

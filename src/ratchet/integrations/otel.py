"""OpenTelemetry in this very process: a span processor that records what each span tells.

    from opentelemetry.sdk.trace import TracerProvider
    from ratchet import SpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(SpanProcessor())

Needs the extra `otel`. A span met here and over the wire is one outcome.
"""

from __future__ import annotations

import logging
from os import PathLike
from typing import TYPE_CHECKING, cast

from ratchet.records import Json, Row
from ratchet.registry import adding
from ratchet.runtime import Runtime

try:
    from opentelemetry.sdk.trace import SpanProcessor as _SpanProcessor

    from ratchet.integrations.otel_evaluations import EvaluationTeller
except ImportError as error:
    raise ImportError(f"ratchet.SpanProcessor needs the extra `otel`: {adding('otel')}") from error

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

_LOG = logging.getLogger(__name__)


class SpanProcessor(_SpanProcessor):
    """Records each ended span of a model, a tool, an agent or a chain, and each that failed; `every` other one, too,
    if asked for. Writes one line to the journal for each, and never raises into the host.

    `home` is where it is recorded (RATCHET_HOME; ~/.ratchet). Where the program has set up logs, too, what was judged
    in this home leaves as `gen_ai.evaluation.result` events every `evaluations_s` seconds (None: never), each from one
    of the processes that have such a processor.
    """

    def __init__(
        self,
        *,
        home: str | PathLike[str] | None = None,
        every: bool = False,
        evaluations_s: float | None = 30.0,
    ) -> None:
        self._runtime = Runtime.open(home=home)
        self._every = every
        self._teller = None if evaluations_s is None else EvaluationTeller(home, every_s=evaluations_s)

    def on_end(self, span: ReadableSpan) -> None:
        """Record it."""
        try:
            self._runtime.intake.spans([_request(span)], every=self._every)
        except Exception:  # noqa: BLE001  (the edge to the host: its spans may hold anything)
            _LOG.warning("span.lost", exc_info=True)

    def shutdown(self) -> None:
        """Tell what was judged, and let go of the journal; what was recorded is on disk already."""
        if self._teller is not None:
            self._teller.close()
        self._runtime.close()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Tell what was judged. No span waits: each is on disk when `on_end` returns."""
        del timeout_millis
        if self._teller is not None:
            self._teller.tell()
        return True


def _request(span: ReadableSpan) -> Row:
    """One span as an OTLP/JSON export request."""
    context = span.context
    assert context is not None
    record: Row = {
        "traceId": format(context.trace_id, "032x"),
        "spanId": format(context.span_id, "016x"),
        "name": span.name,
        "startTimeUnixNano": span.start_time,
        "endTimeUnixNano": span.end_time,
        "attributes": _plain(span.attributes),
        "status": {"code": span.status.status_code.value, "message": span.status.description or ""},
        "events": [{"name": each.name, "attributes": _plain(each.attributes)} for each in span.events],
    }
    resource: Row = {"attributes": _plain(span.resource.attributes)}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [record]}]}]}


def _plain(attributes: object) -> Json:
    """A copy of the attributes: the host may go on to change its own."""
    return cast("Json", dict(attributes)) if attributes else {}  # type: ignore[call-overload]

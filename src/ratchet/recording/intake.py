"""Take in what other programs send by themselves: OTLP traces, logs and metrics, journalled as outcomes and events."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from ratchet.errors import BackendError
from ratchet.recording.recorder import Recorder
from ratchet.recording.rows import row_of
from ratchet.recording.sources import otlp_logs, otlp_wire
from ratchet.recording.sources.otlp import Traces
from ratchet.recording.sources.otlp_wire import Signal, answered, decoded
from ratchet.records import Outcome, Quarantined, Row

JSON, PROTOBUF = otlp_wire.JSON, otlp_wire.PROTOBUF
"""The content types of OTLP/HTTP."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """Result of one export request, and the answer to it in its own encoding."""

    outcomes: int
    events: int
    """Records that are no finished run, kept as they are for people to see."""
    rejected: int
    answer: bytes
    content_type: str


class Intake:
    """Takes OTLP in. What it answered for is journalled: a database that is down loses nothing and holds up nobody."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def otlp(self, signal: Signal, body: bytes, *, content_type: str = JSON, encoding: str = "") -> Received:
        """Take one OTLP/HTTP export request. The same request again adds nothing.

        Raises UsageError for a body that is none, Refused where protobuf cannot be read here, BackendError where it
        cannot be written down: then the sender shall try again.
        """
        request = decoded(signal, body, content_type=content_type, encoding=encoding)
        now = time.time()
        bad: list[Quarantined] = []
        events: Sequence[Row] = ()
        if signal == "traces":
            items = Traces("otlp", {"at": now}, every=True).take(request, 0) or []
            outcomes = [item for item in items if isinstance(item, Outcome)]
            bad = [item for item in items if isinstance(item, Quarantined)]
        else:
            kept = (otlp_logs.logs if signal == "logs" else otlp_logs.metrics)(request, now)
            outcomes, events = list(kept.outcomes), kept.events
        self.take(outcomes, events)
        answer, kind = answered(signal, len(bad), bad[0].reason if bad else "", content_type=content_type)
        return Received(outcomes=len(outcomes), events=len(events), rejected=len(bad), answer=answer, content_type=kind)

    def spans(self, requests: Sequence[Row], *, every: bool) -> int:
        """Take spans that this process made, spelled as OTLP/JSON export requests; return how many are outcomes.
        Raises BackendError where they cannot be written down."""
        reading = Traces("otlp", {"at": time.time()}, every=every)
        found = [item for each in requests for item in reading.take(each, 0) or ()]
        outcomes = [item for item in found if isinstance(item, Outcome)]
        self.take(outcomes)
        return len(outcomes)

    def take(self, outcomes: Sequence[Outcome], events: Sequence[Row] = ()) -> None:
        """Journal outcomes that a source read, and events. Raises BackendError where the journal cannot be written."""
        rows: list[Row] = [{"r": "outcome", **row_of(each)} for each in outcomes]
        rows += [{"r": "event", **each} for each in events]
        kept = [self._recorder.append(row) for row in rows]  # each, also after one that could not be
        if not all(kept):
            raise BackendError(
                "the journal cannot be written: check the home's free space and permissions; send it again"
            )

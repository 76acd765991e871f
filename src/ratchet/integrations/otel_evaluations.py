"""Tells OpenTelemetry what was judged: `gen_ai.evaluation.result` events, where the program has set up logs.

    from ratchet.integrations.otel_evaluations import EvaluationEvents

    events = EvaluationEvents()
    events.emit()  # now and then: what is new since the last time

Source: the semantic conventions for generative AI, `gen_ai.evaluation.*`. Needs the extra `otel`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from os import PathLike
from typing import TYPE_CHECKING

from ratchet.recording.sources.otlp_judged import EVALUATION
from ratchet.records import Row, number_in, text_in
from ratchet.runtime import Runtime
from ratchet.store.paging import rows_of

try:
    from opentelemetry._logs import get_logger
except ImportError as error:
    raise ImportError("EvaluationEvents needs the extra `otel`: pip install 'ratchet-ai[otel]'") from error

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider

_JUDGED = {
    "trial": ("kept", "reverted", "undecided"),
    "attempt": ("passed", "failed"),
    "episode": ("passed", "budget", "gave_up"),
}
"""Noun of the timeline -> the verbs that are a verdict."""
_GOOD = frozenset(("kept", "passed", "shown"))


class EvaluationEvents:
    """Emits what was decided since it was made, or since `since` (Unix seconds): verdicts on attempts, trials that
    closed, and lessons shown or withheld. The score is 1 for what was kept, passed or shown, else 0."""

    def __init__(
        self,
        *,
        home: str | PathLike[str] | None = None,
        since: float | None = None,
        provider: LoggerProvider | None = None,
    ) -> None:
        self._runtime = Runtime.open(home=home)
        self._logger = get_logger("ratchet", logger_provider=provider)
        self._since = time.time() if since is None else since
        self._told: set[str] = set()  # of the moment that was looked at last

    def emit(self) -> int:
        """Emit what is new; return how many events. Raises StoreError."""
        self._runtime.drain()
        found = sorted([*self._timeline(), *self._exposures()], key=lambda each: number_in(each, "at"))
        new = [each for each in found if text_in(each, "id") not in self._told]
        for each in new:
            self._emit(each)
        if found:
            self._since = number_in(found[-1], "at")
            self._told = {text_in(each, "id") for each in found if number_in(each, "at") == self._since}
        return len(new)

    def _timeline(self) -> Iterator[Row]:
        for event in self._runtime.timeline.since(self._since):
            noun, verb = text_in(event, "noun"), text_in(event, "verb")
            if verb in _JUDGED.get(noun, ()):
                why = text_in(event, "reason")
                yield {**event, "name": f"ratchet.{noun}", "label": verb, "why": why}

    def _exposures(self) -> Iterator[Row]:
        where = {"at": (">=", self._since)}
        for row in rows_of(self._runtime.store, "exposures", where, order=("at",)):
            label = "shown" if row.get("arm") == "new" else "withheld"
            named = f"{text_in(row, 'trial')} {text_in(row, 'unit')}"
            session = text_in(row, "session")
            yield {"id": named, "at": row.get("at"), "name": "ratchet.lesson", "label": label, "session": session,
                   "record": row.get("trial"), "why": ""}  # fmt: skip

    def _emit(self, event: Row) -> None:
        label = text_in(event, "label")
        said: dict[str, str | float] = {
            "gen_ai.evaluation.name": text_in(event, "name"),
            "gen_ai.evaluation.score.label": label,
            "gen_ai.evaluation.score.value": float(label in _GOOD),
            "gen_ai.evaluation.explanation": text_in(event, "why"),
            "gen_ai.conversation.id": text_in(event, "session"),
            "ratchet.record": text_in(event, "record"),
        }
        self._logger.emit(
            timestamp=int(number_in(event, "at") * 1e9),
            event_name=EVALUATION,
            attributes={name: value for name, value in said.items() if value != ""},
        )

    def close(self) -> None:
        """Let go of the store."""
        self._runtime.close()

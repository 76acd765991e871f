"""Tells OpenTelemetry what was judged: `gen_ai.evaluation.result` events, where the program has set up logs.

`ratchet.SpanProcessor` has them told by themselves. By hand:

    from ratchet.integrations.otel_evaluations import EvaluationEvents

    events = EvaluationEvents()
    events.emit()  # now and then: what is new since the last time

Source: the semantic conventions for generative AI, `gen_ai.evaluation.*`. Needs the extra `otel`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from os import PathLike
from typing import TYPE_CHECKING

from ratchet.recording.sources.otlp_judged import EVALUATION
from ratchet.records import Row, number_in, text_in, whole_in
from ratchet.registry import adding
from ratchet.runtime import Runtime
from ratchet.store.paging import rows_of

try:
    from opentelemetry._logs import get_logger
except ImportError as error:
    raise ImportError(f"EvaluationEvents needs the extra `otel`: {adding('otel')}") from error

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider

_LOG = logging.getLogger(__name__)
_SHARED = "evaluations"  # how far the processes of a home are
_JUDGED = {
    "trial": ("kept", "reverted", "undecided"),
    "attempt": ("passed", "failed"),
    "episode": ("passed", "budget", "gave_up"),
}
"""Noun of the timeline -> the verbs that are a verdict."""
_GOOD = frozenset(("kept", "passed", "shown"))


class EvaluationEvents:
    """Emits what was decided since it was made, or since `since` (Unix seconds): verdicts on attempts, trials that
    closed, and lessons shown or withheld. The score is 1 for what was kept, passed or shown, else 0.

    With `once` several processes of one home share what was told: each event leaves from one of them, the first time
    from now on.
    """

    def __init__(
        self,
        *,
        home: str | PathLike[str] | None = None,
        since: float | None = None,
        provider: LoggerProvider | None = None,
        once: bool = False,
    ) -> None:
        self._runtime = Runtime.open(home=home)
        self._logger = get_logger("ratchet", logger_provider=provider)
        self._since = time.time() if since is None else since
        self._told: set[str] = set()  # of the moment that was looked at last
        self._once = once

    def is_heard(self) -> bool:
        """Tell whether the program has set up logs. An OpenTelemetry that cannot say counts as one that has not."""
        asked: Callable[[], bool] | None = getattr(self._logger, "enabled", None)
        return asked is not None and asked()

    def emit(self) -> int:
        """Emit what is new; return how many events. Raises StoreError."""
        self._runtime.drain()
        revision = self._shared() if self._once else None
        found = sorted([*self._timeline(), *self._exposures()], key=lambda each: number_in(each, "at"))
        new = [each for each in found if text_in(each, "id") not in self._told]
        if found:
            self._since = number_in(found[-1], "at")
            self._told = {text_in(each, "id") for each in found if number_in(each, "at") == self._since}
        if revision is not None and (new or not revision):
            row: Row = {"since": self._since, "told": [*sorted(self._told)]}
            if not self._runtime.store.swap("meta", _SHARED, revision, row):
                return 0  # another process tells them
        for each in new:
            self._emit(each)
        return len(new)

    def _shared(self) -> int:
        """Go on from where the processes of this home are; return the revision of that."""
        held = self._runtime.store.get("meta", _SHARED) or {}
        told = held.get("told")
        if held:
            self._since = number_in(held, "since")
            self._told = {str(each) for each in told} if isinstance(told, list) else set()
        return whole_in(held, "revision")

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


class EvaluationTeller:
    """Emits what this home's processes decided, every so often and when it is asked, as long as logs are set up. Never
    raises into the host."""

    def __init__(self, home: str | PathLike[str] | None, *, every_s: float) -> None:
        self._events = EvaluationEvents(home=home, once=True)
        self._every_s = every_s
        self._ended = threading.Event()
        self._asking = threading.Lock()
        threading.Thread(target=self._run, name="ratchet-evaluations", daemon=True).start()

    def _run(self) -> None:
        while not self._ended.wait(self._every_s):
            self.tell()

    def tell(self) -> None:
        """Emit what is new."""
        try:
            with self._asking:
                if self._events.is_heard():
                    self._events.emit()
        except Exception:  # noqa: BLE001  (the edge to the host, whose exporter may raise anything)
            _LOG.warning("evaluations.lost", exc_info=True)

    def close(self) -> None:
        """Emit what is left, and end."""
        self._ended.set()
        self.tell()
        self._events.close()

"""Records outcomes the rsi-loop way, into the journal of a Ratchet home."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from ratchet.client import Ratchet
from ratchet.compat.rsi_loop.types import ISSUES_OF, Config, Issue, Outcome, clamped
from ratchet.failures.classification import classify
from ratchet.records import Json, text_in
from ratchet.records import Outcome as Kept

DAY_S = 86_400.0
_SOURCE = "rsi_loop"
_HISTORY = "outcomes.jsonl"  # what rsi-loop itself left in the folder


class Observer:
    """Records what an agent did, and reads it back. Observers of one folder share what they know."""

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or Config()
        self.ratchet = Ratchet(self.config.data_dir, foreign_home=True)
        self._has_learnt = False

    def record(self, outcome: Outcome) -> Outcome:
        """Record an outcome. Its error message is classified unless it names issues. Costs microseconds, never
        raises."""
        if outcome.error_message and not outcome.issues:
            outcome.issues = issues_of(outcome.error_message)
        outcome.quality = clamped(outcome.quality)
        own = {"rsi_id": outcome.id, "issues": outcome.issues, "notes": outcome.notes, "tags": outcome.tags}
        self.ratchet.record(
            outcome.source,
            id=outcome.id,
            task=outcome.task_type,
            ok=outcome.success,
            quality=outcome.quality,
            error=outcome.error_message or None,
            model=outcome.model,
            duration_s=outcome.duration_ms / 1000,
            started_at=_moment(outcome.timestamp),
            source=_SOURCE,
            context={**own, "metadata": outcome.metadata},
        )
        return outcome

    def record_simple(
        self,
        task: str,
        success: bool = True,
        error: str | None = None,
        model: str | None = None,
        duration_ms: int | None = None,
        quality: int = 3,
        source: str = "generic",
        tags: list[str] | None = None,
        notes: str = "",
    ) -> Outcome:
        """Record an outcome from what is known of it. A failure has a quality of 2 at most."""
        issues = issues_of(error) if error else [] if success else ["other"]
        return self.record(
            Outcome(
                source=source,
                task_type=task,
                success=success,
                quality=quality if success else min(quality, 2),
                issues=issues,
                error_message=error or "",
                model=model or "",
                duration_ms=duration_ms or 0,
                notes=notes,
                tags=tags or [],
            )
        )

    def load_outcomes(self, days: int | None = None) -> list[Outcome]:
        """Outcomes of the last days, oldest first; what rsi-loop recorded in this folder before counts, too."""
        return [told_of(each) for each in self.kept(days)]

    def kept(self, days: int | None = None) -> list[Kept]:
        """The same as Ratchet keeps them, with kind and signature."""
        history = Path(self.config.data_dir, _HISTORY)
        if not self._has_learnt and history.is_file():
            self.ratchet.learn(history)
        self._has_learnt = True
        since = time.time() - (days or self.config.analysis_window_days) * DAY_S
        return [*self.ratchet.outcomes(since=since)][::-1]

    def recurrences(self, threshold: int | None = None, days: int | None = None) -> dict[Issue, int]:
        """Issues that occurred at least so often, with their counts."""
        least = threshold or self.config.recurrence_threshold
        counts = Counter(issue for each in self.load_outcomes(days) for issue in each.issues)
        return {issue: count for issue, count in counts.items() if count >= least}

    @staticmethod
    def _classify_error(error: str) -> list[Issue]:
        return issues_of(error)

    @staticmethod
    def normalize_error(error: str) -> str:
        """The error text without what differs from one time to the next, as signatures are made of it."""
        return classify(error).template.replace("<hex>", "<ID>").replace("<num>", "<N>").replace("<dur>", "<N>")[:120]


def issues_of(error: str) -> list[Issue]:
    """Say rsi-loop's words for an error text."""
    return [*ISSUES_OF.get(classify(error).kind, ("other",))]


def _moment(stamp: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:  # the time of recording stands in
        return None
    return moment if moment.tzinfo else moment.astimezone(UTC)


def told_of(kept: Kept) -> Outcome:
    """rsi-loop's form of an outcome; one that another agent recorded has issues by its kind."""
    noted = kept.context.get("noted")
    issues = _texts(kept.context.get("issues"))
    if not issues and kept.failure is not None:
        issues = [*ISSUES_OF.get(kept.failure.kind, ("other",))]
    metadata = kept.context.get("metadata")
    return Outcome(
        id=text_in(kept.context, "rsi_id") or kept.id,
        timestamp=datetime.fromtimestamp(kept.started_at, UTC).isoformat(),
        source=kept.agent,
        task_type=kept.task or "unknown",
        success=kept.ok,
        quality=3 if kept.score is None else round(1 + 4 * kept.score),
        issues=issues,
        error_message=kept.failure.message if kept.failure else text_in(noted, "message"),
        model=kept.model,
        duration_ms=round((kept.duration_s or 0) * 1000),
        notes=text_in(kept.context, "notes"),
        tags=_texts(kept.context.get("tags")),
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _texts(value: Json) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []

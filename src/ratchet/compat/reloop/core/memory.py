"""Recalls and keeps failures over any of reloop's backends."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from ratchet.compat.reloop.models import (
    ErrorSignature,
    FailureAnalysis,
    FailureRecord,
    MemoryStatsResponse,
    Object,
    SuccessRecord,
)
from ratchet.compat.reloop.providers.base import LLMProvider, MemoryBackend
from ratchet.failures.redaction.text import clean
from ratchet.lessons.fence import harmless

_SHOWN = 400  # characters of a text of a failure that a model is shown
_DECAY_A_DAY = 0.1
_DAY_S = 86_400.0


class FailureMemoryManager:
    """The memory as a loop uses it. What the backend raises reaches the caller: a memory that is down is not empty."""

    def __init__(self, backend: MemoryBackend, llm: LLMProvider | None = None) -> None:
        self._backend = backend
        self._llm = llm

    async def recall(self, error_type: str, error_message: str, limit: int = 5) -> list[FailureRecord]:
        """Failures like this error; what is older counts less, a tenth a day down to a tenth."""
        found = await self._backend.get_similar_failures(error_type, error_message, limit * 2)
        aged = [_aged(each) for each in found]
        return sorted(aged, key=lambda each: -each.analysis.confidence)[:limit]

    async def store_failure(
        self,
        task_id: str,
        attempt_number: int,
        signature: ErrorSignature,
        analysis: FailureAnalysis,
        context: Object,
        cost: float,
        transferable: bool = True,
    ) -> FailureRecord:
        """Keep a failure."""
        record = FailureRecord(
            task_id=task_id,
            attempt_number=attempt_number,
            signature=signature,
            analysis=analysis,
            context=context,
            cost_usd=cost,
            transferable=transferable,
        )
        await self._backend.store_failure(record)
        return record

    async def store_success(
        self, task_id: str, attempt_number: int, solution: dict[str, str], learning: Object, metrics: Object
    ) -> SuccessRecord:
        """Keep a success."""
        record = SuccessRecord(
            task_id=task_id, attempt_number=attempt_number, solution=solution, learning=learning, metrics=metrics
        )
        await self._backend.store_success(record)
        return record

    def build_memory_context(self, failures: Sequence[FailureRecord]) -> str:
        """Put failures into words for a model: as data, each text cut and on one line."""
        lines = [
            f"{number}. [{_shown(each.signature.error_type)}] {_shown(each.signature.error_message)}"
            f" — Root cause: {_shown(each.analysis.root_cause)} — Fix: {_shown(each.analysis.suggested_fix)}"
            for number, each in enumerate(failures, 1)
        ]
        return "\n".join(["Previous failures encountered:", *lines]) if lines else ""

    async def get_stats(self) -> MemoryStatsResponse:
        """Count what is kept."""
        return await self._backend.get_stats()


def _aged(record: FailureRecord) -> FailureRecord:
    days = (datetime.now(UTC) - record.timestamp).total_seconds() / _DAY_S
    confidence = round(record.analysis.confidence * max(0.1, 1 - _DECAY_A_DAY * max(days, 0.0)), 3)
    analysis = record.analysis.model_copy(update={"confidence": confidence})
    return record.model_copy(update={"analysis": analysis})


def _shown(text: str) -> str:
    return harmless(clean(text), _SHOWN)

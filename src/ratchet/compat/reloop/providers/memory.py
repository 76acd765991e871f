"""Keeps reloop's failures in Ratchet's store: each is an outcome, its suggested fix a lesson."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from ratchet.client import Ratchet
from ratchet.compat.reloop.models import FailureRecord, MemoryStatsResponse, Object, SuccessRecord
from ratchet.compat.reloop.providers.base import MemoryBackend
from ratchet.failures.classification import classify
from ratchet.failures.redaction.text import redact_json
from ratchet.files import read, replace
from ratchet.records import Json, Outcome, number_in

AGENT = "reloop"
_LIKE = 0.5  # share of the asked words that a failure must hold,
_WITHIN = 0.8  # or of its error's words that must occur in what is asked: a whole output holds much besides
_CLEARED = "reloop-cleared.json"


class RatchetMemory(MemoryBackend):
    """The memory over one home."""

    def __init__(self, ratchet: Ratchet, home: Path) -> None:
        self._ratchet = ratchet
        self._cleared = home / _CLEARED

    async def store_failure(self, failure: FailureRecord) -> str:
        """Keep a failure; what it suggests is a lesson once a person approves it."""
        return await asyncio.to_thread(self._store_failure, failure)

    def _store_failure(self, failure: FailureRecord) -> str:
        error = f"{failure.signature.error_type}: {failure.signature.error_message}"
        self._ratchet.record(
            AGENT,
            id=failure.id,
            task=failure.task_id,
            ok=False,
            error=error,
            started_at=failure.timestamp,
            cost_usd=failure.cost_usd,
            source=AGENT,
            context={"failure": redact_json(failure.model_dump(mode="json", exclude={"embedding"}))},
        )
        if failure.analysis.suggested_fix.strip():
            scope = "global" if failure.transferable else "project"
            self._ratchet.lessons.add(when=error, do=failure.analysis.suggested_fix, scope=scope)  # type: ignore[arg-type]
        return failure.id

    async def store_success(self, success: SuccessRecord) -> str:
        """Keep a success."""
        said = redact_json(success.model_dump(mode="json"))
        self._ratchet.record(
            AGENT, id=success.id, task=success.task_id, ok=True, source=AGENT, context={"success": said}
        )
        return success.id

    async def get_similar_failures(
        self, error_type: str, error_message: str, limit: int = 5, embedding: list[float] | None = None
    ) -> list[FailureRecord]:
        """Failures with the same signature, then those with the most words in common."""
        del embedding
        return await self.search(f"{error_type}: {error_message}", limit)

    async def search(self, query: str, limit: int = 5, filters: Object | None = None) -> list[FailureRecord]:
        """Failures with the signature of a text, then those that share its words, the most first."""
        del filters
        return await asyncio.to_thread(self._search, query, limit)

    def _search(self, query: str, limit: int) -> list[FailureRecord]:
        signature, words = classify(query).signature, _words(query)
        ranked = []
        for kept, record in self._failures():
            same = kept.failure is not None and kept.failure.signature == signature
            share = len(words & _words(_text_of(record))) / max(len(words), 1)
            said = _words(f"{record.signature.error_type} {record.signature.error_message}")
            if same or share >= _LIKE or len(words & said) > _WITHIN * len(said):
                ranked.append((same, share, record))
        ranked.sort(key=lambda each: each[:2], reverse=True)
        return [record for _, _, record in ranked[:limit]]

    async def get_failure(self, failure_id: str) -> FailureRecord | None:
        """One failure; None where there is none."""
        found = await asyncio.to_thread(lambda: [each for _, each in self._failures() if each.id == failure_id])
        return found[0] if found else None

    async def get_failures_for_task(self, task_id: str) -> list[FailureRecord]:
        """A task's failures, newest first."""
        return await asyncio.to_thread(lambda: [each for _, each in self._failures() if each.task_id == task_id])

    async def all_failures(self) -> list[FailureRecord]:
        """All failures, newest first."""
        return await asyncio.to_thread(lambda: [each for _, each in self._failures()])

    async def get_stats(self) -> MemoryStatsResponse:
        """Count what is kept."""
        return await asyncio.to_thread(self._stats)

    def _stats(self) -> MemoryStatsResponse:
        failures = [each for _, each in self._failures()]
        successes = self._ratchet.outcomes(agent=AGENT, ok=True, since=self._since())
        return MemoryStatsResponse(
            total_failures=len(failures),
            total_successes=sum(1 for _ in successes),
            top_error_categories=dict(Counter(str(each.signature.error_category) for each in failures).most_common()),
            avg_confidence=sum(each.analysis.confidence for each in failures) / max(len(failures), 1),
        )

    async def clear(self) -> None:
        """Begin anew: what was kept until now is found no more. What happened stays evidence in the store."""
        replace(self._cleared, json.dumps({"at": time.time()}).encode())

    def _since(self) -> float:
        return number_in(cast(Json, json.loads(read(self._cleared) or b"null")), "at")

    def _failures(self) -> Iterator[tuple[Outcome, FailureRecord]]:
        for kept in self._ratchet.outcomes(agent=AGENT, ok=False, since=self._since()):
            try:
                yield kept, FailureRecord.model_validate(kept.context.get("failure"))
            except ValueError:  # recorded by something else under this name
                continue


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9_]{2,}", text.lower()))


def _text_of(record: FailureRecord) -> str:
    said = record.analysis
    signature = record.signature
    about = (signature.error_type, signature.error_message, signature.error_category, said.root_cause)
    return " ".join((*about, said.suggested_fix, *record.topics))

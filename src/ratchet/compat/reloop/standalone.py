"""Gives reloop's three lines: a memory of failures, for asyncio and without it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Self, TypedDict, TypeVar, Unpack

from pydantic import JsonValue

from ratchet.client import Ratchet
from ratchet.compat.reloop.config import settings
from ratchet.compat.reloop.models import (
    ErrorCategory,
    ErrorSignature,
    FailureAnalysis,
    FailureRecord,
    Object,
    SuccessRecord,
)
from ratchet.compat.reloop.providers.memory import RatchetMemory
from ratchet.config import home_of
from ratchet.registry import adding

log = logging.getLogger(__name__)

Result = TypeVar("Result")

_CATEGORIES = frozenset(ErrorCategory)


class StoredFailure(TypedDict, total=False):
    """Fields of `store_failure`; `error_type` and `error_message` must be among them."""

    error_type: str
    error_message: str
    root_cause: str
    suggested_fix: str
    task_id: str
    attempt_number: int
    confidence: float
    error_category: str
    what_was_tried: str
    why_it_failed: str
    anti_pattern: str
    code_context: str
    cost_usd: float
    transferable: bool


class FailureMemory:
    """A memory in a Ratchet home: the folder beside `sqlite_path` with the suffix .ratchet where one is given (what
    reloop kept in that file is read once), else RATCHET_HOME or ~/.ratchet. A Redis that is named, also by REDIS_URL,
    finds what is alike faster; the store is the truth, and answers alone where it is away."""

    def __init__(
        self,
        redis_url: str = "",
        embedding_model: str = "",
        backend: str = "auto",
        sqlite_path: str | None = None,
    ) -> None:
        if backend not in ("auto", "redis", "sqlite"):
            raise ValueError(f"Unknown backend type: {backend!r}")
        url = "" if backend == "sqlite" else redis_url or settings().redis_url
        if url and find_spec("redisvl") is None:
            log.info("memory.store", extra={"why": f"Redis is asked with its extra: {adding('redis')}"})
            url = ""
        del embedding_model
        home = home_of(None) if sqlite_path is None else Path(sqlite_path).with_suffix(".ratchet")
        home.mkdir(parents=True, exist_ok=True)
        self._ratchet = Ratchet(home, foreign_home=True, redis_url=url or None)
        if sqlite_path is not None and Path(sqlite_path).is_file():
            self._ratchet.learn(sqlite_path)
        self._backend = RatchetMemory(self._ratchet, home)

    async def store_failure(self, **said: Unpack[StoredFailure]) -> str:
        """Keep a failure and what is thought of it; return its id. Raises ValueError without a type or message."""
        kind, message = said.get("error_type", ""), said.get("error_message", "")
        for name, text in (("error_type", kind), ("error_message", message)):
            if not text.strip():
                raise ValueError(f"{name} must be a non-empty string")
        category = said.get("error_category", "unknown")
        signature = ErrorSignature(
            error_type=kind,
            error_message=message,
            error_category=ErrorCategory(category) if category in _CATEGORIES else ErrorCategory.UNKNOWN,
            code_context=said.get("code_context", ""),
        )
        analysis = FailureAnalysis(
            root_cause=said.get("root_cause", ""),
            what_was_tried=said.get("what_was_tried", ""),
            why_it_failed=said.get("why_it_failed", ""),
            suggested_fix=said.get("suggested_fix", ""),
            anti_pattern=said.get("anti_pattern", ""),
            confidence=said.get("confidence", 0.8),
        )
        known = StoredFailure.__annotations__
        return await self._backend.store_failure(
            FailureRecord(
                task_id=said.get("task_id", "standalone"),
                attempt_number=said.get("attempt_number", 1),
                signature=signature,
                analysis=analysis,
                context={name: _json(value) for name, value in said.items() if name not in known},
                cost_usd=said.get("cost_usd", 0.0),
                transferable=said.get("transferable", True),
            )
        )

    async def store_success(
        self,
        approach: str,
        key_insight: str,
        task_id: str = "standalone",
        attempt_number: int = 1,
        **learning: JsonValue,
    ) -> str:
        """Keep a success and what it taught; return its id."""
        solution = {"approach": approach, "key_insight": key_insight}
        return await self._backend.store_success(
            SuccessRecord(task_id=task_id, attempt_number=attempt_number, solution=solution, learning=learning)
        )

    async def search(self, query: str, limit: int = 5) -> list[Object]:
        """Failures that a text is about, with what was suggested for each, the best first."""
        return [_told(each) for each in await self._backend.search(query, limit)]

    async def search_cross_project(
        self, query: str, exclude_task_id: str | None = None, limit: int = 5
    ) -> list[Object]:
        """The same, of those that may leave their project, and not of this task."""
        found = await self._backend.search(query, limit * 4)
        chosen = [each for each in found if each.transferable and each.task_id != exclude_task_id]
        return [{**_told(each), "task_id": each.task_id} for each in chosen[:limit]]

    async def get_anti_patterns(self, domain: str | None = None) -> list[str]:
        """List what to avoid, of all failures or of those that a text is about."""
        found: Sequence[FailureRecord] = (
            await self._backend.search(domain, 100) if domain else await self._backend.all_failures()
        )
        said = (each.analysis.anti_pattern.strip() for each in found)
        return [*dict.fromkeys(filter(None, said))]

    async def stats(self) -> Object:
        """Count what is kept."""
        return (await self._backend.get_stats()).model_dump()

    async def clear(self) -> None:
        """Begin anew."""
        await self._backend.clear()

    async def close(self) -> None:
        """Let go of files."""
        self._ratchet.close()


class SyncFailureMemory:
    """`FailureMemory` without asyncio; it may be called from within a running loop, too."""

    def __init__(
        self,
        redis_url: str = "",
        embedding_model: str = "",
        backend: str = "auto",
        sqlite_path: str | None = None,
    ) -> None:
        self._memory = FailureMemory(redis_url, embedding_model, backend, sqlite_path)

    def store_failure(self, **said: Unpack[StoredFailure]) -> str:
        """Keep a failure; return its id."""
        return _run(self._memory.store_failure(**said))

    def store_success(
        self,
        approach: str,
        key_insight: str,
        task_id: str = "standalone",
        attempt_number: int = 1,
        **learning: JsonValue,
    ) -> str:
        """Keep a success; return its id."""
        return _run(self._memory.store_success(approach, key_insight, task_id, attempt_number, **learning))

    def search(self, query: str, limit: int = 5) -> list[Object]:
        """Failures that a text is about, the best first."""
        return _run(self._memory.search(query, limit))

    def search_cross_project(self, query: str, exclude_task_id: str | None = None, limit: int = 5) -> list[Object]:
        """Failures of other tasks that may leave their project."""
        return _run(self._memory.search_cross_project(query, exclude_task_id, limit))

    def get_anti_patterns(self, domain: str | None = None) -> list[str]:
        """List what to avoid."""
        return _run(self._memory.get_anti_patterns(domain))

    def stats(self) -> Object:
        """Count what is kept."""
        return _run(self._memory.stats())

    def clear(self) -> None:
        """Begin anew."""
        _run(self._memory.clear())

    def close(self) -> None:
        """Let go of files."""
        _run(self._memory.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _run(work: Coroutine[None, None, Result]) -> Result:
    """Run to the end, in a thread of its own where this one has a loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    ended: list[Result] = []
    faults: list[BaseException] = []

    def apart() -> None:
        try:
            ended.append(asyncio.run(work))
        except BaseException as fault:  # noqa: BLE001  (it is raised where it was asked for)
            faults.append(fault)

    thread = threading.Thread(target=apart, name="reloop")
    thread.start()
    thread.join()
    if faults:
        raise faults[0]
    return ended[0]


def _json(value: object) -> JsonValue:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _told(record: FailureRecord) -> Object:
    return {
        "id": record.id,
        "error_type": record.signature.error_type,
        "error_message": record.signature.error_message,
        "root_cause": record.analysis.root_cause,
        "suggested_fix": record.analysis.suggested_fix,
        "confidence": record.analysis.confidence,
        "anti_pattern": record.analysis.anti_pattern,
        "transferable": record.transferable,
    }

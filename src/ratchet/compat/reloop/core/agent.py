"""Works at a task until it is done: Ratchet heals, in its own sandbox, and the project's check decides."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from ratchet.compat.reloop.config import settings
from ratchet.compat.reloop.core.memory import FailureMemoryManager
from ratchet.compat.reloop.core.retry import RetryEngine
from ratchet.compat.reloop.core.timeline import TimelineManager
from ratchet.compat.reloop.models import Attempt, AttemptStatus, Task, TaskStatus, TimelineEventType
from ratchet.compat.reloop.providers.base import LLMProvider, MemoryBackend, SandboxProvider
from ratchet.config import load
from ratchet.errors import RatchetError, UsageError
from ratchet.healing.book import HealRequest
from ratchet.healing.episode import Budget, Episode
from ratchet.runtime import Runtime


class ReLoopAgent:
    """Runs tasks. `metadata["folder"]` names a task's project (default: the working directory) and `metadata["check"]`
    the command that is to pass (default: the project's own). `sandbox` and `llm` are accepted: the sandbox and the
    solvers are Ratchet's."""

    def __init__(
        self,
        memory: MemoryBackend,
        sandbox: SandboxProvider | None = None,
        llm: LLMProvider | None = None,
        timeline: TimelineManager | None = None,
    ) -> None:
        del sandbox
        said = settings()
        self.timeline = timeline or TimelineManager()
        self._memory = FailureMemoryManager(memory, llm)
        self._retry_engine = RetryEngine(
            self._memory, said.max_retries, said.max_budget_usd, said.circuit_breaker_threshold
        )

    async def run(self, task: Task) -> Task:
        """Heal; the task tells how it ended. What cannot be begun fails, with the reason as its result."""
        task.status = TaskStatus.RUNNING
        self.timeline.emit(task.id, TimelineEventType.TASK_CREATED, message=task.instruction)
        try:
            ended = await asyncio.to_thread(_healed, task)
        except RatchetError as refused:
            task.status, task.result = TaskStatus.FAILED, str(refused)
        else:
            _tell(task, ended)
        task.completed_at = datetime.now(UTC)
        done = task.status is TaskStatus.SUCCEEDED
        kind = TimelineEventType.TASK_COMPLETED if done else TimelineEventType.TASK_ABANDONED
        self.timeline.emit(task.id, kind, attempt_number=task.current_attempt, message=task.result or "")
        self.timeline.close_subscribers(task.id)
        return task


def _healed(task: Task) -> Episode:
    said = settings()
    folder = Path(str(task.metadata.get("folder") or "."))
    with Runtime(load()) as runtime:
        book = runtime.episodes
        asked = task.metadata.get("check")
        own = None if asked else book.own_check(folder)
        if not asked and own is None:
            raise UsageError(f"no check was found in {folder.resolve()}: name the command in metadata['check']")
        budget = Budget(
            attempts=min(task.max_retries, said.max_retries), usd=min(task.max_budget_usd, said.max_budget_usd)
        )
        check = own.argv if own is not None else ("sh", "-c", str(asked))
        return book.run(HealRequest(check=check, folder=folder, instruction=task.instruction, budget=budget))


def _tell(task: Task, ended: Episode) -> None:
    task.status = TaskStatus.SUCCEEDED if ended.status == "passed" else TaskStatus.ABANDONED
    task.result = ended.diff or ended.reason or ended.status
    task.total_cost_usd = ended.cost_usd
    task.current_attempt = len(ended.attempts)
    task.attempts = [
        Attempt(
            attempt_number=each.n,
            status=AttemptStatus.SUCCEEDED if each.status == "passed" else AttemptStatus.FAILED,
            cost_usd=each.cost_usd,
        )
        for each in ended.attempts
    ]

"""Decides whether a task is tried again, and with what knowledge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from ratchet.compat.reloop.core.memory import FailureMemoryManager
from ratchet.compat.reloop.models import Attempt, CircuitBreakerState, ErrorSignature, FailureRecord, Object, Task
from ratchet.failures.classification import classify
from ratchet.failures.kinds.table import KINDS

_HOPELESS = "This suggests a fundamental issue that retrying won't fix."
_ADVICE = {
    "dependency_missing": "Check for a missing package (pip install, npm install) or a misspelt import.",
    "permission": "Check the permission of the file, folder or account.",
    "timeout": "Check that the service answers, or raise the timeout.",
}


class RetryContext(TypedDict):
    """Knowledge for the next attempt."""

    recalled_memories: str
    anti_patterns: list[str]
    raw_failures: list[FailureRecord]
    error_signature: Object
    attempt_number: int
    total_cost_usd: float


class RetryEngine:
    """Bounds the attempts at a task: their number, their cost, and equal failures in a row."""

    def __init__(
        self,
        memory: FailureMemoryManager,
        max_retries: int = 5,
        max_budget_usd: float = 1.0,
        circuit_breaker_threshold: int = 3,
    ) -> None:
        self._memory = memory
        self._max_retries = max_retries
        self._max_budget_usd = max_budget_usd
        self._threshold = circuit_breaker_threshold

    def should_retry(self, task: Task) -> bool:
        """Tell whether attempts and budget are left, by the task's bounds and the engine's, and the breaker closed."""
        return (
            task.current_attempt < min(task.max_retries, self._max_retries)
            and task.total_cost_usd < min(task.max_budget_usd, self._max_budget_usd)
            and not self.get_circuit_breaker_state(task).is_open
        )

    async def prepare_retry_context(self, task: Task, last_error: ErrorSignature) -> RetryContext:
        """Recall what is known about the last error."""
        found = await self._memory.recall(last_error.error_type, last_error.error_message)
        return {
            "recalled_memories": self._memory.build_memory_context(found),
            "anti_patterns": [each.analysis.anti_pattern for each in found if each.analysis.anti_pattern],
            "raw_failures": found,
            "error_signature": last_error.model_dump(),
            "attempt_number": task.current_attempt,
            "total_cost_usd": task.total_cost_usd,
        }

    def get_circuit_breaker_state(self, task: Task) -> CircuitBreakerState:
        """The breaker: open once the last attempts, a threshold of them, all failed with the same error."""
        last = task.attempts[-self._threshold :]
        errors = {_error_of(task, each) for each in last}
        if len(last) < self._threshold or len(errors) != 1 or "" in errors:
            return CircuitBreakerState()
        said = _said(last[-1:]) or str(task.metadata.get(f"attempt_{last[-1].attempt_number}_error_type") or "")
        return CircuitBreakerState(
            is_open=True,
            reason=f"Agent has failed {len(last)} consecutive times with the same error",
            consecutive_same_error=len(last),
            error_hash=errors.pop(),
            error_type=said.partition(":")[0][:64],
            recommendation=self._recommendation_for_error_type(said),
        )

    @staticmethod
    def _recommendation_for_error_type(error_type: str) -> str:
        kind = classify(f"{error_type}: it failed" if error_type.isidentifier() else error_type or "unknown").kind
        return f"{_HOPELESS} {_ADVICE.get(kind) or '; or '.join(KINDS[kind][3])}"


def _error_of(task: Task, attempt: Attempt) -> str:
    """The error of a failed attempt; "" of one that did not fail."""
    if attempt.failure_record_id is None:
        return ""
    return str(task.metadata.get(f"attempt_{attempt.attempt_number}_error_hash") or _said([attempt]))


def _said(attempts: Sequence[Attempt]) -> str:
    return next((each.steps[-1].error or "" for each in attempts if each.steps), "")

"""Repeats a call that failed the reloop way: `ratchet.retry`, with reloop's arguments."""

from __future__ import annotations

from ratchet.client import default
from ratchet.compat.reloop.config import settings
from ratchet.improving.calls.retry import Retry


def retry(
    max_retries: int | None = None, memory: bool = True, budget_usd: float | None = None, task_id: str | None = None
) -> Retry:
    """Repeat a call where a failure of its kind may pass: `max_retries` times after the first (default: MAX_RETRIES),
    over failures that prove that nothing happened, or of functions that say they are idempotent. With `memory` what is
    known about the failure is looked up and logged."""
    del task_id, budget_usd  # a call has no price unless one is told: `ratchet.retry(cost_usd=..., budget_usd=...)`
    said = settings()
    tries = 1 + (said.max_retries if max_retries is None else max_retries)
    return default().retry(attempts=tries, circuit_breaker_failures=said.circuit_breaker_threshold, recall=memory)

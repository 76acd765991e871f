"""Offers reloop's API: `from ratchet.compat.reloop import FailureMemory`. Needs pydantic."""

from ratchet.compat.reloop.core.agent import ReLoopAgent
from ratchet.compat.reloop.decorators import retry
from ratchet.compat.reloop.models import ErrorCategory, FailureRecord, SuccessRecord, TaskStatus
from ratchet.compat.reloop.standalone import FailureMemory, SyncFailureMemory
from ratchet.compat.reloop.telemetry import configure_tracing

__all__ = [
    "ErrorCategory",
    "FailureMemory",
    "FailureRecord",
    "ReLoopAgent",
    "SuccessRecord",
    "SyncFailureMemory",
    "TaskStatus",
    "configure_tracing",
    "retry",
]

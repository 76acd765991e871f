"""Hold reloop's records, field for field, as they travel over HTTP and stand in its exports."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self
from uuid import uuid4

from pydantic import BaseModel, Field, JsonValue

Object = dict[str, JsonValue]


class TaskStatus(StrEnum):
    """State of a task."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ABANDONED = "abandoned"


class AttemptStatus(StrEnum):
    """State of an attempt."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class ErrorCategory(StrEnum):
    """Class of an error, as reloop names them; Ratchet has a finer one, its kind."""

    DEPENDENCY_ERROR = "dependency_error"
    RUNTIME_ERROR = "runtime_error"
    CONFIG_ERROR = "config_error"
    TYPE_ERROR = "type_error"
    NETWORK_ERROR = "network_error"
    PERMISSION_ERROR = "permission_error"
    TIMEOUT_ERROR = "timeout_error"
    UNKNOWN = "unknown"


class TimelineEventType(StrEnum):
    """Kind of an event."""

    TASK_CREATED = "task.created"
    ATTEMPT_STARTED = "attempt.started"
    STEP_STARTED = "step.started"
    STEP_COMPLETED = "step.completed"
    STEP_FAILED = "step.failed"
    MEMORY_RECALLED = "memory.recalled"
    MEMORY_STORED = "memory.stored"
    CHECKPOINT_CREATED = "checkpoint.created"
    CHECKPOINT_RESTORED = "checkpoint.restored"
    ATTEMPT_SUCCEEDED = "attempt.succeeded"
    ATTEMPT_FAILED = "attempt.failed"
    PREDICTION = "prediction"
    CIRCUIT_BREAKER_OPEN = "circuit_breaker.open"
    TASK_COMPLETED = "task.completed"
    TASK_ABANDONED = "task.abandoned"


def _id() -> str:
    return uuid4().hex[:12]


def _now() -> datetime:
    return datetime.now(UTC)


class ErrorSignature(BaseModel):
    """An error. `error_hash` is the SHA-256 of type and message, cut to 16 digits; Ratchet has its own signature."""

    error_type: str
    error_category: ErrorCategory = ErrorCategory.UNKNOWN
    error_message: str
    error_hash: str = ""
    code_context: str = ""

    def model_post_init(self, _context: object) -> None:
        if not self.error_hash:
            said = f"{self.error_type}:{self.error_message}"
            self.error_hash = hashlib.sha256(said.encode()).hexdigest()[:16]


class FailureAnalysis(BaseModel):
    """Opinion on a failure. `confidence` is theirs, in [0, 1]."""

    root_cause: str
    what_was_tried: str
    why_it_failed: str
    suggested_fix: str
    anti_pattern: str = ""
    confidence: float = Field(default=0.8, ge=0.0, le=1.0)


class FailureRecord(BaseModel):
    """A failure with its analysis. One that is not `transferable` stays in its project."""

    id: str = Field(default_factory=_id)
    task_id: str
    attempt_number: int
    timestamp: datetime = Field(default_factory=_now)
    signature: ErrorSignature
    analysis: FailureAnalysis
    context: Object = Field(default_factory=dict)
    embedding: list[float] = Field(default_factory=list)
    topics: list[str] = Field(default_factory=list)
    cost_usd: float = 0.0
    transferable: bool = True


class SuccessRecord(BaseModel):
    """A task that ended well, and how."""

    id: str = Field(default_factory=_id)
    task_id: str
    attempt_number: int
    timestamp: datetime = Field(default_factory=_now)
    solution: dict[str, str] = Field(default_factory=dict)
    learning: Object = Field(default_factory=dict)
    metrics: Object = Field(default_factory=dict)


class Checkpoint(BaseModel):
    """A state of a sandbox that one can go back to."""

    id: str = Field(default_factory=_id)
    task_id: str
    attempt_number: int
    step_number: int = 0
    sandbox_snapshot_id: str = ""
    working_memory_snapshot: Object = Field(default_factory=dict)
    description: str = ""
    created_at: datetime = Field(default_factory=_now)
    reversible: bool = True


class StepResult(BaseModel):
    """A step of an attempt."""

    step_number: int
    description: str
    command: str = ""
    output: str = ""
    status: AttemptStatus = AttemptStatus.RUNNING
    error: str | None = None
    started_at: datetime = Field(default_factory=_now)
    completed_at: datetime | None = None
    cost_usd: float = 0.0


class Attempt(BaseModel):
    """One try at a task."""

    attempt_number: int
    status: AttemptStatus = AttemptStatus.RUNNING
    steps: list[StepResult] = Field(default_factory=list)
    recalled_memories: list[str] = Field(default_factory=list)
    failure_record_id: str | None = None
    checkpoint_id: str | None = None
    started_at: datetime = Field(default_factory=_now)
    completed_at: datetime | None = None
    cost_usd: float = 0.0


class Task(BaseModel):
    """Work asked for, with its attempts."""

    id: str = Field(default_factory=_id)
    instruction: str
    status: TaskStatus = TaskStatus.PENDING
    attempts: list[Attempt] = Field(default_factory=list)
    current_attempt: int = 0
    max_retries: int = 5
    max_budget_usd: float = 1.0
    total_cost_usd: float = 0.0
    created_at: datetime = Field(default_factory=_now)
    completed_at: datetime | None = None
    result: str | None = None
    metadata: Object = Field(default_factory=dict)


class TimelineEvent(BaseModel):
    """Something that happened to a task."""

    id: str = Field(default_factory=_id)
    task_id: str
    event_type: TimelineEventType
    attempt_number: int = 0
    step_number: int = 0
    timestamp: datetime = Field(default_factory=_now)
    data: Object = Field(default_factory=dict)
    message: str = ""


class CreateTaskRequest(BaseModel):
    """A task as it is asked for over HTTP."""

    instruction: str
    max_retries: int = 5
    max_budget_usd: float = 1.0
    metadata: Object = Field(default_factory=dict)


class TaskResponse(BaseModel):
    """A task as it is answered over HTTP."""

    id: str
    instruction: str
    status: TaskStatus
    current_attempt: int
    total_attempts: int
    total_cost_usd: float
    created_at: datetime
    completed_at: datetime | None
    result: str | None

    @classmethod
    def from_task(cls, task: Task) -> Self:
        """The answer about a task."""
        return cls(**task.model_dump(include=set(cls.model_fields)), total_attempts=len(task.attempts))


class MemoryStatsResponse(BaseModel):
    """Counts of a memory."""

    total_failures: int
    total_successes: int
    top_error_categories: dict[str, int]
    avg_confidence: float


class CircuitBreakerState(BaseModel):
    """State of a task's circuit breaker, with advice."""

    is_open: bool = False
    reason: str = ""
    consecutive_same_error: int = 0
    error_hash: str = ""
    error_type: str = ""
    recommendation: str = ""


class PlaybookExport(BaseModel):
    """Failures to take elsewhere: what `reloop export` writes."""

    name: str = "ReLoop Failure Playbook"
    version: str = "1.0"
    exported_at: datetime = Field(default_factory=_now)
    domain: str = ""
    failures: list[FailureRecord] = Field(default_factory=list)
    stats: Object = Field(default_factory=dict)

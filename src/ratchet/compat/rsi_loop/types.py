"""Hold rsi-loop's records, field for field: mutable, and with its spellings on the wire."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from typing import ClassVar, Self
from uuid import uuid4

from ratchet.records import Json

Issue = str

ISSUES_OF: dict[str, tuple[Issue, ...]] = {
    "rate_limit": ("rate_limit",),
    "quota_exhausted": ("cost_overrun",),
    "overloaded": ("rate_limit",),
    "server_error": ("tool_error",),
    "timeout": ("timeout",),
    "network": ("tool_error",),
    "auth": ("tool_error",),
    "permission": ("tool_error",),
    "model_not_found": ("model_fallback", "missing_tool"),
    "context_overflow": ("context_loss",),
    "context_lost": ("session_reset", "context_loss"),
    "empty_response": ("empty_response",),
    "malformed_output": ("wrong_output",),
    "wrong_output": ("wrong_output",),
    "test_failure": ("wrong_output",),
    "assertion": ("wrong_output",),
    "tool_not_found": ("missing_tool",),
    "resource_missing": ("missing_tool",),
    "dependency_missing": ("missing_tool",),
    "tool_arguments": ("tool_error",),
    "tool_error": ("tool_error",),
    "command_failed": ("tool_error",),
    "loop_detected": ("repeated_mistake",),
    "iteration_limit": ("incomplete_task",),
    "budget_exceeded": ("cost_overrun",),
    "cancelled": ("incomplete_task",),
}
"""Kind of failure -> rsi-loop's words for it; "other" for the rest. The kind is decided by `ratchet.classify`."""

KIND_OF: dict[Issue, str] = {
    **{issue: kind for kind, issues in reversed(ISSUES_OF.items()) for issue in issues},
    "wrong_model_tier": "model_not_found",
    "bad_routing": "model_not_found",
    "slow_response": "timeout",
}
"""Issue -> the kind whose fixes are proposed for it."""

HIGH_SEVERITY_ISSUES = frozenset(
    ("tool_error", "wrong_output", "empty_response", "session_reset", "cost_overrun", "wal_miss")
)


def short_id() -> str:
    """Make an id of 12 letters."""
    return uuid4().hex[:12]


def utc_now() -> str:
    """The time now, as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat()


class Record:
    """Turns a record into a dict and back."""

    _places: ClassVar[Mapping[str, int]] = {}  # digits after the point, of fields that are rounded when written

    def to_dict(self) -> dict[str, Json]:
        """All fields by name."""
        row: dict[str, Json] = asdict(self)  # type: ignore[call-overload]
        for name, digits in self._places.items():
            row[name] = round(float(str(row[name])), digits)
        return row

    @classmethod
    def from_dict(cls, data: Mapping[str, Json]) -> Self:
        """The record of a dict; unknown names are passed over, missing ones have their defaults."""
        known = {each.name for each in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: value for name, value in data.items() if name in known})


@dataclass
class Outcome(Record):
    """One task as it ended. `quality` lies between 1 and 5."""

    id: str = field(default_factory=short_id)
    timestamp: str = field(default_factory=utc_now)
    source: str = "generic"
    task_type: str = "unknown"
    success: bool = True
    quality: int = 3
    issues: list[Issue] = field(default_factory=list)
    error_message: str = ""
    model: str = ""
    duration_ms: int = 0
    notes: str = ""
    tags: list[str] = field(default_factory=list)
    metadata: dict[str, Json] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Json]:
        """All fields by name, the time as `ts`."""
        row = super().to_dict()
        return {"id": row.pop("id"), "ts": row.pop("timestamp"), **row, "quality": clamped(self.quality)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Json]) -> Self:
        """The outcome of a dict, in any of rsi-loop's spellings."""
        row = dict(data)
        for name, others in _SPELLINGS.items():
            for other in others:
                if other in data and name not in row:
                    row[name] = data[other]
        return super().from_dict(row)


_SPELLINGS = {"timestamp": ("ts",), "task_type": ("task",), "error_message": ("error_msg", "error")}


def clamped(quality: int) -> int:
    """The quality, between 1 and 5."""
    return max(1, min(5, quality))


@dataclass
class Pattern(Record):
    """Failures of one task with one issue, or (`error_cluster`) with one signature."""

    id: str = field(default_factory=short_id)
    category: str = "other"
    task_type: str = "unknown"
    issue: Issue = "other"
    frequency: int = 0
    impact_score: float = 0.0
    failure_rate: float = 0.0
    description: str = ""
    sample_errors: list[str] = field(default_factory=list)
    suggested_action: str = ""
    sources: list[str] = field(default_factory=list)
    first_seen: str = field(default_factory=utc_now)
    last_seen: str = field(default_factory=utc_now)
    recurring: bool = False
    trend: str = "new"

    _places = {"impact_score": 4, "failure_rate": 3}  # noqa: RUF012  (no field: it bears no annotation)


@dataclass
class Fix(Record):
    """A fix as it stands: `draft` and `proposed` wait for a person, `trial` runs beside the old values, `applied` was
    proven better and kept, `rejected` was turned down or undone."""

    id: str = field(default_factory=short_id)
    pattern_id: str = ""
    type: str = "manual"
    status: str = "draft"
    target: str = ""
    changes: list[dict[str, str]] = field(default_factory=list)
    safe_category: str = ""
    description: str = ""
    created_at: str = field(default_factory=utc_now)


def _home() -> str:
    return os.environ.get("RATCHET_HOME") or "./rsi_data"


@dataclass
class Config:
    """Settings. `data_dir` is a Ratchet home; unless given it is RATCHET_HOME, else `./rsi_data`.

    Of its `ratchet.toml` only what a project may set is read, unless RATCHET_HOME names it: it may come with a clone.
    """

    data_dir: str = field(default_factory=_home)
    analysis_window_days: int = 7
    recurrence_threshold: int = 3
    auto_fix_enabled: bool = True
    safe_categories: list[str] = field(default_factory=lambda: ["routing_config", "threshold_tuning", "retry_logic"])

"""Looks at a tool call before it is made: is the agent going round in circles?

A hook of a coding agent is told after the call, by what it brought (`ratchet.failures.circles`). This is for loops of
one's own, which can still leave a call out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal, Self, TypedDict

from ratchet.client import Ratchet, default
from ratchet.records import Json, Outcome

LoopPattern = Literal["loop", "soft_loop", "flailing", "emergency_abort"]
Severity = Literal["info", "warning", "abort"]

_CONFIG: Mapping[str, float] = {
    "window_size": 10,
    "identical_threshold": 3,
    "similar_threshold": 4,
    "jaccard_threshold": 0.85,
    "consecutive_error_threshold": 3,
    "context_emergency_pct": 0.20,
    "abort_after_k_detections": 2,
}
_LAST = 5  # calls that all failed, of an agent whose context runs out
_SAID: Mapping[LoopPattern, str] = {
    "loop": "Doom loop: `{tool}` was called {count} times with identical arguments; it will bring the same again.",
    "soft_loop": "Soft loop: `{tool}` was called {count} times with nearly the same arguments.",
    "flailing": "Flailing: `{tool}` ended in an error {count} consecutive times.",
    "emergency_abort": "Emergency abort: the context is nearly used up, and the last {count} calls ended in an error.",
}
_NEXT = " Read the error, try another way, or ask the person."

_in_a_row: dict[str, int] = {}


@dataclass
class ToolCallRecord:
    """A call that was made."""

    tool: str
    args: dict[str, Json]
    errored: bool = False
    timestamp: float = field(default_factory=time.time)

    @classmethod
    def from_dict(cls, said: Mapping[str, Json]) -> Self:
        """The call of a dict, in any of the usual spellings."""
        args = said.get("args", said.get("arguments", said.get("input")))
        at = said.get("timestamp")
        return cls(
            tool=str(said.get("tool", said.get("tool_name", ""))),
            args=args if isinstance(args, dict) else {},
            errored=bool(said.get("errored", said.get("error", said.get("is_error", False)))),
            timestamp=float(at) if isinstance(at, int | float) else time.time(),
        )


class Detection(TypedDict):
    """Answer of a look; `corrective_message` is for the model."""

    detected: bool
    pattern: LoopPattern | None
    severity: Severity
    corrective_message: str | None
    should_abort: bool


def check_before_tool_call(
    session_id: str,
    planned_tool: str,
    planned_args: Mapping[str, Json],
    recent_history: Sequence[ToolCallRecord | Mapping[str, Json]] | None = None,
    *,
    context_used_tokens: int | None = None,
    context_total_tokens: int | None = None,
    ratchet: Ratchet | None = None,
    _cfg_override: Mapping[str, float] | None = None,
) -> Detection:
    """Say whether a planned call closes a circle. Without a history, that of the session in the store is looked at.
    Detections in a row, `abort_after_k_detections` of them, are a reason to abort whatever they are."""
    cfg = {**_CONFIG, **(_cfg_override or {})}
    history = _recorded(session_id, ratchet) if recent_history is None else recent_history
    calls = [each if isinstance(each, ToolCallRecord) else ToolCallRecord.from_dict(each) for each in history]
    used = (
        None if not context_total_tokens or context_used_tokens is None else context_used_tokens / context_total_tokens
    )
    found = _found(planned_tool, planned_args, calls[-int(cfg["window_size"]) :], used, cfg)
    if found is None:
        _in_a_row.pop(session_id, None)
        return {
            "detected": False,
            "pattern": None,
            "severity": "info",
            "corrective_message": None,
            "should_abort": False,
        }
    pattern, count = found
    times = _in_a_row[session_id] = _in_a_row.get(session_id, 0) + 1
    stop = times >= cfg["abort_after_k_detections"]
    said = _SAID[pattern].format(tool=planned_tool, count=count) + _NEXT
    return {
        "detected": True,
        "pattern": pattern,
        "severity": "abort" if stop or pattern != "soft_loop" else "warning",
        "corrective_message": f"Hard stop after {times} detections in a row. {said}" if stop else said,
        "should_abort": stop or pattern != "soft_loop",
    }


def reset_session_counter(session_id: str) -> None:
    """Forget the detections of a session."""
    _in_a_row.pop(session_id, None)


def jaccard(a: Mapping[str, Json], b: Mapping[str, Json]) -> float:
    """The share of arguments that two calls have in common, of all that either has."""
    one, other = _tokens(a), _tokens(b)
    return len(one & other) / len(one | other) if one or other else 1.0


def _found(
    tool: str, args: Mapping[str, Json], calls: Sequence[ToolCallRecord], used: float | None, cfg: Mapping[str, float]
) -> tuple[LoopPattern, int] | None:
    if used is not None and 1 - used < cfg["context_emergency_pct"]:
        last = calls[-_LAST:]
        if len(last) == _LAST and all(each.errored for each in last):
            return "emergency_abort", _LAST
    errors = sum(1 for _ in takewhile(lambda each: each.errored and each.tool == tool, reversed(calls)))
    if errors >= cfg["consecutive_error_threshold"]:
        return "flailing", errors
    same = [each for each in calls if each.tool == tool]
    identical = sum(each.args == args for each in same)
    if identical >= cfg["identical_threshold"]:
        return "loop", identical
    similar = sum(jaccard(each.args, args) > cfg["jaccard_threshold"] for each in same)
    return ("soft_loop", similar) if similar >= cfg["similar_threshold"] else None


def _tokens(args: Mapping[str, Json]) -> set[str]:
    return {f"{name}={json.dumps(value, sort_keys=True)}" for name, value in args.items()}


def _recorded(session: str, ratchet: Ratchet | None) -> list[ToolCallRecord]:
    """The session's last calls in the store, oldest first."""
    kept = (ratchet or default()).outcomes(session=session, limit=int(_CONFIG["window_size"]))
    return [_record(each) for each in [*kept][::-1] if each.step is not None]


def _record(kept: Outcome) -> ToolCallRecord:
    assert kept.step is not None
    try:
        args = json.loads(kept.step.input)
    except ValueError:
        args = {"command": kept.step.input}
    return ToolCallRecord(kept.step.tool, args if isinstance(args, dict) else {}, not kept.ok, kept.started_at)

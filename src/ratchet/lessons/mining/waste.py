"""Time and tokens between a failure and its resolution, without the time in which a tool waited for a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ratchet.failures.waiting import asks, own_s
from ratchet.lessons.mining.calls import ToolCall, calls_of
from ratchet.records import Row

GAP_S = 120.0  # a longer pause between two calls is a person away


def spent(calls: Sequence[ToolCall], at: int, end: int) -> tuple[float, int]:
    """(seconds, tokens) after the failed call at `at` up to the start of the one at `end`; calls that ran side by side
    count once."""
    seconds = 0.0
    reached = _ended(calls[at])
    for call in calls[at + 1 : end + 1]:
        seconds += min(GAP_S, max(0.0, call.at - reached))
        if call is not calls[end]:
            seconds += max(0.0, _ended(call) - max(reached, call.at))
        reached = max(reached, _ended(call), call.ended if asks(call.tool, call.head) else 0.0)
    return seconds, sum(call.tokens for call in calls[at + 1 : end + 1])


def seconds(rows: Iterable[Row]) -> dict[str, float]:
    """Seconds of each call among a session's outcomes, by its id: the thinking before it and the call itself. What ran
    side by side counts once; each thread of a session has its own clock."""
    found: dict[str, float] = {}
    reached: dict[str, float] = {}
    for call in calls_of(rows):
        before = reached.get(call.thread, call.at)
        took = min(GAP_S, max(0.0, call.at - before)) + max(0.0, _ended(call) - max(before, call.at))
        found[call.id] = took
        reached[call.thread] = max(before, _ended(call), call.ended if asks(call.tool, call.head) else 0.0)
    return found


def _ended(call: ToolCall) -> float:
    return call.at + own_s(call.tool, call.head, call.duration_s)

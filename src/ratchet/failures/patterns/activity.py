"""Count how much the agents ran: calls per agent and hour, read from tallies as they are asked for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from ratchet.records import number_in, whole_in

if TYPE_CHECKING:
    from ratchet.ports import Store

_HOUR_S = 3600


class Activity:
    """The calls of a store's agents up to `now`, as of one moment. Reads an agent's hours once, and only those of the
    window before its last call."""

    def __init__(self, store: Store, *, now: float, window_s: float) -> None:
        self._store = store
        self.now = now
        self.window_s = window_s
        # (first, last) call of each agent; a clock ahead of ours must not push everybody's window into the future.
        self._spans = {
            str(row["agent"]): (number_in(row, "min:min_at"), min(now, number_in(row, "max:max_at")))
            for row in store.sum_by("activity", ("agent",), ("min:min_at", "max:max_at"))
        }
        self.agents = [*self._spans]
        self.last = max((last for _, last in self._spans.values()), default=now)
        """The newest call of all agents (Unix seconds), `now` when there is none."""
        self.window = lru_cache(maxsize=None)(self._window)
        self.calls = lru_cache(maxsize=None)(self._calls)
        self._hours = lru_cache(maxsize=None)(self._read_hours)

    def _window(self, agents: frozenset[str]) -> tuple[float, float]:
        """Start and end (Unix seconds) of the window that ends with the agents' last call; it starts no earlier than
        their first. Both are `now` when none of them has run (only derived outcomes)."""
        spans = [span for agent in agents if (span := self._spans.get(agent))]
        if not spans:
            return self.now, self.now
        end = max(last for _, last in spans)
        return max(end - self.window_s, min(first for first, _ in spans)), end

    def _calls(self, agents: frozenset[str], start: float, middle: float, end: float) -> tuple[int, int]:
        """Calls from `start` to `middle`, and from there to `end`, by whole hours."""
        earlier = later = 0
        for agent in agents:
            hours, totals = self._hours(agent)
            low, cut = bisect_left(hours, start // _HOUR_S), bisect_left(hours, middle // _HOUR_S)
            high = bisect_right(hours, end // _HOUR_S)
            earlier += totals[cut] - totals[low]
            later += totals[high] - totals[cut]
        return earlier, later

    def _read_hours(self, agent: str) -> tuple[list[int], list[int]]:
        """An agent's hours, and how many calls lie before each (one more at the end: all)."""
        span = self._spans.get(agent)
        if span is None:
            return [], [0]
        # Two windows: another agent of the pattern may have run longer ago.
        first = (span[1] - 2 * self.window_s) // _HOUR_S
        rows = self._store.sum_by("activity", ("hour",), ("calls",), {"agent": agent, "hour": (">=", first)})
        held = sorted((whole_in(row, "hour"), number_in(row, "calls")) for row in rows)
        return [hour for hour, _ in held], _running(calls for _, calls in held)


def _running(values: Iterable[float]) -> list[int]:
    totals = [0]
    for value in values:
        totals.append(totals[-1] + int(value))
    return totals

"""Which failures keep coming back and what they cost, read from tallies alone: the cost depends on how many patterns,
agents and hours there are, never on how many outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ratchet.analysis.activity import Activity
from ratchet.analysis.merging import current, members, split
from ratchet.analysis.tallied import Tallied, tallied
from ratchet.analysis.trend import Halves, trend
from ratchet.errors import NotFound
from ratchet.health import EXCUSED
from ratchet.kinds import KINDS
from ratchet.ports import Store, Where
from ratchet.records import Json, Pattern, Row, Trend

WINDOW_S = 14 * 86_400.0
"""Two weeks: long enough to hold three sightings of what happens weekly, short enough that last month is over."""

RECURS_COUNT = 3
RECURS_SESSIONS = 2

SEVERITY_WEIGHTS: Mapping[str, float] = {"low": 0.5, "medium": 1.0, "high": 2.0, "critical": 4.0}
"""Each step of severity counts twice the one below."""

_HOUR_S = 3600


class _Ranked(NamedTuple):
    """Sorts as patterns are listed; `rest` is never compared, since the id before it is unique."""

    once: bool
    past: bool
    minus_impact: float
    minus_last_seen: float
    id: str
    rest: tuple[Row, Tallied]


def patterns(
    store: Store,
    *,
    now: float,
    window_s: float = WINDOW_S,
    agent: str | None = None,
    kind: str | None = None,
    limit: int | None = None,
    include_excused: bool = False,
) -> list[Pattern]:
    """Patterns, recurring ones on top (those that nobody met in the window before the store's newest call below those
    that still come back), then by impact; what is excused (cascades, refusals) only on request.

    recurring: 3 or more failures in the `window_s` that end with the last one, or in 2 or more sessions. The window
    hangs on the pattern's own last failure, so that a history that is months old tells the same today as then.
    trend: `analysis.trend` over the window that ends with the last call of the pattern's agents (at most `now`), cut in
    halves; a history shorter than the window is cut in halves itself.
    wasted_s, wasted_tokens: from each failure to its resolution where one is known, else what the failing call itself
    took (of a pattern with both, the unresolved share of all its failing calls). impact: minutes wasted plus one for
    each failure, times the weight of the kind's severity (`SEVERITY_WEIGHTS`). `lessons` is left empty here.
    """
    found = tallied(store, agent=agent, kind=kind, include_excused=include_excused)
    heads = {str(row["id"]): row for row in store.find("patterns").rows}
    activity = Activity(store, now=now, window_s=window_s)
    ranked = sorted(
        _Ranked(
            once := not _recurs(store, sums, window_s, agent),
            not once and sums.last_seen < activity.last - window_s,
            -_impact(str(heads[pattern]["kind"]), sums),
            -sums.last_seen,
            pattern,
            (heads[pattern], sums),
        )
        for pattern, sums in found.items()
    )
    return [_pattern(each, _trend(store, activity, each.rest[1], agent)) for each in ranked[:limit]]


def pattern(store: Store, pattern_id: str, *, now: float, window_s: float = WINDOW_S) -> Pattern:
    """One pattern, under its present id. Raises NotFound."""
    present = current(store, pattern_id)
    kind = str((store.get("patterns", present) or {}).get("kind"))
    for each in patterns(store, now=now, window_s=window_s, kind=kind):
        if each.id == present:
            return each
    raise NotFound(f"pattern {present} has no failures any more; `ratchet patterns` lists those that have")


def pattern_count(store: Store) -> int:
    """How many patterns the agents' own failures form."""
    rows = store.sum_by("signatures", ("kind",), ("distinct:pattern",))
    return sum(int(str(row["distinct:pattern"])) for row in rows if row["kind"] not in EXCUSED)


def _recurs(store: Store, sums: Tallied, window_s: float, agent: str | None) -> bool:
    if sums.sessions >= RECURS_SESSIONS:
        return True
    if sums.count < RECURS_COUNT or sums.last_seen - sums.first_seen <= window_s:
        return sums.count >= RECURS_COUNT
    return _between(store, sums, sums.last_seen - window_s, sums.last_seen, agent) >= RECURS_COUNT


def _trend(store: Store, activity: Activity, sums: Tallied, agent: str | None) -> Trend:
    agents = frozenset(sums.agents)
    start, end = activity.window(agents)
    middle = (start + end) / 2
    halves = Halves(start=start, middle=middle, earlier=0, later=0, calls_earlier=0, calls_later=0)
    if sums.first_seen < middle:  # else it is new, whatever the counts
        before, after = activity.calls(agents, start, middle, end)
        later = _between(store, sums, middle, end, agent)
        earlier = _between(store, sums, start, end, agent) - later
        halves = Halves(
            start=start, middle=middle, earlier=earlier, later=later, calls_earlier=before, calls_later=after
        )
    return trend(halves, first_seen=sums.first_seen, last_seen=sums.last_seen)


def _between(store: Store, sums: Tallied, start: float, end: float, agent: str | None) -> int:
    """Failures of a pattern from `start` to `end`, by whole hours."""
    if sums.first_seen >= start and sums.last_seen <= end:
        return sums.count
    if sums.last_seen < start or sums.first_seen > end:
        return 0
    several: list[Json] = [*sums.signatures]
    where: dict[str, Json | tuple[str, Json]] = {
        "signature": ("in", several) if len(several) > 1 else several[0],
        "hour": (">=", start // _HOUR_S),
    }
    if agent is not None:
        where["agent"] = agent
    said: Where = where
    return int(str(store.sum_by("tallies", (), ("n",), said)[0]["n"]))


def _impact(kind: str, sums: Tallied) -> float:
    severity = KINDS[kind][2] if kind in KINDS else "medium"
    return SEVERITY_WEIGHTS.get(severity, 1.0) * (sums.count + sums.wasted_s / 60)


def _pattern(ranked: _Ranked, said: Trend) -> Pattern:
    head, sums = ranked.rest
    return Pattern(
        id=ranked.id,
        signature=str(head["signature"]),
        kind=str(head["kind"]),
        template=str(head.get("template", "")),
        count=sums.count,
        sessions=sums.sessions,
        agents=tuple(sorted(sums.agents)),
        first_seen=sums.first_seen,
        last_seen=sums.last_seen,
        trend=said,
        recurring=not ranked.once,
        wasted_s=round(sums.wasted_s, 3),
        wasted_tokens=sums.wasted_tokens,
        impact=round(-ranked.minus_impact, 3),
    )


__all__ = [
    "RECURS_COUNT",
    "RECURS_SESSIONS",
    "SEVERITY_WEIGHTS",
    "WINDOW_S",
    "current",
    "members",
    "pattern",
    "pattern_count",
    "patterns",
    "split",
]

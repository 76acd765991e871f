"""History of an agent when a trial opens: read from its tallies and last outcomes, never from all history."""

from __future__ import annotations

from dataclasses import dataclass

from ratchet.failures.patterns.health import NAMED, recent
from ratchet.ids import CALL
from ratchet.ports import Store
from ratchet.records import Metric, Row, UnitKind, number_in, whole_in

DAY_S = 86_400.0
DAY_HOURS = 24
WEEK_DAYS = 7
_HOUR_S = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """`before`: (ok, total) of its last outcomes; `unit`: what its outcomes name; `metrics`: those that they have."""

    before: tuple[int, int]
    calls_per_day: float
    unit: UnitKind
    metrics: tuple[Metric, ...]


def history(store: Store, agent: str, *, now: float) -> History:
    """Read what the gate and the ramp want to know. All of it gives power only, never validity."""
    row = store.get("recents", agent) or {}
    ran = recent(row)
    sample = [found for each in ran[-NAMED:] if (found := store.get("outcomes", str(each[1]))) is not None]
    return History(
        before=(sum(1 for each in ran if each[2]), len(ran)),
        calls_per_day=_pace(store, agent, now=now),
        unit=_unit(sample),
        metrics=_metrics(sample),
    )


def calls_per_day(store: Store, agent: str, *, now: float) -> float:
    """An agent's pulse: its calls in the last day, or a day's mean over the last week where that is more (a weekend
    must not make a busy agent a quiet one). Counted, never guessed from names."""
    hour = int(now // _HOUR_S)
    since = hour - WEEK_DAYS * 24
    rows = store.find("activity", {"agent": agent, "hour": (">", since)}, order=("agent", "hour")).rows
    counted = [(whole_in(row, "hour"), whole_in(row, "calls")) for row in rows if number_in(row, "hour") <= hour]
    if not counted:
        return 0.0
    day = sum(calls for at, calls in counted if at > hour - 24)
    days = min(WEEK_DAYS, max(1.0, (hour - counted[0][0] + 1) / 24))
    return max(float(day), sum(calls for _, calls in counted) / days)


def _pace(store: Store, agent: str, *, now: float) -> float:
    """Calls a day that the agent will make, by its pulse or, of one that began within the last day, by its hours."""
    first = store.find("activity", {"agent": agent}, order=("agent", "hour"), limit=1).rows
    counted = calls_per_day(store, agent, now=now)
    hours = now / _HOUR_S - whole_in(first[0], "hour") if first else DAY_HOURS
    return counted * max(1.0, DAY_HOURS / max(hours, 1.0))


def _unit(sample: list[Row]) -> UnitKind:
    """Name the unit that most of them have: a unit of their own (a task, a user), else a session, else the call
    itself."""
    own = sum(1 for row in sample if row.get("unit") and not str(row["unit"]).startswith(CALL))
    if 2 * own > len(sample):
        return "unit"
    sessions = sum(1 for row in sample if row.get("session"))
    return "session" if 2 * sessions > len(sample) else "call"


def _metrics(sample: list[Row]) -> tuple[Metric, ...]:
    found: list[Metric] = ["success"]
    fields: tuple[tuple[Metric, str], ...] = (("latency", "duration_s"), ("cost", "cost_usd"), ("score", "score"))
    for metric, field in fields:
        if sample and 2 * sum(1 for row in sample if number_in(row, field) > 0) > len(sample):
            found.append(metric)
    return tuple(found)

"""The first thing to look at: what failed in a range, what it cost, what waits, and what lessons have saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ratchet.failures.patterns.health import AgentStanding, health, standings
from ratchet.failures.patterns.patterns import PatternList
from ratchet.gate.effects import Effect
from ratchet.lessons.backtest.backtest import Backtest, kept
from ratchet.lessons.failing import HOUR_S, Failing, FailsBy, Window, failing, fails_by, over_time
from ratchet.lessons.lessons import listed
from ratchet.lessons.standing import PROVEN_SESSIONS, without_repeats
from ratchet.ports import Store, Where
from ratchet.records import Lesson, Pattern, Row, number_in, whole_in

_TOP, _WAITING = 8, 3  # rows of a list on one page
_DEAREST = 200  # patterns among which rising ones are looked for: one that costs less than all of them can wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """Savings by lessons, each with its 95 % interval: failures that did not come back, and what those would have
    taken. Only where the effect is proven against the withheld control; None before that."""

    recurrences: float
    low: float
    high: float
    seconds: float
    usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TopPattern:
    """A pattern that failed within a window: how often and in how many sessions, counted there as `Pattern.count` is,
    when, and the seconds that it cost there, counted as `Pattern.wasted_s` is."""

    pattern: Pattern
    count: int
    sessions: int
    lost_s: float
    over_time: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """One look at a store. `outcomes` counts everything that ever ran, `failing` what ran within the window; `waiting`
    are the first of the `candidates` (lessons that a person has to approve) that two sessions saw work; `replayed` is
    the newest replay of all sessions."""

    failing: Failing
    health: float | None
    agents: tuple[AgentStanding, ...]
    outcomes: int
    failures: int
    top: tuple[TopPattern, ...]
    regressed: tuple[Pattern, ...]
    rising: tuple[Pattern, ...]
    patterns: int
    lessons: int
    candidates: int
    waiting: tuple[Lesson, ...]
    commands: tuple[FailsBy, ...]
    projects: tuple[FailsBy, ...]
    effect: Effect
    lines: tuple[str, ...]
    unmeasured: str
    saved: Saved | None
    replayed: Backtest | None


def saved(store: Store, effect: Effect) -> Saved | None:
    """Estimate what the lessons that were shown have saved, if they were proven to help."""
    if effect.verdict != "helps" or effect.estimate is None:
        return None
    totals = store.sum_by("tallies", (), ("n", "duration_s", "cost_usd"))
    row: Row = totals[0] if totals else {}
    failures = number_in(row, "n")
    recurrences = effect.estimate * effect.shown
    return Saved(
        recurrences=recurrences,
        low=effect.low * effect.shown,
        high=effect.high * effect.shown,
        seconds=recurrences * number_in(row, "duration_s") / failures if failures else 0.0,
        usd=recurrences * number_in(row, "cost_usd") / failures if failures else 0.0,
    )


def look(
    store: Store, within: Window, *, patterns: PatternList, effect: Effect, lines: tuple[str, ...], unmeasured: str
) -> Overview:
    """Everything on one page. `patterns` are all; `effect`, `lines` and `unmeasured` as the report has them."""
    totals = store.sum_by("activity", (), ("calls", "failures"))
    row: Row = totals[0] if totals else {}
    found = failing(store, within)
    lessons = store.sum_by("lessons", ("state",), ("count:*",))
    states = {str(each["state"]): whole_in(each, "count:*") for each in lessons}
    dearest = patterns.built(sorted(patterns.rows, key=lambda each: -each.impact)[:_DEAREST])
    decided = {each.id: each for each in patterns.decided()}
    return Overview(
        failing=found,
        health=health(store).score,
        agents=tuple(standings(store)),
        outcomes=whole_in(row, "calls"),
        failures=whole_in(row, "failures"),
        top=_top(store, patterns, decided, found),
        regressed=tuple(each for each in decided.values() if each.triage.state == "regressed")[:_TOP],
        rising=tuple(each for each in dearest if each.trend == "rising")[:_TOP],
        patterns=len(patterns.rows),
        lessons=states.get("active", 0),
        candidates=states.get("candidate", 0),
        waiting=tuple(waiting(store)),
        commands=tuple(each for each in fails_by(store, "command", since=within.since) if each.failures)[:_TOP],
        projects=tuple(each for each in fails_by(store, "project", since=within.since) if each.failures)[:_WAITING],
        effect=effect,
        lines=lines,
        unmeasured=unmeasured,
        saved=saved(store, effect),
        replayed=kept(store),
    )


def waiting(store: Store) -> list[Lesson]:
    """The candidates whose approval would bring most: the best first of those that say what the tool does not."""
    found = listed(store, states=["candidate"], worked=PROVEN_SESSIONS)
    return [each for each, _ in without_repeats(each for each in found if not each.unsaid)][:_WAITING]


def _top(store: Store, patterns: PatternList, decided: Mapping[str, Pattern], found: Failing) -> tuple[TopPattern, ...]:
    """The first of the patterns that failed within the window, in the order of every list of them, by what they cost
    there."""
    hidden = {each.id for each in decided.values() if each.triage.state not in ("open", "regressed")}
    seen = [each for each in patterns.rows if each.id in found.patterns and each.id not in hidden]
    within = {each.id: each.minus_weight * found.patterns[each.id] / max(1, each.times) for each in seen}
    seen.sort(key=lambda each: (each.group, within[each.id], each.minus_last_seen, each.id))
    top = patterns.built(seen[:_TOP])
    ids = [each.id for each in top]
    sessions = {name: max(n, found.showing.get(name, 0)) for name, n in _sessions(store, ids, found.window).items()}
    points = over_time(store, ids, found.window)
    lost = {each.id: each.wasted_s for each in top} if found.window.name == "all" else _lost(store, ids, found)
    return tuple(
        TopPattern(
            pattern=each,
            count=found.patterns[each.id],
            sessions=sessions[each.id],
            lost_s=lost.get(each.id, 0.0),
            over_time=tuple(points.get(each.id, ())),
        )
        for each in top
    )


def _lost(store: Store, patterns: Sequence[str], found: Failing) -> dict[str, float]:
    """Sum the seconds that these patterns cost within a window: to each fix, else the failing call's own time."""
    of, since = _signatures(store, patterns), found.window.since
    asked: Where = {"signature": ("in", [*of])}
    asked_hours: Where = {**asked, "hour": (">=", int(since // HOUR_S))}
    spent = store.sum_by("tallies", ("signature",), ("n", "duration_s"), asked_hours)
    sums = ("distinct:failed_id", "wasted_s")
    ended = store.sum_by("resolutions", ("signature",), sums, {**asked, "at": (">=", since)})
    failed, own, until, resolved = (dict.fromkeys(of.values(), 0.0) for _ in range(4))
    for row in spent:
        failed[of[str(row["signature"])]] += whole_in(row, "n")
        own[of[str(row["signature"])]] += number_in(row, "duration_s")
    for row in ended:
        until[of[str(row["signature"])]] += number_in(row, "wasted_s")
        resolved[of[str(row["signature"])]] += whole_in(row, "distinct:failed_id")
    return {name: until[name] + own[name] * max(0.0, 1.0 - resolved[name] / max(1.0, failed[name])) for name in own}


def _signatures(store: Store, patterns: Sequence[str]) -> dict[str, str]:
    rows = store.sum_by("signatures", ("signature", "pattern"), (), {"pattern": ("in", [*patterns])})
    return {str(row["signature"]): str(row["pattern"]) for row in rows}


def _sessions(store: Store, patterns: Sequence[str], within: Window) -> dict[str, int]:
    """In how many sessions each of these patterns was met within a window."""
    of = _signatures(store, patterns)
    met: dict[str, set[str]] = {pattern: set() for pattern in patterns}
    where = {"signature": ("in", [*of]), "max_at": (">=", within.since), "min_at": ("<", within.until)}
    for row in store.sum_by("sightings", ("signature", "session"), (), where):  # type: ignore[arg-type]
        met[of[str(row["signature"])]].add(str(row["session"]))
    return {pattern: len(sessions) for pattern, sessions in met.items()}

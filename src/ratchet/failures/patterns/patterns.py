"""Which failures keep coming back and what they cost, read from tallies alone: the cost depends on how many patterns,
agents and hours there are, never on how many outcomes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ratchet.errors import NotFound
from ratchet.failures.health import EXCUSED
from ratchet.failures.kinds.table import KINDS
from ratchet.failures.patterns.activity import Activity
from ratchet.failures.patterns.merging import current, members, pattern_of_rule, split
from ratchet.failures.patterns.tallied import Tallied, name_agents, tallied
from ratchet.failures.patterns.trend import Halves, trend
from ratchet.records import Json, Lesson, Pattern, Trend, whole_in

if TYPE_CHECKING:
    from ratchet.ports import Store, Where

LessonsOf: TypeAlias = "Callable[[Collection[str]], Mapping[str, tuple[Lesson, ...]]]"
"""The lessons about each of some patterns, by their ids."""

WINDOW_S = 14 * 86_400.0
"""Two weeks: long enough to hold three sightings of what happens weekly, short enough that last month is over."""

RECURS_COUNT = 3
RECURS_SESSIONS = 2

SEVERITY_WEIGHTS: Mapping[str, float] = {"low": 0.5, "medium": 1.0, "high": 2.0, "critical": 4.0}
"""Each step of severity counts twice the one below."""

ORDER = (
    "first what several sessions met lately, then what they met before, then the rest; each by sessions times impact"
)
"""How patterns are listed, in the words that stand beside every list of them."""

REST = 2
"""Group of what no two sessions met."""

_HOUR_S = 3600


class PatternRow(NamedTuple):
    """A pattern as it is put in order, without what has to be read for it alone. Sorts as patterns are listed; what
    stands behind `id` is never compared, since that is unique."""

    group: int  # 0: several sessions met it lately, 1: they did before, `REST`: neither
    minus_weight: float
    minus_last_seen: float
    id: str
    signature: str
    kind: str
    template: str
    sums: Tallied
    impact: float
    recurs: bool

    @property
    def times(self) -> int:
        """Count its failures; of a rule the runs that showed it."""
        return self.sums.shown or self.sums.count


class PatternList:
    """Patterns in order, as `rows` that are cheap to count, filter and sort; `built` reads what else there is to say of
    some."""

    def __init__(
        self,
        store: Store,
        *,
        now: float,
        window_s: float = WINDOW_S,
        agent: str | None = None,
        kind: str | None = None,
        include_excused: bool = False,
        about: LessonsOf | None = None,
        only: str | None = None,
    ) -> None:
        self._store, self._now, self._agent, self._about = store, now, agent, about
        self._activity, counted = Activity(store, now=now, window_s=window_s), _Counted(store, agent)
        found = tallied(store, agent=agent, kind=kind, pattern=only, include_excused=include_excused)
        if agent is None and kind is None:
            _add_shown(store, found)
        heads = store.sum_by("patterns", _HEAD, (), {} if only is None else {"id": only})
        self.rows = sorted(
            PatternRow(
                REST
                if not (recurs := _recurs(counted, sums, window_s)) or sums.sessions == 1
                else int(sums.last_seen < self._activity.last - window_s),
                -sums.sessions * (impact := _impact(str(kind_of_it), sums)),
                -sums.last_seen,
                str(pattern),
                str(signature),
                str(kind_of_it),
                str(template or ""),
                sums,
                impact,
                recurs,
            )
            for pattern, signature, kind_of_it, template in (row.values() for row in heads)
            if (sums := found.get(str(pattern))) is not None
        )

    def built(self, rows: Sequence[PatternRow]) -> list[Pattern]:
        """These patterns, in their order."""
        sums = [each.sums for each in rows]
        name_agents(self._store, sums, [self._agent] if self._agent else self._activity.agents)
        trends = _trends(_Counted(self._store, self._agent), self._activity, sums)
        about = self._about([each.id for each in rows]) if self._about else {}
        found = [_pattern(each, said, about.get(each.id, ())) for each, said in zip(rows, trends, strict=True)]
        decisions = self._store.find("triage").rows
        if not decisions:
            return found
        from ratchet.failures.patterns.triage import triaged

        return triaged(self._store, found, decisions, now=self._now)

    def decided(self) -> list[Pattern]:
        """Those about which somebody decided."""
        held = {current(self._store, str(row["pattern"])) for row in self._store.find("triage").rows}
        return self.built([each for each in self.rows if each.id in held]) if held else []


_HEAD = ("id", "signature", "kind", "template")


def patterns(
    store: Store,
    *,
    now: float,
    window_s: float = WINDOW_S,
    agent: str | None = None,
    kind: str | None = None,
    limit: int | None = None,
    include_excused: bool = False,
    only: str | None = None,
) -> list[Pattern]:
    """Patterns in the order of what keeps failing: recurring ones on top (those of one session below the others, and
    those that nobody met in the window before the store's newest call below those that still come back), then by
    sessions times impact. What is excused (cascades, refusals) only on request.

    count, sessions: failures, and of a linter's or compiler's rule the runs that showed it, as the facts of projects
    count them (of all agents and kinds; a run shows several rules).
    recurring: 3 or more failures in the `window_s` that end with the last one, or in 2 or more sessions. The window
    hangs on the pattern's own last failure, so that a history that is months old tells the same today as then.
    trend: `trend.trend` over the window that ends with the last call of the pattern's agents (at most `now`), cut in
    halves; a history shorter than the window is cut in halves itself. What nobody met for `window_s` up to now is
    `quiet`; `new` is only what was first seen since then.
    wasted_s, wasted_tokens: from each failure to its resolution where one is known, else what the failing call itself
    took (of a pattern with both, the unresolved share of all its failing calls). impact: minutes wasted plus one for
    each failure, times the weight of the kind's severity (`SEVERITY_WEIGHTS`).
    """
    found = PatternList(
        store,
        now=now,
        window_s=window_s,
        agent=agent,
        kind=kind,
        include_excused=include_excused,
        only=only,
    )
    return found.built(found.rows[:limit])


def pattern(store: Store, pattern_id: str, *, now: float, window_s: float = WINDOW_S) -> Pattern:
    """One pattern, under its present id. Raises NotFound."""
    present = current(store, pattern_id)
    for each in patterns(store, now=now, window_s=window_s, only=present):
        return each
    raise NotFound(f"pattern {present} has no failures any more; `ratchet patterns` lists those that have")


def pattern_count(store: Store) -> int:
    """Count the patterns that the agents' own failures form."""
    rows = store.sum_by("signatures", ("kind",), ("distinct:pattern",))
    return sum(whole_in(row, "distinct:pattern") for row in rows if row["kind"] not in EXCUSED)


def _add_shown(store: Store, found: Mapping[str, Tallied]) -> None:
    """Count the failing runs that showed a pattern's rule, also those whose first finding was another."""
    for row in store.sum_by("fact_days", ("name",), ("calls", "sessions"), {"by": "rule"}):
        sums = found.get(pattern_of_rule(str(row["name"])))
        if sums is not None and row["calls"]:
            sums.shown = max(sums.count, whole_in(row, "calls"))
            sums.sessions = max(sums.sessions, whole_in(row, "sessions"))


class _Counted:
    """Failures of patterns between two moments, by whole hours; `agent`'s alone where it is named. Patterns of the same
    agents share their window, so what is foreseen is read for all of them at once."""

    def __init__(self, store: Store, agent: str | None) -> None:
        self._store = store
        self._of_agent: dict[str, Json] = {} if agent is None else {"agent": agent}
        self._foreseen: defaultdict[float, set[Json]] = defaultdict(set)
        self._held: dict[float, dict[Json, int]] = {}

    def foresee(self, sums: Tallied, start: float, end: float) -> None:
        """`between` will be asked this."""
        if _known(sums, start, end) is None:
            self._foreseen[start // _HOUR_S].update(sums.signatures)

    def between(self, sums: Tallied, start: float, end: float) -> int:
        """Failures from `start` to `end`, after which nothing happened."""
        known = _known(sums, start, end)
        if known is not None:
            return known
        hour = start // _HOUR_S
        if not self._foreseen[hour].issuperset(sums.signatures):
            return sum(self._since(hour, sums.signatures).values())
        if hour not in self._held:
            self._held[hour] = self._since(hour, self._foreseen[hour])
        return sum(self._held[hour].get(signature, 0) for signature in sums.signatures)

    def _since(self, hour: float, signatures: Collection[Json]) -> dict[Json, int]:
        several = sorted(map(str, signatures))
        said: Where = {
            **self._of_agent,
            "signature": ("in", [*several]) if len(several) > 1 else several[0],
            "hour": (">=", hour),
        }
        rows = self._store.sum_by("tallies", ("signature",), ("n",), said)
        return {row["signature"]: whole_in(row, "n") for row in rows}


def _known(sums: Tallied, start: float, end: float) -> int | None:
    """Count the failures of a pattern that lie between, where its first and last one tell."""
    if sums.first_seen >= start and sums.last_seen <= end:
        return sums.count
    return 0 if sums.last_seen < start or sums.first_seen > end else None


def _recurs(counted: _Counted, sums: Tallied, window_s: float) -> bool:
    if sums.sessions >= RECURS_SESSIONS:
        return True
    if sums.count < RECURS_COUNT or sums.last_seen - sums.first_seen <= window_s:
        return sums.count >= RECURS_COUNT
    return counted.between(sums, sums.last_seen - window_s, sums.last_seen) >= RECURS_COUNT


def _trends(counted: _Counted, activity: Activity, found: Sequence[Tallied]) -> list[Trend]:
    """The trend of each."""
    windows = [activity.window(frozenset(sums.agents)) for sums in found]
    for sums, (start, end) in zip(found, windows, strict=True):
        if sums.first_seen < (start + end) / 2:
            counted.foresee(sums, start, end)
            counted.foresee(sums, (start + end) / 2, end)
    return [_trend(counted, activity, *each) for each in zip(found, windows, strict=True)]


def _trend(counted: _Counted, activity: Activity, sums: Tallied, window: tuple[float, float]) -> Trend:
    if sums.last_seen < activity.now - activity.window_s:
        return "quiet"  # long ended, however busy its last days were
    start, end = window
    middle = (start + end) / 2
    halves = Halves(start=start, middle=middle, earlier=0, later=0, calls_earlier=0, calls_later=0)
    if sums.first_seen < middle:  # else it is new, whatever the counts
        before, after = activity.calls(frozenset(sums.agents), start, middle, end)
        later = counted.between(sums, middle, end)
        earlier = counted.between(sums, start, end) - later
        halves = Halves(
            start=start, middle=middle, earlier=earlier, later=later, calls_earlier=before, calls_later=after
        )
    said = trend(halves, first_seen=sums.first_seen, last_seen=sums.last_seen)
    return "steady" if said == "new" and activity.now - sums.first_seen > activity.window_s else said


def _impact(kind: str, sums: Tallied) -> float:
    severity = KINDS[kind][2] if kind in KINDS else "medium"
    return SEVERITY_WEIGHTS.get(severity, 1.0) * (sums.count + sums.wasted_s / 60)


def _pattern(row: PatternRow, said: Trend, about: tuple[Lesson, ...]) -> Pattern:
    sums = row.sums
    return Pattern(
        id=row.id,
        signature=row.signature,
        kind=row.kind,
        template=row.template,
        count=row.times,
        sessions=sums.sessions,
        agents=tuple(sorted(sums.agents)),
        first_seen=sums.first_seen,
        last_seen=sums.last_seen,
        trend=said,
        recurring=row.recurs,
        wasted_s=round(sums.wasted_s, 3),
        wasted_tokens=sums.wasted_tokens,
        impact=round(row.impact, 3),
        lessons=about,
    )


__all__ = [
    "RECURS_COUNT",
    "RECURS_SESSIONS",
    "SEVERITY_WEIGHTS",
    "WINDOW_S",
    "PatternList",
    "PatternRow",
    "current",
    "members",
    "pattern",
    "pattern_count",
    "patterns",
    "split",
]

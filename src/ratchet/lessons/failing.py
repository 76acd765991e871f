"""Count what fails in a stretch of time: by pattern, by group of kinds, by command, tool, file, project, model, hour.

Read from tallies and facts alone, so the cost depends on how many patterns, agents and hours there are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Literal, cast, get_args

from ratchet.errors import UsageError
from ratchet.failures.health import EXCUSED
from ratchet.failures.kinds.groups import Group, group_of
from ratchet.failures.patterns import patterns as patterned
from ratchet.failures.patterns.merging import pattern_of_rule
from ratchet.failures.patterns.sums import ALL
from ratchet.failures.patterns.triage import decide
from ratchet.lessons.repositories import folders_of, project_of
from ratchet.records import Decided, Json, Pattern, Row, number_in, text_in, whole_in
from ratchet.store.sums import HOURS, add_fact, fact_days

if TYPE_CHECKING:
    from ratchet.ports import Store, Where

ORDER = patterned.ORDER
HOUR_S = 3_600
_DAY_S = 86_400.0

RANGES: Mapping[str, tuple[float, int]] = {
    "24h": (_DAY_S, 1),
    "7d": (7 * _DAY_S, 6),
    "14d": (14 * _DAY_S, 12),
    "30d": (30 * _DAY_S, 24),
    "90d": (90 * _DAY_S, 72),
    "all": (math.inf, 0),
}
"""Name of a range -> its length in seconds, and hours of one column of its charts."""
_LEAST_SHARE = 0.1  # of all calls: a range that holds less is not where the data is
_COLUMNS = 36  # of a range without an end


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of time in columns of whole hours."""

    name: str
    since: float
    step_s: float
    columns: int
    last: float = math.inf
    """When the newest call began, which the last column may reach beyond."""

    @property
    def ends(self) -> float:
        """The end of what there is of it."""
        return min(self.until, self.last)

    @property
    def until(self) -> float:
        return self.since + self.step_s * self.columns

    @property
    def moments(self) -> tuple[float, ...]:
        """When each column begins."""
        return tuple(self.since + n * self.step_s for n in range(self.columns))

    def place(self, hour: int) -> int | None:
        """The column of an hour; None outside."""
        n = int((hour * HOUR_S - self.since) // self.step_s)
        return n if 0 <= n < self.columns else None


def window(store: Store, asked: str = "", *, now: float) -> Window:
    """The range of this name. Each ends with the newest call, so that a history that is months old is seen like one of
    today, and those of several days begin with a day (UTC), as what is summed up by day does; "" chooses the shortest
    of two weeks or more that holds a tenth of all calls, else all there are. Raises UsageError for a name that is
    none."""
    if asked and asked not in RANGES:
        raise UsageError(f"no range {asked!r}; the ranges are {', '.join(RANGES)}")
    row = store.sum_by("activity", (), ("min:min_at", "max:max_at", "calls"))[0]
    first, last = number_in(row, "min:min_at", now), min(now, number_in(row, "max:max_at", now))
    name = asked or _where_the_data_is(store, last, whole_in(row, "calls"))
    length_s, step = RANGES[name]
    end = int(last // HOUR_S) + 1
    if math.isinf(length_s):
        start = int(first // _DAY_S) * HOURS
        step = math.ceil((end - start) / _COLUMNS)
    else:
        start = end - int(length_s // HOUR_S)
        if length_s > _DAY_S:
            start = math.ceil(start / HOURS) * HOURS
    columns = max(1, math.ceil((end - start) / step))
    since = float(start * HOUR_S)
    return Window(name=name, since=since, step_s=float(step * HOUR_S), columns=columns, last=last)


def _where_the_data_is(store: Store, last: float, calls: int) -> str:
    for name in ("14d", "30d", "90d"):
        start = int((last - RANGES[name][0]) // HOUR_S)
        held = store.sum_by("activity", (), ("calls",), {"hour": (">=", start)})
        if whole_in(held[0], "calls") >= _LEAST_SHARE * calls:
            return name
    return "all"


@dataclass(slots=True, kw_only=True)
class Stretch:
    """Calls of one column; `groups` counts the agents' own failures by group of kinds."""

    at: float
    calls: int = 0
    failures: int = 0
    groups: dict[Group, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """Everything that failed within a window. `patterns` counts each pattern's failures (as `Pattern.count`: of a rule
    the runs that showed it, and `showing` their sessions); `before` are calls and failures of the stretch of equal
    length before, None where the window holds everything."""

    window: Window
    columns: tuple[Stretch, ...]
    patterns: Mapping[str, int]
    showing: Mapping[str, int]
    calls: int
    failures: int
    before: tuple[int, int] | None
    tokens: int
    cost_usd: float

    @property
    def rate(self) -> float | None:
        """Share of calls that worked; None where nothing ran."""
        return 1 - self.failures / self.calls if self.calls else None

    @property
    def rate_before(self) -> float | None:
        """The same of the range before; None where nothing ran or it is not known."""
        return 1 - self.before[1] / self.before[0] if self.before is not None and self.before[0] else None


def failing(store: Store, within: Window) -> Failing:
    """Count what ran and what failed within a window."""
    columns = tuple(Stretch(at=at) for at in within.moments)
    sums = _activity(store, within, columns)
    start: Where = {"hour": (">=", int(within.since // HOUR_S))}
    for row in store.sum_by("kind_tallies", ("hour", "kind"), ("n",), start):
        place, kind = within.place(whole_in(row, "hour")), text_in(row, "kind")
        if place is not None and kind not in EXCUSED and row["n"]:
            groups, group = columns[place].groups, group_of(kind)
            groups[group] = groups.get(group, 0) + whole_in(row, "n")
    shown = {pattern_of_rule(text_in(row, "name")): row for row in _summed(store, "rule", {}, within.since)}
    return Failing(
        window=within,
        columns=columns,
        patterns={
            name: max(count, whole_in(shown.get(name, {}), "calls")) for name, count in _counted(store, within).items()
        },
        showing={name: whole_in(row, "sessions") for name, row in shown.items()},
        calls=sum(each.calls for each in columns),
        failures=sum(each.failures for each in columns),
        before=None if within.name == "all" else _before(store, within),
        tokens=whole_in(sums, "tokens"),
        cost_usd=number_in(sums, "cost_usd"),
    )


def _activity(store: Store, within: Window, columns: Sequence[Stretch]) -> Row:
    total: Row = {"tokens": 0, "cost_usd": 0.0}
    start = int(within.since // HOUR_S)
    sums = ("calls", "failures", "tokens", "cost_usd")
    for row in store.sum_by("activity", ("hour",), sums, {"hour": (">=", start)}):
        place = within.place(whole_in(row, "hour"))
        if place is not None:
            columns[place].calls += whole_in(row, "calls")
            columns[place].failures += whole_in(row, "failures")
            total["tokens"] = whole_in(total, "tokens") + whole_in(row, "tokens")
            total["cost_usd"] = number_in(total, "cost_usd") + number_in(row, "cost_usd")
    return total


def _counted(store: Store, within: Window) -> dict[str, int]:
    """Failures of each pattern since a window began."""
    if within.name == "all":
        rows = store.sum_by("signature_sums", ("signature",), ("n",), {"agent": ALL})
    else:
        rows = store.sum_by("tallies", ("signature",), ("n",), {"hour": (">=", int(within.since // HOUR_S))})
    counts = {row["signature"]: row["n"] for row in rows}
    found: dict[str, int] = {}
    for row in store.sum_by("signatures", ("signature", "pattern", "kind"), ()):
        if count := counts.get(row["signature"]) if row["kind"] not in EXCUSED else None:
            pattern = str(row["pattern"])
            found[pattern] = found.get(pattern, 0) + cast("int", count)
    return found


def _before(store: Store, within: Window) -> tuple[int, int]:
    length_s = within.until - within.since
    first, last = (int(at // HOUR_S) for at in (within.since - length_s, within.since))
    later, longer = (
        store.sum_by("activity", (), ("calls", "failures"), {"hour": (">=", hour)})[0] for hour in (last, first)
    )
    return tuple(whole_in(longer, name) - whole_in(later, name) for name in ("calls", "failures"))  # type: ignore[return-value]


def over_time(store: Store, patterns: Collection[str], within: Window) -> dict[str, list[int]]:
    """Failures of these patterns by column; patterns without any are left out."""
    if not patterns:
        return {}
    wanted: Where = {"pattern": ("in", list[Json](patterns))}
    of = {
        str(row["signature"]): str(row["pattern"])
        for row in store.sum_by("signatures", ("signature", "pattern"), (), wanted)
    }
    found: dict[str, list[int]] = {}
    asked: Where = {"signature": ("in", [*sorted(of)]), "hour": (">=", int(within.since // HOUR_S))}
    for row in store.sum_by("tallies", ("signature", "hour"), ("n",), asked):
        place = within.place(whole_in(row, "hour"))
        if place is not None:
            found.setdefault(of[str(row["signature"])], [0] * within.columns)[place] += whole_in(row, "n")
    return found


By = Literal["command", "tool", "file", "project", "model", "hour"]
BY: tuple[By, ...] = get_args(By)
FINDINGS = "Each kind of finding counts once a run of a check, so that one run may count several times."
"""What the number of a file counts, in the words that stand beside every list of them."""
_SUMS = ("calls", "failures", "excused", "sessions", "tokens", "duration_s", "max:max_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailsBy:
    """Steps of one tool, project, model or hour of the day (UTC), and how many of them failed. A chain of commands
    is one step of its main command, as in a project's facts. Of a file `calls` and `failures` are findings
    (`FINDINGS`), so it has no share. `duration_s` is time of the tools (`failures.waiting`)."""

    name: str
    calls: int
    failures: int
    excused: int
    sessions: int
    tokens: int
    duration_s: float
    last_at: float
    of_file: bool = False

    @property
    def runs(self) -> int:
        """Calls that somebody let happen (`facts.CallCounts.runs`)."""
        return max(self.calls - self.excused, 0 if self.of_file else self.failures)

    @property
    def share(self) -> float | None:
        """The part of the runs that failed; None of a file."""
        if self.of_file:
            return None
        return self.failures / self.runs if self.runs > 0 else 0.0


def fails_by(store: Store, by: By, *, since: float = 0.0, project: str = "") -> tuple[FailsBy, ...]:
    """Sum up what ran since a moment, in one project or in all: what fails most first. Raises UsageError."""
    if by not in BY:
        raise UsageError(f"nothing is counted by {by!r}; choose of {', '.join(BY)}")
    where: Where = {"project": project} if project else {}
    found = [_fails_of(row, by) for row in _summed(store, by, where, since) if row["calls"]]
    key = (lambda each: each.name) if by == "hour" else (lambda each: (-each.failures, -each.calls, each.name))
    return tuple(sorted(found, key=key))


def _summed(store: Store, by: str, where: Where, since: float) -> list[Row]:
    """Sums of the facts since a moment: days are summed up, a part of one is read from the sessions that did something
    since."""
    if not since % _DAY_S:
        asked_days: Where = {**where, "by": by, "day": (">=", int(since // _DAY_S))}
        rows = store.sum_by("fact_days", ("name",), _SUMS, asked_days)
        return [{**row, "max_at": row["max:max_at"]} for row in rows]
    ran = store.sum_by("session_tallies", ("session",), (), {"max_at": (">=", since)})
    asked: dict[str, Json | tuple[str, Json]] = {**where, "hour": (">=", int(since // HOUR_S))}
    asked["session"] = ("in", ["", *(row["session"] for row in ran)])
    found: dict[str, Row] = {}
    for _, of_one in groupby(store.find("facts", asked, order=("session",)).rows, key=lambda row: row["session"]):
        for row in fact_days(of_one, by):
            add_fact(found.setdefault(text_in(row, "name"), {"name": row["name"]}), row)
    return list(found.values())


def _fails_of(row: Row, by: By) -> FailsBy:
    calls = whole_in(row, "calls")
    return FailsBy(
        name=text_in(row, "name"),
        calls=calls,
        failures=calls if by == "file" else whole_in(row, "failures"),
        excused=0 if by == "file" else whole_in(row, "excused"),
        sessions=whole_in(row, "sessions"),
        tokens=whole_in(row, "tokens"),
        duration_s=number_in(row, "duration_s"),
        last_at=number_in(row, "max_at"),
        of_file=by == "file",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetHere:
    """Count of the failures of a pattern in one project, and of its sessions that met it."""

    count: int
    sessions: int


class FailingBook:
    """Patterns over time, calls by command, and what people decide about both. `reading` gives the store after what was
    recorded is in it."""

    def __init__(self, *, reading: Callable[[], Store]) -> None:
        self._reading = reading

    def window(self, span: str = "") -> Window:
        """The range of this name (see `window`). Raises UsageError."""
        return window(self._reading(), span, now=time.time())

    def over_time(self, patterns: Collection[str], within: Window) -> dict[str, list[int]]:
        """Failures of these patterns by column; patterns without any are left out."""
        return over_time(self._reading(), patterns, within)

    def by(self, what: By = "command", *, span: str = "all", project: str = "") -> tuple[FailsBy, ...]:
        """Sum up what ran in a range, in one project (its folder, its name, the end of one) or in all: what fails most
        first. Raises UsageError, NotFound for a name that is none."""
        store = self._reading()
        since = 0.0 if span == "all" else window(store, span, now=time.time()).since
        return fails_by(store, what, since=since, project=project_of(store, project) if project else "")

    def met_in(self, project: str) -> dict[str, MetHere]:
        """The ids of the patterns that sessions of a project met (its folder, its name, the end of one), each with how
        often. Raises UsageError, NotFound for a name that is none."""
        store = self._reading()
        folders: Json = [*folders_of(store, project_of(store, project))]
        ran = store.sum_by("session_tallies", ("session",), (), {"project": ("in", folders)})
        sessions: Json = [row["session"] for row in ran]
        met = store.sum_by("sightings", ("signature", "session"), ("n",), {"session": ("in", sessions)})
        signatures: Json = [*dict.fromkeys(text_in(row, "signature") for row in met)]
        known = store.sum_by("signatures", ("signature", "pattern"), (), {"signature": ("in", signatures)})
        pattern_of = {text_in(row, "signature"): text_in(row, "pattern") for row in known}
        held: dict[str, list[Row]] = {}
        for row in met:
            if pattern := pattern_of.get(text_in(row, "signature")):
                held.setdefault(pattern, []).append(row)
        return {
            pattern: MetHere(
                count=sum(whole_in(row, "n") for row in rows), sessions=len({row["session"] for row in rows})
            )
            for pattern, rows in held.items()
        }

    def same(self, text: str) -> Pattern | None:
        """The pattern that this text is one more case of; None where nothing failed so before."""
        from ratchet.lessons.likeness import SAME

        alike = next((pattern for pattern, likeness in self.like(text)[:1] if likeness >= SAME), None)
        return self.pattern(alike) if alike else None

    def like(self, text: str) -> list[tuple[str, float]]:
        """Patterns that are like this text (see `likeness.like`)."""
        from ratchet.lessons.likeness import like

        return like(self._reading(), text)

    def pattern(self, pattern: str) -> Pattern:
        """One pattern alone, under its present id. Raises NotFound."""
        return patterned.pattern(self._reading(), pattern, now=time.time())

    def triage(
        self,
        pattern: str,
        *,
        state: Decided | None = None,
        until: float | None = None,
        assigned: str | None = None,
        note: str | None = None,
    ) -> Pattern:
        """Decide about a pattern: resolve it, ignore it, mute it `until` a moment (Unix seconds), open it again, assign
        it, leave a note; what is None stays. A resolved one that fails again is `regressed`. Raises NotFound,
        UsageError, Conflict."""
        store, now = self._reading(), time.time()
        present = decide(store, pattern, now=now, state=state, until=until, assigned=assigned, note=note)
        return patterned.pattern(store, present, now=now)

"""Patterns: what recurs comes first, with counts, costs and a trend that a steady rate does not explain."""

from __future__ import annotations

import random
from collections.abc import Iterator
from math import comb
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.errors import NotFound
from ratchet.failures.kinds.table import KINDS
from ratchet.failures.patterns.correlation import correlations, hypergeometric_tail
from ratchet.failures.patterns.ingest import ingest
from ratchet.failures.patterns.patterns import SEVERITY_WEIGHTS, pattern, pattern_count, patterns
from ratchet.failures.patterns.ruled import shared
from ratchet.failures.patterns.trend import Halves, tail, trend
from ratchet.ports import Store
from ratchet.records import Json, Row
from ratchet.store.sqlite import SqliteStore
from ratchet.testing.stores import open_store

DAY_S = 86_400.0
T0 = 1_700_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path)
    yield opened
    opened.close()


class History:
    """Builds rows with ids of their own."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def ran(self, day: float, error: str | None = None, **fields: Json) -> None:
        row: Row = {
            "id": f"o{len(self.rows)}",
            "agent": "a",
            "ok": error is None,
            "started_at": T0 + day * DAY_S,
        }
        if error is not None:
            row["failure"] = {"message": error}
        self.rows.append({**row, **fields})

    def into(self, store: Store) -> None:
        ingest(store, self.rows)


def test_a_pattern_knows_where_when_and_how_often(store: Store) -> None:
    history = History()
    history.ran(0, "boom", session="s1", agent="b")
    history.ran(1, "boom", session="s1")
    history.ran(3, "boom", session="s2")
    history.into(store)
    (found,) = patterns(store, now=T0 + 4 * DAY_S)
    assert (found.count, found.sessions, found.agents) == (3, 2, ("a", "b"))
    assert (found.first_seen, found.last_seen) == (T0, T0 + 3 * DAY_S)
    (mine,) = patterns(store, now=T0 + 4 * DAY_S, agent="b")
    assert (mine.count, mine.sessions, mine.agents) == (1, 1, ("b",))
    assert pattern(store, found.id, now=T0 + 4 * DAY_S) == found
    assert pattern_count(store) == 1
    with pytest.raises(NotFound):
        pattern(store, "pnobody", now=T0)


def test_no_failure_is_no_pattern(store: Store) -> None:
    assert patterns(store, now=T0) == []
    assert pattern_count(store) == 0


@pytest.mark.parametrize(
    ("at", "sessions", "recurs"),
    [
        ((0, 0.1, 0.2), ("s", "s", "s"), True),
        ((0, 0.1), ("s", "s"), False),
        ((0,), ("s",), False),
        ((0, 40), ("s", "t"), True),
        ((0, 20, 40), ("s", "s", "s"), False),
        ((0, 30, 35, 40), ("", "", "", ""), True),
        ((0, 0.1, 0.2), ("", "", ""), True),
    ],
)
def test_three_in_the_window_or_two_sessions_recur(
    store: Store, at: tuple[float, ...], sessions: tuple[str, ...], recurs: bool
) -> None:
    history = History()
    for day, session in zip(at, sessions, strict=True):
        history.ran(day, "boom", session=session)
    history.into(store)
    # Whether it is asked today or a year later: the window hangs on the pattern's own last failure.
    for now in (T0 + 41 * DAY_S, T0 + 400 * DAY_S):
        assert [each.recurring for each in patterns(store, now=now)] == [recurs]


def test_recurring_ones_come_first_then_those_that_cost_most(store: Store) -> None:
    history = History()
    history.ran(0, "once but dear", duration_s=9000.0, session="s")
    for number in range(3):
        history.ran(number, "cheap and often", session=f"s{number}")
        history.ran(number, "dear and often", session=f"s{number}", duration_s=60.0)
    history.into(store)
    found = patterns(store, now=T0 + 4 * DAY_S)
    assert [each.template for each in found] == ["dear and often", "cheap and often", "once but dear"]
    assert patterns(store, now=T0 + 4 * DAY_S, limit=1) == found[:1]


def test_what_several_sessions_met_outweighs_what_one_met_often_or_what_cost_as_much_in_fewer(store: Store) -> None:
    history = History()
    for _ in range(30):
        history.ran(0, "overloaded in one session", duration_s=60.0, session="s")
    for number in range(4):
        history.ran(number, "four sessions", session=f"s{number}", duration_s=60.0)
        history.ran(number, "two sessions", session=f"s{number % 2}", duration_s=60.0)
    history.into(store)
    found = patterns(store, now=T0 + 4 * DAY_S)
    assert [each.template for each in found] == ["four sessions", "two sessions", "overloaded in one session"]


def test_what_came_back_long_ago_stands_below_what_still_does(store: Store) -> None:
    history = History()
    for day in range(20):
        history.ran(day, "a costly failure of old", session=f"o{day}", duration_s=600)
    for day in (270, 271, 272):
        history.ran(day, "a cheap failure of today", session=f"n{day}")
    history.ran(272, "once, today")
    history.into(store)
    found = patterns(store, now=T0 + 400 * DAY_S)
    assert [each.template for each in found] == ["a cheap failure of today", "a costly failure of old", "once, today"]
    assert [each.recurring for each in found] == [True, True, False]


def test_waste_runs_to_the_resolution_or_is_the_failing_calls_own_time(store: Store) -> None:
    history = History()
    history.ran(0, "boom", duration_s=10.0, tokens=100)
    history.ran(1, "boom", duration_s=10.0, tokens=100)
    history.into(store)
    (before,) = patterns(store, now=T0 + 2 * DAY_S)
    assert (before.wasted_s, before.wasted_tokens) == (20.0, 200)
    resolution: Row = {
        "id": "r1",
        "failed_id": "o0",
        "signature": before.signature,
        "wasted_s": 300.0,
        "wasted_tokens": 5000,
    }
    store.insert_new("resolutions", [resolution])
    (after,) = patterns(store, now=T0 + 2 * DAY_S)
    assert (after.wasted_s, after.wasted_tokens) == (310.0, 5100)
    weight = SEVERITY_WEIGHTS[KINDS[after.kind][2]]
    assert after.impact == pytest.approx(weight * (2 + 310 / 60), abs=0.001)


def test_every_severity_of_a_kind_has_a_weight() -> None:
    assert {severity for _, _, severity, _ in KINDS.values()} <= set(SEVERITY_WEIGHTS)


# -- trend ---------------------------------------------------------------------------------------------------------


def daily(history: History, days: range, error: str, times: int, calls: int = 0) -> None:
    for day in days:
        for number in range(times):
            history.ran(day + number / (times + 1), error)
        for number in range(calls):
            history.ran(day + number / (calls + 1))


def trends(store: Store, now: float) -> dict[str, str]:
    return {each.template: each.trend for each in patterns(store, now=now)}


@pytest.mark.parametrize("calls", [0, 40])
def test_trends_are_told_apart(store: Store, calls: int) -> None:
    history = History()
    daily(history, range(-20, 0), "steady", 3, calls)
    daily(history, range(-20, -7), "rising", 1)
    daily(history, range(-7, 0), "rising", 5)
    daily(history, range(-20, -7), "falling", 5)
    daily(history, range(-7, 0), "falling", 1)
    daily(history, range(-20, -9), "quiet", 3)
    daily(history, range(-3, 0), "new", 1)
    history.ran(-20, "long over")
    history.into(store)
    found = trends(store, T0)
    assert found == {
        "steady": "steady",
        "rising": "rising",
        "falling": "falling",
        "quiet": "quiet",
        "new": "new",
        "long over": "quiet",
    }


def test_a_trend_is_as_of_now_and_what_ended_long_ago_is_quiet(store: Store) -> None:
    history = History()
    daily(history, range(-20, 0), "steady", 3, 30)
    daily(history, range(-20, -7), "rising", 1)
    daily(history, range(-7, 0), "rising", 5)
    daily(history, range(-3, 0), "late", 1)
    history.into(store)
    assert trends(store, T0) == {"steady": "steady", "rising": "rising", "late": "new"}
    assert trends(store, T0 + 10 * DAY_S) == {"steady": "steady", "rising": "rising", "late": "new"}
    assert set(trends(store, T0 + 300 * DAY_S).values()) == {"quiet"}
    history = History()
    history.ran(299, "one more")
    history.into(store)
    assert trends(store, T0 + 300 * DAY_S)["rising"] == "quiet"  # a single call later says nothing else


def test_twice_the_work_with_twice_the_failures_is_steady(store: Store) -> None:
    history = History()
    daily(history, range(-14, -7), "boom", 3, 30)
    daily(history, range(-7, 0), "boom", 6, 60)
    history.into(store)
    assert trends(store, T0) == {"boom": "steady"}


def test_a_history_of_one_hour_is_new(store: Store) -> None:
    history = History()
    history.ran(0, "boom")
    history.into(store)
    assert trends(store, T0 + 60) == {"boom": "new"}


def test_a_clock_in_the_future_does_not_resolve_the_rest(store: Store) -> None:
    history = History()
    daily(history, range(-14, 0), "steady", 3, 30)
    history.ran(9000)
    history.into(store)
    assert trends(store, T0) == {"steady": "steady"}


@given(n=st.integers(0, 60), p=st.floats(0.01, 0.99), data=st.data())
def test_the_tail_is_the_exact_binomial_one(n: int, p: float, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n + 1))
    exact = sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))
    assert tail(n, k, p) == pytest.approx(exact, abs=1e-9)


def test_of_steady_patterns_few_are_called_anything_else() -> None:
    random_ = random.Random(5)
    said = []
    for _ in range(2000):
        counts = [0, 0]
        for _ in range(random_.randrange(5, 60)):
            counts[random_.random() < 0.7] += 1
        halves = Halves(start=0.0, middle=1.0, earlier=counts[0], later=counts[1], calls_earlier=300, calls_later=700)
        said.append(trend(halves, first_seen=0.0, last_seen=1.5))
    assert said.count("rising") <= 0.05 * 2000
    assert said.count("falling") + said.count("quiet") <= 0.05 * 2000


# -- correlation ---------------------------------------------------------------------------------------------------


@given(units=st.integers(1, 30), data=st.data())
def test_the_chance_of_coincidence_is_the_exact_hypergeometric_one(units: int, data: st.DataObject) -> None:
    a, b = data.draw(st.integers(0, units)), data.draw(st.integers(0, units))
    k = data.draw(st.integers(0, min(a, b) + 1))
    exact = sum(comb(a, i) * comb(units - a, b - i) for i in range(k, min(a, b) + 1)) / comb(units, b)
    assert hypergeometric_tail(units, a, b, k) == pytest.approx(exact, abs=1e-9)


def test_patterns_of_two_agents_that_share_their_hours_are_found_and_others_are_not(store: Store) -> None:
    random_ = random.Random(4)
    history = History()
    for hour in range(400):
        day = hour / 24
        outage = random_.random() < 0.05
        for agent in ("web", "mail", "cron"):
            history.ran(day, agent=agent, session=f"{agent}{hour}")
        if outage:
            history.ran(day, "connection to the database refused", agent="web", session=f"web{hour}")
            history.ran(day + 0.01, "the queue is stuck", agent="mail", session=f"mail{hour}")
        if random_.random() < 0.05:
            history.ran(day, "the disk is slow today", agent="cron", session=f"cron{hour}")
    history.into(store)
    (found,) = correlations(store)
    assert set(found.agents) == {"web", "mail"}
    assert found.unit == "hour"
    assert found.together > 5 * found.expected
    assert found.p <= found.q < 0.001
    assert "Fisher" in found.statistic
    assert correlations(store, pattern=found.patterns[0]) == [found]
    assert correlations(store, pattern="pnobody") == []


def test_patterns_that_share_sessions_are_found_too(store: Store) -> None:
    history = History()
    for number in range(60):
        broken = number % 6 == 0
        for agent in ("planner", "coder"):
            history.ran(number / 2000, agent=agent, session=f"s{number}")
        if broken:
            history.ran(number / 2000, "the plan does not parse", agent="planner", session=f"s{number}")
            history.ran(number / 2000, "nothing to do was found", agent="coder", session=f"s{number}")
    history.into(store)
    (found,) = correlations(store)
    assert (found.unit, found.together, found.units) == ("session", 10, 60)


def test_unrelated_agents_seldom_correlate(tmp_path: Path) -> None:
    random_ = random.Random(11)
    reported = 0
    for run in range(20):
        store = SqliteStore(tmp_path / f"{run}.db")
        history = History()
        for hour in range(200):
            for agent in ("a", "b"):
                history.ran(hour / 24, agent=agent)
                for cause in ("disk full", "no route", "bad token"):
                    if random_.random() < 0.1:
                        history.ran(hour / 24, cause, agent=agent)
        history.into(store)
        reported += bool(correlations(store))
        store.close()
    assert reported <= 3


def test_of_many_patterns_the_largest_parts_are_compared(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern that four agents share is larger than the two that come together, but each of its parts is smaller."""
    history = History()
    for number in range(60):
        for agent in ("planner", "coder", "tester", "writer"):
            history.ran(number / 2000, agent=agent, session=f"s{number}")
            if number < 8:
                history.ran(number / 2000, "the disk is slow today", agent=agent)
        if number % 6 == 0:
            history.ran(number / 2000, "the plan does not parse", agent="planner", session=f"s{number}")
            history.ran(number / 2000, "nothing to do was found", agent="coder", session=f"s{number}")
    history.into(store)
    monkeypatch.setattr("ratchet.failures.patterns.correlation.LARGEST", 2)
    assert [each.agents for each in correlations(store)] in ([("planner", "coder")], [("coder", "planner")])


def test_an_empty_store_has_no_correlations(store: Store) -> None:
    assert correlations(store) == []


@pytest.mark.parametrize("tool", ["Edit", "AskUserQuestion", "ask_followup_question", "request_user_input"])
def test_a_failed_call_that_waited_for_a_person_wasted_none_of_that_time(store: Store, tool: str) -> None:
    history = History()
    history.ran(0, "File has been modified since read", duration_s=10_800.0, step={"tool": tool, "input": "{}"})
    history.into(store)
    assert patterns(store, now=T0 + DAY_S)[0].wasted_s <= 1.0


def test_a_command_that_hung_for_hours_wasted_what_it_may_run_at_most(store: Store) -> None:
    history = History()
    history.ran(0, "boom", duration_s=10_800.0, step={"tool": "Bash", "input": "make", "head": "make"})
    history.ran(1, "KeyError in my own function", duration_s=10_800.0)
    history.into(store)
    assert sorted(each.wasted_s for each in patterns(store, now=T0 + DAY_S)) == [600.0, 10_800.0]


def test_findings_of_a_rule_are_one_pattern_and_those_of_several_sessions_come_first(store: Store) -> None:
    history = History()
    step: Json = {"tool": "Bash", "head": "mise run lint", "input": "mise run lint"}
    for number, session in enumerate(("mon", "tue")):
        said = f"cli/{session}.go:{number + 3}:2: error is not nil (line {number}) but it returns nil (nilerr)"
        history.ran(number, f"{said}\nx {session}", session=session, step=step)
    for number in range(9):
        history.ran(1, f"API error 529: overloaded (try {number})", session="wed")
    history.into(store)
    first, last = patterns(store, now=T0 + 2 * DAY_S)
    assert (first.count, first.sessions) == (2, 2)
    assert first.template.startswith("nilerr: error is not nil")
    assert (last.count, last.sessions) == (9, 1)
    assert pattern(store, first.id, now=T0 + 2 * DAY_S).count == 2


def test_the_title_of_a_rule_is_what_its_findings_share(store: Store) -> None:
    step: Json = {"tool": "Bash", "head": "mise run lint", "input": "mise run lint"}
    told = "cli/a.go:{}:2: error returned from external package is unwrapped: sig: func {} (wrapcheck)"
    signed = ("os.Open(name string) (*os.File, error)", "json.Marshal(v any) ([]byte, error)", "git.Open() error")
    for together in (signed[:2], signed[2:]):  # in one batch, and in a later one
        history = History()
        for number, each in enumerate(together):
            history.ran(number, f"{told.format(number + 3, each)}\nx {each}", session=each, step=step)
        history.into(store)
    (found,) = patterns(store, now=T0 + 2 * DAY_S)
    assert found.template == "wrapcheck: error returned from external package is unwrapped: sig: func <name>"


def test_titles_that_share_little_stay_what_the_first_one_was() -> None:
    assert shared("vet: copies a lock", "vet: unreachable code") == "vet: copies a lock"
    assert shared("a: one two <name> three four", "a: one two three four") == "a: one two <name> three four"

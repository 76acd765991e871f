"""Live settings: declared, bounded, versioned; read in the arm of the call that asks."""

from __future__ import annotations

import asyncio
import contextvars
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ratchet
from ratchet import Choice, Knob, Range
from ratchet.errors import Conflict, NotFound, StoreError, UsageError
from ratchet.improving.settings.agent_settings import AgentSettings
from ratchet.improving.settings.knob import described_knob
from ratchet.improving.settings.live import Live
from ratchet.improving.settings.versions import StoredSettings
from ratchet.ports import Store
from ratchet.recording.background import Background
from ratchet.recording.run import enclosing
from ratchet.records import Version
from ratchet.testing.stores import open_store

KNOBS = {"model": Choice("large", "small"), "timeout_s": Range(1, 60, default=30), "rate": Range(0.0, 1.0)}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path)
    yield opened
    opened.close()


class Arms:
    """Gives units whose name begins with "new" the new version."""

    def __init__(self, new: Version) -> None:
        self.new = new
        self.asked: list[tuple[str, str]] = []

    def arm_of(self, target: str, unit: str) -> Version | None:
        self.asked.append((target, unit))
        return self.new if unit.startswith("new") else None


def handle(store: Store, live: Live | None = None) -> AgentSettings:
    live = live or Live(lambda work, every_s: Background(work, 0, name="none"))
    return AgentSettings("bot", KNOBS, live=live, store=lambda: store, enclosing=enclosing)


# -- knobs -----------------------------------------------------------------------------------------------------------


@given(st.floats(-100, 100), st.floats(0, 100), st.one_of(st.floats(), st.integers(-300, 300)))
def test_a_range_takes_what_is_within_and_nothing_else(low: float, width: float, value: float) -> None:
    knob = Range(low, low + width)
    if low <= value <= low + width:
        assert knob.check(value) == value
    else:
        with pytest.raises(UsageError):
            knob.check(value)


@given(st.integers(-50, 50), st.integers(0, 50), st.floats(-1e6, 1e6))
def test_the_nearest_value_of_a_range_is_one_of_it(low: int, width: int, value: float) -> None:
    for integer in (False, True):
        knob = Range(low, low + width, integer=integer)
        nearest = knob.nearest(value)
        assert knob.check(nearest) == nearest
        assert abs(nearest - value) <= abs(min(max(value, low), low + width) - value) + 0.5 * integer


@pytest.mark.parametrize("value", [True, None, "5", float("nan"), float("inf"), 10**400, 61, 0, [5]])
def test_what_is_no_number_within_is_refused_with_the_bounds(value: object) -> None:
    with pytest.raises(UsageError, match="1 to 60"):
        Range(1, 60).check(value)


def test_whole_numbers_stay_whole() -> None:
    knob = Range(0, 8, default=2, integer=True)
    assert isinstance(knob.check(3.0), int)
    with pytest.raises(UsageError, match="whole"):
        knob.check(2.5)


def test_a_choice_gives_its_own_option_back_and_names_all_for_another() -> None:
    chain = Choice(("small", "tiny"), (), default=())
    assert chain.check(["small", "tiny"]) == ("small", "tiny")
    assert chain.default == ()
    with pytest.raises(UsageError, match="'large', 'small'"):
        Choice("large", "small").check("huge")
    with pytest.raises(UsageError):
        Choice(0, 1).check(True)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Choice(),
        lambda: Choice("a", default="b"),
        lambda: Choice(object()),
        lambda: Range(5, 1),
        lambda: Range(0, float("inf")),
        lambda: Range(0, 5, default=9),
        lambda: Range(0, 5, default=float("nan")),
        lambda: Range(float("nan"), 5),
        lambda: Range(0, 10**400),
    ],
)
def test_a_knob_that_makes_no_sense_is_refused_where_it_is_declared(make: object) -> None:
    with pytest.raises(UsageError):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("knobs", [{}, {"x": 5}, {"_x": Range(0, 1)}, {"items": Range(0, 1)}, {"who": Range(0, 1)}])
def test_names_that_cannot_be_knobs_are_refused(knobs: dict[str, Knob], home: Path) -> None:
    with pytest.raises(UsageError):
        ratchet.settings("bot", **knobs)


def test_a_knob_survives_being_described() -> None:
    for knob in (Choice("a", "b", default="b"), Range(1, 9, default=4), Range(0, 5, integer=True)):
        assert described_knob(knob.described()) == knob


class Even(Knob):
    """A knob of a user's own."""

    def check(self, value: object) -> object:
        if not isinstance(value, int) or value % 2:
            raise UsageError(f"{value!r} is not even")
        return value


def test_a_knob_of_ones_own_decides_which_values_there_are(home: Path) -> None:
    with ratchet.Ratchet() as r:
        s = r.settings("bot", n=Even(2))
        assert s.current().n == 2
        s.set(n=8)
        assert s.current().n == 8
        with pytest.raises(UsageError, match="even"):
            s.set(n=3)


# -- versions --------------------------------------------------------------------------------------------------------


def test_what_a_knob_of_ones_own_raises_is_a_refusal(home: Path) -> None:
    class Even(ratchet.Knob):
        def check(self, value: object) -> object:
            if value % 2:  # type: ignore[operator]
                raise ValueError("odd")
            return value

    settings = ratchet.settings("reporter", pages=Even(2))
    for value, why in ((3, "odd"), (None, "NoneType")):
        with pytest.raises(UsageError, match=f"reporter, pages: .*{why}"):
            settings.set(pages=value)
    with pytest.raises(UsageError, match="the default of pages: odd"):
        ratchet.settings("reporter", pages=Even(1))


def test_what_was_set_is_in_force_with_who_and_why(store: Store) -> None:
    s = handle(store)
    assert (s.current().version, s.current().timeout_s, s.current()["model"]) == (0, 30, "large")
    version = s.set(timeout_s=45, who="mara", why="slow upstream")
    assert (version.number, version.who, version.why, version.parent) == (1, "mara", "slow upstream", 0)
    assert (s.current().version, s.current().timeout_s, s.current().model) == (1, 45, "large")
    assert [v.number for v in s.history()] == [1]
    (event,) = store.find("events", {"record": "settings:bot"}).rows
    assert (event["verb"], event["who"], event["version"]) == ("changed", "mara", 1)


def test_a_refused_change_changes_nothing(store: Store) -> None:
    s = handle(store)
    for values in ({"timeout_s": 61}, {"timeout_s": 45, "model": "huge"}, {"nothing": 1}):
        with pytest.raises(UsageError):
            s.set(**values)
    assert s.current().version == 0
    assert s.history() == []


def test_of_two_who_change_at_once_the_second_is_told(store: Store) -> None:
    s = handle(store)
    s.set(timeout_s=45, expected=0)
    with pytest.raises(Conflict, match="version 1"):
        s.set(timeout_s=50, expected=0)
    assert s.current().timeout_s == 45


def test_setting_what_is_set_makes_no_version(store: Store) -> None:
    s = handle(store)
    assert s.set(timeout_s=45) == s.set(timeout_s=45)


def test_reverting_brings_back_what_was_before_and_keeps_history(store: Store) -> None:
    s = handle(store)
    s.set(timeout_s=45)
    s.set(timeout_s=50, model="small")
    assert dict(s.revert().values) == {"timeout_s": 45}
    assert s.current().timeout_s == 45
    assert dict(s.revert(to=0).values) == {}
    assert [v.number for v in s.history()] == [4, 3, 2, 1]
    with pytest.raises(NotFound, match="no version 9"):
        s.revert(to=9)


def test_nothing_to_revert_is_said(store: Store) -> None:
    with pytest.raises(UsageError, match="never changed"):
        handle(store).revert()


def test_secrets_in_a_reason_are_not_kept(store: Store) -> None:
    s = handle(store)
    s.set(timeout_s=45, why="Authorization: Bearer abcdefghijklmnop0123456789")
    assert "abcdefghijklmnop" not in s.history()[0].why


def test_a_value_out_of_newer_bounds_falls_back_to_the_default(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    handle(store).set(timeout_s=60)
    live = Live(lambda work, every_s: Background(work, 0, name="none"))
    narrower = AgentSettings(
        "bot", {"timeout_s": Range(1, 40, default=20)}, live=live, store=lambda: store, enclosing=enclosing
    )
    assert narrower.current().timeout_s == 20
    assert "value_refused" in caplog.text


def test_threads_that_change_at_once_each_get_a_version(store: Store) -> None:
    s = handle(store)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: s.set(timeout_s=n), range(1, 41)))
    numbers = [v.number for v in s.history()]
    assert numbers == list(range(40, 0, -1))
    assert StoredSettings(store, "bot").current().number == 40


def test_a_draft_is_not_in_force_until_it_is_applied(store: Store) -> None:
    s = handle(store)
    s.set(timeout_s=45)
    stored = s.stored()
    edit = stored.plan({"timeout_s": 55}, why="trial t1")
    assert stored.current().number == 1
    draft = stored.version(int(edit.result))
    assert (draft.applied_at, dict(draft.values), draft.why) == (None, {"timeout_s": 55}, "trial t1")
    stored.apply(edit)
    assert stored.current().number == 2
    assert stored.current().applied_at is not None


# -- reading ---------------------------------------------------------------------------------------------------------


def test_a_change_elsewhere_arrives_with_the_next_refresh(store: Store) -> None:
    live = Live(lambda work, every_s: Background(work, 0, name="none"))
    s = handle(store, live)
    assert s.current().timeout_s == 30
    StoredSettings(store, "bot", knobs=KNOBS).change({"timeout_s": 50}, who="other")
    assert s.current().timeout_s == 30
    live.refresh()
    assert s.current().timeout_s == 50


def test_a_running_process_follows_a_change_of_another(home: Path) -> None:
    with ratchet.Ratchet() as r:
        s = r.settings("bot", **KNOBS)
        assert s.current().timeout_s == 30
        done = subprocess.run(
            [sys.executable, "-m", "ratchet", "settings", "set", "bot", "timeout_s=50"],
            env={**os.environ, "RATCHET_HOME": str(home)},
            check=True,
            capture_output=True,
            text=True,
        )
        assert "version 1" in done.stdout
        waited = threading.Event()
        for _ in range(200):
            if s.current().timeout_s == 50:
                break
            waited.wait(0.05)
        assert s.current().timeout_s == 50


def test_a_store_that_is_down_neither_raises_nor_changes_what_counts(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    live = Live(lambda work, every_s: Background(work, 0, name="none"))
    down = False

    def opened() -> Store:
        if down:
            raise StoreError("the disk is gone")
        return store

    s = AgentSettings("bot", KNOBS, live=live, store=opened, enclosing=enclosing)
    s.set(timeout_s=45)
    down = True
    live.refresh()
    live.refresh()
    assert s.current().timeout_s == 45
    fresh = AgentSettings(
        "bot",
        KNOBS,
        live=Live(lambda work, every_s: Background(work, 0, name="none")),
        store=opened,
        enclosing=enclosing,
    )
    assert fresh.current().timeout_s == 30
    assert caplog.text.count("store_down") == 2  # once for each, until it is over


def test_declaring_costs_nothing_and_touches_no_disk(home: Path) -> None:
    script = 'import ratchet; ratchet.settings("bot", n=ratchet.Range(0, 1))'
    subprocess.run([sys.executable, "-c", script], check=True)
    assert not home.exists()


def test_a_forked_child_reads_and_changes_settings(home: Path) -> None:
    with ratchet.Ratchet() as r:
        s = r.settings("bot", **KNOBS)
        s.set(timeout_s=45)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if s.current().timeout_s == 45 and s.set(timeout_s=50).number == 2 else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert s.history()[0].number == 2


# -- arms ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def trial(store: Store, home: Path) -> Iterator[tuple[ratchet.Ratchet, AgentSettings, Arms]]:
    """A recorder, settings whose timeout_s is 30 in the old arm and 55 in the new one, and who tosses the coin."""
    live = Live(lambda work, every_s: Background(work, 0, name="none"))
    s = handle(store, live)
    edit = s.stored().plan({"timeout_s": 55})
    arms = Arms(s.stored().version(int(edit.result)))
    live.arms = arms
    with ratchet.Ratchet() as r:
        yield r, s, arms


def test_a_watched_call_reads_the_values_of_its_arm(trial: tuple[ratchet.Ratchet, AgentSettings, Arms]) -> None:
    r, s, _ = trial
    assert s.current().timeout_s == 30
    with r.watch("bot", fields={"unit": "new-1"}):
        assert s.current().timeout_s == 55
    with r.watch("bot", fields={"unit": "old-1"}):
        assert s.current().timeout_s == 30
    assert s.current().timeout_s == 30


def test_a_call_asks_for_its_arm_once_and_keeps_it(trial: tuple[ratchet.Ratchet, AgentSettings, Arms]) -> None:
    r, s, arms = trial
    with r.watch("bot", fields={"unit": "new-1"}):
        before = s.current()
        s.set(timeout_s=40)
        assert s.current() == before
    assert arms.asked == [("settings:bot", "new-1")]
    assert s.current().timeout_s == 40


def test_a_call_within_a_call_is_the_same_unit(trial: tuple[ratchet.Ratchet, AgentSettings, Arms]) -> None:
    r, s, arms = trial
    with r.watch("bot", fields={"unit": "new-1"}), r.watch("tool"), r.watch("bot", fields={"unit": "old-2"}):
        assert s.current().timeout_s == 55
    assert len(arms.asked) == 1


def test_without_a_unit_the_session_and_then_the_call_itself_is_one(
    trial: tuple[ratchet.Ratchet, AgentSettings, Arms],
) -> None:
    r, s, arms = trial
    with r.watch("bot", fields={"session": "new-s"}):
        assert s.current().timeout_s == 55
    for _ in range(2):
        with r.watch("bot"):
            s.current()
    units = [unit for _, unit in arms.asked]
    assert units[0] == "new-s"
    assert len(set(units)) == 3


def test_threads_tasks_and_their_contexts_each_read_their_own_arm(
    trial: tuple[ratchet.Ratchet, AgentSettings, Arms],
) -> None:
    r, s, _ = trial

    @r.watch("bot", task="t")
    def work(unit: str) -> int:
        return int(s.current().timeout_s)

    def in_unit(unit: str) -> int:
        with r.watch("bot", fields={"unit": unit}):
            value = int(s.current().timeout_s)
            assert contextvars.copy_context().run(lambda: s.current().timeout_s) == value
            return value

    units = [f"{'new' if n % 3 else 'old'}-{n}" for n in range(60)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(in_unit, units)) == [55 if u.startswith("new") else 30 for u in units]

    async def task(unit: str) -> int:
        async with r.watch("bot", fields={"unit": unit}):
            await asyncio.sleep(0)
            first = s.current().timeout_s
            assert await asyncio.to_thread(lambda: s.current().timeout_s) == first
            await asyncio.sleep(0)
            return int(s.current().timeout_s) if s.current().timeout_s == first else -1

    async def all_tasks() -> list[int]:
        return await asyncio.gather(*map(task, units))

    assert asyncio.run(all_tasks()) == [55 if u.startswith("new") else 30 for u in units]


def test_a_stream_reads_its_arm_between_the_items_of_others(
    trial: tuple[ratchet.Ratchet, AgentSettings, Arms],
) -> None:
    r, s, _ = trial

    def stream(unit: str) -> Iterator[int]:
        @r.watch("bot", fields={"unit": unit})
        def items() -> Iterator[int]:
            for _ in range(3):
                yield int(s.current().timeout_s)

        return items()

    assert list(zip(stream("new-1"), stream("old-1"), strict=True)) == [(55, 30)] * 3


def test_an_arm_that_changes_under_one_number_is_read_anew(
    trial: tuple[ratchet.Ratchet, AgentSettings, Arms],
) -> None:
    r, s, arms = trial
    for rate in (0.25, 0.75):
        arms.new = replace(arms.new, values={"timeout_s": 55, "rate": rate})
        with r.watch("bot", fields={"unit": f"new-{rate}"}):
            assert s.current().rate == rate


def test_a_coin_that_fails_leaves_the_old_values_and_the_host_alone(
    trial: tuple[ratchet.Ratchet, AgentSettings, Arms],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    r, s, arms = trial

    def broken(target: str, unit: str) -> Version | None:
        raise OSError("no salt")

    monkeypatch.setattr(arms, "arm_of", broken)
    with r.watch("bot", fields={"unit": "new-1"}):
        assert s.current().timeout_s == 30
    assert "arm_failed" in caplog.text

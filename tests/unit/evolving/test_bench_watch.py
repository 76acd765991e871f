"""A benchmark on a schedule: a frozen baseline, checks as they come, and an alarm that is told once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ratchet.errors import Conflict, NotFound, UsageError
from ratchet.evolving.bench.benchmark import Evaluation
from ratchet.evolving.bench.book import BenchAsked, BenchMeans
from ratchet.evolving.bench.watch import WatchBook, keep_watch, only_watcher, units
from ratchet.evolving.job import Job
from ratchet.ports import Notice
from ratchet.runtime import Runtime
from ratchet.testing.evolving import SyntheticMeasure, synthetic_agent, synthetic_benchmark
from support.healing import needs_sandbox

TASKS = 30


class Watching:
    """A watch whose agent solves each task by a coin that the test sets."""

    def __init__(self, folder: Path) -> None:
        self.runtime = Runtime.open(home=folder / "home")
        bench = self.runtime.benchmarks.freeze(synthetic_benchmark(dev=0, gate=TASKS, sealed=0))
        self.told: list[Notice] = []
        self.book = WatchBook(self.runtime.benchmarks, tell=self.told.append, clock=lambda: 5.0)
        self.agent = synthetic_agent(folder / "agent", {"*": 0.8})
        self.asked = BenchAsked(agent=self.agent, bench=bench.name)

    def means(self, *, unmeasured: float = 0.0) -> BenchMeans:
        return BenchMeans(measure=SyntheticMeasure(unmeasured=unmeasured))

    def becomes(self, odds: float) -> None:
        synthetic_agent(Path(self.agent.folder), {"*": odds})


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Watching]:
    needs_sandbox(tmp_path)
    made = Watching(tmp_path)
    yield made
    made.runtime.close()


@pytest.mark.slow
def test_an_agent_that_gets_worse_is_told_of_once(watching: Watching) -> None:
    held = watching.book.freeze(watching.asked, watching.means())
    for _ in range(4):
        held = watching.book.check(held, watching.asked, watching.means())
    assert not held.regressed
    assert watching.told == []
    watching.becomes(0.4)
    for _ in range(6):
        held = watching.book.check(held, watching.asked, watching.means())
    assert held.regressed
    assert held.since is not None
    assert [each.run.id for each in held.checks].index(held.since.id) <= 5
    assert [(each.level, each.record, each.at) for each in watching.told] == [("error", held.baseline.id, 5.0)]


def test_a_watch_is_found_again_by_its_agent_and_tasks(watching: Watching) -> None:
    assert watching.book.find(watching.asked) is None
    held = watching.book.freeze(watching.asked, watching.means(), repeats=3)
    watching.book.check(held, watching.asked, watching.means())
    found = watching.book.find(watching.asked)
    assert found is not None
    assert (found.baseline.id, len(found.checks)) == (held.baseline.id, 1)
    with pytest.raises(NotFound, match="no baseline"):
        watching.book.watch(found.checks[0].run.id)


def test_what_could_not_be_measured_is_no_loss(watching: Watching) -> None:
    held = watching.book.freeze(watching.asked, watching.means(), repeats=3)
    held = watching.book.check(held, watching.asked, watching.means(unmeasured=1.0))
    assert held.checks[0].score is None
    assert held.state.checks == 0

    def few(job: Job) -> Evaluation:
        measure = SyntheticMeasure(unmeasured=1.0 if job.task.id in ("gate-0", "gate-1") else 0.0)
        return measure(job)

    held = watching.book.check(held, watching.asked, BenchMeans(measure=few))
    assert held.checks[1].score is not None
    assert held.state.checks == 1


def test_a_second_watcher_of_one_agent_on_one_benchmark_is_refused(watching: Watching) -> None:
    home = watching.runtime.home
    with only_watcher(home, watching.asked):
        with pytest.raises(Conflict, match="already; wait for its checks"), only_watcher(home, watching.asked):
            pass
        with only_watcher(home, replace(watching.asked, split="gate")):  # another watch
            pass
    with only_watcher(home, watching.asked):  # it has ended
        pass


def test_a_baseline_of_one_run_is_refused(watching: Watching) -> None:
    with pytest.raises(UsageError, match="2 or more"):
        watching.book.freeze(watching.asked, watching.means(), repeats=1)


def test_checks_come_on_time_and_what_was_slept_through_is_left_out() -> None:
    now, checked = [0.0], list[float]()

    def check() -> None:
        checked.append(now[0])
        now[0] += 1.0 if len(checked) != 3 else 25.0  # the third takes as long as two and a half others

    def wait(seconds: float) -> None:
        now[0] += seconds

    keep_watch(check, 10.0, clock=lambda: now[0], wait=wait, stopping=lambda: len(checked) == 5)
    assert checked == [0.0, 10.0, 20.0, 50.0, 60.0]


@pytest.mark.parametrize(("every_s", "longest"), [(10.0, 10.0), (1e15, threading.TIMEOUT_MAX)])
def test_a_clock_that_is_set_back_or_a_wait_of_centuries_silences_no_watch(
    monkeypatch: pytest.MonkeyPatch, every_s: float, longest: float
) -> None:
    set_back, waited = iter(range(10**9, 0, -86_400)), list[float]()
    monkeypatch.setattr(time, "time", lambda: float(next(set_back)))
    keep_watch(lambda: None, every_s, wait=waited.append, stopping=lambda: len(waited) == 3)
    assert max(waited) <= longest


def test_timers_are_written_for_systemd_and_cron() -> None:
    made = units("systemd", "mine", ["bench", "watch", "mine", "--agent", "/a b/100%"], 21_600)
    assert set(made) == {"ratchet-watch-mine.service", "ratchet-watch-mine.timer"}
    assert "'/a b/100%%'" in made["ratchet-watch-mine.service"]
    assert "OnUnitActiveSec=21600s" in made["ratchet-watch-mine.timer"]
    lines = [next(iter(units("cron", "m", ["x"], every).values())) for every in (900, 21_600, 86_400)]
    assert [line.split(" /")[0] for line in lines] == ["*/15 * * * *", "0 */6 * * *", "0 0 * * *"]
    with pytest.raises(UsageError, match="cron cannot say"):
        units("cron", "m", ["x"], 25_200)

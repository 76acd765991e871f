"""A benchmark on a schedule against a frozen baseline: bench runs, the first of which is the baseline, each later one
a check of it. Whether it got worse is a fold over them."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import fsum
from pathlib import Path
from statistics import variance
from typing import Literal

from ratchet.errors import Conflict, NotFound, UsageError
from ratchet.evolving.bench.agents import shown
from ratchet.evolving.bench.benchmark import Evaluation
from ratchet.evolving.bench.book import BenchAsked, BenchBook, BenchMeans
from ratchet.evolving.bench.rows import BenchRun
from ratchet.files import Locked
from ratchet.gate.watching import ALPHA, HORIZON, RegressionState, RegressionWatch, WatchPlan, watch_plan
from ratchet.ids import hex_of
from ratchet.ports import Notice

BASELINE = "baseline"
"""What a baseline says it is a check of."""
REPEATS = 10
"""Runs of each task in a baseline: as exact as ten checks."""
LOSS = 0.05
"""The regression that a plan is about: five points."""
_UNENDED = ("running", "killed")
_MOST_UNMEASURED = 0.1  # of a check's runs; one with more says nothing
_LONGEST_S = 86_400.0  # that is waited for at once: threads cannot wait for centuries
UnitKind = Literal["systemd", "cron"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchCheck:
    """One check. `score` is None where too much of it could not be measured."""

    run: BenchRun
    score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchWatch:
    """A watch as its runs have it. `noise` is the standard deviation of one check, by the repeats of the baseline."""

    baseline: BenchRun
    checks: tuple[WatchCheck, ...]
    state: RegressionState
    noise: float

    @property
    def regressed(self) -> bool:
        return self.state.alarm is not None

    @property
    def since(self) -> BenchRun | None:
        """The check from which on it is worse, as far as one can tell."""
        counted = [each.run for each in self.checks if each.score is not None]
        return counted[self.state.since] if self.regressed and self.state.since is not None else None

    def plan(self, loss: float = LOSS) -> WatchPlan | None:
        """Compute how many checks will tell of a regression; None where the baseline does not vary, so that the first
        loss is one."""
        return watch_plan(self.noise, loss, baseline=self.baseline.repeats) if self.noise > 0 else None


class WatchBook:
    """Watches of one home. `tell` is the notifier's; `clock` gives Unix seconds."""

    def __init__(
        self, book: BenchBook, *, tell: Callable[[Notice], None], clock: Callable[[], float] = time.time
    ) -> None:
        self._book = book
        self._tell = tell
        self._clock = clock

    def find(self, asked: BenchAsked) -> BenchWatch | None:
        """The watch of this agent on this benchmark, by its newest baseline."""
        agent = shown(asked.read_agent())
        for held in self._book.history(name=asked.bench):
            same = (held.split, held.tasks) == (asked.split, asked.tasks)
            if held.watch == BASELINE and held.state == "ended" and held.agent_name == agent and same:
                return self.watch(held.id)
        return None

    def watch(self, baseline: str) -> BenchWatch:
        """A watch by the id of its baseline. Raises NotFound."""
        runs = self._book.history()
        held = next((each for each in runs if each.id == baseline and each.watch == BASELINE), None)
        if held is None:
            raise NotFound(f"no baseline {baseline}; `ratchet bench watch NAME --agent DIR` freezes one")
        made = self._book.evaluations(held.id)
        by_task = _means(made)
        seeds = sorted({each.seed for each in made})
        frozen = [score for score in (_score(made, by_task, seed) for seed in seeds) if score is not None]
        later = sorted(
            (each for each in runs if each.watch == held.id), key=lambda each: each.seed
        )  # the wall clock may have been set back
        checks = [WatchCheck(run=run, score=self._scored(run, by_task)) for run in later if run.state not in _UNENDED]
        test = RegressionWatch(frozen)
        for each in checks:
            if each.score is not None:
                test.add(each.score)
        noise = variance(frozen) ** 0.5 if len(frozen) > 1 else 0.0
        return BenchWatch(baseline=held, checks=tuple(checks), state=test.state, noise=noise)

    def _scored(self, run: BenchRun, by_task: dict[str, float]) -> float | None:
        if run.state == "ended" and not run.unmeasured:
            return run.mean
        return _score(self._book.evaluations(run.id), by_task)

    def freeze(self, asked: BenchAsked, means: BenchMeans | None = None, *, repeats: int = REPEATS) -> BenchWatch:
        """Measure the baseline. Raises UsageError where it could not be measured."""
        if repeats < 2:
            raise UsageError(f"{repeats} runs of each task do not show how much a score varies; freeze 2 or more")
        held = self._book.run(replace(asked, repeats=repeats, watch=BASELINE), means)
        if held.state != "ended" or held.unmeasured > _MOST_UNMEASURED * held.runs:
            reason = held.reason or f"{held.unmeasured} of {held.runs} runs could not be measured"
            raise UsageError(f"the baseline {held.id} is none: {reason}")
        return self.watch(held.id)

    def check(self, held: BenchWatch, asked: BenchAsked, means: BenchMeans | None = None) -> BenchWatch:
        """Run each task once, as the agent is now; tell the notifier when that proves a regression."""
        seed = held.baseline.seed + held.baseline.repeats + len(held.checks)
        self._book.run(replace(asked, repeats=1, seed=seed, watch=held.baseline.id), means)
        now = self.watch(held.baseline.id)
        if now.regressed and not held.regressed:
            self._tell(notice(now, at=self._clock()))
        return now


def only_watcher(home: Path, asked: BenchAsked) -> Locked:
    """Be the only watcher of an agent on a benchmark while this is entered: the checks of two would crowd together.
    Entering it raises Conflict while another process of this home watches."""
    key = hex_of(f"{asked.bench}\n{shown(asked.read_agent())}\n{asked.split}\n{asked.tasks}")[:16]
    busy = f"another process watches {asked.bench} with this agent already; wait for its checks, or end it there"
    return Locked(home / "watch" / f"{key}.claim", Conflict(busy))


def elapsed() -> float:
    """Seconds that passed, those in which the machine slept among them; nobody sets this clock back or ahead."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)  # Linux; elsewhere the clock may stop in sleep, too
    return time.monotonic() if boot is None else time.clock_gettime(boot)


def keep_watch(
    check: Callable[[], object],
    every_s: float,
    *,
    wait: Callable[[float], object],
    stopping: Callable[[], bool],
    clock: Callable[[], float] = elapsed,
) -> None:
    """Check at once, and every so many seconds after that, until it is to stop. A time that was slept through is not
    caught up: late checks would crowd together. `clock` is one that nobody sets."""
    due = clock()
    while not stopping():
        check()
        missed = max(0.0, clock() - due) // every_s
        due += (missed + 1) * every_s
        while clock() < due and not stopping():
            wait(min(due - clock(), _LONGEST_S))


def notice(held: BenchWatch, *, at: float) -> Notice:
    since = held.since
    return Notice(
        title=f"{held.baseline.name}: {held.baseline.agent_name} got worse",
        text=sentence(held) + f" Look: ratchet bench compare {held.baseline.id} {since.id if since else ''}",
        level="error",
        record=held.baseline.id,
        at=at,
    )


def sentence(held: BenchWatch) -> str:
    """The verdict in a sentence."""
    state, counted = held.state, sum(each.score is not None for each in held.checks)
    if held.regressed:
        first = (state.since or 0) + 1
        return (
            f"Worse by {100 * state.loss:.1f} points since check {first} of {counted}; it was proven at check "
            f"{(state.alarm or 0) + 1}: luck alone shows as much in 1 of {state.e_value:,.0f} such watches at most."
        )
    if counted >= HORIZON:
        return f"{counted} checks are the most that one baseline is good for: freeze a new one with --rebase."
    return f"No regression in {counted} of {HORIZON} checks{_doubt(state.e_value)}."


def _doubt(e_value: float) -> str:
    """Say how near the evidence is to an alarm: luck reaches E in 1 of E watches at most (Ville)."""
    if e_value < 2:
        return "; nothing points to one"
    return f"; luck alone looks as bad in 1 of {e_value:,.0f} such watches at most, an alarm needs 1 of {1 / ALPHA:.0f}"


def units(kind: UnitKind, name: str, argv: Sequence[str], every_s: float) -> dict[str, str]:
    """The files by which a machine checks on time, by name: a systemd service with its timer, or a line of cron.

    Raises UsageError for a time that cron cannot say.
    """
    command = shlex.join([sys.executable, "-P", "-m", "ratchet", *argv])
    if kind == "cron":
        return {f"ratchet-watch-{name}.cron": f"{_cron(every_s)} {command.replace('%', chr(92) + '%')}\n"}
    systemd = command.replace("%", "%%").replace("$", "$$")
    service = (
        f"[Unit]\nDescription=Ratchet watches {name}\n\n[Service]\nType=oneshot\nSuccessExitStatus=10\n"
        f"ExecStart={systemd}\n"
    )
    timer = (
        f"[Unit]\nDescription=Ratchet watches {name}\n\n[Timer]\nOnActiveSec=1min\nOnUnitActiveSec={every_s:.0f}s\n\n"
        "[Install]\nWantedBy=timers.target\n"
    )
    return {f"ratchet-watch-{name}.service": service, f"ratchet-watch-{name}.timer": timer}


def _cron(every_s: float) -> str:
    minutes = round(every_s / 60)
    if every_s % 60 == 0:
        if minutes < 60 and 60 % max(minutes, 1) == 0:
            return f"*/{minutes} * * * *"
        if minutes % 60 == 0 and 1440 % minutes == 0:
            return "0 0 * * *" if minutes == 1440 else f"0 */{minutes // 60} * * *"
    raise UsageError(f"cron cannot say every {every_s:g} s: use a part of an hour or of a day, or --unit systemd")


def _means(made: Sequence[Evaluation]) -> dict[str, float]:
    scores: dict[str, list[float]] = {}
    for each in made:
        if each.measured:
            scores.setdefault(each.task, []).append(each.score)
    return {task: fsum(held) / len(held) for task, held in scores.items()}


def _score(made: Sequence[Evaluation], by_task: dict[str, float], seed: int | None = None) -> float | None:
    """The mean over tasks of one run of each; a run that could not be measured counts as its task's baseline, and too
    many of them are no check."""
    held = {each.task: each for each in made if seed in (None, each.seed)}
    scores = [held[task].score if task in held and held[task].measured else None for task in by_task]
    gone = sum(score is None for score in scores)
    if not scores or gone > _MOST_UNMEASURED * len(scores):
        return None
    filled = [base if score is None else score for score, base in zip(scores, by_task.values(), strict=True)]
    return fsum(filled) / len(filled)

"""The evolve loop, in one file so that it reads as its sentence: benchmark -> propose -> try in a sandbox ->
re-benchmark -> keep or revert, as often as asked for.

Each step is a row and an event before the next begins. A process that is killed leaves a run that another one goes on
with: evaluations that ended are never made again, and what is decided is a fold over them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ratchet.evolving.archive import Archive
from ratchet.evolving.bench.benchmark import Benchmark, BenchTask, Evaluation
from ratchet.evolving.candidate import Candidate, Evolution, EvolutionState
from ratchet.evolving.competitors.comparing import ComparedFeature
from ratchet.evolving.job import AgentProposer, ProposalJob
from ratchet.evolving.loop import budgeting
from ratchet.evolving.loop import screens as screening
from ratchet.evolving.loop import weakest as evidence
from ratchet.evolving.loop.candidacy import ask, candidate_of, carried, fails_own_check, merged
from ratchet.evolving.loop.final_report import MOST_TRIES, report
from ratchet.evolving.loop.parent import parent_of, task_gains
from ratchet.evolving.loop.standing import Archived, decided, screened_out
from ratchet.evolving.race import race as racing
from ratchet.evolving.race.evaluator import Each, EvaluationPlan, Evaluator, EvaluatorMeans, WantedEvaluation
from ratchet.evolving.race.plan import RacePlan
from ratchet.evolving.race.seals import Seals
from ratchet.healing.episode import Budget
from ratchet.healing.purse import EpisodePurse
from ratchet.ports import Sandbox, Store, Workspace
from ratchet.sandbox.command import Limits

Told = Literal[
    "started", "baseline", "asking", "proposed", "racing", "evaluated", "decided", "reporting", "note", "ended"
]

DEV_RUNS = 2
"""Runs of each `dev` task of a version that proposers are asked to better: evidence, never a decision."""
DOUBT = 0.6
"""Standard errors by which a candidate may still be worth its race. Less than the gate's own 1: in a batch, whose
survivors share the incumbent's runs and go on together, that saves more runs than it loses of what is good
(`benchmarks/evolve.py`, the example)."""
_WRITE_S = 10.0  # between two writings of what is used up, while a race goes on


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolveMoment:
    """News for whoever watches: the run as it is, and what just happened."""

    what: Told
    evolution: Evolution
    candidate: Candidate | None = None
    racers: tuple[Candidate, ...] = ()
    standings: tuple[racing.Standing, ...] = ()
    evaluation: Evaluation | None = None
    runs: int = 0
    usd: float = 0.0
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolveGround:
    """Everything that a run stands on. `workspace` makes a fresh copy of a tree's files, for a proposer or a check to
    work in."""

    store: Store
    archive: Archive
    proposer: AgentProposer
    sandbox: Sandbox
    workspace: Callable[[str], Workspace]
    benchmark: Benchmark
    purse: EpisodePurse
    means: EvaluatorMeans
    limits: Limits = field(default_factory=Limits)
    gaps: tuple[ComparedFeature, ...] = ()
    told: Callable[[EvolveMoment], None] = lambda _moment: None


class _Stopped(Exception):  # noqa: N818
    """The budget or a person ends the run here."""


class _Failed(Exception):  # noqa: N818
    """It makes no sense to go on: the message says why."""


class Evolve:
    """One run, from where its rows say it stands to its end."""

    def __init__(self, ground: EvolveGround, held: Evolution) -> None:
        self._ground = ground
        store, means = ground.store, replace(ground.means, told=self._evaluated)
        self._evaluator = Evaluator(store, held.id, held.agent, ground.purse, held.usd, means)
        self._seals = Seals(store, held.id, ground.benchmark, ground.archive.intact, lambda: self._evaluator.written)
        self._archived = Archived(store, held)
        self._habits: frozenset[str] = frozenset()
        self._written_at = time.monotonic()
        self._racing: tuple[RacePlan, tuple[Candidate, ...]] | None = None

    @property
    def _run(self) -> Evolution:
        return self._archived.run

    def run(self) -> Evolution:
        """Go on until it ends; return it. Raises SandboxError, StoreError, Conflict: then it can be resumed."""
        self._tell("started")
        ended: tuple[EvolutionState, str]
        try:
            self._benchmark()
            while racers := self._propose():
                self._keep_or_revert(racers, self._race(racers))
            ended = ("ended", self._archived.why_ended())
        except _Failed as failed:
            return self._end("failed", str(failed))
        except _Stopped:
            if not self._ground.purse.spent():
                return self._end("cancelled", "stopped by a person")
            ended = ("budget", self._spent())
        return self._report(*ended)

    # -- benchmark -----------------------------------------------------------------------------------------------------

    def _benchmark(self) -> None:
        """Measure the agent as it is on `dev`. Raises _Failed where that cannot be done."""
        baseline = self._archived.baseline
        reason = self._own_check(baseline)
        if reason:
            raise _Failed(f"the agent as it is does not pass its own check: {reason}")
        runs = self._dev_runs(baseline)
        if runs and not any(each.measured for each in runs):
            raise _Failed(f"nothing could be measured: {runs[-1].reason}")
        self._habits = screening.habits(runs)
        sealed = len(self._ground.benchmark.of("sealed"))
        self._ground.purse.allow(budgeting.for_search(self._run, self._evaluator.known.values(), sealed))
        self._tell("baseline", candidate=baseline)

    def _dev_runs(self, version: Candidate) -> list[Evaluation]:
        return self._runs(version, self._ground.benchmark.of("dev"), range(DEV_RUNS))

    def _runs(self, version: Candidate, tasks: Sequence[BenchTask], times: Iterable[int]) -> list[Evaluation]:
        """Runs of a version outside of races."""
        plan = Each(WantedEvaluation(version, task, self._seed(number)) for number in times for task in tasks)
        self._work(plan)
        return sorted(plan.made.values(), key=lambda each: (each.task, each.seed))

    def _seed(self, number: int) -> int:
        return racing.draw(self._run.seed, 0, number, 1).seed

    def _work(self, plan: EvaluationPlan) -> None:
        if not self._evaluator.work(plan):
            raise _Stopped

    # -- propose -------------------------------------------------------------------------------------------------------

    def _propose(self) -> tuple[Candidate, ...]:
        """The next candidates to race, past all screens; none when the run is over."""
        cut_short = self._archived.of("racing")
        if cut_short:
            return cut_short
        ready: list[Candidate] = []
        while len(ready) < self._run.batch:
            candidate = self._next({each.n for each in ready})
            if candidate is None:
                break
            reason = self._objection(candidate)
            if reason:
                self._tell("decided", candidate=self._archived.keep(screened_out(candidate, reason)))
            else:
                ready.append(candidate)
        return self._archived.line_up(ready)

    def _next(self, ready: set[int]) -> Candidate | None:
        """A candidate to screen: one that was proposed before this process began, one that beat an incumbent of before,
        or a new one."""
        while True:
            left = [each for each in self._archived.of("proposed") if each.n not in ready]
            if left:
                return left[0]
            waiting = self._archived.of("waiting")
            if waiting:
                self._carried_over(waiting)
            elif not self._archived.why_ended():
                self._asked()
            else:
                return None

    def _asked(self) -> None:
        """Ask the proposer once, and keep what it says as a candidate."""
        self._go_on()
        ground, n = self._ground, self._archived.next_n
        incumbent, archived = self._archived.incumbent, self._archived.all
        gained = task_gains(archived, self._evaluator.known.values()) if self._run.explore else None
        parent = parent_of(archived, incumbent, explore=self._run.explore, seed=self._run.seed, n=n, gained=gained)
        runs = self._dev_runs(parent)
        self._tell("asking", candidate=parent)
        workspace = ground.workspace(parent.tree)
        ground.purse.attempt = n
        try:
            job = ProposalJob(
                agent=self._run.agent,
                parent=parent,
                workspace=workspace,
                sandbox=ground.sandbox,
                weakest=evidence.weakest(ground.benchmark.of("dev"), runs),
                patterns=evidence.patterns(runs, self._run.benchmark),
                tried=tuple(archived[1:]),
                purse=ground.purse,
                limits=replace(ground.limits, wall_s=max(1.0, ground.purse.seconds_left())),
                gaps=ground.gaps,
                seed=self._run.seed + n,
                note=lambda text: self._tell("note", text=text),
            )
            answer = ask(ground.proposer, job)
        finally:
            workspace.close()
            ground.purse.attempt = 0
        if answer.proposed.status == "refused":
            self._go_on()
            raise _Failed(f"{ground.proposer.name} refuses: {answer.proposed.reason}")
        made = candidate_of(
            answer,
            run=self._run.id,
            n=n,
            agent=self._run.agent,
            parent=parent,
            incumbent=incumbent,
            tried=archived,
            archive=ground.archive,
            proposer=ground.proposer.name,
        )
        self._archived.keep(made)
        self._tell("proposed", candidate=self._archived[n])

    def _carried_over(self, waiting: Sequence[Candidate]) -> None:
        """Give candidates that beat an incumbent of before a race against the present one: together, or the first."""
        archived, archive, n = self._archived, self._ground.archive, self._archived.next_n
        made = merged(
            [each for each in waiting if not each.alone],
            lambda each: archived.version(each.parent),
            archived.incumbent,
            n=n,
            archive=archive,
        )
        if made is None:
            first = waiting[0]
            made = carried(first, archived.version(first.parent), archived.incumbent, n=n, archive=archive)
        moved = [each for each in waiting if each.n == made.retry_of or each.n in made.merges]
        others = [each for each in archived.all if each not in moved]
        reason = screening.known_already(made.id, "", archived.incumbent.id, others)
        with self._ground.store.transaction():
            archived.keep(screened_out(made, reason) if reason else made)
            for each in moved:
                archived.keep(replace(each, state="reverted", reason=f"{each.reason}; goes on as candidate {made.n}"))

    def _objection(self, candidate: Candidate) -> str:
        """Why a candidate is not worth a race. Costs its own check, and a run or two of the cheap and easy tasks."""
        self._go_on()
        reason = self._own_check(candidate)
        if reason:
            return reason
        bench = self._ground.benchmark
        smoke = [each for each in (*bench.of("dev"), *bench.of("gate")) if each.smoke]
        runs = self._runs(candidate, smoke, range(1))
        meddled = next(filter(None, map(self._meddling, runs)), "")
        failed = {each.task for each in runs if each.result == "failed"}
        if meddled or not failed:
            return meddled
        again = [each for each in smoke if each.id in failed]
        runs = self._runs(candidate, again, range(2))
        return screening.broken_smoke(runs, self._runs(self._archived.incumbent, again, range(2)))

    def _own_check(self, version: Candidate) -> str:
        ground, agent = self._ground, self._run.agent
        if not agent.own_check:
            return ""
        limits = replace(ground.limits, wall_s=max(1.0, min(ground.limits.wall_s, ground.purse.seconds_left())))
        folder = str(ground.archive.folder(version.tree))
        return fails_own_check(agent, folder, lambda: ground.workspace(version.tree), ground.sandbox, limits)

    # -- re-benchmark --------------------------------------------------------------------------------------------------

    def _race(self, racers: tuple[Candidate, ...]) -> racing.Race:
        """Run pairs until each racer is decided."""
        gate = self._ground.benchmark.of("gate")
        if not gate:
            raise _Failed(f"benchmark {self._run.benchmark} has no gate tasks: nothing can be decided on it")
        race = racing.Race([each.level for each in racers], mde=self._run.mde, cap=self._run.cap, doubt=DOUBT)
        incumbent = self._archived.incumbent
        seed, batch = self._run.seed, racers[0].batch
        plan = RacePlan(race, incumbent, racers, gate, seed=seed, batch=batch, meddling=self._meddling)
        self._racing = (plan, racers)
        self._tell("racing")
        before = self._seals.take()
        self._work(plan)
        broken = self._seals.broken(before, [each.tree for each in (incumbent, *racers)])
        self._racing = None
        if broken:
            named = ", ".join(broken)
            with self._ground.store.transaction():
                for each in racers:
                    self._archived.keep(replace(each, state="reverted", reason=f"refused: {named} changed meanwhile"))
            raise _Failed(f"{named} changed while candidates {', '.join(str(each.n) for each in racers)} were measured")
        return race

    def _meddling(self, made: Evaluation) -> str:
        return screening.meddling(made, self._habits)

    # -- keep or revert ------------------------------------------------------------------------------------------------

    def _keep_or_revert(self, racers: Sequence[Candidate], race: racing.Race) -> None:
        """Write what is decided: all of it or nothing."""
        best = race.best
        with self._ground.store.transaction():
            for i, candidate in enumerate(racers):
                standing = race.standing(i)
                state, reason = decided(standing, candidate.level, best=i == best)
                moved = replace(
                    candidate,
                    state=state,
                    reason=reason,
                    e_value=standing.e_value,
                    peak=standing.peak,
                    pairs=standing.pairs,
                    mean=standing.mean,
                    differed=standing.differed,
                    unmeasured=standing.unmeasured,
                    cost_usd=self._evaluator.usd.get(candidate.id, 0.0),
                    decided_at=time.time(),
                )
                self._archived.keep(moved)
            if best is None:
                self._written("")
            else:
                self._written("kept", incumbent=racers[best].id)
            self._archived.wait_again()
        for candidate in racers:
            self._tell("decided", candidate=self._archived[candidate.n])

    # -- the end -------------------------------------------------------------------------------------------------------

    def _report(self, state: EvolutionState, reason: str) -> Evolution:
        """Measure what was kept on the sealed tasks, once, and end the run."""
        winner, baseline, sealed = self._archived.incumbent, self._archived[0], self._ground.benchmark.of("sealed")
        if winner.n == 0:
            return self._end(state, f"{reason}; nothing was proven better")
        if not sealed:
            return self._end(state, f"{reason}; the benchmark has no sealed tasks to measure the winner on")
        self._ground.purse.allow(Budget(usd=self._run.usd, seconds=self._run.seconds))
        self._tell("reporting", candidate=winner)
        unseen = {each.id for each in sealed}
        try:
            made = report(
                baseline,
                winner,
                sealed,
                seeds=[self._seed(1_000 + number) for number in range(MOST_TRIES)],
                repeats=self._run.repeats,
                runs=sum(each.task not in unseen for each in self._evaluator.known),
                claimed=sum(each.mean for each in self._archived.of("kept")),
                work=self._work,
                spare=self._evaluator.work,
            )
        except _Stopped:
            if not self._ground.purse.spent():
                return self._end("cancelled", "stopped by a person while the winner was measured")
            return self._end("budget", f"{reason}; too little was left to measure the winner on the sealed tasks")
        if made is None:
            reason = f"{reason}; the sealed tasks could not be measured"
        return self._end(state, reason, report=made)

    def _end(self, state: EvolutionState, reason: str, **about: object) -> Evolution:
        if state == "budget":
            self._archived.leave_undecided("the budget ended first")
        self._written("ended", state=state, reason=reason, ended_at=time.time(), **about)
        self._tell("ended")
        return self._run

    # -- small things --------------------------------------------------------------------------------------------------

    def _written(self, verb: str, **changes: object) -> Evolution:
        self._written_at = time.monotonic()
        spent = {
            "runs": len(self._evaluator.known),
            "cost_usd": self._ground.purse.usd_spent(),
            "duration_s": self._ground.purse.seconds_used(),
        }
        return self._archived.write(verb, **changes, **spent)

    def _spent(self) -> str:
        """Say what ended the budget, and what would change it."""
        purse = self._ground.purse
        change = budgeting.would_change(
            self._run,
            self._archived.all,
            usd=purse.usd_spent(),
            seconds=purse.seconds_used(),
            by_time=purse.seconds_left() <= 0,
        )
        return f"{purse.spent()}; {change}"

    def _go_on(self) -> None:
        """Raises _Stopped where the budget or a person ends the run."""
        if self._ground.means.stopping() or self._ground.purse.spent():
            raise _Stopped

    def _evaluated(self, made: Evaluation) -> None:
        if time.monotonic() - self._written_at > _WRITE_S:  # what a killed process used up is not used again
            self._written("")
        self._tell("evaluated", evaluation=made)

    def _tell(
        self,
        what: Told,
        *,
        candidate: Candidate | None = None,
        evaluation: Evaluation | None = None,
        text: str = "",
    ) -> None:
        plan, racers = self._racing or (None, ())
        self._ground.told(
            EvolveMoment(
                what=what,
                evolution=self._run,
                candidate=candidate,
                racers=racers,
                standings=tuple(plan.race.standing(i) for i in range(len(racers))) if plan else (),
                evaluation=evaluation,
                runs=len(self._evaluator.known) if what != "started" else self._run.runs,
                usd=self._ground.purse.usd_spent(),
                text=text,
            )
        )

"""The heal loop: retrieve -> execute -> judge -> distill, until the check passes or there is a reason to stop.

Each step is a row and an event before the next begins. A process that is killed leaves an episode that another one goes
on with: attempts that ended are never made again, the one under way is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol

from ratchet.failures.failed_tests import MOST, name_of
from ratchet.failures.redaction.text import clean
from ratchet.healing import rows as episodes
from ratchet.healing.attempt import Checks, SolverAnswer, lay, propose
from ratchet.healing.breaker import why_stop
from ratchet.healing.episode import Attempt, AttemptStatus, Episode, EpisodeStatus, Flake, Memo, Standing, Task, Verdict
from ratchet.healing.flakes import rates, told_apart
from ratchet.healing.job import SolveJob, Solver
from ratchet.healing.missing import missing
from ratchet.healing.patches import diff_text, taking
from ratchet.healing.planning.steps import for_step, so_far
from ratchet.healing.purse import EpisodePurse
from ratchet.healing.rows import Checkpoint, state_of
from ratchet.healing.shown import shown_text
from ratchet.healing.suite import effect
from ratchet.ports import Sandbox, Store, Workspace
from ratchet.records import Json, Lesson
from ratchet.sandbox.command import FileChange, Limits

_EVIDENCE_CHARS = 1_600  # with three other patches
_REPEATS_SHARE = 0.15  # of the time that is left, what it may take to tell flaky tests from broken ones
Told = Literal["started", "reproduced", "recalled", "attempting", "note", "attempted", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HealMoment:
    """News for whoever watches: the episode as it is, and what just happened."""

    what: Told
    episode: Episode
    attempt: Attempt | None = None
    verdict: Verdict | None = None
    lessons: tuple[Lesson, ...] = ()
    text: str = ""


class Memory(Protocol):
    """Memory of an episode, and what it leaves behind (`memory.experience`)."""

    def lessons(self, texts: Sequence[str], task: Task) -> tuple[Lesson, ...]: ...

    def memos(self, solver: str, signature: str, task: Task, tests: Sequence[str] = ()) -> tuple[Memo, ...]: ...

    def distill(self, episode: Episode) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HealGround:
    """Everything that an episode stands on. `beginning` is the workspace's checkpoint of the untouched project."""

    store: Store
    memory: Memory
    solver: Solver
    sandbox: Sandbox
    workspace: Workspace
    beginning: str
    checks: Checks
    purse: EpisodePurse
    limits: Limits = field(default_factory=Limits)
    donors: Mapping[str, str] = field(default_factory=dict)
    repeats: int = 0
    """Runs in a row that tell of no other flaky test, after which anything is edited; 0: a few (`told_apart`)."""
    weigh: Callable[[Sequence[FileChange], Task, Verdict], tuple[Standing, str]] | None = None
    """Weighs a change that passes and whose solver did not (`solvers.weighing`)."""
    told: Callable[[HealMoment], None] = lambda _moment: None


class HealLoop:
    """One episode, from where its rows say it stands to its end."""

    def __init__(self, ground: HealGround, episode: Episode) -> None:
        self._ground = ground
        self._episode = episode
        self._verdicts: dict[int, Verdict] = {}

    def run(self) -> Episode:
        """Go on until it ends; return it. Raises SandboxError, StoreError, Conflict: then it can be resumed."""
        if not self._reproduced():
            return self._episode
        while (stop := self._why_stop()) is None:
            base, failure = self._best()
            if failure.passed:
                self._take(base)
                continue
            lessons = self._retrieve(failure)
            attempt, proposed = self._execute(base, failure, lessons)
            self._judge(attempt, proposed, failure)
        return self._distill(*stop)

    # -- reproduce -----------------------------------------------------------------------------------------------------

    def _reproduced(self) -> bool:
        """Tell whether the check fails on the untouched project; otherwise the episode ends here."""
        self._tell("started")
        self._ground.workspace.restore(self._ground.beginning)
        verdict = self._ground.checks.reproduce()
        if verdict.killed == "cancel":
            spent = self._ground.purse.spent()
            self._end("budget" if spent else "cancelled", spent or "before the failure was reproduced")
            return False
        if not (verdict.passed or verdict.refused or verdict.killed or self._episode.task.steps):
            flakes = self._episode.flakes if self._episode.first is not None else self._flakes(verdict)
            if flakes:
                verdict = self._ground.checks.quarantine(flakes)
                self._episode = replace(self._episode, flakes=flakes)
        self._verdicts[0] = verdict
        if self._episode.first is None:
            kept = replace(verdict, output=clean(verdict.output, 20_000))
            told = {"first": kept, "flakes": self._episode.flakes}
            self._episode = episodes.write(self._ground.store, self._episode, "reproduced", **told)
        self._tell("reproduced", verdict=verdict)
        if verdict.refused:
            self._end("refused", verdict.reason)
            return False
        if verdict.passed and self._episode.flakes:
            self._end("flaky", f"nothing is broken: {rates(self._episode.flakes)}; repair the tests, not the program")
        elif verdict.passed:
            self._end("already_passing", "the check passes as it is: nothing to heal")
        elif lacking := missing(verdict, Path(self._episode.task.folder), declared=bool(self._episode.task.steps)):
            self._end("refused", lacking)
            return False
        return not verdict.passed

    def _flakes(self, verdict: Verdict) -> tuple[Flake, ...]:
        """Tests that pass when the check is run again, within a share of the time."""
        ground = self._ground
        ends = ground.purse.seconds_left() * (1 - _REPEATS_SHARE)

        def may_go_on() -> bool:
            return not ground.purse.cancelled() and ground.purse.seconds_left() - verdict.duration_s > ends

        return told_apart(verdict, ground.checks.again, may_go_on, ground.repeats)

    # -- retrieve ------------------------------------------------------------------------------------------------------

    def _retrieve(self, failure: Verdict) -> tuple[Lesson, ...]:
        """Lessons for the failure as it is now and for the task; only relevant ones."""
        lessons = self._ground.memory.lessons((failure.output, self._episode.task.instruction), self._episode.task)
        new = tuple(each for each in lessons if each.id not in {held.id for held in self._episode.lessons})
        if new:
            together = (*self._episode.lessons, *new)
            self._episode = episodes.write(self._ground.store, self._episode, "recalled", lessons=together)
            self._tell("recalled", lessons=new)
        return lessons

    # -- execute -------------------------------------------------------------------------------------------------------

    def _execute(self, base: int, failure: Verdict, lessons: tuple[Lesson, ...]) -> tuple[Attempt, SolverAnswer]:
        ground, task = self._ground, self._ground.checks.task
        known = episodes.attempts(ground.store, self._episode.id, dropped=True)
        cut_short = next((each.n for each in known if each.status == "running"), 0)
        n = cut_short or 1 + max((each.n for each in known), default=0)
        attempt = Attempt(
            episode=self._episode.id,
            n=n,
            status="running",
            solver=self._episode.solver,
            faced=failure.signature,
            started_at=time.time(),
            base=base,
            isolation=ground.sandbox.name,
            seed=self._episode.seed + n,
            lessons=tuple(each.id for each in lessons),
        )
        failing = _failing(failure)
        about: dict[str, Json] = {
            "faced_kind": failure.kind,
            "faced_template": failure.template,
            "faced_tests": [*failing],
            "task": task.id,
            "folder": task.folder,
        }
        episodes.keep(ground.store, attempt, "started", **about)
        ground.purse.attempt = attempt.n
        self._tell("attempting", attempt=attempt)
        if base:
            self._to(episodes.checkpoint(ground.store, self._episode.id, base))
        else:
            ground.workspace.restore(ground.beginning)
        step = task.steps[failure.step - 1] if failure.step else None
        job = SolveJob(
            task=replace(for_step(task, step) if step else task, held_check=()),
            workspace=ground.workspace,
            sandbox=ground.sandbox,
            failure=failure,
            judge=lambda workspace: so_far(ground.checks(workspace), failure.step),
            purse=ground.purse,
            candidates=self._episode.budget.candidates,
            lessons=lessons,
            tried=self._finished(),
            more=len(self._counted()) + 1 < self._episode.budget.attempts,
            memos=ground.memory.memos(self._episode.solver, failure.signature, task, failing),
            donors=ground.donors,
            seed=attempt.seed,
            limits=replace(ground.limits, wall_s=max(1.0, ground.purse.seconds_left())),
            note=lambda text: self._tell("note", attempt=attempt, text=text),
        )
        return attempt, propose(ground.solver, job)

    # -- judge ---------------------------------------------------------------------------------------------------------

    def _judge(self, attempt: Attempt, proposed: SolverAnswer, failure: Verdict) -> None:
        ground, solved = self._ground, proposed.solved
        told = replace(
            attempt,
            solver=clean(solved.by, 100) or attempt.solver,
            cause=clean(solved.cause, 500),
            fix=clean(solved.fix, 500),
            candidates=max(0, solved.candidates),
            alternatives=max(0, solved.alternatives),
            standing=solved.standing,
            evidence=clean(solved.evidence, _EVIDENCE_CHARS),
            note=clean(solved.note or "\n".join(solved.hints), 2_000),
            memo=solved.memo,
        )
        if solved.status != "proposed":
            status: AttemptStatus = "refused" if solved.status == "refused" else "gave_up"
            if ground.purse.spent() or ground.purse.person_cancelled():
                status = "budget" if ground.purse.spent() else "cancelled"
            self._close(
                told, status, kind=failure.kind, signature=failure.signature, reason=clean(solved.reason, 1_000)
            )
            return
        changes = proposed.changes
        told = replace(told, diff=diff_text(changes), without_secrets=shown_text(changes), state=state_of(changes))
        objection = ground.checks.objection(proposed.changes)
        if objection:  # nothing of it is ever laid out
            self._close(told, "refused", kind=failure.kind, signature=failure.signature, reason=clean(objection, 1_000))
            return
        told = replace(told, checkpoint=self._keep(attempt.n, proposed.changes).token)
        verdict = ground.checks(ground.workspace)
        if verdict.killed == "cancel":
            self._close(told, "budget" if ground.purse.spent() else "cancelled", reason=verdict.reason)
            return
        if verdict.passed and not told.standing and ground.weigh is not None:
            standing, evidence = ground.weigh(proposed.changes, ground.checks.task, self._verdicts[0])
            told = replace(told, standing=standing, evidence=clean(evidence, _EVIDENCE_CHARS))
        if verdict.passed and self._episode.task.strict and told.standing != "sure":
            doubt = told.evidence or "nobody has weighed what speaks for it"
            verdict = replace(verdict, passed=False, refused=True, reason=f"refused as doubtful (--strict): {doubt}")
        self._verdicts[attempt.n] = verdict
        judged: AttemptStatus = "passed" if verdict.passed else "refused" if verdict.refused else "failed"
        same = verdict.refused  # nothing was run: what it faced is still what fails
        self._close(
            replace(told, score=verdict.score),
            judged,
            kind=failure.kind if same else verdict.kind,
            signature=failure.signature if same else verdict.signature,
            reason=""
            if verdict.passed
            else clean("; ".join(filter(None, (solved.reason, verdict.reason, effect(failure, verdict)))), 1_000),
        )

    def _take(self, base: int) -> None:
        """Make files that were made before the result: what failed there is no part of the plan any more."""
        ground, held = self._ground, next(each for each in self._episode.attempts if each.n == base)
        n = 1 + max(each.n for each in episodes.attempts(ground.store, self._episode.id, dropped=True))
        again = replace(held, n=n, status="running", base=base, started_at=time.time(), reason="", score=1.0)
        episodes.keep(ground.store, again, "started", task=self._episode.task.id, folder=self._episode.task.folder)
        kept = self._keep(n, episodes.checkpoint(ground.store, self._episode.id, base).changes)
        self._verdicts[n] = self._verdicts[base]
        self._close(replace(again, checkpoint=kept.token), "passed", reason="")

    def _keep(self, n: int, changes: tuple[FileChange, ...]) -> Checkpoint:
        """Bring the workspace to the untouched project with these changes and nothing else; a way back to that."""
        ground = self._ground
        ground.workspace.restore(ground.beginning)
        lay(ground.workspace, ground.sandbox, changes)
        kept = Checkpoint(n=n, token=ground.workspace.checkpoint(), changes=changes)
        episodes.keep_checkpoint(ground.store, self._episode.id, kept, state=state_of(changes))
        return kept

    def _close(
        self, attempt: Attempt, status: AttemptStatus, *, reason: str, kind: str = "", signature: str = ""
    ) -> None:
        """Write how an attempt ended."""
        usd, tokens = self._ground.purse.charged(attempt.n)
        ended = replace(
            attempt,
            status=status,
            reason=reason,
            kind="" if status == "passed" else kind,
            signature="" if status == "passed" else signature,
            cost_usd=usd,
            tokens=tokens,
            duration_s=time.time() - attempt.started_at,
        )
        with self._ground.store.transaction():
            episodes.keep(self._ground.store, ended, status)
            self._episode = episodes.write(self._ground.store, self._episode, "", **self._spent())
        self._episode = replace(self._episode, attempts=tuple(episodes.attempts(self._ground.store, self._episode.id)))
        self._tell("attempted", attempt=ended, verdict=self._verdicts.get(ended.n))

    # -- distill -------------------------------------------------------------------------------------------------------

    def _distill(self, status: EpisodeStatus, reason: str) -> Episode:
        """End the episode, and write down what it teaches."""
        diff = self._episode.attempts[-1].diff if status == "passed" else ""
        reason = reason if status == "passed" else "; ".join(filter(None, (reason, self._in_part())))
        ended = replace(self._episode, status=status, reason=reason, diff=diff)
        learnt = self._ground.memory.distill(ended)
        return self._end(status, reason, diff=diff, learnt=learnt)

    def _in_part(self) -> str:
        """Name the attempt that mends some of what fails and breaks nothing; "" for none."""
        n, found = self._best()
        held = self._verdict(self._episode.start) or self._verdicts[0]
        told, old, new = effect(held, found), held.tests, found.tests
        if n == self._episode.start or not (told and old and new) or {*old.passed_ids} - {*new.passed_ids}:
            return ""
        standing = next((f" ({each.standing})" for each in self._episode.attempts if each.n == n and each.standing), "")
        count, _, names = told.removeprefix("it mends ").partition(": ")
        part = f"attempt {n} mends {count} of {len(old.failed_ids)} failing tests{standing}: {names}"
        return f"{part}; to take that part: {taking(self._episode.id, n, self._episode.task.folder)}"

    def _end(self, status: EpisodeStatus, reason: str, *, diff: str = "", learnt: tuple[str, ...] = ()) -> Episode:
        now = time.time()
        changes = {"status": status, "reason": reason, "diff": diff, "learnt": learnt, "ended_at": now, **self._spent()}
        self._episode = episodes.write(self._ground.store, self._episode, "ended", **changes)
        self._tell("ended")
        return self._episode

    # -- where it stands -----------------------------------------------------------------------------------------------

    def _finished(self) -> tuple[Attempt, ...]:
        """Attempts that count; those cut short by a person or by the end of a process are made again."""
        return tuple(each for each in self._episode.attempts if each.status not in ("running", "cancelled"))

    def _counted(self) -> list[Attempt]:
        """Those of the finished attempts that count against the budget."""
        return [each for each in self._finished() if each.n > self._episode.since]

    def _why_stop(self) -> tuple[EpisodeStatus, str] | None:
        purse = self._ground.purse
        counted = self._counted()
        resumed = f"`ratchet run --resume {self._episode.id}` goes on" if purse.person_cancelled() else ""
        return why_stop(counted, self._episode.budget, spent=purse.spent(), cancelled=resumed)

    def _best(self) -> tuple[int, Verdict]:
        """The attempt whose files the next one starts from, with what fails there: the one nearest to passing; where
        the episode started (the untouched project, or what a person went back to) unless one came nearer than that."""
        start = self._episode.start
        held = self._verdict(start) or self._verdicts[0]
        candidates = [each for each in self._finished() if each.status == "failed" and each.n > start]
        best = max(candidates, key=lambda each: (each.score, -each.n), default=None)
        if best is None or best.score <= held.score:
            return start, held
        found = self._verdict(best.n)
        return (start, held) if found is None else (best.n, found)

    def _verdict(self, n: int) -> Verdict | None:
        """Check the files after an attempt; asked again where the process that knew it is gone."""
        if n not in self._verdicts:
            self._to(episodes.checkpoint(self._ground.store, self._episode.id, n))
            verdict = self._ground.checks(self._ground.workspace)
            if verdict.killed == "cancel":
                return None
            self._verdicts[n] = verdict
        return self._verdicts[n]

    def _to(self, kept: Checkpoint) -> None:
        """Bring the workspace to a checkpoint: by its token, else by the changes themselves."""
        self._ground.workspace.restore(self._ground.beginning)
        lay(self._ground.workspace, self._ground.sandbox, kept.changes)

    def _spent(self) -> dict[str, float]:
        return {"cost_usd": self._ground.purse.usd_spent(), "duration_s": self._ground.purse.seconds_used()}

    def _tell(
        self,
        what: Told,
        *,
        attempt: Attempt | None = None,
        verdict: Verdict | None = None,
        lessons: tuple[Lesson, ...] = (),
        text: str = "",
    ) -> None:
        self._ground.told(
            HealMoment(what=what, episode=self._episode, attempt=attempt, verdict=verdict, lessons=lessons, text=text)
        )


def _failing(verdict: Verdict) -> tuple[str, ...]:
    """The tests that fail, by the names under which what healed them is found again."""
    told = verdict.tests.failed_ids if verdict.tests is not None else ()
    return tuple(dict.fromkeys(map(name_of, told)))[:MOST]

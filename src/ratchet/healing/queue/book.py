"""Tasks that servers run: the operations behind /v1/tasks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ratchet import registry
from ratchet.errors import NotFound, Refused, UsageError
from ratchet.healing import rows as episodes
from ratchet.healing.book import EpisodeBook
from ratchet.healing.breaker import opened, streak
from ratchet.healing.comparison import projects
from ratchet.healing.episode import Attempt, Budget, Episode, PlanStep
from ratchet.healing.planning.plan import MOST_STEPS
from ratchet.healing.queue import rows as queueing
from ratchet.healing.queue.rows import QueuedTask, Resumption, Work
from ratchet.ports import Store
from ratchet.records import Row
from ratchet.store.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDetail:
    """A task, and its episode as far as it has come. One that was run from the command line has no place in the
    queue: then `task` is None."""

    task: QueuedTask | None
    episode: Episode | None

    @property
    def id(self) -> str:
        return self.task.id if self.task is not None else self.held.id

    @property
    def held(self) -> Episode:
        """The episode. Raises NotFound where there is none, or none has begun."""
        if self.episode is None:
            raise NotFound(f"task {self.id} {self._why_none()}")
        return self.episode

    def _why_none(self) -> str:
        if self.task is not None and self.task.work.kind == "compare":
            return "is a comparison, which keeps no attempts; its status tells what it found"
        if self.task is not None and not self.task.under_way:
            return "has ended before it began; resume it to queue it again"
        return "has not begun; look again later"


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """True if an episode was stopped since it led nowhere new: `count` attempts of `limit`."""

    state: str
    count: int
    limit: int
    signature: str
    reason: str


class TaskQueue:
    """The tasks of one store. A task is known by its own id, or by that of an episode."""

    def __init__(self, *, store: Callable[[], Store], episodes: EpisodeBook, timeline: Timeline, home: Path) -> None:
        self._store = store
        self._home = home.resolve()
        self._episodes = episodes
        self._timeline = timeline

    # -- ask -----------------------------------------------------------------------------------------------------------

    def add(self, work: Work, *, by: str = "") -> QueuedTask:
        """Queue a task; a server that has workers runs it. An instruction without a check is a task in words, as in
        `ratchet run`.

        Raises NotFound for a folder that is none, Refused for Ratchet's own, UsageError for a task without a check, or
        a solver that is not installed here: a name that would load any module of this machine is for its own people
        only.
        """
        folder = Path(work.folder)
        if not folder.is_absolute():
            raise UsageError(f"dir is {work.folder!r}: name the project's folder on the server, absolute")
        if not os.path.isdir(folder):  # noqa: PTH112  (never raises: a name may be too long, or a link lead nowhere)
            raise NotFound(f"no folder {work.folder} on the server")
        if any("\0" in word for word in work.check):
            raise UsageError("the check holds a NUL, which no command can: take it out")
        self._check_foreign(folder.resolve())
        _check_solver(work.solver)
        _check_plan(work.plan)
        if (work.plan or work.plan_only) and not work.in_words:
            raise UsageError("a plan needs an instruction, and has its own checks: leave check out")
        if work.kind == "heal" and not work.check and not work.instruction:
            work = replace(work, check=self._own_check(folder))
        for each in projects(folder) if work.kind == "compare" and not work.check else ():
            self._own_check(each)
        return queueing.add(self._store(), replace(work, folder=str(folder.resolve())), by=by)

    def _check_foreign(self, folder: Path) -> None:
        """A task shows its files to a solver, and its diffs to who may read: the home's are not for them."""
        if folder == folder.parent:
            raise Refused(f"dir is {folder}, the whole machine: name the project's folder")
        if folder.is_relative_to(self._home):
            raise Refused(f"dir is in {self._home}, where Ratchet keeps what it knows: name the project's folder")

    def _own_check(self, folder: Path) -> tuple[str, ...]:
        found = self._episodes.own_check(folder)
        if found is None:
            raise UsageError(f"no check was found in {folder}: give the command that fails now as `check`")
        return found.argv

    def cancel(self, task_id: str) -> QueuedTask:
        """Ask for its end. Raises NotFound, Refused for one that has ended, Conflict."""
        return queueing.cancel(self._store(), task_id)

    def retry(self, task_id: str) -> QueuedTask:
        """Queue it again. Raises NotFound, Refused while it is under way, Conflict."""
        return queueing.retry(self._store(), task_id)

    def resume(
        self,
        task_id: str,
        words: str = "",
        *,
        check: Sequence[str] = (),
        plan: Sequence[PlanStep] = (),
        solver: str = "",
        plan_only: bool = False,
        budget: Budget | None = None,
        allowed: Callable[[str], str] = lambda folder: folder,
        by: str = "",
    ) -> QueuedTask:
        """Queue a task, or an episode of the command line, to go on where it ended: to carry out its plan, or with what
        is still wrong in words, as `ratchet run --resume ID "words"` does; `check` is the one of these words, `plan` a
        whole plan in place of the one that there is. `allowed` is asked about its folder.

        Raises NotFound, UsageError, Conflict, and Refused while it is under way or has nothing to go on with.
        """
        found = self.show(task_id)
        held = found.held
        if not words and held.status not in ("planned", "cancelled"):
            raise Refused(
                f"task {task_id} has ended ({held.status}): say in words what is still wrong, or retry it as a new one"
            )
        allowed(held.task.folder)
        self._check_foreign(Path(held.task.folder).resolve())
        asked = Work(folder=held.task.folder, instruction=held.task.instruction, check=held.task.check)
        task = found.task or QueuedTask(id=held.id, work=asked, state=held.status, by=by, created_at=held.started_at)
        how = Resumption(
            words=words,
            heard=len(held.task.instruction),
            plan=(PlanStep(do=words, check=tuple(check)),) if check else tuple(plan),
            adds=bool(check),
            plan_only=plan_only,
            solver=solver or held.asked or held.solver,
            budget=budget or task.work.budget,
        )
        _check_solver(how.solver)
        _check_plan(how.plan)
        anew = bool(words) and held.applied == "apply"  # its files are the project's: it goes on as a new episode
        earlier = (*task.earlier, held.id) if anew else task.earlier
        return queueing.resume(self._store(), replace(task, episode="" if anew else held.id, earlier=earlier), how)

    # -- see -----------------------------------------------------------------------------------------------------------

    def page(
        self, *, state: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> tuple[list[QueuedTask], str | None]:
        """Tasks, newest first, and the cursor of what follows."""
        return queueing.page(self._store(), state=state, limit=limit, cursor=cursor)

    def counts(self) -> dict[str, int]:
        """Count the tasks in each state."""
        return queueing.counts(self._store())

    def show(self, task_id: str) -> TaskDetail:
        """One task with its episode. Raises NotFound."""
        store = self._store()
        if store.get("queue", task_id) is None and store.get("episodes", task_id) is not None:
            return TaskDetail(task=None, episode=episodes.episode(store, task_id))
        task = queueing.show(store, task_id)
        begun = task.episode and store.get("episodes", task.episode) is not None
        return TaskDetail(task=task, episode=episodes.episode(store, task.episode) if begun else None)

    def under_way(self, task_id: str) -> bool:
        """Tell whether somebody works on it, or will: asked again and again, so without a look at its attempts."""
        store = self._store()
        task = store.get("queue", task_id)
        if task is not None:
            return task["state"] in queueing.UNDER_WAY
        return (store.get("episodes", task_id) or {}).get("status") == "running"

    def events(self, detail: TaskDetail) -> list[Row]:
        """Everything that happened to it, in order."""
        return self._timeline.of([*self.records(detail)])

    def records(self, detail: TaskDetail) -> set[str]:
        """The ids under which events of it stand."""
        found = {detail.id}
        if detail.task is not None:
            found |= {detail.task.episode, *detail.task.earlier} - {""}
        if detail.episode is not None:
            known = episodes.attempts(self._store(), detail.episode.id, dropped=True)
            found |= {detail.episode.id} | {f"{detail.episode.id}/{each.n}" for each in known}
        return found

    def checkpoints(self, task_id: str) -> list[Row]:
        """Its ways back, in order; none before it has begun. Raises NotFound."""
        held = self.show(task_id).episode
        return [] if held is None else episodes.checkpoints(self._store(), held.id)

    def breaker(self, task_id: str) -> Breaker:
        """Tell whether it was stopped since it leads nowhere new. Raises NotFound."""
        held = self.show(task_id).episode
        if held is None:
            limit = queueing.show(self._store(), task_id).work.budget.breaker
            return Breaker(state="closed", count=0, limit=limit, signature="", reason="")
        finished: list[Attempt] = [each for each in held.attempts if each.status not in ("running", "cancelled")]
        limit = held.budget.breaker
        is_open = held.status == "breaker" or (bool(finished) and opened(finished, limit))
        return Breaker(
            state="open" if is_open else "closed",
            count=streak(finished),
            limit=limit,
            signature=finished[-1].signature if finished else "",
            reason=held.reason if held.status == "breaker" else "",
        )

    # -- go back -------------------------------------------------------------------------------------------------------

    def restore(self, task_id: str, *, to: int) -> TaskDetail:
        """Take it back to the files after attempt `to` (0: as they were copied); a retry goes on from there, also where
        it had ended. Raises NotFound, and Refused while it is under way."""
        found = self.show(task_id)
        if found.task is not None and found.task.under_way:
            raise Refused(
                f"task {task_id} is {found.task.state}: cancel it first, with POST /v1/tasks/{task_id}/cancel"
            )
        self._episodes.rewind(found.held.id, to=to)
        if found.task is not None:
            queueing.taken_back(self._store(), found.task.id, to=to)
        return self.show(task_id)


def _check_solver(name: str) -> None:
    """Raises UsageError: a name that would load any module of this machine is for its own people only."""
    known = registry.names(registry.SOLVERS)
    if name.partition(":")[0] not in known:
        raise UsageError(f"no solver {name!r} here; known: {', '.join(known)}")


def _check_plan(plan: Sequence[PlanStep]) -> None:
    """Raises UsageError for a plan of too many steps, or with a NUL in a check."""
    if len(plan) > MOST_STEPS:
        raise UsageError(f"the plan holds {len(plan)} steps, at most {MOST_STEPS} are carried out: make two of it")
    if any("\0" in word for step in plan for word in step.check):
        raise UsageError("a check of the plan holds a NUL, which no command can: take it out")

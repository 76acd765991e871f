"""Runs tasks that need one another, on a team of workers, to the end that each deserves."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, TypeAlias

from ratchet import files, ids
from ratchet.arguments import need_number
from ratchet.client import Ratchet, default
from ratchet.errors import UsageError
from ratchet.recording.journal import make_private
from ratchet.records import as_row
from ratchet.team import rows
from ratchet.team.adopting import adopt
from ratchet.team.attempting import Attempting, TeamJudge
from ratchet.team.balance import Member
from ratchet.team.course import RunCourse
from ratchet.team.held import HeldTask
from ratchet.team.ledger import Ledger
from ratchet.team.mail import Mailbox
from ratchet.team.outcomes import TeamOutcomes
from ratchet.team.purse import TeamPurse
from ratchet.team.values import TeamBudget, TeamRecord, TeamRun, TeamTask, check_name, need_tasks
from ratchet.team.worker import Worker

if TYPE_CHECKING:
    from pathlib import Path

    from ratchet.ports import Store


Handler: TypeAlias = "Callable[[int, FrameType | None], object] | int | None"


class Orchestrator:
    """A team: workers, how many tasks run at a time, what a run may cost, and what happens when something fails.

    A task that fails goes to another worker after a wait that doubles, from `backoff_s` to `most_wait_s`. A worker
    whose last three ends were its own fault rests. `judge(task, result)` says whether a result is right (True, or
    None), or why not; it may be a coroutine function. Rows and outcomes go to `ratchet` (default: the default home).
    Raises UsageError for what makes no team.
    """

    def __init__(
        self,
        name: str,
        workers: Sequence[Worker],
        *,
        parallel: int | None = None,
        budget: TeamBudget | None = None,
        judge: TeamJudge | None = None,
        backoff_s: float = 0.2,
        most_wait_s: float = 30.0,
        grace_s: float = 10.0,
        ratchet: Ratchet | None = None,
    ) -> None:
        names = [worker.name for worker in workers]
        check_name("a team's name", name)
        if not workers or len(set(names)) < len(names):
            raise UsageError("a team needs workers that each have a name of their own")
        if parallel is not None:
            need_number("parallel", parallel, least=1, whole=True, why=", or leave it out for as many as have a place")
        for option, seconds in (("backoff_s", backoff_s), ("most_wait_s", most_wait_s), ("grace_s", grace_s)):
            need_number(option, seconds, finite=True)
        self.name, self.workers = name, tuple(workers)
        self._parallel = parallel or sum(worker.slots for worker in workers)
        self._budget = budget or TeamBudget()
        self._judge, self._backoff_s, self._most_wait_s, self._grace_s = judge, backoff_s, most_wait_s, grace_s
        self._ratchet = ratchet or default()
        self._courses: set[RunCourse] = set()

    async def run(self, tasks: Sequence[TeamTask], *, run: str = "", take_over: bool = False) -> TeamRun:
        """Run tasks to their end. The same `run` again goes on where it stood, after any end: what is done is not done
        again, and tasks that are new are added.

        One process drives a run. On SIGTERM nothing more starts, what runs has `grace_s`, and the run is `stopped`. A
        cancelled call ends its work and leaves the run to be gone on with. `take_over` takes the run from a driver of
        another home over the same store, of which nobody here can know whether it lives. Raises UsageError for tasks
        that make no sense, Conflict while another process drives the run, StoreError.
        """
        run_id = run or f"team-{ids.uuid7()}"
        place = self._place(run_id)
        with files.claimed(place / "driver", f"run {run_id}"):
            ended = await self._driven(run_id, tasks, place, take_over=take_over)
            # Only now: after a fault, what workers' processes left there is what the next driver goes by.
            for path in place.iterdir():
                if path.name != "driver":
                    path.unlink(missing_ok=True)
            return ended

    def stop(self, reason: str = "stop was called") -> None:
        """Do what SIGTERM does, to the runs under way."""
        for course in self._courses:
            course.stop("stopped", reason)

    async def _driven(self, run_id: str, tasks: Sequence[TeamTask], place: Path, *, take_over: bool) -> TeamRun:
        store = await asyncio.to_thread(lambda: self._ratchet._runtime.store)
        known = {each.id: each for each in await asyncio.to_thread(rows.records, store, run_id)}
        self.need(tasks, known)
        # A driver of this home is dead, since this one holds its lock; of another home's nothing is known.
        driver = f"{socket.gethostname()}:{ids.hex_of(str(place.parent.resolve()))[:12]}"
        begun = await asyncio.to_thread(
            rows.begin, store, run_id, self.name, driver, take_over=take_over, budget=self._budget
        )
        letters = await asyncio.to_thread(rows.unread, store, run_id)
        ledger = Ledger(lambda: store)
        crew = [Member(worker=worker, hands=worker.hands(place)) for worker in self.workers]
        try:
            held = await _taken_up(run_id, tasks, known, ledger)
            attempting = Attempting(
                run=run_id,
                folder=str(place),
                ledger=ledger,
                purse=TeamPurse(self._budget, known.values()),
                mail=Mailbox(run_id, ledger, letters),
                outcomes=TeamOutcomes(self._ratchet, self.name, run_id),
                judge=self._judge,
                backoff_s=self._backoff_s,
                most_wait_s=self._most_wait_s,
            )
            await adopt(attempting, held.values(), {worker.name: worker for worker in self.workers})
            course = RunCourse(
                attempting,
                crew,
                held,
                parallel=self._parallel,
                grace_s=self._grace_s,
                wishes=lambda: (rows.run(store, run_id).asked, rows.unread(store, run_id)),
            )
            self._courses.add(course)
            try:
                with _on_signal(course):
                    state, reason = await course.go()
            finally:
                self._courses.discard(course)
        finally:
            await asyncio.gather(*(each.hands.close() for each in crew))
            await ledger.close()
        ended = await asyncio.to_thread(_ended, store, begun.id, state, reason)
        return replace(ended, tasks=tuple(each.record for each in held.values()))

    def _place(self, run_id: str) -> Path:
        if not run_id.isprintable() or len(run_id) > 200:
            raise UsageError(f"run is {run_id!r:.80}: name it in 1 to 200 printable characters")
        home = self._ratchet._home()
        make_private(str(home))
        place = home / "team" / ids.hex_of(run_id)[:24]
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return place

    def need(self, tasks: Sequence[TeamTask], known: Mapping[str, TeamRecord]) -> None:
        """Raise UsageError for tasks that this team cannot run, beside those of the run that are `known`."""
        need_tasks(tasks, [*known])
        for task in tasks:
            if not any(worker.can(task.skill) for worker in self.workers):
                skills = ", ".join(sorted(set[str]().union(*(worker.skills for worker in self.workers)))) or "none"
                raise UsageError(
                    f"task {task.id!r} asks for the skill {task.skill!r}, and the workers declare: {skills}"
                )
            before = known.get(task.id)
            if before is not None and before.digest != task.digest:
                raise UsageError(
                    f"task {task.id!r} was other work when this run began: name another run, or another task"
                )


async def _taken_up(
    run_id: str, tasks: Sequence[TeamTask], known: dict[str, TeamRecord], ledger: Ledger
) -> dict[str, HeldTask]:
    """The tasks as they stand, new ones written down. Those that were done earlier and are needed come along."""
    fresh = [
        TeamRecord(run=run_id, id=task.id, digest=task.digest, skill=task.skill, needs=task.needs, revision=1)
        for task in tasks
        if task.id not in known
    ]
    if fresh:
        await ledger.put("team_tasks", [as_row(each) for each in fresh], new=True)
    ours = {each.id: each for each in fresh}
    held = {task.id: HeldTask(task, ours.get(task.id) or known[task.id]) for task in tasks}
    for need in {need for task in tasks for need in task.needs} - held.keys():
        held[need] = HeldTask(TeamTask(id=need), known[need])
    for each in held.values():
        each.value = each.record.result
        if each.record.state in ("cancelled", "over_budget", "skipped"):
            each.end("waiting", 0.0)  # whoever runs it again wants it to go on
    return held


def _ended(store: Store, run_id: str, state: str, reason: str) -> TeamRun:
    import time

    return rows.change(store, run_id, "ended", state=state, reason=reason, ended_at=time.time(), asked="", driver="")


class _Signalled:
    """Courses of this process that SIGTERM stops; a second one stops them at once. The handler is there as long as one
    of them runs: a team may work inside a task of another."""

    def __init__(self) -> None:
        self._courses: list[RunCourse] = []
        self._met = 0
        self._before: Handler = signal.SIG_DFL

    def add(self, course: RunCourse) -> None:
        if not self._courses:
            self._met, self._before = 0, signal.getsignal(signal.SIGTERM)
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._stop)
        self._courses.append(course)

    def discard(self, course: RunCourse) -> None:
        self._courses.remove(course)
        if not self._courses:
            asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)
            if self._before is not None:  # None: set by something that is not Python
                signal.signal(signal.SIGTERM, self._before)

    def _stop(self) -> None:
        self._met += 1
        for course in self._courses:
            course.stop("stopped", "SIGTERM", grace_s=None if self._met == 1 else 0.0)


_SIGNALLED = _Signalled()


@contextmanager
def _on_signal(course: RunCourse) -> Iterator[None]:
    """Only the main thread may say what a signal does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _SIGNALLED.add(course)
    try:
        yield
    finally:
        _SIGNALLED.discard(course)

"""The threads of a server that run queued tasks, in the sandbox, one episode each."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ratchet.errors import BackendError, Conflict, NotFound, RatchetError
from ratchet.failures.redaction.text import clean
from ratchet.healing.book import EpisodeBook, HealMeans, HealRequest
from ratchet.healing.comparison import Compare, compare
from ratchet.healing.episode import Episode
from ratchet.healing.planning.plan import TaskPlan
from ratchet.healing.queue import rows as queueing
from ratchet.healing.queue.rows import LEASE_S, QueuedTask, Resumption
from ratchet.ports import Store
from ratchet.serving.shapes.comparison import ComparisonShape
from ratchet.serving.shapes.shape import json_of

log = logging.getLogger(__name__)

IDLE_S = 0.5
"""How often a worker looks for what another server queued; what this one queues wakes it."""
_AGAIN_S = 5.0  # until a task is tried again whose episode another process holds
_JOIN_S = 5.0  # of the 10 seconds that a server has to end


def _left_at_that(_plan: TaskPlan) -> None:
    """Plan only: nothing is carried out."""


def server_name() -> str:
    """This process, among the servers of a store."""
    return f"{socket.gethostname()[:60]}:{os.getpid()}:{os.urandom(3).hex()}"


@dataclass(slots=True)
class _Running:
    """A task of this server, and why it should end, if it should."""

    task: QueuedTask
    cancelled: threading.Event = field(default_factory=threading.Event)
    taken: bool = False
    held_until: float = 0.0

    @property
    def lost(self) -> bool:
        """Tell whether another server has it, or may have begun by now: also while nobody can be asked."""
        return self.taken or time.monotonic() > self.held_until


class TaskWorkers:
    """Runs tasks until `stop`. The threads are daemons: where they do not end in time, the leases of their tasks do,
    and another server goes on."""

    def __init__(
        self, store: Callable[[], Store], book: Callable[[], EpisodeBook], count: int, *, lease_s: float = LEASE_S
    ) -> None:
        self.server = server_name()
        self._store = store
        self._book = book
        self._lease_s = lease_s
        self._stopping = threading.Event()
        self._pause = threading.Event()  # set when the last worker has ended
        self._wake = threading.Condition()
        self._running: dict[str, _Running] = {}
        self._lock = threading.Lock()
        names = [f"ratchet-task-{n}" for n in range(count)]
        self._threads = [threading.Thread(target=self._work, name=name, daemon=True) for name in names]
        if count:
            self._threads.append(threading.Thread(target=self._keep, name="ratchet-leases", daemon=True))
        for thread in self._threads:
            thread.start()

    @property
    def running(self) -> int:
        """Count of tasks under way here."""
        return len(self._running)

    def wake(self) -> None:
        """There may be something to do."""
        with self._wake:
            self._wake.notify()

    def cancel(self, task_id: str) -> None:
        """End a task at once, if it runs here."""
        with self._lock:
            held = self._running.get(task_id)
        if held is not None:
            held.cancelled.set()

    def ask_to_stop(self) -> None:
        """Begin no task, and end those under way; returns at once."""
        self._stopping.set()
        with self._wake:
            self._wake.notify_all()

    def stop(self, timeout_s: float = _JOIN_S) -> None:
        """End what runs and put it back for others; wait for it at most so long."""
        self.ask_to_stop()
        give_up = time.monotonic() + timeout_s
        for thread in self._threads[:-1]:
            thread.join(max(0.0, give_up - time.monotonic()))
        self._pause.set()

    # -- the threads ---------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                task = queueing.claim(self._store(), self.server, lease_s=self._lease_s)
                if task is not None:
                    self._run(task)
                    continue
            except RatchetError as error:
                log.warning("queue.unreachable", extra={"why": clean(str(error))})
            except Exception:  # a worker outlives every task: the fault is logged, the lease of its task ends
                log.exception("task.fault")
            with self._wake:
                self._wake.wait(IDLE_S)

    def _keep(self) -> None:
        """Renew the leases of what runs here, and hear who wants it to end."""
        while self._running or not self._stopping.is_set():
            self._pause.wait(min(1.0, self._lease_s / 5))
            with self._lock:
                held = list(self._running.values())
            for each in held:
                self._renew(each)

    def _renew(self, held: _Running) -> None:
        try:
            now = queueing.show(self._store(), held.task.id)
            if now.cancelled:
                held.cancelled.set()
            if held.held_until - time.monotonic() < self._lease_s * 2 / 3:
                renewed = queueing.renew(self._store(), held.task, lease_s=self._lease_s)
                if renewed is None:
                    held.taken = True
                else:
                    held.held_until = time.monotonic() + self._lease_s
        except RatchetError as error:
            log.warning("lease.not_renewed", extra={"task": held.task.id, "why": clean(str(error))})

    @contextmanager
    def _holding(self, task: QueuedTask) -> Iterator[_Running]:
        held = _Running(task=task, held_until=time.monotonic() + self._lease_s)
        with self._lock:
            self._running[task.id] = held
        try:
            yield held
        finally:
            with self._lock:
                del self._running[task.id]

    # -- one task ------------------------------------------------------------------------------------------------------

    def _run(self, task: QueuedTask) -> None:
        log.info("task.started", extra={"task": task.id, "episode": task.episode, "claims": task.claims})
        with self._holding(task) as held:

            def asked_to_end() -> bool:
                return held.lost or held.cancelled.is_set() or self._stopping.is_set()

            means = HealMeans(mode="loop", cancelled=asked_to_end)
            try:
                if task.work.kind == "compare":
                    self._compare(task, held, means)
                else:
                    self._settle(task, held, self._heal(task, means))
            except Conflict as error:  # a person runs its episode by hand, or another server is still at it
                log.info("task.elsewhere", extra={"task": task.id, "why": str(error)})
                queueing.put_back(self._store(), task, after_s=_AGAIN_S)
            except (BackendError, OSError) as error:  # the machine failed it: another try, until there were too many
                log.warning("task.failed", extra={"task": task.id, "why": clean(str(error))})
                self._again(task, str(error))
            except RatchetError as error:
                queueing.end(self._store(), task, "refused", reason=clean(str(error)))

    def _heal(self, task: QueuedTask, means: HealMeans) -> Episode:
        """Run its episode, or go on with it where another server died. One that has ended already is not run again."""
        book, work = self._book(), task.work
        how = task.resumed or Resumption(plan=work.plan, plan_only=work.plan_only)
        plan = TaskPlan(steps=how.plan, adds=how.adds) if how.plan else None
        means = replace(means, plan=plan, shown=_left_at_that if how.plan_only else means.shown)
        try:
            held = book.show(task.episode)
        except NotFound:
            if how.words:
                return book.follow(
                    task.earlier[-1], how.words, means, solver=how.solver, budget=how.budget, new_id=task.episode
                )
            asked = HealRequest(
                check=work.check,
                folder=Path(work.folder),
                instruction=work.instruction,
                solver=work.solver,
                budget=work.budget,
                protected=work.protected,
                seed=work.seed,
            )
            return book.run(asked, means, episode_id=task.episode)
        if how.words and len(held.task.instruction) <= how.heard:
            return book.follow(held.id, how.words, means, solver=how.solver, budget=how.budget)
        goes_on = held.status in ("running", "cancelled") or (held.status == "planned" and not how.plan_only)
        return book.resume(task.episode, means) if goes_on else held

    def _settle(self, task: QueuedTask, held: _Running, ended: Episode) -> None:
        if ended.status == "cancelled" and not held.cancelled.is_set():
            if not held.lost:  # this server ends; another goes on
                queueing.put_back(self._store(), task)
            return
        queueing.end(self._store(), task, ended.status, reason=ended.reason)
        log.info("task.ended", extra={"task": task.id, "status": ended.status})

    def _compare(self, task: QueuedTask, held: _Running, means: HealMeans) -> None:
        """The same tasks in three arms, with a memory of its own each: nothing here is seen or changed by it."""
        work = task.work
        asked = Compare(
            folder=Path(work.folder), seeds=work.seeds, check=work.check, solver=work.solver, budget=work.budget
        )
        found = compare(asked, self._book(), means, lambda _done, _total, _what: None)
        if held.lost:
            return
        if held.cancelled.is_set():
            queueing.end(self._store(), task, "cancelled")
        elif self._stopping.is_set():
            queueing.put_back(self._store(), task)
        else:
            queueing.end(self._store(), task, "done", result=json_of(ComparisonShape.built(found)))

    def _again(self, task: QueuedTask, reason: str) -> None:
        if task.claims >= queueing.MOST_CLAIMS:
            queueing.end(self._store(), task, "error", reason=clean(reason))
        else:
            queueing.put_back(self._store(), task, after_s=_AGAIN_S, failed=True)

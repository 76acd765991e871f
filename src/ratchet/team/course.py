"""The course of one run: who starts when, what follows from each end, and when it is over."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Literal

from ratchet.errors import RatchetError
from ratchet.records import Row, as_row
from ratchet.team.attempting import Attempting
from ratchet.team.balance import Member, handed_out
from ratchet.team.held import HeldTask
from ratchet.team.values import RunState, TaskStanding

log = logging.getLogger(__name__)

Wish = Literal["", "pause", "cancel"]
LOOK_S = 0.5
"""How often wishes and letters from outside are looked for."""
_AHEAD = 8  # tasks of a skill that are looked at beyond those that could start


class RunCourse:
    """Runs the tasks that are left of one run, at most `parallel` at a time.

    `wishes` reads what is asked of it from outside, and letters that came. It ends when nothing is left to do, or
    `stop` was called.
    """

    def __init__(
        self,
        attempting: Attempting,
        crew: Sequence[Member],
        held: Mapping[str, HeldTask],
        *,
        parallel: int,
        grace_s: float,
        wishes: Callable[[], tuple[Wish, list[Row]]],
    ) -> None:
        self._attempting, self._crew, self._held = attempting, crew, held
        self._parallel, self._grace_s, self._wishes = parallel, grace_s, wishes
        self._ready: dict[str, deque[HeldTask]] = {}
        self._later: list[tuple[float, int, HeldTask]] = []
        self._order = itertools.count()
        self._running: dict[asyncio.Task[None], HeldTask] = {}
        self._needed_by: dict[str, list[HeldTask]] = {}
        self._wake = asyncio.Event()
        self._stopped: tuple[RunState, str] | None = None
        self._let_go_at = 0.0
        self._paused = False

    def stop(self, state: RunState, reason: str, *, grace_s: float | None = None) -> None:
        """Start nothing more. What runs has `grace_s` (default: the run's own) to end; then it is ended, and waits for
        the next run."""
        first = self._stopped is None
        self._stopped = self._stopped or (state, reason)
        until = time.monotonic() + (self._grace_s if grace_s is None else grace_s)
        self._let_go_at = until if first else min(self._let_go_at, until)
        self._wake.set()

    async def go(self) -> tuple[RunState, str]:
        """Run to the end; the run's state by then, and why. Raises StoreError, Conflict."""
        looking = asyncio.create_task(self._look_outside())
        try:
            await self._order_tasks()
            while True:
                now = time.monotonic()
                await self._start(now)
                if not self._running and (self._stopped or not (self._later or any(self._ready.values()))):
                    break
                await self._sleep(now)
                await self._take_ends()
            return await self._ending()
        finally:
            looking.cancel()
            await self._end_running()
            with suppress(asyncio.CancelledError):
                await looking

    # -- in order ------------------------------------------------------------------------------------------------------

    async def _order_tasks(self) -> None:
        for each in self._held.values():
            each.missing = {need for need in each.task.needs if self._held[need].record.state != "done"}
            for need in each.missing:
                self._needed_by.setdefault(need, []).append(each)
        for each in self._held.values():
            if each.record.state == "waiting" and not each.missing:
                self._make_ready(each)
        for each in [*self._held.values()]:
            if each.ended and each.record.state != "done":
                await self._skip_after(each)

    def _make_ready(self, held: HeldTask) -> None:
        self._ready.setdefault(held.skill, deque()).append(held)

    async def _follow(self, held: HeldTask) -> None:
        """Do what follows from where a task stands after an attempt."""
        state = held.record.state
        if state == "done":
            for each in self._needed_by.pop(held.task.id, ()):
                each.missing.discard(held.task.id)
                if not each.missing and each.record.state == "waiting":
                    self._make_ready(each)
        elif state == "waiting":
            if held.not_before > time.monotonic():
                heapq.heappush(self._later, (held.not_before, next(self._order), held))
            else:
                self._make_ready(held)
        else:
            await self._skip_after(held)

    async def _skip_after(self, held: HeldTask) -> None:
        """Skip all that needs a task which did not end well."""
        why, skipped = held, []
        after = [(why, each) for each in self._needed_by.pop(held.task.id, ())]
        while after:
            why, each = after.pop()
            if each.record.state != "waiting":
                continue
            each.end("skipped", time.time(), f"it needs {why.task.id!r}, which is {why.record.state}")
            skipped.append(each)
            after += [(each, later) for later in self._needed_by.pop(each.task.id, ())]
        await self._write(skipped)

    # -- who starts ----------------------------------------------------------------------------------------------------

    async def _start(self, now: float) -> None:
        while self._later and self._later[0][0] <= now:
            self._make_ready(heapq.heappop(self._later)[2])
        if self._attempting.purse.seconds_left() == 0 and self._stopped is None:
            self.stop("over_budget", "the seconds of the run are over", grace_s=0.0)
        if self._stopped or self._paused:
            return
        room = self._parallel - len(self._running)
        for held, member in [*itertools.islice(handed_out(self._heads(), self._crew, now), max(0, room))]:
            refused = self._attempting.purse.refuses(held.task)
            if refused:
                await self._refuse(held, refused)
                continue
            self._ready[held.skill].remove(held)
            member.running += 1
            made = self._attempting.make(held, member, {need: self._held[need].value for need in held.task.needs})
            task = asyncio.create_task(made)
            self._running[task] = held
            task.add_done_callback(partial(self._freed, member))

    def _heads(self) -> Iterator[HeldTask]:
        """The first tasks of each skill: as many as could start, and a few that may meet somebody else."""
        free = sum(each.free for each in self._crew)
        return itertools.chain.from_iterable(
            itertools.islice(waiting, free + _AHEAD) for waiting in [*self._ready.values()]
        )

    def _freed(self, member: Member, _: object) -> None:
        member.running -= 1
        self._wake.set()

    async def _refuse(self, held: HeldTask, reason: str) -> None:
        """End a task that the budget does not reach for; wait while something set aside may still come back."""
        if self._attempting.purse.waits():
            return
        self._ready[held.skill].remove(held)
        held.end("over_budget", time.time(), reason)
        await self._write([held])
        await self._skip_after(held)
        self._wake.set()

    # -- waiting -------------------------------------------------------------------------------------------------------

    async def _sleep(self, now: float) -> None:
        """Until an attempt ends, or time itself changes something."""
        times = [each.rest_until for each in self._crew if each.rest_until > now]
        times += [self._later[0][0]] if self._later else []
        left = self._attempting.purse.seconds_left()
        times += [now + left] if left is not None and self._stopped is None else []
        if self._stopped:
            times.append(self._let_go_at)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, min(times) - now) if times else None):
                await self._wake.wait()
        self._wake.clear()
        if self._stopped and time.monotonic() >= self._let_go_at:
            await self._end_running()

    async def _take_ends(self) -> None:
        for task in [task for task in self._running if task.done()]:
            held = self._running.pop(task)
            if not task.cancelled():
                task.result()  # raises what the store raised
            await self._follow(held)

    async def _end_running(self) -> None:
        """End what runs; its tasks wait for the next run."""
        left = [*self._running]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)

    async def _look_outside(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                wish, letters = await asyncio.to_thread(self._wishes)
            except RatchetError:  # a store that is down is met by the next attempt, which has to write
                log.warning("team.wishes_unread", exc_info=True)
                continue
            self._attempting.mail.take_in(letters)
            if wish == "cancel":
                self.stop("cancelled", "cancel was asked for", grace_s=0.0)
            if self._paused != (wish == "pause"):
                self._paused = wish == "pause"
                self._wake.set()

    # -- over ----------------------------------------------------------------------------------------------------------

    async def _ending(self) -> tuple[RunState, str]:
        if self._stopped is not None:
            state, reason = self._stopped
            ends: TaskStanding | None = {"cancelled": "cancelled", "over_budget": "over_budget"}.get(state)  # type: ignore[assignment]
            left = [each for each in self._held.values() if not each.ended] if ends else []
            for each in left:
                assert ends is not None
                each.end(ends, time.time(), reason)
            await self._write(left)
            return state, reason
        bad = [each for each in self._held.values() if each.record.state != "done"]
        if not bad:
            return "done", ""
        over = [each for each in bad if each.record.state == "over_budget"]
        reason = f"{len(bad)} of {len(self._held)} tasks did not end well: {_some(bad)}"
        return ("over_budget" if over else "failed"), reason

    async def _write(self, changed: Sequence[HeldTask]) -> None:
        rows = [as_row(each.record) for each in changed]
        for each in changed:
            each.written()
        if rows:
            await self._attempting.ledger.put("team_tasks", rows)


def _some(bad: Sequence[HeldTask]) -> str:
    first = [f"{each.task.id} ({each.record.state}: {each.record.reason:.120})" for each in bad[:3]]
    more = len(bad) - len(first)
    return "; ".join(first) + (f"; and {more} more" if more > 0 else "")

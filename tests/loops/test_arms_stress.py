"""Two trials at once under threads, tasks, streams and nested calls: each call reads its own arm from end to end."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ratchet import Range, Ratchet

THREADED, LOOPS, TASKS, SESSIONS = 120, 2, 40, 10


class Crowd:
    """An agent `outer` that calls an agent `inner` in every way there is. `wrong` tells who read another's arm."""

    def __init__(self, host: Ratchet) -> None:
        self.host = host
        self.settings = {
            "outer": host.settings("outer", n=Range(0, 9, default=1)),
            "inner": host.settings("inner", n=Range(0, 9, default=1)),
        }
        self.wrong: list[object] = []
        self.seen: list[tuple[str, int]] = []  # a list: threads append to it without losing any
        self.sessions: defaultdict[int, set[int]] = defaultdict(set)
        inner, outer = host.watch("inner"), host.watch("outer")
        self.inner, self.stream = inner(self._inner), inner(self._stream)
        self.inner_task, self.inner_stream = inner(self._inner_task), inner(self._inner_stream)
        self.outer, self.outer_task = outer(self._outer), outer(self._outer_task)

    def now(self, agent: str) -> int:
        return int(self.settings[agent].current().n)

    def must(self, agent: str, value: int) -> None:
        if self.now(agent) != value:
            self.wrong.append((agent, value, self.now(agent)))

    def _inner(self, outer_value: int) -> None:
        value = self.now("inner")
        self.must("outer", outer_value)
        time.sleep(0.001)
        self.must("inner", value)
        self.seen.append(("inner", value))

    def _stream(self) -> Iterator[int]:
        value = self.now("inner")
        for item in range(3):
            self.must("inner", value)
            yield item
        self.seen.append(("inner", value))

    def _outer(self) -> None:
        value = self.now("outer")
        self.inner(value)
        context = contextvars.copy_context()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(context.run, self.must, "outer", value).result()
        self.must("outer", value)
        self.seen.append(("outer", value))

    async def _inner_task(self, outer_value: int) -> None:
        value = self.now("inner")
        await asyncio.sleep(0.001)
        self.must("inner", value)
        self.must("outer", outer_value)
        self.seen.append(("inner", value))

    async def _inner_stream(self) -> AsyncIterator[int]:
        value = self.now("inner")
        for item in range(3):
            self.must("inner", value)
            yield item
            await asyncio.sleep(0)
        self.seen.append(("inner", value))

    async def _outer_task(self) -> None:
        value = self.now("outer")
        await asyncio.gather(*(self.inner_task(value) for _ in range(2)))
        async for _ in self.inner_stream():
            self.must("outer", value)
        for _ in zip(self.stream(), self.stream(), strict=True):
            self.must("outer", value)
        await asyncio.to_thread(self.must, "outer", value)
        self.must("outer", value)
        self.seen.append(("outer", value))

    def tasks(self) -> None:
        async def all_of_them() -> None:
            await asyncio.gather(*(self.outer_task() for _ in range(TASKS)))

        asyncio.run(all_of_them())

    def session(self, number: int) -> None:
        with self.host.watch("outer", fields={"session": f"s{number}"}):
            self.sessions[number].add(self.now("outer"))

    def run(self) -> None:
        with ThreadPoolExecutor(8) as pool:
            waiting = [pool.submit(self.outer) for _ in range(THREADED)]
            waiting += [pool.submit(self.tasks) for _ in range(LOOPS)]
            waiting += [pool.submit(self.session, number % SESSIONS) for number in range(10 * SESSIONS)]
            for each in waiting:
                each.result()


def test_every_call_reads_its_own_arm_and_every_exposure_gets_its_outcome(home: Path) -> None:
    with Ratchet(home) as host:
        crowd = Crowd(host)
        crowd.outer()
        opened = [
            host.trials.open("settings:outer", {"n": 5}, deadline_s=60.0),
            host.trials.open("settings:inner", {"n": 7}, deadline_s=60.0),
        ]
        time.sleep(1.1)
        crowd.seen.clear()
        crowd.outer()  # alone: while one thread meets a new trial, others still go by what was known
        crowd.run()
        assert crowd.wrong == []
        assert [len(values) for values in crowd.sessions.values()] == [1] * SESSIONS
        seen = Counter(crowd.seen)
        for trial, agent, new, lasting in zip(opened, ("outer", "inner"), (5, 7), (SESSIONS, 0), strict=True):
            host.trials.show(trial.id)  # what was journalled is in the store from here on
            # Calls count at once, sessions once they are silent for as long as a call may take.
            said = host._runtime.guard.evidence(trial.id, now=time.time() + trial.deadline_s + trial.quiet_s + 1)
            assert said.waiting == 0
            assert said.exposures == seen[agent, 1] + seen[agent, new] + lasting
            assert said.new.units - seen[agent, new] + said.old.units - seen[agent, 1] == lasting
            assert said.new.ok + said.old.ok == said.exposures
        assert seen["inner", 1] + seen["inner", 7] == 1 + THREADED + LOOPS * TASKS * 5

"""Decides who gets which task: whoever would end it first, by the length of its queue and its measured speed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ratchet.team.hands.reply import Hands
from ratchet.team.held import HeldTask
from ratchet.team.worker import Worker

SICK = 3
"""Ends in a row that were the worker's own (it crashed, hung or flooded), after which it rests: as many as open the
breaker of a call (`improving.calls.breaker`). A task that breaks whoever takes it counts once."""
REST_S = 1.0
"""The first rest; each that follows without a good end between is twice as long."""
MOST_REST_S = 60.0
_WEIGHT = 0.2  # of the newest duration in the mean: the last ten or so count


@dataclass(slots=True, eq=False)
class Member:
    """A worker in a run: what it does now, and how it has done."""

    worker: Worker
    hands: Hands
    running: int = 0
    speed_s: float | None = None
    streak: int = 0
    rest_until: float = 0.0
    rests: int = 0
    done: int = 0
    failed: int = 0

    @property
    def free(self) -> int:
        return self.worker.slots - self.running

    def ended(self, duration_s: float, *, ok: bool, sick: bool, now: float) -> bool:
        """Count an end; True where it has to rest from now on."""
        if ok:
            self.done += 1
            self.streak = self.rests = 0
            mean = self.speed_s
            self.speed_s = duration_s if mean is None else mean + _WEIGHT * (duration_s - mean)
            return False
        self.failed += 1
        self.streak = self.streak + 1 if sick else 0
        if self.streak < SICK:
            return False
        self.rest_until = now + min(MOST_REST_S, REST_S * 2**self.rests)
        self.rests += 1
        self.streak = SICK - 1  # one more such end after the rest, and it rests again
        return True


def handed_out(waiting: Iterable[HeldTask], crew: Sequence[Member], now: float) -> Iterator[tuple[HeldTask, Member]]:
    """(task, worker) of those that start now, in order. A task whose best worker is busy waits for it: a slow one that
    is free may still be later. Ends once nobody is free."""
    meant = dict.fromkeys(range(len(crew)), 0)
    free = sum(max(0, each.free) for each in crew if each.rest_until <= now)
    unknown = _typical(crew)
    for task in waiting:
        if free <= 0:
            return
        able = [at for at, each in enumerate(crew) if each.worker.can(task.skill) and each.rest_until <= now]
        others = [at for at in able if crew[at].worker.name not in task.failed_at]
        if not able or (not others and _rests(task, crew, now)):
            continue
        best = min(others or able, key=lambda at: (_until(crew[at], meant[at], unknown), meant[at], at))
        meant[best] += 1
        if crew[best].free - meant[best] >= 0:
            free -= 1
            yield task, crew[best]


def _rests(task: HeldTask, crew: Sequence[Member], now: float) -> bool:
    """Tell whether somebody who did not fail this task only rests: it is worth the wait."""
    return any(
        each.worker.can(task.skill) and each.worker.name not in task.failed_at and each.rest_until > now
        for each in crew
    )


def _until(member: Member, meant: int, unknown: float) -> float:
    """Seconds until it would have ended one more."""
    speed = member.speed_s if member.speed_s is not None else unknown
    return speed * (member.running + meant + 1) / member.worker.slots


def _typical(crew: Sequence[Member]) -> float:
    """Speed of whoever has not been measured: a little below the quickest, so that everybody is tried once."""
    known = [each.speed_s for each in crew if each.speed_s is not None]
    return 0.9 * min(known) if known else 1.0

"""One attempt at a task: written down, done within its time, judged, recorded, written down again."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ratchet import ids
from ratchet.failures.classification import classify
from ratchet.failures.redaction.text import clean, kept_how, redact_json
from ratchet.records import Json, Row, as_row
from ratchet.team.balance import Member
from ratchet.team.hands.inline import failure_reply
from ratchet.team.hands.reply import WorkerReply, WorkRequest
from ratchet.team.held import HeldTask
from ratchet.team.ledger import Ledger
from ratchet.team.mail import Mailbox
from ratchet.team.outcomes import TeamOutcomes
from ratchet.team.purse import TeamPurse
from ratchet.team.values import TeamAttempt, TeamTask

log = logging.getLogger(__name__)

Verdict: TypeAlias = "bool | str | None"
TeamJudge: TypeAlias = "Callable[[TeamTask, Json], Verdict | Awaitable[Verdict]]"
"""Says whether a result is right: True or None; False, or why it is not."""

_REASON = 2_000
_STARTS_S = 60.0
"""How long a worker may take to begin: a process to start, a connection to open."""
_LETS_GO_S = 5.0
"""How long work that was cancelled may take to end, before it is left behind."""
_LOOKS, _MOST_LOOK_S = 20, 1.0
"""An attempt's time is counted in so many looks or more, none of them longer: 300 s cost one wake a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempting:
    """Makes attempts: all that those of one run share."""

    run: str
    folder: str
    ledger: Ledger
    purse: TeamPurse
    mail: Mailbox
    outcomes: TeamOutcomes
    judge: TeamJudge | None
    backoff_s: float
    most_wait_s: float

    async def make(self, held: HeldTask, member: Member, results: Mapping[str, Json]) -> None:
        """Make one attempt and leave the task as it stands after it. Where this is cancelled, the work is ended and the
        task waits again. Raises StoreError, Conflict."""
        task, n = held.task, len(held.record.attempts) + 1
        begun = TeamAttempt(
            n=n,
            worker=member.worker.name,
            began_at=time.time(),
            reserved_usd=task.cost_usd,
            reserved_tokens=task.tokens,
        )
        self.purse.hold(task, n)
        held.begin(begun)
        letters = self.mail.for_(member.worker.name, task.id)
        clock = _Clock(task.timeout_s)
        try:
            await self._write(held)
            told, spool = self._told(held, n, letters, results), self.spool(task.id, n)
            reply = await _within(member, WorkRequest(task=task, told=told, spool=spool, begun=clock.begin), clock)
            reply = await self._judged(task, reply)
        except asyncio.CancelledError:
            await self._stopped(held, begun)
            raise
        taken_s = clock.taken_s()
        attempt = self._ended(begun, reply)
        self.purse.settle(task, n, attempt.cost_usd, attempt.tokens)
        for to, body in reply.letters:
            self.mail.send(member.worker.name, to, body)
        known = self.outcomes.record(task, attempt, reply)
        now = time.monotonic()
        # A task that broke another worker before says nothing about this one.
        sick = reply.sick and not held.broke
        held.broke = held.broke or reply.sick
        if member.ended(taken_s, ok=bool(attempt.ok), sick=sick, now=now):
            log.warning("team.worker_rests", extra={"run": self.run, "worker": member.worker.name, "why": reply.said})
        self._settle(held, attempt, reply, known, now)
        if attempt.ok:
            self.mail.read(letters)
        await self._write(held)

    async def adopt(self, held: HeldTask, reply: WorkerReply, ended_at: float) -> None:
        """Take over what an attempt brought whose driver died before it heard of it. Raises StoreError, Conflict."""
        begun = held.record.attempts[-1]
        reply = await self._judged(held.task, reply)
        attempt = replace(self._ended(begun, reply), adopted=True, ended_at=max(ended_at, begun.began_at))
        known = self.outcomes.record(held.task, attempt, reply)
        for to, body in reply.letters:
            self.mail.send(begun.worker, to, body)
        self._settle(held, attempt, reply, known, time.monotonic())
        await self._write(held)

    async def lost(self, held: HeldTask, *, began: bool) -> None:
        """Settle an attempt whose driver died, and of which nothing is left. One that never `began` cost nothing and
        uses up no try; of any other nobody knows the end: what it may have cost counts, and it is repeated only where
        its task may be. Raises StoreError, Conflict."""
        begun = held.record.attempts[-1]
        if not began:
            attempt = replace(begun, ok=False, kind="cancelled", reason="never began", counted=False)
            held.settle(attempt, "waiting")
        else:
            why = "its driver died before its end was seen"
            attempt = replace(begun, kind="cancelled", reason=why)
            may = held.task.repeat and held.record.tries < held.task.attempts
            held.settle(replace(attempt, ended_at=time.time()), "waiting" if may else "unknown", reason=why)
            self.outcomes.record(
                held.task, replace(attempt, ok=False, ended_at=begun.began_at), WorkerReply(error=why), learns=False
            )
        await self._write(held)

    def spool(self, task_id: str, n: int) -> str:
        """The file in which a process of its own leaves what came of an attempt."""
        return f"{self.folder}/{ids.hex_of(task_id)[:24]}.{n}"

    def _told(self, held: HeldTask, n: int, letters: Sequence[Row], results: Mapping[str, Json]) -> Row:
        shown: list[Json] = [{"sender": each["sender"], "body": each["body"]} for each in letters]
        return {
            "task": held.task.id,
            "key": f"{self.run}/{held.task.id}",
            "attempt": n,
            "results": dict(results),
            "mail": shown,
            "last": held.last,
            "known": held.known,
        }

    async def _judged(self, task: TeamTask, reply: WorkerReply) -> WorkerReply:
        if self.judge is None or reply.error:
            return reply
        try:
            verdict = self.judge(task, reply.value)
            if inspect.isawaitable(verdict):
                verdict = await verdict
        except Exception as error:  # noqa: BLE001  (the edge to somebody's own code)
            said = failure_reply(error)
            return replace(reply, error=f"its judge failed: {said.said}", type="", kind=said.kind)
        if verdict is True or verdict is None:
            return reply
        why = verdict if isinstance(verdict, str) else "its judge says that the result is wrong"
        return replace(reply, error=why, kind="wrong_output")

    def _ended(self, begun: TeamAttempt, reply: WorkerReply) -> TeamAttempt:
        reason = clean(reply.said, _REASON)
        kind = reply.kind or (classify(reason).kind if reason else "")
        return replace(
            begun,
            ended_at=time.time(),
            ok=not reply.error,
            kind=kind,
            reason=reason,
            # Where nobody knows what was used, the most that it may have used counts.
            cost_usd=reply.cost_usd if reply.reported else max(reply.cost_usd, begun.reserved_usd),
            tokens=reply.tokens if reply.reported else max(reply.tokens, begun.reserved_tokens),
        )

    def _settle(self, held: HeldTask, attempt: TeamAttempt, reply: WorkerReply, known: str, now: float) -> None:
        if attempt.ok:
            held.value = reply.value
            kept = redact_json(reply.value)
            masked, clipped = kept_how(reply.value, kept) if kept != reply.value else (False, False)
            held.settle(attempt, "done", result=kept, masked=masked, clipped=clipped or reply.clipped)
            return
        held.failed_at.add(attempt.worker)
        held.last, held.known = attempt.reason, known
        task = held.task
        tries = held.record.tries
        if not task.repeat and not reply.reported:
            held.settle(attempt, "failed", reason=f"{attempt.reason}; it may have had effects, and is not repeated")
        elif tries >= task.attempts:
            times = f", at attempt {tries} of {task.attempts}" if task.attempts > 1 else ""
            held.settle(attempt, "failed", reason=f"{attempt.reason}{times}")
        else:
            wait_s = min(self.most_wait_s, self.backoff_s * 2 ** (tries - 1))
            held.not_before = now + wait_s * (0.5 + 0.5 * ids.uniform(self.run, task.id, str(attempt.n)))
            held.settle(attempt, "waiting", reason=attempt.reason)

    async def _stopped(self, held: HeldTask, begun: TeamAttempt) -> None:
        """The driver ends in order: the attempt uses up no try, but what it may have used counts."""
        attempt = replace(
            begun,
            ended_at=time.time(),
            ok=False,
            kind="cancelled",
            reason="ended with its driver",
            counted=False,
            cost_usd=begun.reserved_usd,
            tokens=begun.reserved_tokens,
        )
        self.purse.settle(held.task, begun.n, attempt.cost_usd, attempt.tokens)
        held.settle(attempt, "waiting", reason="")
        self.outcomes.record(held.task, attempt, WorkerReply(error=attempt.reason), learns=False)
        await asyncio.shield(self._write(held))

    async def _write(self, held: HeldTask) -> None:
        """Write the task's row. The revision moves at once: two writes of one task may wait together."""
        row = as_row(held.record)
        held.written()
        await self.ledger.put("team_tasks", [row])


class _Clock:
    """Time of an attempt, in looks: runs once its work has begun, and stands still while this process does.

    A look that returns late counts for no more than was asked of it. A machine that is overloaded or was asleep takes
    nothing from the work, and an answer that lies there already is read before its time is over.
    """

    __slots__ = ("_began", "_left_s", "_limit_s", "_look_s", "_made")

    def __init__(self, limit_s: float) -> None:
        self._made = time.monotonic()
        self._began: float | None = None
        self._limit_s, self._left_s = limit_s, _STARTS_S
        self._look_s = min(_MOST_LOOK_S, limit_s / _LOOKS)

    def begin(self) -> None:
        self._began, self._left_s = time.monotonic(), self._limit_s

    def taken_s(self) -> float:
        return time.monotonic() - (self._made if self._began is None else self._began)

    async def in_time(self, work: asyncio.Future[WorkerReply]) -> bool:
        """Wait for the end of work; False where its time was over before."""
        while not work.done():
            if self._left_s <= 0:
                return False
            look_s, began = min(self._look_s, self._left_s), self._began
            await asyncio.wait({work}, timeout=look_s)
            if self._began == began:  # else it began within this look
                self._left_s -= look_s
        return True

    def over(self) -> WorkerReply:
        """The reply of work whose time is over."""
        if self._began is None:  # then it had no effects
            return WorkerReply(error=f"did not begin within {_STARTS_S:g} s", kind="timeout", sick=True)
        said = f"timed out after {self._limit_s:g} s"
        return WorkerReply(error=said, kind="timeout", sick=True, reported=False)


async def _within(member: Member, request: WorkRequest, clock: _Clock) -> WorkerReply:
    """The reply, or that there was none in time. Work that does not end when it is cancelled is left behind."""
    work = asyncio.ensure_future(member.hands.do(request))
    try:
        if not await clock.in_time(work):
            await _let_go(work, member)
            return clock.over()
    except asyncio.CancelledError:
        await _let_go(work, member)
        raise
    try:
        return work.result()
    except OSError as error:  # no process can be started, no file written
        return replace(failure_reply(error), sick=True)
    except asyncio.CancelledError as error:  # nobody here cancelled it: it did so itself
        return replace(failure_reply(error), sick=True, reported=False)
    except Exception as error:  # the edge to what a worker of any kind may answer
        log.exception("team.hands_failed", extra={"worker": member.worker.name})
        return replace(failure_reply(error), sick=True, reported=False)


async def _let_go(work: asyncio.Future[WorkerReply], member: Member) -> None:
    work.cancel()
    await asyncio.wait({work}, timeout=_LETS_GO_S)
    if not work.done():
        log.warning("team.work_left_behind", extra={"worker": member.worker.name})
    elif not work.cancelled():
        work.exception()  # looked at: it was cancelled, what it says no longer counts

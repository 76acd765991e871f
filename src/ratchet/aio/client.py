"""`AsyncRatchet`: what `Ratchet` does, for asyncio, in one file since it is generated.

What may take time runs in threads; no call blocks the loop.

Written by scripts/generate_aio.py from `Ratchet`; change that, then run `python scripts/generate_aio.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Self, TypeVar

from ratchet.aio.books import (
    AsyncCureBook,
    AsyncDistillery,
    AsyncLessonBook,
    AsyncProposalBook,
    AsyncPulses,
    AsyncTrialBook,
)
from ratchet.client import Ratchet

if TYPE_CHECKING:
    from os import PathLike
    from typing import Unpack

    from ratchet.config import Tunables
    from ratchet.failures.patterns.health import Health
    from ratchet.healing.in_code.decorator import Heal, HealOptions
    from ratchet.improving.calls.retry import Retry, RetryOptions
    from ratchet.improving.loop.improve import Ticked
    from ratchet.improving.report import Report
    from ratchet.improving.settings.agent_settings import AgentSettings
    from ratchet.improving.settings.knob import Knob
    from ratchet.lessons.calls import FailedCall, SucceededCall
    from ratchet.lessons.learning import Learned
    from ratchet.lessons.recall import Recalled
    from ratchet.ports import Proposer, Target
    from ratchet.recording.watch import Judge, Watch
    from ratchet.records import Fields, Outcome, Pattern

Item = TypeVar("Item")
_CHUNK = 200  # items fetched a trip to a thread


async def _streamed(begin: Callable[[], Iterator[Item]]) -> AsyncIterator[Item]:
    items = await asyncio.to_thread(begin)
    while chunk := await asyncio.to_thread(lambda: list(islice(items, _CHUNK))):
        for item in chunk:
            yield item


class AsyncRatchet:
    """`Ratchet` for asyncio: the same operations, settings and errors; iterate `outcomes` with `async for`.

    Use it as an async context manager or `await close()`.
    """

    def __init__(self, home: str | PathLike[str] | None = None, **settings: Unpack[Tunables]) -> None:
        self._sync = Ratchet(home, **settings)

    def _held(self) -> Ratchet:
        return self._sync

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_raised: object) -> None:
        await self.close()

    async def record(self, agent: str, **given: Unpack[Fields]) -> str:
        """Record one finished run of an agent; return its outcome's id. Costs microseconds.

        Say how it went by `ok`, `score` (0 to 1), `quality` (1 to 5) or `error` (a text or an exception), and what is
        known besides: task, duration_s, cost_usd, tokens, model, session, status, exit_code, context, ... A value that
        is not usable is left out, named in the outcome's context and logged once. Raises TypeError without an agent.
        """
        return self._held().record(agent, **given)

    async def failed(self, agent: str, **call: Unpack[FailedCall]) -> str:
        """Record a tool call that failed; return what is known to fix it, fenced for the model, or "". Never raises.

        Say which `tool` it was and its `error` (a text or an exception), and what is known besides: `input` (a text or
        what JSON can say), `session`, `call` (its id: the same again is the same call), `thread`, `project` (a folder;
        default: the working directory), `duration_s`, `status`, `exit_code`. Hand the answer to the model behind the
        error. With a `session` the coin of that session decides whether a lesson is shown, and its effect is measured;
        without one a known lesson always comes. Takes milliseconds.
        """
        return await asyncio.to_thread(lambda: self._held().failed(agent, **call))

    async def succeeded(self, agent: str, **call: Unpack[SucceededCall]) -> str:
        """Record a tool call that ended well, as `failed` does; return "". Never raises.

        Lessons are learnt from what worked after a failure, and measured by it, so tell of both. Where the `output`
        says that the call failed all the same ("fatal: ..." and exit code 0), it is recorded as such, and the answer is
        that of `failed`.
        """
        return await asyncio.to_thread(lambda: self._held().succeeded(agent, **call))

    def watch(
        self,
        agent: str,
        *,
        task: str | Callable[..., str] = "",
        judge: Judge | None = None,
        fields: Fields | None = None,
    ) -> Watch:
        """Record every run of a function, coroutine, generator or block of code (see `Watch`).

        `fields` are further fields of `record` that go with every run, such as `{"session": ..., "model": ...}`.
        """
        return self._held().watch(agent, task=task, judge=judge, fields=fields)

    def heal(self, **options: Unpack[HealOptions]) -> Heal:
        """Heal a function when it fails; the options are those of `ratchet.heal`."""
        return self._held().heal(**options)

    def retry(self, **options: Unpack[RetryOptions]) -> Retry:
        """Retry a call that failed; the options are those of `ratchet.retry`."""
        return self._held().retry(**options)

    def settings(self, agent: str, **knobs: Knob) -> AgentSettings:
        """Live settings of an agent: each knob a `Choice(...)`, a `Range(low, high)` or a `Knob` of your own.

        Costs nothing until it is used, so it may stand at the top of a module. Raises UsageError for what is no knob.
        """
        return self._held().settings(agent, **knobs)

    async def outcomes(
        self,
        *,
        agent: str | None = None,
        ok: bool | None = None,
        session: str | None = None,
        kind: str | None = None,
        since: float | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[Outcome]:
        """Outcomes, newest first; every filter narrows. `since` is Unix seconds. Reads as it is iterated.

        Raises UsageError for a value of another type.
        """
        async for item in _streamed(
            lambda: self._held().outcomes(agent=agent, ok=ok, session=session, kind=kind, since=since, limit=limit)
        ):
            yield item

    async def patterns(
        self, *, agent: str | None = None, kind: str | None = None, limit: int | None = None
    ) -> list[Pattern]:
        """List what keeps failing, recurring ones first, each with its lessons. Raises UsageError."""
        return await asyncio.to_thread(lambda: self._held().patterns(agent=agent, kind=kind, limit=limit))

    async def health(self) -> Health:
        """Rate each agent's recent runs: `.score` and `.agents`, from 0 (all fails) to 1; None without outcomes."""
        return await asyncio.to_thread(lambda: self._held().health())

    async def recall(
        self, text: str, limit: int = 5, *, project: str | None = None, session: str | None = None
    ) -> Recalled:
        """Look up what is known to fix this error: `.lessons` (each with its advice, `.text`) and `.abstained`.

        With `session` the session's arm of the control is obeyed and recorded. Raises NotFound when nothing was ever
        recorded or learnt in this home; UsageError for a text that is none or a limit below 0.
        """
        return await asyncio.to_thread(lambda: self._held().recall(text, limit, project=project, session=session))

    @property
    def lessons(self) -> AsyncLessonBook:
        """Lessons: list, show, add, approve, retire, quarantine."""
        return AsyncLessonBook(lambda: self._held().lessons)

    async def learn(self, *paths: str | PathLike[str]) -> Learned:
        """Read histories: files and folders, or the usual homes of coding agents. Again adds nothing."""
        return await asyncio.to_thread(lambda: self._held().learn(*paths))

    @property
    def trials(self) -> AsyncTrialBook:
        """Changes on trial: list, show, open, stop."""
        return AsyncTrialBook(lambda: self._held().trials)

    @property
    def proposals(self) -> AsyncProposalBook:
        """Fixes that were thought of: list, show, approve, reject."""
        return AsyncProposalBook(lambda: self._held().proposals)

    @property
    def cures(self) -> AsyncCureBook:
        """Permanent changes that lessons become: list, show, apply, undo."""
        return AsyncCureBook(lambda: self._held().cures)

    @property
    def distillery(self) -> AsyncDistillery:
        """Rules that a model makes of evidence: plan, then run."""
        return AsyncDistillery(lambda: self._held().distillery)

    @property
    def pulses(self) -> AsyncPulses:
        """When each agent is looked at: list, set, clear."""
        return AsyncPulses(lambda: self._held().pulses)

    async def add_target(self, target: Target) -> None:
        """Let trials change this target in this process: a file's keys, an environment, a pair of functions."""
        await asyncio.to_thread(lambda: self._held().add_target(target))

    async def tick(self, *, auto_fix: bool | None = None, proposers: Sequence[Proposer] = ()) -> Ticked:
        """Go round the improve loop once; what `ratchet loop` does every minute. `proposers` are asked for fixes before
        the built-in rules. Raises UsageError, StoreError.
        """
        return await asyncio.to_thread(lambda: self._held().tick(auto_fix=auto_fix, proposers=proposers))

    async def start_background(
        self, interval_s: float | None = None, *, auto_fix: bool | None = None, proposers: Sequence[Proposer] = ()
    ) -> None:
        """Run the improve loop in a thread of this process, every `interval_s` seconds (default: `loop_interval_s`).

        A fault is logged and the next turn comes. Starting again replaces the thread. Raises UsageError.
        """
        await asyncio.to_thread(
            lambda: self._held().start_background(interval_s, auto_fix=auto_fix, proposers=proposers)
        )

    async def stop_background(self) -> None:
        """Stop the thread after its turn under way. Nothing happens when there is none."""
        await asyncio.to_thread(lambda: self._held().stop_background())

    async def report(self) -> Report:
        """Tell whether the lessons help, measured against their withheld control."""
        return await asyncio.to_thread(lambda: self._held().report())

    async def close(self) -> None:
        """Release files and stop the background. What was recorded is on disk; a later call opens them again."""
        await asyncio.to_thread(lambda: self._held().close())

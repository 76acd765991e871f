"""`AsyncRatchet`: what `Ratchet` does, for asyncio, in one file since it is generated.

What may take time runs in threads; no call blocks the loop.

Written by scripts/generate_aio.py from `Ratchet`; change that, then run `python scripts/generate_aio.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Self, TypeVar

from ratchet.client import Ratchet

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path
    from types import TracebackType
    from typing import Unpack

    from ratchet.config import Tunables
    from ratchet.failures.patterns.health import Health
    from ratchet.healing.in_code.decorator import Heal, HealOptions
    from ratchet.improving.book import ProposalBook, Pulses, TrialBook, TrialDetail, Watched
    from ratchet.improving.calls.retry import Retry, RetryOptions
    from ratchet.improving.loop.improve import Ticked
    from ratchet.improving.loop.pulse import Pulse
    from ratchet.improving.report import Report
    from ratchet.improving.settings.agent_settings import AgentSettings
    from ratchet.improving.settings.knob import Knob
    from ratchet.lessons.backtest.backtest import Backtest
    from ratchet.lessons.book import LessonBook, MemoryStats, Trusted
    from ratchet.lessons.calls import FailedCall, SucceededCall
    from ratchet.lessons.effect import LessonEffect
    from ratchet.lessons.facts import ProjectFacts
    from ratchet.lessons.learning import Learned
    from ratchet.lessons.portable import Imported, Synced
    from ratchet.lessons.recall import Recalled
    from ratchet.lessons.words.rules import Correction
    from ratchet.ports import Progress, Proposer, Target
    from ratchet.recording.watch import Judge, Watch
    from ratchet.records import (
        Fields,
        Json,
        Lesson,
        LessonState,
        Metric,
        Outcome,
        Pattern,
        Proposal,
        ProposalState,
        Scope,
        Trial,
        TrialMode,
        TrialState,
    )

Item = TypeVar("Item")
_CHUNK = 200  # items fetched a trip to a thread


async def _streamed(begin: Callable[[], Iterator[Item]]) -> AsyncIterator[Item]:
    items = await asyncio.to_thread(begin)
    while chunk := await asyncio.to_thread(lambda: list(islice(items, _CHUNK))):
        for item in chunk:
            yield item


class AsyncPulses:
    """When each agent is looked at: by its measured calls, unless a person said otherwise."""

    def __init__(self, held: Callable[[], Pulses]) -> None:
        self._held = held

    async def list(self) -> list[Watched]:
        """Every agent that ever ran, with the thresholds that hold for it."""
        return await asyncio.to_thread(lambda: self._held().list())

    async def set(
        self,
        agent: str,
        *,
        critical: bool | None = None,
        failures: int | None = None,
        window_s: float | None = None,
        cooldown_s: float | None = None,
    ) -> Pulse:
        """Set an agent's own thresholds, or mark it as critical; what is None stays. Raises UsageError, Conflict."""
        return await asyncio.to_thread(
            lambda: self._held().set(
                agent, critical=critical, failures=failures, window_s=window_s, cooldown_s=cooldown_s
            )
        )

    async def clear(self, agent: str) -> Pulse:
        """Go back to the thresholds by measured calls. Raises NotFound for an agent that never ran, Conflict."""
        return await asyncio.to_thread(lambda: self._held().clear(agent))


class AsyncProposalBook:
    """The fixes proposed in one store."""

    def __init__(self, held: Callable[[], ProposalBook]) -> None:
        self._held = held

    async def list(self, *, state: ProposalState | None = None, agent: str | None = None) -> list[Proposal]:
        """Proposals, newest first; of one state, or of one agent."""
        return await asyncio.to_thread(lambda: self._held().list(state=state, agent=agent))

    async def show(self, proposal_id: str) -> Proposal:
        """One proposal. Raises NotFound."""
        return await asyncio.to_thread(lambda: self._held().show(proposal_id))

    async def approve(self, proposal_id: str) -> Proposal:
        """Start its trial; advice without a change is closed as taken. Raises NotFound, Refused, Conflict,
        UsageError.
        """
        return await asyncio.to_thread(lambda: self._held().approve(proposal_id))

    async def reject(self, proposal_id: str, *, reason: str = "") -> Proposal:
        """Do not do it, and do not propose it for this pattern again. Raises NotFound, Refused, Conflict."""
        return await asyncio.to_thread(lambda: self._held().reject(proposal_id, reason=reason))


class AsyncTrialBook:
    """The trials of one store."""

    def __init__(self, held: Callable[[], TrialBook]) -> None:
        self._held = held

    async def list(
        self, *, state: TrialState | None = None, agent: str | None = None, limit: int | None = None
    ) -> list[Trial]:
        """Trials, newest first; of one state, or of one agent."""
        return await asyncio.to_thread(lambda: self._held().list(state=state, agent=agent, limit=limit))

    async def show(self, trial_id: str) -> TrialDetail:
        """One trial with both arms and the evidence as of now. Raises NotFound."""
        return await asyncio.to_thread(lambda: self._held().show(trial_id))

    async def open(
        self,
        target: str,
        new: Mapping[str, Json],
        *,
        agent: str = "",
        reason: str = "",
        metric: Metric = "success",
        trade: Mapping[str, float] | None = None,
        mode: TrialMode | None = None,
        deadline_s: float | None = None,
    ) -> Trial:
        """Try new values of a target (`settings:AGENT`, or one that this process registered) beside the old ones.

        `agent` is whose outcomes tell (that of the settings unless given), `metric` what is to become better;
        `trade` names what may become worse, by which factor at most: {"latency": 3.0}. `mode` and `deadline_s` are
        derived unless given. Raises Refused while another trial holds the target, UsageError for a value that it does
        not take, NotFound for an unknown target.
        """
        return await asyncio.to_thread(
            lambda: self._held().open(
                target, new, agent=agent, reason=reason, metric=metric, trade=trade, mode=mode, deadline_s=deadline_s
            )
        )

    async def stop(self, trial_id: str, *, keep: bool = False, reason: str = "") -> Trial:
        """End a trial at once: the old values stay, or with `keep` the new ones, which nothing has proven then. Raises
        NotFound, Refused for one that is settled.
        """
        return await asyncio.to_thread(lambda: self._held().stop(trial_id, keep=keep, reason=reason))


class AsyncLessonBook:
    """The lessons of one store. Every change is an event and tells the hooks."""

    def __init__(self, held: Callable[[], LessonBook]) -> None:
        self._held = held

    async def backtest(self, *, since: float = 0.0, progress: Progress | None = None) -> Backtest:
        """Replay the sessions of this home in time order: at each failure, what was known before that session, and
        whether it would have helped. `since` (Unix seconds) counts later sessions alone; a replay of all is kept for
        `replayed` and the lessons. Raises StoreError.
        """
        return await asyncio.to_thread(lambda: self._held().backtest(since=since, progress=progress))

    async def replayed(self) -> Backtest | None:
        """The newest replay of all sessions, None where there was none."""
        return await asyncio.to_thread(lambda: self._held().replayed())

    async def list(self, *, state: LessonState | None = None, project: str | None = None) -> list[Lesson]:
        """Lessons, active ones first, then by how often they worked; of one state, or of one project's folder."""
        return await asyncio.to_thread(lambda: self._held().list(state=state, project=project))

    async def show(self, lesson_id: str) -> Lesson:
        """One lesson. Raises NotFound."""
        return await asyncio.to_thread(lambda: self._held().show(lesson_id))

    async def words(self, *, project: str | None = None, every: bool = False) -> tuple[Correction, ...]:
        """Quotes of what people said to agents, those first for which most speaks; `every` gives also what makes no
        candidate. `project` keeps those of a folder's project.
        """
        return await asyncio.to_thread(lambda: self._held().words(project=project, every=every))

    async def effect(self, lesson_id: str) -> LessonEffect | None:
        """Tell whether a lesson helps, against its withheld control; None while nothing of it is settled."""
        return await asyncio.to_thread(lambda: self._held().effect(lesson_id))

    async def add(
        self,
        *,
        when: str,
        do: str,
        scope: Scope = "project",
        state: LessonState = "candidate",
        project: str | None = None,
    ) -> Lesson:
        """Write a lesson: when an error like `when` occurs, do `do`, word for word. `project` is the working directory
        unless given.

        Advice that switches a check off is kept as quarantined, whatever `state` says; its `reason` says why. Raises
        UsageError for an empty text, or what is no text.
        """
        return await asyncio.to_thread(
            lambda: self._held().add(when=when, do=do, scope=scope, state=state, project=project)
        )

    async def approve(self, lesson_id: str, *, do: str = "", globally: bool = False) -> Lesson:
        """Make a lesson active: from now on agents are handed it, in the words `do` where they are given. Raises
        NotFound, Refused, Conflict.
        """
        return await asyncio.to_thread(lambda: self._held().approve(lesson_id, do=do, globally=globally))

    async def retire(self, lesson_id: str, *, reason: str = "") -> Lesson:
        """Hand a lesson to nobody any more; it is kept, but mining does not revive it. Raises NotFound, Conflict."""
        return await asyncio.to_thread(lambda: self._held().retire(lesson_id, reason=reason))

    async def quarantine(self, lesson_id: str, *, reason: str) -> Lesson:
        """Mark a lesson as harmful: never advice. Raises NotFound, Conflict, UsageError without a reason."""
        return await asyncio.to_thread(lambda: self._held().quarantine(lesson_id, reason=reason))

    async def sync(self, file: Path, *, project: str | None = None, with_evidence: bool = False) -> Synced:
        """Keep a marked block of the project's active lessons in `file`; every byte outside the block stays. A person's
        words as they were said go in `with_evidence` only.
        """
        return await asyncio.to_thread(lambda: self._held().sync(file, project=project, with_evidence=with_evidence))

    async def export(self, file: Path | None = None, *, with_evidence: bool = False) -> str:
        """Active and candidate lessons as JSON lines, with their provenance; written to `file`, whole or not at all,
        where one is given. A person's words stay here unless `with_evidence`. Raises BackendError when it cannot be.
        """
        return await asyncio.to_thread(lambda: self._held().export(file, with_evidence=with_evidence))

    async def load(self, file: Path) -> Imported:
        """Take lessons of an export as candidates, their provenance kept. Raises NotFound, UsageError, BackendError."""
        return await asyncio.to_thread(lambda: self._held().load(file))

    async def take(self, content: bytes, *, name: str, project: str = "") -> Imported:
        """`load` for the lines of an export that are at hand; `name` says where they came from. Raises UsageError."""
        return await asyncio.to_thread(lambda: self._held().take(content, name=name, project=project))

    async def stats(self) -> MemoryStats:
        """Count what is remembered, and how well it did."""
        return await asyncio.to_thread(lambda: self._held().stats())

    async def facts(
        self, *, project: str | None = None, among: Sequence[str] | None = None, limit: int = 20
    ) -> tuple[ProjectFacts, ...]:
        """Facts of a project's folder, or of the `limit` busiest projects (`among` those of these names), the busiest
        first: what its commands end in, what people refuse, what never works, findings that nobody edits. Empty where
        nothing ran in it.
        """
        return await asyncio.to_thread(lambda: self._held().facts(project=project, among=among, limit=limit))

    async def load_reviewed(self, project: Path) -> Imported:
        """Read a repository's own `.ratchet/lessons.jsonl`: candidates until `trust`, then active in it. Raises
        UsageError, BackendError.
        """
        return await asyncio.to_thread(lambda: self._held().load_reviewed(project))

    async def trust(self, project: Path, *, show: bool = False) -> Trusted:
        """Trust every file below the project's `.ratchet/` as it is now, until it changes; its lessons become active
        there. `show` only tells what would. Raises NotFound where there is nothing, UsageError, BackendError.
        """
        return await asyncio.to_thread(lambda: self._held().trust(project, show=show))

    async def withdraw_trust(self, project: Path) -> int:
        """Trust nothing any more of what this repository's `.ratchet/` ever held; return how many lessons are
        candidates again. Raises NotFound where nothing is trusted, UsageError, BackendError.
        """
        return await asyncio.to_thread(lambda: self._held().withdraw_trust(project))


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

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def record(self, agent: str, **given: Unpack[Fields]) -> str:
        """Record one finished run of an agent; return its outcome's id. Costs microseconds and never raises.

        Say how it went by `ok`, `score` (0 to 1), `quality` (1 to 5) or `error` (a text or an exception), and what is
        known besides: task, duration_s, cost_usd, tokens, model, session, status, exit_code, context, ... A value that
        is not usable is left out, named in the outcome's context and logged once.
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
        """Look up what is known to fix this error: `.lessons` (each with `.text`, the advice verbatim) and
        `.abstained`.

        With `session` the session's arm of the control is obeyed and recorded. Raises NotFound when nothing was ever
        recorded or learnt in this home, which is another answer than knowing nothing; UsageError for a text that is
        none or a limit below 0.
        """
        return await asyncio.to_thread(lambda: self._held().recall(text, limit, project=project, session=session))

    @property
    def lessons(self) -> AsyncLessonBook:
        """Lessons: list, show, add, approve, retire, quarantine."""
        return AsyncLessonBook(lambda: self._held().lessons)

    async def learn(self, *paths: str | PathLike[str]) -> Learned:
        """Read histories: files and folders, or the usual homes of Claude Code and Codex. Again adds nothing."""
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
        """Release files and stop the background. What was recorded is on disk already; a later call opens them
        again.
        """
        await asyncio.to_thread(lambda: self._held().close())

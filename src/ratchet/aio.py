"""`AsyncRatchet`: what `Ratchet` does, for asyncio. What may take time runs in threads; no call blocks the loop.

Written by scripts/generate_aio.py from `Ratchet`; change that, then run `python scripts/generate_aio.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Self, TypeVar

from ratchet.client import Ratchet

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path
    from types import TracebackType
    from typing import Unpack

    from ratchet.analysis.health import Health
    from ratchet.config import Tunables
    from ratchet.decorators import Judge, Watch
    from ratchet.knobs.agent_settings import AgentSettings
    from ratchet.knobs.knob import Knob
    from ratchet.learning import Learned
    from ratchet.lessonbook import LessonBook
    from ratchet.memory.portable import Imported, Synced
    from ratchet.memory.recall import Recalled
    from ratchet.records import Fields, Lesson, LessonState, Outcome, Pattern, Scope
    from ratchet.report import Report

Item = TypeVar("Item")
_CHUNK = 200  # items fetched a trip to a thread


async def _streamed(begin: Callable[[], Iterator[Item]]) -> AsyncIterator[Item]:
    items = await asyncio.to_thread(begin)
    while chunk := await asyncio.to_thread(lambda: list(islice(items, _CHUNK))):
        for item in chunk:
            yield item


class AsyncLessonBook:
    """The lessons of one store. Every change is an event and tells the hooks."""

    def __init__(self, held: Callable[[], LessonBook]) -> None:
        self._held = held

    async def list(self, *, state: LessonState | None = None, project: str | None = None) -> list[Lesson]:
        """Lessons, active ones first, then by how often they worked; of one state, or of one project's folder."""
        return await asyncio.to_thread(lambda: self._held().list(state=state, project=project))

    async def show(self, lesson_id: str) -> Lesson:
        """One lesson. Raises NotFound."""
        return await asyncio.to_thread(lambda: self._held().show(lesson_id))

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
        UsageError for an empty text.
        """
        return await asyncio.to_thread(
            lambda: self._held().add(when=when, do=do, scope=scope, state=state, project=project)
        )

    async def approve(self, lesson_id: str, *, globally: bool = False) -> Lesson:
        """Make a lesson active: from now on agents are handed it. Raises NotFound, Refused, Conflict."""
        return await asyncio.to_thread(lambda: self._held().approve(lesson_id, globally=globally))

    async def retire(self, lesson_id: str, *, reason: str = "") -> Lesson:
        """Hand a lesson to nobody any more; it is kept, but mining does not revive it. Raises NotFound, Conflict."""
        return await asyncio.to_thread(lambda: self._held().retire(lesson_id, reason=reason))

    async def quarantine(self, lesson_id: str, *, reason: str) -> Lesson:
        """Mark a lesson as harmful: never advice. Raises NotFound, Conflict, UsageError without a reason."""
        return await asyncio.to_thread(lambda: self._held().quarantine(lesson_id, reason=reason))

    async def sync(self, file: Path, *, project: str | None = None) -> Synced:
        """Keep a marked block of the project's active lessons in `file`; every byte outside the block stays."""
        return await asyncio.to_thread(lambda: self._held().sync(file, project=project))

    async def export(self) -> str:
        """Active and candidate lessons as JSON lines, with their provenance."""
        return await asyncio.to_thread(lambda: self._held().export())

    async def load(self, file: Path) -> Imported:
        """Take lessons of an export as candidates, their provenance kept. Raises NotFound, UsageError, BackendError."""
        return await asyncio.to_thread(lambda: self._held().load(file))

    async def load_reviewed(self, project: Path) -> Imported:
        """Read a repository's own `.ratchet/lessons.jsonl`: active in it by review. Raises UsageError, BackendError."""
        return await asyncio.to_thread(lambda: self._held().load_reviewed(project))


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
        """Outcomes, newest first; every filter narrows. `since` is Unix seconds. Reads as it is iterated."""
        async for item in _streamed(
            lambda: self._held().outcomes(agent=agent, ok=ok, session=session, kind=kind, since=since, limit=limit)
        ):
            yield item

    async def patterns(
        self, *, agent: str | None = None, kind: str | None = None, limit: int | None = None
    ) -> list[Pattern]:
        """What keeps failing, recurring ones first, each with its lessons."""
        return await asyncio.to_thread(lambda: self._held().patterns(agent=agent, kind=kind, limit=limit))

    async def health(self) -> Health:
        """How well each agent does lately: `.score` and `.agents`, from 0 (all fails) to 1; None without outcomes."""
        return await asyncio.to_thread(lambda: self._held().health())

    async def recall(
        self, text: str, limit: int = 5, *, project: str | None = None, session: str | None = None
    ) -> Recalled:
        """What is known to fix this error: `.lessons` (each with `.text`, the advice verbatim) and `.abstained`.

        With `session` the session's arm of the control is obeyed and recorded. Raises NotFound when nothing was ever
        recorded or learnt in this home, which is another answer than knowing nothing.
        """
        return await asyncio.to_thread(lambda: self._held().recall(text, limit, project=project, session=session))

    @property
    def lessons(self) -> AsyncLessonBook:
        """What was learnt: list, show, add, approve, retire, quarantine."""
        return AsyncLessonBook(lambda: self._held().lessons)

    async def learn(self, *paths: str | PathLike[str]) -> Learned:
        """Read histories: files and folders, or the usual homes of Claude Code and Codex. Again adds nothing."""
        return await asyncio.to_thread(lambda: self._held().learn(*paths))

    async def report(self) -> Report:
        """Whether the lessons help, measured against their withheld control."""
        return await asyncio.to_thread(lambda: self._held().report())

    async def close(self) -> None:
        """Release files. What was recorded is on disk already; a later call opens them again."""
        await asyncio.to_thread(lambda: self._held().close())

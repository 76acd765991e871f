"""The Python surface: `Ratchet`, and `record` and `watch` over a default instance."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterator
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ratchet.decorators import Watch

if TYPE_CHECKING:
    from typing import Unpack

    from ratchet.analysis.health import Health
    from ratchet.config import Settings, Tunables
    from ratchet.decorators import Judge
    from ratchet.learning import Learned
    from ratchet.lessonbook import LessonBook
    from ratchet.memory.recall import Recalled
    from ratchet.records import Fields, Outcome, Pattern
    from ratchet.report import Report
    from ratchet.runtime import Runtime


class Ratchet:
    """Everything Ratchet knows in one home folder, from Python.

    `home` is a folder (default: RATCHET_HOME, else ~/.ratchet); the other settings are those of the reference page
    "Settings". Making one costs nothing and touches no disk. Safe under threads; use it as a context manager or `close`
    it. Raises UsageError for an unknown or bad setting.
    """

    def __init__(self, home: str | PathLike[str] | None = None, **settings: Unpack[Tunables]) -> None:
        self._given: Settings = {"home": home, **settings}
        self._held: Runtime | None = None
        self._lock = threading.Lock()
        if settings:
            _ = self._runtime  # a wrong setting is said here, not at the first record

    @property
    def _runtime(self) -> Runtime:
        with self._lock:
            if self._held is None:
                from ratchet.runtime import Runtime  # what only records needs none of it

                self._held = Runtime.open(**self._given)
            return self._held

    def record(self, agent: str, **given: Unpack[Fields]) -> str:
        """Record one finished run of an agent; return its outcome's id. Costs microseconds and never raises.

        Say how it went by `ok`, `score` (0 to 1), `quality` (1 to 5) or `error` (a text or an exception), and what is
        known besides: task, duration_s, cost_usd, tokens, model, session, status, exit_code, context, ... A value that
        is not usable is left out, named in the outcome's context and logged once.
        """
        return self._runtime.record(agent, **given)

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
        return Watch(self.record, agent, task=task, judge=judge, fields=fields)

    def outcomes(
        self,
        *,
        agent: str | None = None,
        ok: bool | None = None,
        session: str | None = None,
        kind: str | None = None,
        since: float | None = None,
        limit: int | None = None,
    ) -> Iterator[Outcome]:
        """Outcomes, newest first; every filter narrows. `since` is Unix seconds. Reads as it is iterated."""
        return self._runtime.outcomes(agent=agent, ok=ok, session=session, kind=kind, since=since, limit=limit)

    def patterns(self, *, agent: str | None = None, kind: str | None = None, limit: int | None = None) -> list[Pattern]:
        """What keeps failing, recurring ones first, each with its lessons."""
        return self._runtime.patterns(agent=agent, kind=kind, limit=limit)

    def health(self) -> Health:
        """How well each agent does lately: `.score` and `.agents`, from 0 (all fails) to 1; None without outcomes."""
        return self._runtime.health()

    def recall(self, text: str, limit: int = 5, *, project: str | None = None, session: str | None = None) -> Recalled:
        """What is known to fix this error: `.lessons` (each with `.text`, the advice verbatim) and `.abstained`.

        With `session` the session's arm of the control is obeyed and recorded. Raises NotFound when nothing was ever
        recorded or learnt in this home, which is another answer than knowing nothing.
        """
        return self._runtime.recall(text, limit=limit, project=project, session=session)

    @property
    def lessons(self) -> LessonBook:
        """What was learnt: list, show, add, approve, retire, quarantine."""
        return self._runtime.lessons

    def learn(self, *paths: str | PathLike[str]) -> Learned:
        """Read histories: files and folders, or the usual homes of Claude Code and Codex. Again adds nothing."""
        return self._runtime.learn(paths)

    def report(self) -> Report:
        """Whether the lessons help, measured against their withheld control."""
        return self._runtime.report()

    def close(self) -> None:
        """Release files. What was recorded is on disk already; a later call opens them again."""
        with self._lock:
            held, self._held = self._held, None
        if held is not None:
            held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_default: Ratchet | None = None
_default_lock = threading.Lock()


def default() -> Ratchet:
    """The instance behind `ratchet.record` and `ratchet.watch`, over the home that the environment names."""
    global _default
    with _default_lock:
        if _default is None:
            _default = Ratchet()
            atexit.register(_default.close)
        return _default


def record(agent: str, **given: Unpack[Fields]) -> str:
    """`Ratchet.record` over the default home."""
    return default().record(agent, **given)


def watch(
    agent: str, *, task: str | Callable[..., str] = "", judge: Judge | None = None, fields: Fields | None = None
) -> Watch:
    """`Ratchet.watch` over the default home."""
    return Watch(record, agent, task=task, judge=judge, fields=fields)

"""Puts the improve loop together for one home: its targets, its guard, its proposers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from ratchet.errors import NotFound, UsageError
from ratchet.improving.loop.improve import Ticked
from ratchet.improving.settings.versions import PREFIX, StoredSettings
from ratchet.improving.targets.pieces import piece_named
from ratchet.improving.targets.skill_folder import skill_named
from ratchet.ports import Store, Target

log = logging.getLogger(__name__)

LOOK_S = 0.5
"""How often open trials are looked at."""
_RESTS = 10  # times as long as a look took: one over many units is not made all the time


class Targets:
    """The targets that this process can change: the settings of every agent, and those that were added."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store
        self._added: dict[str, Target] = {}

    def add(self, target: Target) -> None:
        """Let trials change this target in this process."""
        self._added[target.name] = target

    def __call__(self, name: str) -> Target:
        """The target of that name. Raises NotFound for one that lives in another process."""
        if name in self._added:
            return self._added[name]
        target = piece_named(name) or skill_named(name)
        if target is not None:
            return target
        if name.startswith(PREFIX):
            return StoredSettings(self._store(), name.removeprefix(PREFIX))
        raise NotFound(
            f"{name} is no target of this process; run the loop where it is registered: Ratchet().add_target(...)"
        )


class Rounds:
    """Ticks every `interval_s` seconds, and in between looks at open trials: a change that harms is not left in force
    until the next tick. Call it every `step_s` seconds."""

    def __init__(
        self, tick: Callable[[], Ticked], look: Callable[[], Ticked], interval_s: float, *, first_s: float = 0
    ):
        if not interval_s > 0:
            raise UsageError(f"interval_s is {interval_s!r}: use seconds above 0")
        self._tick = tick
        self._look = look
        self._interval_s = min(interval_s, threading.TIMEOUT_MAX)
        self._due_at = time.monotonic() + first_s
        self._look_at = 0.0
        self.step_s = min(LOOK_S, self._interval_s)

    def __call__(self) -> Ticked | None:
        """Do what is due; None for nothing, and for a look that settled nothing."""
        began = time.monotonic()
        if began >= self._due_at:
            try:
                return self._tick()
            finally:
                self._due_at = time.monotonic() + self._interval_s
        if began < self._look_at:
            return None
        found = self._look()
        ended = time.monotonic()
        self._look_at = ended + _RESTS * (ended - began)
        return found if found.settled or found.faults else None


class Foreground:
    """Goes round until it is asked to stop, by a signal or by `stop`; a tick under way is finished first.

    A second signal cuts that off; what it leaves half done the next start repairs.

    Signals arrive in the main thread only; elsewhere `stop` is the way.
    """

    def __init__(self, rounds: Rounds, *, said: Callable[[Ticked], object]) -> None:
        self._rounds = rounds
        self._said = said
        self._stop = threading.Event()
        self._before: dict[int, object] = {}

    def stop(self) -> None:
        """End after the tick under way."""
        self._stop.set()

    def _signalled(self, number: int, _frame: object) -> None:
        if self._stop.is_set():
            raise SystemExit(128 + number)
        self.stop()

    def run(self) -> None:
        """Go round, tell, wait; again until stopped. A fault of a round is logged and the next one comes."""
        while not self._stop.is_set():
            try:
                done = self._rounds()
                if done is not None:
                    self._said(done)
            except BrokenPipeError:
                raise
            except Exception:
                log.exception("loop.failed")
            self._stop.wait(self._rounds.step_s)

    def __enter__(self) -> Self:
        import signal

        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._signalled)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import signal

        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

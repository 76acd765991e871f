"""Looks at running work when it is due, judges it, and acts: from a word to the end, one step at a time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from ratchet.errors import RatchetError
from ratchet.ports import Notice, Store
from ratchet.recording.background import Background
from ratchet.team.overseer import rows
from ratchet.team.overseer.judging import (
    LADDER,
    PATIENCE,
    SHORTEST_S,
    Action,
    Sight,
    Sighted,
    judge,
    next_action,
    next_look_s,
)
from ratchet.team.overseer.rows import Intervention, SubjectWatch

log = logging.getLogger(__name__)

USUAL: tuple[Action, ...] = ("tell", "redirect")
"""Actions that need no leave of a person. Passing a limit that a person set is that leave for all the others."""

Opinion = Callable[[Sight, Sighted], "tuple[bool, str]"]
"""A second opinion: whether the judgement is right, and why."""


class WatchSource(Protocol):
    """Running work of one kind."""

    def sights(self, now: float) -> Iterable[Sight]:
        """Everything that runs now, as it stands."""

    def act(self, sight: Sight, action: Action, judged: Sighted) -> str:
        """Do it; what the work was told. Raises RatchetError where it cannot be done."""


class Overseer:
    """One watcher over running work. Safe to repeat, to kill, and to run in several processes: whoever looks first
    writes it down.

    `allowed` are the actions it may take by itself, `opinion` is asked before any but a word, `tell` reaches a person.
    """

    def __init__(
        self,
        store: Callable[[], Store],
        sources: Sequence[WatchSource],
        *,
        allowed: Collection[Action] = USUAL,
        opinion: Opinion | None = None,
        tell: Callable[[Notice], object] | None = None,
    ) -> None:
        self._store, self._sources = store, tuple(sources)
        self._allowed, self._opinion, self._tell = frozenset(allowed), opinion, tell

    @contextmanager
    def watching(self, said: Callable[[Sequence[Intervention]], object]) -> Iterator[None]:
        """Look again and again in a thread, as often as anything may be due; `said` is told what was done."""

        def look() -> None:
            done = self.look()
            if done:
                said(done)

        background = Background(look, SHORTEST_S, name="ratchet-overseer")
        try:
            yield
        finally:
            background.stop()

    def look(self, now: float | None = None) -> list[Intervention]:
        """Look once at all that is due; what was done about it. One source that is down does not blind the others."""
        at = time.time() if now is None else now
        done: list[Intervention] = []
        running: set[str] = set()
        blind = False
        for source in self._sources:
            try:
                for sight in source.sights(at):
                    running.add(sight.key)
                    found = self._look_at(source, sight, at)
                    if found is not None:
                        done.append(found)
            except (RatchetError, OSError):
                blind = True
                log.warning("overseer.source_failed", exc_info=True, extra={"source": type(source).__name__})
        if not blind:
            rows.note_ended(self._store(), running)
        return done

    def _look_at(self, source: WatchSource, sight: Sight, now: float) -> Intervention | None:
        store = self._store()
        held = rows.watch(store, sight)
        if now < held.next_at:
            return None
        judged = judge(sight, now)
        self._effect(store, held, sight, judged)
        moved = sight.steps > held.steps
        pace = next_look_s(judged, held.interval_s, moved=moved)
        seen = replace(held, next_at=now + pace, interval_s=pace, steps=sight.steps, at=now)
        if judged.judgement == "progress":
            kept = replace(seen, trouble="", met=0, taken=(), asked=False) if moved else seen
            rows.keep(store, kept)
            return None
        same = held.trouble == judged.key
        taken = held.taken if same else ()
        waits = same and taken and judged.judgement == "looping" and judged.times - held.met < PATIENCE
        action = None if waits else next_action(taken, sight.can, self._may(judged))
        seen = replace(seen, trouble=judged.key, taken=taken, asked=held.asked and same)
        if waits:
            rows.keep(store, seen)
            return None
        return self._act(store, source, sight, judged, seen, action)

    def _may(self, judged: Sighted) -> frozenset[Action]:
        return frozenset(LADDER) if judged.judgement == "over_budget" else self._allowed

    def _act(
        self,
        store: Store,
        source: WatchSource,
        sight: Sight,
        judged: Sighted,
        seen: SubjectWatch,
        action: Action | None,
    ) -> Intervention | None:
        if action is None:
            first = not seen.asked
            if rows.keep(store, replace(seen, met=judged.times, asked=True)) and first and "cancel" not in seen.taken:
                self._say(sight, judged, "nothing is left that the overseer may do: have a look")
            return None
        opinion = ""
        if action != "tell" and self._opinion is not None:
            agrees, opinion = self._opinion(sight, judged)
            if not agrees:
                kept = rows.keep(store, replace(seen, met=judged.times, taken=(*seen.taken, action)))
                return rows.intervened(store, sight, judged, None, opinion=opinion) if kept else None
        # Written first: an overseer that dies here has not acted, one that acted has said so.
        if not rows.keep(store, replace(seen, met=judged.times, taken=(*seen.taken, action))):
            return None
        said = source.act(sight, action, judged)
        done = rows.intervened(store, sight, judged, action, said=said, opinion=opinion)
        held = rows.watch(store, sight)
        rows.keep(store, replace(held, last=done.id))
        self._say(sight, judged, f"it was decided to {action}")
        return done

    def _effect(self, store: Store, held: SubjectWatch, sight: Sight, judged: Sighted) -> None:
        """Note what became of the last intervention, once that can be told."""
        same = held.trouble == judged.key
        if not held.last or (same and judged.times - held.met < PATIENCE):
            return
        if same:
            rows.effect(store, held.last, "it went on all the same")
        elif sight.steps > held.steps:
            rows.effect(store, held.last, f"it went another way: {judged.judgement.replace('_', ' ')}")

    def _say(self, sight: Sight, judged: Sighted, what: str) -> None:
        if self._tell is None:
            return
        title = f"{sight.kind} {sight.id} is {judged.judgement.replace('_', ' ')}"
        self._tell(
            Notice(title=title, text=f"{judged.reason}; {what}", level="warning", record=sight.id, at=time.time())
        )

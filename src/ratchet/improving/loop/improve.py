"""observe -> analyze -> fix -> verify: the loop over live agents.

`tick` may be called at any time, by any number of processes, and be killed at any moment: every step looks at the store
and does what is due there. What one tick could not finish the next one does; a fault costs its step, becomes an event,
and the others run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ratchet.errors import Conflict, NotFound, RatchetError, Refused, UsageError
from ratchet.improving.cures import book as cures
from ratchet.improving.loop import lessons as lesson_trials
from ratchet.improving.loop import proposals, rules, suggestions
from ratchet.improving.loop.due import problems, subsided
from ratchet.improving.loop.telling import tell
from ratchet.improving.settings.versions import target_of
from ratchet.improving.trials.guard import Guard
from ratchet.improving.trials.trials import OPEN, trials
from ratchet.ports import Fix, Notice, Problem, Proposer, Store
from ratchet.records import Proposal, Trial
from ratchet.store.timeline import note

log = logging.getLogger(__name__)

Result = TypeVar("Result")


@dataclass(slots=True)
class Ticked:
    """Report of one tick: ids of the trials opened and settled, of proposals made and closed, of lessons retired, and
    the steps that failed, with why."""

    opened: list[str] = field(default_factory=list)
    settled: list[str] = field(default_factory=list)
    proposed: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


class Improve:
    """The improve loop over one store.

    `observe` brings what was recorded into the store. `proposers` are asked in order, before the built-in rules. With
    `auto_fix`, safe fixes start by themselves. `send` delivers a notice and never raises or hangs. `published` tells
    the hooks that lessons changed.
    """

    def __init__(
        self,
        store: Store,
        guard: Guard,
        *,
        observe: Callable[[], object],
        proposers: Sequence[Proposer] = (),
        auto_fix: bool = False,
        send: Callable[[Notice], object] | None = None,
        published: Callable[[], object] = lambda: None,
    ) -> None:
        self._store = store
        self._guard = guard
        self._observe = observe
        self._proposers = (*proposers, rules.propose)
        self._auto_fix = auto_fix
        self._send = send
        self._published = published

    def tick(self, now: float | None = None) -> Ticked:
        """Go round once. `now` is Unix seconds."""
        return self._gone_through(
            now,
            ("observe", self._drain),
            ("repair", self._repair),
            ("verify", self._verify),
            ("analyze", self._analyze),
            ("fix", self._fix),
            ("lessons", self._lessons),
            ("tell", self._tell),
        )

    def look(self, now: float | None = None) -> Ticked:
        """Let the gate look at the open trials, between two ticks. Costs a query where none is open."""
        if not trials(self._store, states=OPEN, limit=1):
            return Ticked()
        return self._gone_through(now, ("observe", self._drain), ("verify", self._verify))

    def _gone_through(self, now: float | None, *steps: tuple[str, Callable[[float, Ticked], None]]) -> Ticked:
        at = time.time() if now is None else now
        done = Ticked()
        for name, step in steps:
            try:
                step(at, done)
            except Exception as fault:  # noqa: BLE001  (the edge of the loop: the next step and the next tick run)
                self._failed(name, fault, at, done)
        return done

    # -- the steps -----------------------------------------------------------------------------------------------------

    def _drain(self, now: float, done: Ticked) -> None:
        del now, done
        self._observe()

    def _repair(self, now: float, done: Ticked) -> None:
        del done
        self._guard.repair(now=now)
        proposals.catch_up(self._store, now=now)

    def _verify(self, now: float, done: Ticked) -> None:
        """Let the gate look at every open trial. Cures are judged by their own failure: a streak of others tells
        nothing about them."""
        done.settled.extend(each.id for each in cures.look(self._store, self._guard, now=now))
        for held in trials(self._store, states=OPEN):
            if held.change.fix == cures.FIX and held.state == "open" and not held.decision:
                continue
            moved = self._tried(lambda held=held: self._guard.advance(held.id, now=now), f"trial {held.id}", now, done)  # type: ignore[misc]
            if moved is not None and moved.closed_at:
                done.settled.append(moved.id)
        proposals.catch_up(self._store, now=now)

    def _analyze(self, now: float, done: Ticked) -> None:
        """Find what keeps failing, ask for fixes, and close what is over."""
        for problem in problems(self._store, now=now):
            suggested = list(self._suggested(problem, now, done))
            made = self._tried(
                lambda problem=problem, suggested=suggested: proposals.put_forward(  # type: ignore[misc]
                    self._store, problem, suggested, now=now
                ),
                f"pattern {problem.pattern}",
                now,
                done,
            )
            if made is not None:
                done.proposed.append(made.id)
        for held in proposals.proposals(self._store, states=("open",)):
            reason = subsided(self._store, held, now=now)
            if reason:
                proposals.close(self._store, held, now=now, reason=reason)
                done.closed.append(held.id)

    def _fix(self, now: float, done: Ticked) -> None:
        """Start safe fixes by themselves, one at a time for each target."""
        if not self._auto_fix:
            return
        done.opened.extend(each.id for each in cures.notes_by_themselves(self._store, self._guard, now=now))
        for held in reversed(proposals.proposals(self._store, states=("open",))):
            if held.change is None or held.fix not in rules.SAFE or held.change.target != target_of(held.agent):
                continue  # a word alone makes nothing safe: a file or a function has no bounds and no single call
            opened = self._tried(lambda held=held: self._started(held, now), f"proposal {held.id}", now, done)  # type: ignore[misc]
            if opened is not None:
                done.opened.append(opened.id)

    def _started(self, held: Proposal, now: float) -> Trial | None:
        assert held.change is not None
        try:
            opened = self._guard.open(held.change, now=now)
        except Refused:  # another trial holds the target: this one's turn comes
            return None
        except UsageError as error:  # its knobs were declared anew since: it would be refused at every tick
            proposals.close(self._store, held, now=now, reason=f"cannot be tried: {error}")
            return None
        proposals.begun(self._store, held, opened, now)
        return opened

    def _lessons(self, now: float, done: Ticked) -> None:
        retired = lesson_trials.settle(self._store, now=now)
        if retired:
            done.retired.extend(retired)
            self._published()

    def _tell(self, now: float, done: Ticked) -> None:
        del done
        if self._send is not None:
            tell(self._store, self._send, now=now)

    # -- what may fail -------------------------------------------------------------------------------------------------

    def _suggested(self, problem: Problem, now: float, done: Ticked) -> Iterable[Fix]:
        for proposer in self._proposers:
            try:
                for fix in suggestions.asked(proposer, problem):
                    try:
                        yield suggestions.checked(problem, fix)
                    except UsageError as unfit:
                        self._failed(f"proposer {_name_of(proposer)}", unfit, now, done)
            except Exception as fault:  # noqa: BLE001  (a model or a user's function: the others are asked)
                self._failed(f"proposer {_name_of(proposer)}", fault, now, done)

    def _tried(self, work: Callable[[], Result], what: str, now: float, done: Ticked) -> Result | None:
        """One piece of a step; its fault costs itself. A conflict means that another process was quicker."""
        try:
            return work()
        except Conflict:
            return None
        except NotFound as missing:
            log.debug("improve.elsewhere", extra={"what": what, "why": str(missing)})
            return None
        except Exception as fault:  # noqa: BLE001  (one broken target must not hold up the others)
            self._failed(what, fault, now, done)
            return None

    def _failed(self, what: str, fault: Exception, now: float, done: Ticked) -> None:
        # What is known to go wrong (a store that is down) says itself what it is; where it was met helps nobody.
        known = isinstance(fault, RatchetError)
        log.error("improve.failed", extra={"step": what, "why": str(fault)}, exc_info=None if known else fault)
        done.faults.append(f"{what}: {fault}")
        try:
            why = f"{type(fault).__name__}: {fault}"
            note(self._store, "loop", "improve", "failed", now, step=what, reason=why)
        except RatchetError as untold:
            log.error("improve.unnoted", extra={"step": what, "why": str(untold)})


def _name_of(proposer: Proposer) -> str:
    return str(getattr(proposer, "__qualname__", type(proposer).__qualname__))

"""When to look at an agent: after how many failures in how long, by how busy it is."""

from __future__ import annotations

from dataclasses import dataclass

from ratchet.errors import Conflict, UsageError
from ratchet.improving.trials.history import calls_per_day
from ratchet.ports import Store
from ratchet.records import Row, number_in, whole_in

HOUR_S = 3_600.0
BUSY_CALLS_A_DAY = 100
STEADY_CALLS_A_DAY = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """Look when `failures` happened within `window_s`, and not again for `cooldown_s`. `why` names the rule."""

    failures: int
    window_s: float
    cooldown_s: float
    why: str


BUSY = Pulse(failures=5, window_s=48 * HOUR_S, cooldown_s=3 * HOUR_S, why="more than 100 calls a day")
STEADY = Pulse(failures=3, window_s=24 * HOUR_S, cooldown_s=6 * HOUR_S, why="10 to 100 calls a day")
QUIET = Pulse(failures=2, window_s=72 * HOUR_S, cooldown_s=12 * HOUR_S, why="fewer than 10 calls a day")
CRITICAL = Pulse(failures=1, window_s=24 * HOUR_S, cooldown_s=6 * HOUR_S, why="marked as critical")
"""Thresholds of self-improving-loop, kept since people know them; only who is critical is never guessed from a name."""


def pulse(store: Store, agent: str, *, now: float) -> Pulse:
    """The thresholds that hold for an agent: a person's own, else by its mark, else by its measured calls."""
    marked = store.get("meta", _name(agent)) or {}
    base = CRITICAL if marked.get("critical") is True else _by_calls(calls_per_day(store, agent, now=now))
    own = {name for name in ("failures", "window_s", "cooldown_s") if marked.get(name) is not None}
    if not own:
        return base
    return Pulse(
        failures=whole_in(marked, "failures") if "failures" in own else base.failures,
        window_s=number_in(marked, "window_s") if "window_s" in own else base.window_s,
        cooldown_s=number_in(marked, "cooldown_s") if "cooldown_s" in own else base.cooldown_s,
        why="set by a person",
    )


def mark(
    store: Store,
    agent: str,
    *,
    critical: bool | None = None,
    failures: int | None = None,
    window_s: float | None = None,
    cooldown_s: float | None = None,
) -> None:
    """Set an agent's own thresholds; what is None stays as it is. Raises UsageError, Conflict."""
    if failures is not None and failures < 1:
        raise UsageError(f"failures is {failures}: use 1 or more")
    for name, value in (("window_s", window_s), ("cooldown_s", cooldown_s)):
        if value is not None and not 0 <= value < 366 * 24 * HOUR_S:
            raise UsageError(f"{name} is {value!r}: use seconds from 0 to a year")
    held = store.get("meta", _name(agent)) or {}
    given: Row = {"critical": critical, "failures": failures, "window_s": window_s, "cooldown_s": cooldown_s}
    row: Row = {**held, **{name: value for name, value in given.items() if value is not None}}
    if not store.swap("meta", _name(agent), whole_in(held, "revision"), row):
        raise Conflict(f"the thresholds of {agent} were changed by somebody else meanwhile; try again")


def unmark(store: Store, agent: str) -> None:
    """Go back to the thresholds by measured calls. Raises Conflict."""
    held = store.get("meta", _name(agent))
    if held is not None and not store.swap("meta", _name(agent), whole_in(held, "revision"), {}):
        raise Conflict(f"the thresholds of {agent} were changed by somebody else meanwhile; try again")


def _by_calls(calls: float) -> Pulse:
    if calls > BUSY_CALLS_A_DAY:
        return BUSY
    return STEADY if calls >= STEADY_CALLS_A_DAY else QUIET


def _name(agent: str) -> str:
    return f"pulse/{agent}"

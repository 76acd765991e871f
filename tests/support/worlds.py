"""A simulated agent under trials, on a clock of its own: real store, real journal rows, real gate."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ratchet.ids import CALL
from ratchet.improving.settings.knob import Choice, Range
from ratchet.improving.settings.versions import StoredSettings, target_of
from ratchet.improving.trials import homes
from ratchet.improving.trials.arms import OpenTrials
from ratchet.improving.trials.guard import Guard
from ratchet.improving.trials.settle import settle_units
from ratchet.lessons import learning
from ratchet.ports import Target
from ratchet.records import Change, Row, Version
from ratchet.testing.stores import open_store

START = 1_790_000_000.0
AGENT = "support"
KNOBS = {
    "max_retries": Range(0, 10, default=0),
    "backoff_s": Range(0.1, 60, default=1.0),
    "timeout_s": Range(0.5, 300, default=30.0),
    "model": Choice("large", "small"),
}
Behaviour = Callable[[Version | None, float], tuple[bool, float]]
"""(the version that a call got, a number in [0, 1)) -> (ok, seconds)."""


@dataclass
class World:
    """One home, one agent, one guard. `call` runs one call and advances the clock."""

    home: Path
    seed: int = 1
    now: float = START
    spacing_s: float = 1.0
    agent: str = AGENT
    rows: list[Row] = field(default_factory=list)
    exposed: list[Row] = field(default_factory=list)
    calls: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.store = open_store(self.home)
        self.settings(self.agent).declare()
        self.guard = Guard(self.store, str(self.home), self.target_of)
        self.trials = OpenTrials(str(self.home), self.append)

    def settings(self, agent: str) -> StoredSettings:
        return StoredSettings(self.store, agent, knobs=KNOBS, clock=lambda: self.now)

    def target_of(self, name: str) -> Target:
        return self.settings(name.removeprefix("settings:"))

    def append(self, row: Row) -> bool:
        self.exposed.append({key: value for key, value in row.items() if key != "r"})
        return True

    def call(
        self, behaviour: Behaviour, *, unit: str = "", error: str = "429 Too Many Requests", **more: object
    ) -> bool:
        self.calls += 1
        self.now += self.spacing_s
        unit = unit or f"{CALL}{self.seed}-{self.calls}"
        target = target_of(self.agent)
        version = self.trials.arm_of(target, unit)
        ok, seconds = behaviour(version, self.chance.random())
        met = self.trials.met_by(self.agent, unit, (target,))
        row: Row = {
            "id": f"o{self.seed}-{self.calls}",
            "agent": self.agent,
            "ok": ok,
            "started_at": self.now,
            "duration_s": seconds,
            "source": "python",
            **more,  # type: ignore[dict-item]
        }
        if met:
            row |= {"trials": met}
        if not ok:
            row["failure"] = {"message": error}
        self.rows.append(row)
        return ok

    def drain(self) -> None:
        """What a drain does: exposures first, then outcomes."""
        exposed, self.exposed = self.exposed, []
        rows, self.rows = self.rows, []
        with self.store.transaction():
            known = homes.known_until(self.store, str(self.home))
            self.store.insert_new("exposures", homes.placed(exposed, known))
            learning.take(self.store, rows, partial(settle_units, known=known))
        homes.drained(self.store, str(self.home), self.now)

    def run(self, behaviour: Behaviour, calls: int, *, look_every: int = 100, trial_id: str = "") -> None:
        """Some calls, draining and looking at the trial now and then."""
        for number in range(1, calls + 1):
            self.call(behaviour)
            if number % look_every == 0 or number == calls:
                self.drain()
                if trial_id and self.guard.advance(trial_id, now=self.now).closed_at:
                    return

    def change(self, **new: object) -> Change:
        return Change(target=target_of(self.agent), new=new, agent=self.agent)  # type: ignore[arg-type]


def rates(old: float, new: float, *, key: str = "max_retries", seconds: float = 1.0) -> Behaviour:
    """Succeeds at one of two rates, by whether the version sets `key`."""

    def behave(version: Version | None, draw: float) -> tuple[bool, float]:
        changed = version is not None and key in version.values
        return draw < (new if changed else old), seconds

    return behave


def verbs(events: Sequence[Row]) -> list[str]:
    return [str(event["verb"]) for event in events]

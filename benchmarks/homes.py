"""Trials on three homes that share one Postgres: how soon they reach every machine, decide, and are gone again.

    python benchmarks/homes.py [--homes 3] [--url postgresql://...]

An agent in each home, a process of its own, makes units that end in a millisecond. An operator with a fourth home and
no agent opens a harmful trial (.95 -> .40), whose loop reverts it; then one that changes nothing, and stops it. Each
agent writes down when it met which arm. Without an address a Postgres of its own is started (package pgserver, or the
system's).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import ratchet
from figures import Figure, at_most, publish
from ratchet import Range
from ratchet.improving.assembly import Rounds
from ratchet.records import Trial
from ratchet.runtime import Runtime

sys.path.append(str(Path(__file__).parent.parent / "tests"))  # their server

from support.postgres_server import Databases, PostgresServer

AGENT = "client"
LIMIT_S = 60.0
OLD_RATE, NEW_RATE = 0.95, 0.40


def agent(home: Path, seed: int) -> None:
    """Works until it is killed; notes [when, trial's value] of each unit that has the new value, and of its first."""
    chance = random.Random(seed)
    host = ratchet.Ratchet(home)
    settings = host.settings(AGENT, effort=Range(0, 9, default=0))
    noted = (home / "met.jsonl").open("a", buffering=1)

    @host.watch(AGENT)
    def call() -> None:
        effort = settings.current().effort
        if effort:
            noted.write(json.dumps([time.time(), effort]) + "\n")
        time.sleep(0.001)
        if chance.random() >= (NEW_RATE if effort == 1 else OLD_RATE):
            raise TimeoutError("timed out after 1 ms")

    while True:
        with suppress(TimeoutError):
            call()
        time.sleep(0.004)


@dataclass(frozen=True)
class Ended:
    """A trial as the machines met it: seconds from its opening to the last home's first meeting, from its end to the
    last meeting anywhere, and the units at which the evidence had decided."""

    trial: Trial
    reached_s: float
    gone_s: float
    seen_at: int
    homes: int


def play(folder: Path, url: str, *, homes: int = 3) -> tuple[Ended, Ended]:
    """(the harmful trial, the stopped one). Raises TimeoutError."""
    os.environ["RATCHET_DATABASE_URL"] = url
    places = [folder / f"home-{number}" for number in range(homes)]
    agents = []
    try:
        for number, place in enumerate(places):
            place.mkdir(parents=True)
            command = [sys.executable, __file__, "--agent", str(place), "--seed", str(number)]
            with (folder / "log").open("ab") as log:
                agents.append(subprocess.Popen(command, stdout=log, stderr=log))
        with Runtime.open(home=folder / "operator") as runtime:
            wait(lambda: len(runtime.health(drained=False).agents) > 0)
            time.sleep(3.0)  # some history of every home
            return reverted(runtime, places), stopped(runtime, places)
    finally:
        for process in agents:
            process.kill()
        for process in agents:
            process.wait()


def reverted(runtime: Runtime, places: list[Path]) -> Ended:
    rounds = Rounds(runtime.tick, runtime.look, 60.0)
    held = runtime.trials.open(f"settings:{AGENT}", {"effort": 1})

    def is_settled() -> bool:
        rounds()
        return bool(runtime.trials.list(state="reverted"))

    wait(is_settled, rounds.step_s)
    return ended(runtime, held.id, places, 1, runtime.trials.show(held.id).trial.closed_at)


def stopped(runtime: Runtime, places: list[Path]) -> Ended:
    held = runtime.trials.open(f"settings:{AGENT}", {"effort": 2})
    wait(lambda: all(met(place, 2) for place in places))
    time.sleep(1.0)
    at = time.time()
    runtime.trials.stop(held.id)
    return ended(runtime, held.id, places, 2, at)


def ended(runtime: Runtime, trial_id: str, places: list[Path], value: int, at: float) -> Ended:
    time.sleep(4.0)
    detail = runtime.trials.show(trial_id)
    said = detail.evidence
    seen = next((units for units, against, _ in said.curve if against >= said.threshold), 0)
    times = [met(place, value) for place in places]
    return Ended(
        trial=detail.trial,
        reached_s=max(each[0] for each in times if each) - detail.trial.opened_at,
        gone_s=max(each[-1] for each in times if each) - at,
        seen_at=seen,
        homes=sum(map(bool, times)),
    )


def met(place: Path, value: int) -> list[float]:
    """When the agent of a home met the value."""
    try:
        lines = (place / "met.jsonl").read_text().splitlines()
    except FileNotFoundError:
        return []
    return [at for at, effort in (json.loads(line) for line in lines if line.endswith("]")) if effort == value]


def wait(holds: Callable[[], bool], step_s: float = 0.05) -> None:
    give_up = time.monotonic() + LIMIT_S
    while not holds():
        if time.monotonic() > give_up:
            raise TimeoutError(f"nothing happened within {LIMIT_S:.0f} s")
        time.sleep(step_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--homes", type=int, default=3)
    parser.add_argument("--url")
    parser.add_argument("--agent", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.agent:
        agent(given.agent, given.seed)
        return
    with tempfile.TemporaryDirectory() as folder:
        if given.url:
            harmful, halted = play(Path(folder), given.url, homes=given.homes)
        else:
            with PostgresServer() as server:
                bases = Databases(server.url(), kept=True)
                harmful, halted = play(Path(folder), bases.fresh(), homes=given.homes)
    publish("homes", figures(harmful, halted, given.homes))


def figures(harmful: Ended, halted: Ended, homes: int) -> list[Figure]:
    beside = f"{homes} homes, one Postgres"
    return [
        Figure(
            name="a harmful trial (.95 -> .40): decision",
            measured=harmful.trial.state,
            goal="reverted",
            baseline=beside,
            holds=harmful.trial.state == "reverted",
        ),
        at_most("units at which it was seen", harmful.seen_at, 100, unit="units"),
        at_most("seconds until every home had met it", harmful.reached_s, 1.0, unit="s"),
        at_most("seconds from the decision to the last unit anywhere that met it", harmful.gone_s, 3.0, unit="s"),
        at_most("seconds from a stop to the last unit anywhere that met it", halted.gone_s, 1.0, unit="s"),
    ]


if __name__ == "__main__":
    main()

"""The whole loop on live processes: a provider starts to rate-limit, the loop fixes it, and undoes what harms.

    python benchmarks/guard_live.py [--processes 8] [--calm]

Agents in processes of their own call a fake provider over HTTP. Act 1: it answers 429 in the first part of every
quarter second; the loop notices, tries more retries with longer pauses on a share of the calls, and keeps them. Act 2:
a harmful idea, a shorter timeout, is tried and reverted. Act 3: an idea that kills the process it is tried in is
reverted by its deadline. Meanwhile processes are killed by SIGKILL, agents and loop alike, unless `--calm`. At the end
the store holds one decision an act, and each arm's units are the exposures that the agents saw written.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import ratchet
from figures import Figure, at_most, publish
from ratchet import Choice, Fix, Problem, Range
from ratchet.errors import Conflict
from ratchet.records import Json, Row, Trial, whole_in
from ratchet.runtime import Runtime
from ratchet.store.timeline import events

AGENT = "client"
WINDOW_S = 0.25
REFUSED_PART = 0.4  # of every window, once the provider limits
ACT_LIMIT_S = 240.0
ACTS = ("rules", "shorter", "broken")
IDEAS: dict[str, dict[str, Json]] = {"shorter": {"timeout_s": 0.04}, "broken": {"model": "broken"}}


# -- the provider -----------------------------------------------------------------------------------------------------


async def provider(home: Path) -> None:
    """Answers each request after some 30 ms; while HOME/limits exists, with 429 in the first part of each window."""
    chance = random.Random(7)
    limits = home / "limits"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        refused = limits.exists() and time.time() % WINDOW_S < WINDOW_S * REFUSED_PART
        if not refused:
            await asyncio.sleep(min(0.3, 0.01 + chance.expovariate(1 / 0.04)))
        line = b"HTTP/1.1 429 Too Many Requests" if refused else b"HTTP/1.1 200 OK"
        writer.write(line + b"\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    (home / "port.new").write_text(str(port))
    (home / "port.new").rename(home / "port")
    async with server:
        await server.serve_forever()


# -- an agent ---------------------------------------------------------------------------------------------------------


def agent(home: Path) -> None:
    """Calls the provider until it is killed. Each exposure that its journal took is noted in a file beside."""
    url = f"http://127.0.0.1:{(home / 'port').read_text()}/"
    host = ratchet.Ratchet(home / "ratchet", drain_interval_s=0)
    note_exposures(host, home)
    settings = host.settings(
        AGENT,
        max_retries=Range(0, 4, default=0),
        backoff_s=Range(0.05, 2.0, default=0.1),
        wait_budget_s=Range(0.5, 5.0, default=2.0),
        timeout_s=Range(0.03, 2.0, default=1.0),
        model=Choice("plain", "broken"),
    )

    @host.watch(AGENT)
    @settings.guarded
    def call() -> str:
        if settings.current().model == "broken":
            os.kill(os.getpid(), signal.SIGKILL)
        with urllib.request.urlopen(url, timeout=2.0) as answer:
            return str(answer.read().decode())

    while True:
        with contextlib.suppress(Exception):  # the outcome is recorded by `watch`
            call()
        time.sleep(0.02)


def note_exposures(host: ratchet.Ratchet, home: Path) -> None:
    recorder = host._recorder
    append = recorder.append
    noted = os.open(home / "exposed.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def appended(row: Row) -> bool:
        kept = append(row)
        if kept and row["r"] == "exposure":
            os.write(noted, json.dumps([row["trial"], row["unit"], row["arm"]]).encode() + b"\n")
        return kept

    recorder.append = appended  # type: ignore[method-assign]


# -- the loop ---------------------------------------------------------------------------------------------------------


def loop(home: Path, act: str) -> None:
    """Goes round twice a second; in later acts with somebody's bad idea first."""

    def idea(_problem: Problem) -> Iterator[Fix]:
        if act in IDEAS:
            yield Fix(title=act, fix="threshold_tuning", new=IDEAS[act])

    with Runtime.open(home=home / "ratchet") as runtime:
        while True:
            runtime.tick(auto_fix=True, proposers=(idea,))
            time.sleep(0.5)


# -- the play ---------------------------------------------------------------------------------------------------------


@dataclass
class Play:
    """The processes of one run, and what happened to them."""

    home: Path
    agents: int
    calm: bool = False
    kills: int = 0
    deaths: int = 0
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    chance: random.Random = field(default_factory=lambda: random.Random(3))

    def start(self, name: str, *role: str) -> None:
        command = [sys.executable, __file__, "--home", str(self.home), "--role", *role]
        with (self.home / "log").open("ab") as log:
            # Its input ends with this process, whatever ends that (`take_role`).
            self.running[name] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)

    def begin(self) -> None:
        self.start("provider", "provider")
        while not (self.home / "port").exists():
            time.sleep(0.05)
        for number in range(self.agents):
            self.start(f"agent-{number}", "agent")

    def end(self) -> None:
        for process in self.running.values():
            process.kill()
        for process in self.running.values():
            process.communicate()  # closes its input, too

    def act(self, name: str) -> Trial:
        """Run the loop until its trial is settled; return it."""
        self.start("loop", "loop", name)
        give_up = time.monotonic() + ACT_LIMIT_S
        next_kill = time.monotonic() + 1.0
        try:
            while time.monotonic() < give_up:
                time.sleep(0.2)
                if not self.calm and time.monotonic() > next_kill:
                    self.kill_one()
                    next_kill = time.monotonic() + 1.5
                self.revive(name)
                found = self.settled(name)
                if found is not None:
                    return found
            raise TimeoutError(f"act {name!r} was not decided in {ACT_LIMIT_S:.0f} s; see {self.home / 'log'}")
        finally:
            process = self.running.pop("loop")
            process.kill()
            process.communicate()  # closes its input, too

    def kill_one(self) -> None:
        victim = self.chance.choice([name for name in self.running if name != "provider"])
        self.running[victim].kill()
        self.kills += 1

    def revive(self, act: str) -> None:
        for name, process in self.running.items():
            if process.poll() is not None:
                self.deaths += 1
                process.communicate()
                self.start(name, *(("loop", act) if name == "loop" else ("agent",)))

    def settled(self, act: str) -> Trial | None:
        with Runtime.open(home=self.home / "ratchet") as runtime:
            for trial in runtime.trials.list():
                wanted = trial.change.new == IDEAS[act] if act in IDEAS else trial.change.fix == "retry_logic"
                if wanted and trial.closed_at:
                    return trial
        return None


@dataclass
class Seen:
    """What a play leaves behind."""

    decisions: list[tuple[str, str, int, int]]  # (act, state, events that decide, events that end)
    exposures: int
    decided_on: int  # units of both arms that the decisions rest on
    counted: int  # the same, read again later
    noted: int
    wrong: int  # noted exposures that the store lacks or holds with another arm
    kills: int
    values: dict[str, object]


def play(home: Path, *, agents: int, calm: bool = False, warm_s: float = 4.0, acts: Sequence[str] = ACTS) -> Seen:
    """The acts in order; the processes are gone when this returns."""
    home.mkdir(parents=True, exist_ok=True)
    stage = Play(home, agents, calm)
    decided: list[tuple[str, Trial]] = []
    try:
        with Runtime.open(home=home / "ratchet") as runtime:
            runtime.pulses.set(AGENT, failures=5, window_s=3600.0, cooldown_s=0.0)
        stage.begin()
        time.sleep(warm_s)
        (home / "limits").touch()
        decided += [(act, stage.act(act)) for act in acts]
    finally:
        stage.end()
    return seen(home, decided, stage.kills + stage.deaths)


def seen(home: Path, decided: list[tuple[str, Trial]], kills: int) -> Seen:
    noted = {(trial, unit): arm for trial, unit, arm in map(json.loads, lines(home / "exposed.jsonl"))}
    with Runtime.open(home=home / "ratchet") as runtime:
        while True:
            try:
                runtime.drain()
                break
            except Conflict:
                continue
        rows = runtime.store.find("exposures", {"channel": "trial"}).rows
        stored = {(str(row["trial"]), str(row["unit"])): str(row["arm"]) for row in rows}
        decided_on = counted = 0
        for trial in runtime.trials.list():
            if not trial.decision:
                continue
            decided_on += sum(whole_in(trial.figures[arm], "units") for arm in ("new", "old"))
            said = runtime.guard.evidence(trial.id, now=time.time() + 3600)
            counted += said.new.units + said.old.units
        ends: list[tuple[str, str, int, int]] = []
        for act, trial in decided:
            verbs = Counter(str(event["verb"]) for event in events(runtime.store, trial.id))
            ends.append((act, trial.state, verbs["decided"], verbs["kept"] + verbs["reverted"] + verbs["undecided"]))
        return Seen(
            decisions=ends,
            exposures=len(stored),
            decided_on=decided_on,
            counted=counted,
            noted=len(noted),
            wrong=sum(stored.get(key) != arm for key, arm in noted.items()),
            kills=kills,
            values=dict(runtime.settings.show(AGENT).version.values),
        )


def lines(path: Path) -> list[bytes]:
    """Whole lines: a killed process may have left a torn one."""
    return [line for line in path.read_bytes().split(b"\n") if line.endswith(b"]")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--calm", action="store_true")
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--role", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.role:
        take_role(given.home, *given.role)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        found = play(Path(folder), agents=given.processes, calm=given.calm)
        took_s = time.monotonic() - started
    expected = {"rules": "kept", "shorter": "reverted", "broken": "reverted"}
    figures = [
        Figure(
            name=f"act {act!r}: decision",
            measured=f"{state}, {decided} decided, {ends} end",
            goal=f"{expected[act]}, 1 decided, 1 end",
            baseline=f"{given.processes} processes, {found.kills} killed",
            holds=(state, decided, ends) == (expected[act], 1, 1),
        )
        for act, state, decided, ends in found.decisions
    ]
    figures += [
        at_most("exposures noted that the store lacks or holds otherwise", found.wrong, 0, unit=f"of {found.noted}"),
        at_most(
            "units read an hour later less those decided on", abs(found.counted - found.decided_on), 0, unit="units"
        ),
        at_most("units decided on beyond the exposures", max(0, found.decided_on - found.exposures), 0, unit="units"),
        Figure(name="seconds for all acts", measured=f"{took_s:.0f}"),
    ]
    publish("guard_live", figures)


def take_role(home: Path, role: str, act: str = "") -> None:
    threading.Thread(target=end_with_the_play, daemon=True).start()
    if role == "provider":
        asyncio.run(provider(home))
    elif role == "agent":
        agent(home)
    else:
        loop(home, act)


def end_with_the_play() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main()

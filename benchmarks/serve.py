"""What the server takes, beside a bare Starlette endpoint that parses the same JSON and appends it to a file.

    python benchmarks/serve.py [--seconds 10] [--streams 50] [--history 1000000]

Batches of 500 outcomes, a fifth of them failures, over kept connections on this machine. The two servers take turns;
the best round of each counts, by the clock and by the CPU time of the process that serves. Then 10,000 outcomes a
second are offered while streams listen, and latency, memory and what arrived in the store are looked at; the bare
endpoint is offered the same. Last, the overview page of a long history, each time after something has happened in it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import history
from figures import Figure, at_least, at_most, publish
from ratchet.runtime import Runtime

BATCH = 500
CONNECTIONS = 2
BODIES = 40  # that are prepared; each has ids of its own
ROUNDS = 5
OFFERED_PER_S = 10_000
LOOKS = 7

BARE = """
import json, os, sys
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

out = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

async def take(request: Request) -> JSONResponse:
    items = await request.json()
    os.write(out, "".join(json.dumps(each) + "\\n" for each in items).encode())
    return JSONResponse({"accepted": len(items), "ids": [each["id"] for each in items]}, 202)

uvicorn.run(Starlette(routes=[Route("/v1/outcomes", take, methods=["POST"])]), port=int(sys.argv[1]), log_level="error",
            access_log=False)
"""


@dataclass
class Process:
    """A server under load."""

    popen: subprocess.Popen[str]
    port: int

    def cpu_s(self) -> float:
        """CPU time of the process that serves, without those beside it."""
        told = Path(f"/proc/{self.popen.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self) -> tuple[float, float]:
        """Memory of the process, and of those that it started."""
        return _rss_mb(self.popen.pid), sum(_rss_mb(pid) for pid in _children(self.popen.pid))


def _children(pid: int) -> list[int]:
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(each) for each in told]


def _rss_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


@contextmanager
def running(command: Sequence[str], port: int) -> Iterator[Process]:
    popen = subprocess.Popen(command, stdout=subprocess.DEVNULL, text=True)
    try:
        while popen.poll() is None:
            with socket.socket() as place:
                if place.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield Process(popen, port)
    finally:
        popen.send_signal(signal.SIGTERM)
        popen.wait(60)


def outcome(dice: random.Random, name: str) -> dict[str, object]:
    ok = dice.random() >= 0.2
    told: dict[str, object] = {
        "id": name,
        "agent": f"agent-{dice.randrange(8)}",
        "task": f"answer ticket {dice.randrange(1_000)}",
        "ok": ok,
        "session": f"session-{dice.randrange(2_000)}",
        "duration_s": round(dice.expovariate(1 / 3), 3),
        "cost_usd": round(dice.random() / 50, 5),
        "tokens": dice.randrange(4_000),
        "model": "gpt-5-mini",
    }
    if not ok:
        told["error"] = (
            f"OrderServiceError: lookup failed: 503 Service Unavailable (request {dice.randrange(16**8):08x}, retry "
            f"after {dice.randrange(9)}s) while answering ticket {dice.randrange(99_999)}"
        )
    return told


class Bodies:
    """Batches with ids that nobody sent before, without the cost of making each while the clock runs."""

    def __init__(self, seed: int) -> None:
        dice = random.Random(seed)
        self._seed = seed
        self._texts = [
            json.dumps([outcome(dice, f"@@@@{n:02}-{i:03}") for i in range(BATCH)]).encode() for n in range(BODIES)
        ]
        self._made = 0
        self._lock = threading.Lock()

    def next(self) -> bytes:
        with self._lock:
            self._made += 1
            made = self._made
        return self._texts[made % BODIES].replace(b"@@@@", f"r{self._seed}-{made}-".encode())


def send(connection: http.client.HTTPConnection, body: bytes) -> None:
    connection.request("POST", "/v1/outcomes", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    told = answer.read()
    assert answer.status == 202, told


def saturated(server: Process, bodies: Bodies, batches: int) -> tuple[float, float]:
    """(outcomes a second by the clock, CPU microseconds an outcome) of a round."""
    prepared = [bodies.next() for _ in range(batches)]
    cpu, began = server.cpu_s(), time.perf_counter()

    def work(part: list[bytes]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        for body in part:
            send(connection, body)
        connection.close()

    threads = [threading.Thread(target=work, args=(prepared[n::CONNECTIONS],)) for n in range(CONNECTIONS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    wall = time.perf_counter() - began
    outcomes = batches * BATCH
    return outcomes / wall, (server.cpu_s() - cpu) / outcomes * 1e6


def offered(server: Process, bodies: Bodies, seconds: float) -> tuple[list[float], tuple[float, float]]:
    """(seconds from the moment at which a batch was due to its answer, most memory) at a steady rate."""
    every_s = BATCH / OFFERED_PER_S
    batches = int(seconds / every_s)
    prepared = [bodies.next() for _ in range(batches)]
    taken: list[float] = []
    most_mb = (0.0, 0.0)
    began = time.perf_counter() + 0.1

    def work(first: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        for n in range(first, batches, CONNECTIONS):
            due = began + n * every_s
            time.sleep(max(0.0, due - time.perf_counter()))
            send(connection, prepared[n])
            taken.append(time.perf_counter() - due)
        connection.close()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(CONNECTIONS)]
    for each in threads:
        each.start()
    while any(each.is_alive() for each in threads):
        now_mb = server.rss_mb()
        most_mb = max(most_mb[0], now_mb[0]), max(most_mb[1], now_mb[1])
        time.sleep(0.2)
    return taken, most_mb


@contextmanager
def listening(port: int, streams: int) -> Iterator[list[int]]:
    """So many streams of events; the list holds how many bytes each got."""
    got = [0] * streams
    places: list[socket.socket] = []

    def read(n: int, place: socket.socket) -> None:
        while chunk := place.recv(65_536):
            got[n] += len(chunk)

    threads = []
    for n in range(streams):
        place = socket.create_connection(("127.0.0.1", port))
        place.sendall(f"GET /v1/events/sse HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        places.append(place)
        threads.append(threading.Thread(target=read, args=(n, place), daemon=True))
        threads[-1].start()
    time.sleep(1.0)
    try:
        yield got
    finally:
        for place in places:
            place.shutdown(socket.SHUT_RDWR)
            place.close()
        for each in threads:
            each.join(5)


def stored(home: Path) -> int:
    """Outcomes in the store once the server is gone."""
    with Runtime.open(home=home) as runtime:
        runtime.drain()
        counted = runtime.store.sum_by("outcomes", (), ("count:*",))
    return int(str(counted[0]["count:*"]))


def looked_at(folder: Path, count: int) -> tuple[list[float], list[float], float]:
    """Milliseconds of each look at the overview of `count` outcomes: by the clock, by the CPU of the process that
    serves, and by the clock where nothing has happened since the last one."""
    history.main(count, folder)
    port = free_port()
    command = [sys.executable, "-m", "ratchet", "--home", str(folder), "serve", "--port", str(port), "--workers", "0"]
    clock, cpu = [], []
    with running(command, port) as server:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for n in range(LOOKS):
            send(connection, json.dumps([{"id": f"look-{n}", "agent": "a", "ok": True}]).encode())
            time.sleep(1.0)  # it is stored by the process beside
            clock_ms, cpu_ms = _look(connection, server)
            clock.append(clock_ms)
            cpu.append(cpu_ms)
        again = min(_look(connection, server)[0] for _ in range(LOOKS))
        connection.close()
    return clock, cpu, again


def _look(connection: http.client.HTTPConnection, server: Process) -> tuple[float, float]:
    cpu, began = server.cpu_s(), time.perf_counter()
    connection.request("GET", "/", headers={"Accept": "text/html"})
    answer = connection.getresponse()
    told = answer.read()
    assert answer.status == 200, told
    return (time.perf_counter() - began) * 1e3, (server.cpu_s() - cpu) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long outcomes are offered")
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--history", type=int, default=1_000_000, help="outcomes below the overview page")
    parser.add_argument("--batches", type=int, default=40, help="of a round at full speed")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        publish("serve", measured(Path(folder), given))


def measured(folder: Path, given: argparse.Namespace) -> list[Figure]:
    home, bare_port, port = folder / "home", free_port(), free_port()
    bare_command = [sys.executable, "-c", BARE, str(bare_port), str(folder / "bare.jsonl")]
    command = [sys.executable, "-m", "ratchet", "--home", str(home), "serve", "--port", str(port), "--workers", "0"]
    bodies = Bodies(1)
    sent = 0
    with running(bare_command, bare_port) as bare, running(command, port) as server:
        bare_rounds, rounds = [], []
        for _ in range(ROUNDS + 1):  # the first warms up
            bare_rounds.append(saturated(bare, bodies, given.batches))
            rounds.append(saturated(server, bodies, given.batches))
            sent += given.batches * BATCH
        taken_bare, _ = offered(bare, bodies, given.seconds)
        with listening(port, given.streams) as got:
            taken, most_mb = offered(server, bodies, given.seconds)
            sent += len(taken) * BATCH
        heard = sum(each > 200 for each in got)
    kept = stored(home)
    best, best_bare = max(rounds[1:]), max(bare_rounds[1:])
    cpu, cpu_bare = min(each[1] for each in rounds[1:]), min(each[1] for each in bare_rounds[1:])
    p99, p99_bare = (statistics.quantiles(each, n=100)[98] * 1e3 for each in (taken, taken_bare))
    clock, looks_cpu, again = looked_at(folder / "history", given.history)
    return [
        at_least(
            "outcomes taken a second, batches of 500", best[0], 10_000, unit="/s", baseline=f"{best_bare[0]:,.0f}/s"
        ),
        at_least("the same over a bare endpoint", best[0] / best_bare[0], 0.5, unit="x", baseline="parse, append"),
        Figure(name="CPU of the serving process an outcome", measured=f"{cpu:.1f} us", baseline=f"{cpu_bare:.1f} us"),
        at_least("CPU of a bare endpoint over it", cpu_bare / cpu, 0.5, unit="x", baseline="parse, append"),
        at_most(f"p99 at 10,000/s, {given.streams} streams", p99, 100, unit="ms", baseline=f"bare {p99_bare:.0f} ms"),
        Figure(name="streams that heard of it", measured=f"{heard} of {given.streams}", holds=heard == given.streams),
        at_most("outcomes lost", sent - kept, 0, unit=f"of {sent:,}"),
        at_most(
            "memory, with the process that drains",
            sum(most_mb),
            200,
            unit="MB",
            baseline=f"the server alone {most_mb[0]:.0f} MB",
        ),
        at_most(
            f"overview page at {given.history:,} outcomes",
            min(clock),
            200,
            unit="ms",
            baseline=f"unchanged {again:.0f} ms",
        ),
        Figure(name="  the first look; CPU of the best", measured=f"{clock[0]:.0f} ms; {min(looks_cpu):.0f} ms"),
    ]


if __name__ == "__main__":
    main()

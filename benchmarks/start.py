"""Commands as whole processes against `python -c pass` of the same interpreter.

Every figure is CPU time (user and system) as a multiple of the baseline's in the same run; medians over interleaved
rounds after one that is not counted, which compiles what was not compiled yet. `ratchet mcp` is
measured to the moment at which its answer to `initialize` has been read.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from figures import Figure, at_most, publish

ENVIRON = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
RATCHET = str(Path(sys.executable).with_name("ratchet"))
PASS, SERVER, ASKED, HELD = "python -c pass", "import mcp.server", "mcp to its answer", "the sandbox itself"
ERROR = "fatal: The current branch topic has no upstream branch."
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
# Learns what the demo learns; prints whether a sandbox holds here.
_PREPARE = """
import sys
from pathlib import Path
from ratchet.cli.demo import HISTORY
from ratchet.errors import Refused
from ratchet.runtime import Runtime

with Runtime.open(home=Path(sys.argv[1])) as runtime:
    runtime.learn([HISTORY])
    try:
        print(runtime.sandboxes.chosen().name)
    except Refused:
        pass
"""
# Runs one command in the sandbox and prints the seconds of CPU of this process: the rest is the sandbox itself.
_SANDBOX = """
import atexit, resource
own = lambda: resource.getrusage(resource.RUSAGE_SELF)
atexit.register(lambda: print(own().ru_utime + own().ru_stime))
import sys
from pathlib import Path
from ratchet.runtime import Runtime
from ratchet.sandbox.command import Command, View

with Runtime.open(home=Path(sys.argv[1])) as runtime:
    runtime.sandboxes.run(Command(argv=("true",), view=View(folder=Path(sys.argv[2]))))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="start-bench-") as folder:
        home, work = Path(folder, "home"), Path(folder, "work")
        work.mkdir()
        prepared = [sys.executable, "-c", _PREPARE, str(home)]
        sandbox = subprocess.run(prepared, check=True, capture_output=True).stdout.strip()
        taken = _interleaved(_cases(home, work if sandbox else None), rounds)
    base, server = taken[PASS], taken[SERVER]
    baseline = f"{PASS}: {base:.1f} ms"

    def figure(name: str, limit: float, *, less: float = 0.0) -> Figure:
        return at_most(name, (taken[name] - less) / base, limit, baseline=baseline)

    figures = [
        figure("import ratchet", 1.2),
        figure("ratchet version", 6),
        figure("ratchet --help", 6),
        *(figure(name, 12) for name in ("ratchet recall", "ratchet patterns", "ratchet lessons list")),
    ]
    if sandbox:
        own = taken[HELD]
        figures.append(figure("ratchet sandbox exec -- true", 12, less=own))
        figures.append(Figure(name="the sandbox itself, left out above", measured=f"{own:.0f} ms", baseline=baseline))
    figures.append(at_most(ASKED, taken[ASKED] / server, 1.25, baseline=f"{SERVER}: {server:.0f} ms"))
    return publish("start", figures)


def _cases(home: Path, work: Path | None) -> dict[str, Callable[[], float]]:
    here = [RATCHET, "--home", str(home)]
    commands = {
        PASS: [sys.executable, "-c", "pass"],
        "import ratchet": [sys.executable, "-c", "import ratchet"],
        "ratchet version": [RATCHET, "version"],
        "ratchet --help": [RATCHET, "--help"],
        "ratchet recall": [*here, "recall", ERROR],
        "ratchet patterns": [*here, "patterns"],
        "ratchet lessons list": [*here, "lessons", "list"],
        SERVER: [sys.executable, "-c", "import mcp.server"],
    }
    if work is not None:
        commands["ratchet sandbox exec -- true"] = [*here, "sandbox", "exec", "--workdir", str(work), "--", "true"]
    cases: dict[str, Callable[[], float]] = {
        name: lambda command=command: _run(command)  # type: ignore[misc]
        for name, command in commands.items()
    }
    if work is not None:
        alone = [sys.executable, "-c", _SANDBOX, str(home), str(work)]
        cases[HELD] = lambda: _besides(alone)
    cases[ASKED] = lambda: _asked([*here, "mcp"])
    return cases


def _run(command: list[str]) -> float:
    """CPU milliseconds of a command and all that it waited for."""
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1)]
    child = os.posix_spawn(command[0], command, ENVIRON, file_actions=quiet)
    _, status, usage = os.wait4(child, 0)
    assert status == 0, (command, status)
    return _cpu_ms(usage)


def _besides(command: list[str]) -> float:
    """CPU milliseconds of the processes that a command starts; it prints its own seconds last."""
    asked = subprocess.Popen(command, stdout=subprocess.PIPE, env=ENVIRON)
    assert asked.stdout is not None
    own = float(asked.stdout.read())
    _, asked.returncode, usage = os.wait4(asked.pid, 0)
    asked.stdout.close()
    return _cpu_ms(usage) - own * 1000


def _asked(command: list[str]) -> float:
    """CPU milliseconds of a server until it has answered `initialize`. It is ended then, so that the little it does
    until the signal comes counts, too."""
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRON)
    assert server.stdin is not None
    assert server.stdout is not None
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    server.stdin.write(json.dumps(asked).encode() + b"\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    assert answer["result"]["serverInfo"]["name"] == "ratchet", answer
    os.kill(server.pid, signal.SIGKILL)
    _, status, usage = os.wait4(server.pid, 0)
    server.returncode = status
    server.stdin.close()
    server.stdout.close()
    return _cpu_ms(usage)


def _cpu_ms(usage: resource.struct_rusage) -> float:
    return (usage.ru_utime + usage.ru_stime) * 1000


def _interleaved(cases: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for case in cases.values():
        case()
    for _ in range(rounds):
        for name, case in cases.items():
            taken[name].append(case())
    return {name: statistics.median(each) for name, each in taken.items()}


if __name__ == "__main__":
    main()

"""Whoever is killed, nothing of a sandbox is left: no process, no foreign owner, no planted repository."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.errors import SandboxError
from ratchet.ports import Sandbox
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.bubblewrap import Bubblewrap
from ratchet.sandbox.command import Command, Limits, View
from ratchet.sandbox.landlock import Landlock
from ratchet.sandbox.probe import probe
from ratchet.sandbox.running import KEEPER
from support.sandboxes import working

PROGRAM = """
import os, sys, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", sys.argv[1]])
        os._exit(0)
open("started", "w").close()
time.sleep(500)
"""
RATCHET = """
import sys
from pathlib import Path
from ratchet.sandbox.command import Command, Limits, View
from ratchet.sandbox.bubblewrap import Bubblewrap
from ratchet.sandbox.landlock import Landlock
sandbox = {"bubblewrap": Bubblewrap, "landlock": Landlock}[sys.argv[1]]()
sandbox.run(Command(argv=("python", "-c", sys.argv[3], sys.argv[4]), view=View(folder=Path(sys.argv[2]))))
"""


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return working(Bubblewrap() if request.param == "bubblewrap" else Landlock())


@pytest.fixture
def work() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="crash-"))
    folder.chmod(0o755)
    (folder / "work").mkdir()
    yield folder / "work"
    remove_tree(folder)


def marker(salt: int) -> str:
    """A time to sleep that no other process has."""
    return f"{500 + os.getpid() % 1000}.{salt}{time.monotonic_ns() % 100_000}"


def alive(mark: str) -> list[int]:
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdecimal():
            try:
                words = (each / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if mark.encode() in words and int(each.name) != os.getpid():
                found.append(int(each.name))
    return found


def until(claim: str, holds: object, *, patience_s: float = 20.0) -> None:
    assert callable(holds)
    deadline = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < deadline, claim
        time.sleep(0.02)


def started(sandbox: Sandbox, work: Path, mark: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", RATCHET, sandbox.name, str(work), PROGRAM, mark])
    until("the command starts", lambda: (work / "started").exists() and len(alive(mark)) >= 4)
    return process


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_killing_ratchet_ends_the_whole_tree_and_gives_the_folder_back(sandbox: Sandbox, work: Path) -> None:
    mark = marker(1)
    process = started(sandbox, work, mark)
    process.kill()
    process.wait()
    until("every process is gone", lambda: not alive(mark))
    until("the folder is its owner's", lambda: all(p.stat().st_uid == os.getuid() for p in (work, work / "started")))


def test_killing_the_keeper_or_the_supervisor_ends_the_whole_tree(sandbox: Sandbox, work: Path) -> None:
    for depth in (1, 2):
        mark = marker(depth)
        process = started(sandbox, work, mark)
        victim = process.pid
        for _ in range(depth):
            victim = children(victim)[0]
        os.kill(victim, signal.SIGKILL)
        if depth == 1:
            process.kill()  # without its keeper, the supervisor sees that Ratchet is gone
        process.wait(timeout=30)
        until("every process is gone", lambda mark=mark: not alive(mark))
        (work / "started").unlink()


def test_a_thread_that_ends_takes_no_sandbox_along() -> None:
    """bubblewrap dies with the thread that started it; ours lives as long as Ratchet."""
    import threading

    found = probe(Bubblewrap(), quick=True)
    if not found.works:
        pytest.skip(found.note)
    KEEPER.close()
    with tempfile.TemporaryDirectory() as folder:
        command = Command(argv=("sh", "-c", "echo yes"), view=View(folder=Path(folder)), limits=Limits(wall_s=20))
        first = threading.Thread(target=lambda: Bubblewrap().run(command))
        first.start()
        first.join()
        assert Bubblewrap().run(command).stdout == b"yes\n"


def test_a_supervisor_that_is_killed_is_an_error_and_the_next_run_works(work: Path) -> None:
    import threading

    found = probe(Bubblewrap(), quick=True)
    if not found.works:
        pytest.skip(found.note)
    mark = marker(9)
    errors: list[BaseException] = []

    def runs() -> None:
        try:
            Bubblewrap().run(Command(argv=("python", "-c", PROGRAM, mark), view=View(folder=work)))
        except SandboxError as error:
            errors.append(error)

    thread = threading.Thread(target=runs)
    thread.start()
    until("the command starts", lambda: len(alive(mark)) >= 4)
    process = KEEPER._process
    assert process is not None
    for supervisor in children(process.pid):
        os.kill(supervisor, signal.SIGKILL)
    thread.join(timeout=30)
    assert len(errors) == 1
    until("every process is gone", lambda: not alive(mark))
    assert Bubblewrap().run(Command(argv=("true",), view=View(folder=work))).exit_code == 0


def test_a_cancelled_command_ends_at_once(sandbox: Sandbox, work: Path) -> None:
    mark = marker(7)
    command = Command(argv=("python", "-c", PROGRAM, mark), view=View(folder=work))
    ran = sandbox.run(command, cancelled=lambda: (work / "started").exists())
    assert (ran.killed, ran.exit_code) == ("cancel", 125)
    assert not alive(mark)

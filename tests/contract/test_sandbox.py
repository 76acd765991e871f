"""The abuse suite over every sandbox that this machine can have: each abuse is held, each honest program works."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.ports import Sandbox
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.bubblewrap import Bubblewrap
from ratchet.sandbox.command import Command, Limits, View
from ratchet.sandbox.landlock import Landlock
from ratchet.sandbox.plan import sandbox_uid
from ratchet.testing.abuse_suite import CASES, Case, problems
from support.sandboxes import working

SANDBOXES: dict[str, Sandbox] = {"bubblewrap": Bubblewrap(), "landlock": Landlock()}
LACKS = {"landlock": frozenset({"namespaces"})}


@pytest.fixture(scope="session", params=SANDBOXES)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return working(SANDBOXES[request.param])


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """An empty folder that every user reaches: what keeps the attack away must be the sandbox."""
    folder = Path(tempfile.mkdtemp(prefix="abuse-"))
    folder.chmod(0o755)
    yield folder
    remove_tree(folder)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_sandbox_holds_the_abuse_and_lets_honest_work_pass(sandbox: Sandbox, case: Case, open_folder: Path) -> None:
    if case.needs & LACKS.get(sandbox.name, frozenset()):
        pytest.skip(f"{sandbox.name} has no namespaces, which this case needs")
    assert problems(sandbox, case, open_folder) == []


@contextlib.contextmanager
def neighbour(code: str) -> Iterator[int]:
    """A process of the sandbox's user that says when its code has run, and then waits."""
    uid = sandbox_uid() or -1
    start = f"import os, threading, time\nos.setresuid({uid}, {uid}, {uid})\n"
    end = "\nprint(flush=True)\ninput()"
    argv = [sys.executable, "-c", start + code + end]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        try:
            yield process.pid
        finally:
            process.kill()


def test_what_else_its_user_runs_is_not_charged_to_a_command(sandbox: Sandbox, open_folder: Path) -> None:
    """The kernel counts the threads of a user, wherever they run; a desktop has thousands."""
    threads = "for _ in range(200): threading.Thread(target=time.sleep, args=(60,)).start()"
    forks = "import os\nfor _ in range(8): os.fork() or os._exit(0)\n"
    command = Command(argv=("python", "-c", forks), view=View(folder=open_folder), limits=Limits(pids=32))
    with neighbour(threads):
        ran = sandbox.run(command)
    assert (ran.exit_code, ran.stderr) == (0, b"")


def test_no_command_changes_how_other_processes_of_its_user_run(sandbox: Sandbox, open_folder: Path) -> None:
    code = """
import contextlib, ctypes, os, resource, sys
pid, x86 = int(sys.argv[1]), os.uname().machine == "x86_64"
idle = os.sched_param(0)
for attempt in (
    lambda: os.setpriority(os.PRIO_PROCESS, pid, 19), lambda: os.setpriority(os.PRIO_PGRP, os.getpgid(pid), 19),
    lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19), lambda: os.setpriority(os.PRIO_USER, 0, 19),
    lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, idle), lambda: os.sched_setaffinity(pid, {0}),
    lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (9, 9)),
    lambda: ctypes.CDLL(None).syscall(251 if x86 else 30, 1, pid, 3 << 13),
    lambda: ctypes.CDLL(None).syscall(251 if x86 else 30, 3, os.getuid(), 3 << 13),
):
    with contextlib.suppress(OSError): attempt()
os.nice(1), os.sched_setaffinity(0, os.sched_getaffinity(0))  # its own
"""

    def told(pid: int) -> tuple[object, ...]:
        get = 252 if platform.machine() == "x86_64" else 31  # ioprio_get
        return (
            *(os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid), os.sched_getaffinity(pid)),
            *(ctypes.CDLL(None).syscall(get, 1, pid), Path(f"/proc/{pid}/limits").read_text()),
        )

    with neighbour("") as pid:
        before = told(pid)
        ran = sandbox.run(Command(argv=("python", "-c", code, str(pid)), view=View(folder=open_folder)))
        assert (ran.exit_code, ran.stderr) == (0, b"")
        assert told(pid) == before


def test_no_pair_of_sockets_reaches_one_outside_and_no_folder_outside_is_watched(
    sandbox: Sandbox, open_folder: Path
) -> None:
    outside = Path(tempfile.mkdtemp(prefix="outside-"))
    code = """
import ctypes, os, socket, sys, time
libc, x86 = ctypes.CDLL(None), os.uname().machine == "x86_64"
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW):
    for path in (sys.argv[1] + "/socket", "socket"):
        for reach in (lambda one: one.sendto(b"x", path), lambda one: one.connect(path), lambda one: one.bind("own")):
            try: reach(socket.socketpair(socket.AF_UNIX, kind)[0])
            except OSError: pass
watched = libc.inotify_init1(os.O_NONBLOCK)
libc.inotify_add_watch(watched, sys.argv[1].encode(), 0xFFF)
print("ready", flush=True)
time.sleep(1)
try: print(os.read(watched, 4096))
except OSError: pass
"""
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as host:
        host.bind(str(outside / "socket"))
        (outside / "socket").chmod(0o777)
        host.settimeout(0.1)
        writer = threading.Timer(0.5, (outside / "private name").touch)
        writer.start()
        ran = sandbox.run(Command(argv=("python", "-c", code, str(outside)), view=View(folder=open_folder)))
        writer.join()
        assert (ran.exit_code, ran.stdout) == (0, b"ready\n")
        with pytest.raises(TimeoutError):
            host.recv(1)
    remove_tree(outside)


def test_a_script_may_open_its_streams_by_their_names(sandbox: Sandbox, open_folder: Path) -> None:
    script = "cat /dev/stdin > /dev/stdout; echo wrong > /dev/stderr"
    ran = sandbox.run(Command(argv=("sh", "-c", script), view=View(folder=open_folder), stdin=b"given\n"))
    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, b"given\n", b"wrong\n")


def test_a_command_that_is_paused_stands_still_with_all_its_processes_and_goes_on(
    sandbox: Sandbox, open_folder: Path
) -> None:
    """A clock of three processes: while it is paused none of them moves, and the time is not the command's."""
    clock = "import time\nfor n in range(30):\n    open('%s','a').write('x')\n    time.sleep(0.05)\n"
    script = (
        "import subprocess, sys\n"
        f"made = [subprocess.Popen([sys.executable, '-c', {clock!r} % name]) for name in 'abc']\n"
        "sys.exit(sum(each.wait() for each in made))\n"
    )
    places = [open_folder / name for name in "abc"]
    began = time.monotonic()
    seen: list[tuple[float, list[int]]] = []

    def paused() -> bool:
        sizes = [each.stat().st_size if each.exists() else 0 for each in places]
        seen.append((time.monotonic(), sizes))
        if not holding and min(sizes) >= 3:
            holding.append(time.monotonic())
        return bool(holding) and time.monotonic() - holding[0] < 4

    holding: list[float] = []
    limits = Limits(wall_s=60, idle_s=3)
    ran = sandbox.run(
        Command(argv=("python", "-c", script), view=View(folder=open_folder), limits=limits), paused=paused
    )
    assert (ran.exit_code, ran.killed, ran.stderr) == (0, "", b"")
    assert [each.stat().st_size for each in places] == [30, 30, 30]
    still = [sizes for at, sizes in seen if 1.5 < at - holding[0] < 3.8]
    assert len(still) > 5
    assert all(sizes == still[0] for sizes in still)
    assert time.monotonic() - began >= 4


def test_a_command_that_is_paused_can_be_cancelled(sandbox: Sandbox, open_folder: Path) -> None:
    asked = iter([False] * 8)
    ran = sandbox.run(
        Command(argv=("sh", "-c", "sleep 60 & sleep 60"), view=View(folder=open_folder)),
        paused=lambda: True,
        cancelled=lambda: next(asked, True),
    )
    assert ran.killed == "cancel"


def test_the_folder_of_the_script_that_runs_ratchet_is_not_shown(sandbox: Sandbox, open_folder: Path) -> None:
    script, work = open_folder / "app" / "agent.py", open_folder / "work"
    for folder in (script.parent, work):
        folder.mkdir(mode=0o755)
    (script.parent / ".env").write_text("KEY=secret\n")
    script.write_text(
        f"from pathlib import Path\nfrom {type(sandbox).__module__} import {type(sandbox).__name__} as Sandbox\n"
        "from ratchet.sandbox.command import Command, View\n"
        f"command = Command(argv=('cat', {str(script.parent / '.env')!r}), view=View(folder=Path({str(work)!r})))\n"
        "ran = Sandbox().run(command)\nprint(ran.exit_code, ran.stdout.decode())\n"
    )
    done = subprocess.run([sys.executable, script], cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_right_answers_of_shipped_tasks_are_not_shown_though_the_package_is(
    sandbox: Sandbox, open_folder: Path
) -> None:
    program = (
        "import os, ratchet, ratchet.records\n"
        "top = os.path.dirname(ratchet.__file__)\n"
        "for place in ('bench/core', 'tasks/library', 'demo/agent'):\n"
        "    for above, _, names in os.walk(os.path.join(top, place)):\n"
        "        for name in names:\n"
        "            try:\n"
        "                open(os.path.join(above, name)).close()\n"
        "                print('read', above, name)\n"
        "            except OSError:\n"
        "                continue\n"
    )
    ran = sandbox.run(Command(argv=("python", "-c", program), view=View(folder=open_folder)))
    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, b"", b"")


def test_the_suite_has_fifty_cases_at_least_each_with_its_control() -> None:
    assert len({case.name for case in CASES}) >= 50
    assert all(case.honest.strip() for case in CASES)

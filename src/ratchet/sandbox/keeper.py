"""The process that all sandboxes of one Ratchet descend from: small, with one thread, so that it may fork at any time.

It lives as long as Ratchet does. Forking a supervisor from it costs a millisecond where a new interpreter costs twenty;
and `--die-with-parent`, which follows the thread that started bubblewrap, has a thread to follow that never ends early.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import traceback
from typing import NoReturn

from ratchet.errors import SandboxError
from ratchet.sandbox import cgroup, kernel, plan
from ratchet.sandbox.supervisor import supervise


def main() -> NoReturn:
    """Take jobs from the socket that is standard input until Ratchet closes it or is gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # Ratchet decides when it ends; a Ctrl-C reaches both
    with contextlib.suppress(OSError):
        # What a dead supervisor leaves comes here, to be ended; without it, to the machine's first process.
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    control = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    ratchet = _ratchet(int(sys.argv[2]))
    supervisors: set[int] = set()
    while True:
        ready = select.select([control.fileno(), *ratchet], [], [], 1.0)[0]
        _reap(supervisors)
        if any(each in ready for each in ratchet):
            break
        if not ready:
            continue
        _, passed, _, _ = socket.recv_fds(control, 1, 2)
        if not passed:
            break
        for descriptor in passed:
            os.set_inheritable(descriptor, False)  # nothing of ours may be open in a sandbox
        _fork_supervisor(passed, supervisors, control, ratchet)
    control.close()
    while supervisors:  # each sees by itself that Ratchet is gone
        _reap(supervisors, wait=True)
    os._exit(0)


def _ratchet(pid: int) -> list[int]:
    """A descriptor that becomes readable when Ratchet is gone: a process that it forked may hold the socket open."""
    with contextlib.suppress(OSError, AttributeError):  # before Linux 5.3, and elsewhere, the socket has to do
        opened = os.pidfd_open(pid)
        if os.getppid() != pid:
            os._exit(0)
        return [opened]
    return []


def _fork_supervisor(passed: list[int], supervisors: set[int], control: socket.socket, ratchet: list[int]) -> None:
    if not supervisors:
        cgroup.sweep()  # finds out where groups can be made, too: once, here, for every supervisor
    pid = os.fork()
    if pid:
        supervisors.add(pid)
        for descriptor in passed:
            os.close(descriptor)
        return
    try:
        control.close()
        channel = socket.socket(fileno=passed[0])
        _serve(channel, passed[1] if len(passed) > 1 else -1, ratchet)
    except BaseException:  # noqa: BLE001  (the edge of this process: it must not return into the keeper's loop)
        traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(0)


def _serve(channel: socket.socket, stdin: int, ratchet: list[int]) -> None:
    with contextlib.suppress(OSError):
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    frame = plan.received(channel)
    if frame is None:
        return
    try:
        supervise(channel, plan.loaded(frame[1]), stdin, ratchet)
    except (SandboxError, OSError) as error:
        with contextlib.suppress(ConnectionError):
            channel.sendall(plan.framed(plan.BROKEN, str(error).encode("utf-8", "surrogateescape")))


def _reap(supervisors: set[int], *, wait: bool = False) -> None:
    """Forget supervisors that ended, and end the orphans of one that was killed."""
    killed = False
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, 0 if wait else os.WNOHANG)
            if not pid:
                break
            killed = killed or (pid in supervisors and status != 0)
            supervisors.discard(pid)
            if wait:
                break
    for orphan in _children() - supervisors:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(orphan, signal.SIGKILL)
    if killed:
        cgroup.sweep()


def _children() -> set[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return set(map(int, file.read().split()))
    except OSError:
        return set()

"""One job from start to end: feeds it, collects what it says, watches its limits, ends all of it, leaves nothing.

Runs in a process of its own, forked from the keeper for this one job; it goes on to a clean end when Ratchet is gone.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import select
import socket
import time
from dataclasses import dataclass, field

from ratchet.errors import SandboxError
from ratchet.sandbox import environments, growth, ownership, plan
from ratchet.sandbox.command import Killed
from ratchet.sandbox.growth import Growth, Survey
from ratchet.sandbox.launching import Started, start
from ratchet.sandbox.output import Output, rest_of
from ratchet.sandbox.plan import Plan
from ratchet.sandbox.processes import Processes

_MB = 1_048_576
_LOOK_S = 0.05
_SLOW_LOOK_S = 0.2  # where a look costs more than a tenth of the pause between two
_IDLE_SHARE = 0.02
_MEMORY_FOLDERS = ("/tmp", "/dev/shm", "/home/sandbox")  # noqa: S108  (inside the sandbox)
_CHUNK = 65_536


@dataclass(slots=True)
class SupervisedJob:
    """State of the one job of this process."""

    plan: Plan
    output: Output
    word: int
    """Readable when Ratchet wants the command ended."""
    stdin: int
    ratchet: list[int]
    """Readable once Ratchet is gone."""
    started_s: float = field(default_factory=time.monotonic)
    killed: Killed = ""
    cpu_s: float = 0.0
    memory_bytes: int = 0
    removed: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    spoke_s: float = 0.0
    spoke_cpu_s: float = 0.0


def supervise(channel: socket.socket, made: Plan, stdin: int, ratchet: list[int]) -> None:
    """Run a plan and send its frames. Raises SandboxError where it cannot be set up."""
    output = Output(channel, made.limits.output_kb * 1024, wrapped=made.means == "bubblewrap")
    job = SupervisedJob(plan=made, output=output, word=channel.fileno(), stdin=stdin, ratchet=ratchet)
    uid = plan.sandbox_uid()
    if os.geteuid() == 0 and uid is None and made.means != "plain":
        raise SandboxError("no unprivileged user exists in this container: run Ratchet as a user other than root")
    root = os.open(made.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    skip = frozenset(map(os.fsencode, made.closed))
    before, mode = growth.survey(root, skip=skip), os.fstat(root).st_mode
    if made.means == "plain":
        uid = None
    hidden = _hidden(root, before) if made.in_place else []
    had = ownership.give(root, uid, before, skip) if uid is not None and made.in_place else None
    try:
        environments.check_closed(root, made.closed)
        watched = Growth(root, before, made.limits, skip)
        ended = _run(job, uid, hidden, watched)
        if made.in_place:
            job.removed = growth.harmless(root, before, skip)
    finally:
        if made.in_place:
            job.removed += environments.distrust(root, made.closed)
        if had is not None and uid is not None:
            ownership.take_back(root, uid, had, skip)
        ownership.open_again(root, mode)
    output.finish(plan.RESULT, json.dumps(_result(job, ended)).encode("utf-8", "surrogateescape"))


def _hidden(root: int, before: Survey) -> list[str]:
    """List what the command must not see of the folder: repositories, and the doors of programs outside."""
    return sorted(map(os.fsdecode, {*before.repositories, *growth.answered(root, before.sockets)}))


@dataclass(frozen=True, slots=True)
class _Ended:
    code: int
    signal: int | None


def _result(job: SupervisedJob, ended: _Ended) -> dict[str, object]:
    return {
        "exit_code": ended.code,
        "signal": ended.signal,
        "killed": job.killed,
        "truncated": job.output.truncated,
        "wall_s": time.monotonic() - job.started_s,
        "cpu_s": job.cpu_s,
        "max_memory_mb": job.memory_bytes / _MB,
        "removed": job.removed,
        "refused": job.refused,
    }


def _run(job: SupervisedJob, uid: int | None, hidden: list[str], watched: Growth) -> _Ended:
    out, out_end = os.pipe()
    err, err_end = os.pipe()
    in_end, feed = os.pipe() if job.stdin >= 0 else (os.open(os.devnull, os.O_RDONLY), -1)
    job.started_s = job.spoke_s = time.monotonic()
    started = start(job.plan, (in_end, out_end, err_end), uid, hidden)
    for each in (in_end, out_end, err_end):
        os.close(each)
    processes = Processes(started.first, namespace=started.namespace)
    streams = {out: plan.STDOUT, err: plan.STDERR}
    try:
        job.killed = _Loop(job, started, processes, watched, streams, feed).until_end()
    finally:
        processes.end()
        usage = _waited(started)
        job.killed = job.killed or _late(started, watched)
        if started.memory is not None:
            started.memory.remove()
        if started.proxy is not None:
            job.refused = started.proxy.end()
    if not job.output.drain(streams):
        job.killed = job.killed or "output"
    job.cpu_s = max(job.cpu_s, usage.cpu_s)
    job.memory_bytes = max(job.memory_bytes, usage.memory_bytes)
    return _ended(job, started, usage.status)


@dataclass(frozen=True, slots=True)
class _Usage:
    status: int
    cpu_s: float
    memory_bytes: int


def _waited(started: Started) -> _Usage:
    """Wait for the first process; where the namespace is another's, its death takes all the rest along."""
    if started.namespace:
        # The monitor ends by itself once its child is gone; a monitor that hangs is ended.
        gone = time.monotonic() + 10
        while time.monotonic() < gone:
            pid, status, usage = os.wait4(started.pid, os.WNOHANG)
            if pid:
                return _Usage(status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
            time.sleep(0.0005)
        os.kill(started.pid, 9)
    try:
        _, status, usage = os.wait4(started.pid, 0)
    except ChildProcessError:  # reaped with the others
        return _Usage(9, 0.0, 0)
    return _Usage(status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def _late(started: Started, watched: Growth) -> Killed:
    """Name what passed a limit in the last moment before the command ended by itself."""
    if started.memory is not None and started.memory.killed:
        return "memory"
    return watched.exceeded(None, surely=True)


class _Loop:
    """Waits for whatever comes first: output, room for input, a word from Ratchet, the end, or the next look."""

    def __init__(
        self,
        job: SupervisedJob,
        started: Started,
        processes: Processes,
        watched: Growth,
        streams: dict[int, bytes],
        feed: int,
    ) -> None:
        self._job = job
        self._started = started
        self._processes = processes
        self._watched = watched
        self._streams = streams
        self._feed = feed
        self._input = b""
        self._paused_at = self._deadline = 0.0
        self._poll = select.poll()
        for stream in streams:
            self._poll.register(stream, select.POLLIN)
        for word in (job.word, *job.ratchet):
            self._poll.register(word, select.POLLIN)
        self._end = _ends(started.pid)
        if self._end >= 0:
            self._poll.register(self._end, select.POLLIN)
        if feed >= 0:
            os.set_blocking(feed, False)
            self._poll.register(job.stdin, select.POLLIN)

    def until_end(self) -> Killed:
        """The limit that was passed, "" where the command ended by itself."""
        limits = self._job.plan.limits
        next_look = self._job.started_s + _LOOK_S / 2
        self._deadline = self._job.started_s + limits.wall_s
        try:
            while True:
                pause = (next_look if self._paused_at else min(next_look, self._deadline)) - time.monotonic()
                for descriptor, _ in self._poll.poll(max(0.0, pause) * 1000):
                    killed = self._happened(descriptor)
                    if killed is not None:
                        return killed
                now = time.monotonic()
                if now >= self._deadline and not self._paused_at:
                    return "wall"
                if now >= next_look:
                    if (killed := self._looked(now)) or (self._end < 0 and _is_over(self._started.pid)):
                        return killed
                    next_look = _next(now)
        finally:
            if self._end >= 0:
                os.close(self._end)
            self._stop_feeding()

    def _happened(self, descriptor: int) -> Killed | None:
        """None: go on."""
        if descriptor == self._end:
            return ""
        if descriptor in self._job.ratchet:
            return "cancel"  # Ratchet is gone
        if descriptor == self._job.word:
            return self._told(os.read(self._job.word, 1))
        if descriptor in self._streams:
            return self._heard(descriptor)
        if descriptor == self._job.stdin:
            self._input = os.read(self._job.stdin, _CHUNK)
            self._poll.unregister(self._job.stdin)
            if not self._input:
                self._stop_feeding()
                return None
            self._poll.register(self._feed, select.POLLOUT)
        elif descriptor == self._feed:
            self._fed()
        return None

    def _told(self, word: bytes) -> Killed | None:
        """Do what Ratchet says. Time that the job stands still is not its own."""
        if word == plan.PAUSE:
            self._paused_at = time.monotonic()
            self._processes.stand_still()
        elif word == plan.GO_ON:
            stood_s = time.monotonic() - self._paused_at
            self._paused_at = 0.0
            self._deadline += stood_s
            self._job.spoke_s += stood_s
            self._processes.go_on()
        else:
            return "cancel"  # it says so, or has closed the channel
        return None

    def _heard(self, stream: int) -> Killed | None:
        said = os.read(stream, _CHUNK)
        if not said:
            self._poll.unregister(stream)
            return None
        self._job.spoke_s = time.monotonic()
        return None if self._job.output.keep(self._streams[stream], said) else "output"

    def _fed(self) -> None:
        try:
            self._input = self._input[os.write(self._feed, self._input) :]
        except BlockingIOError:
            return
        except OSError:  # nobody reads it any more
            self._stop_feeding()
            return
        if not self._input:
            self._poll.unregister(self._feed)
            self._poll.register(self._job.stdin, select.POLLIN)

    def _stop_feeding(self) -> None:
        if self._feed >= 0:
            with contextlib.suppress(KeyError):
                self._poll.unregister(self._feed)
            with contextlib.suppress(KeyError):
                self._poll.unregister(self._job.stdin)
            os.close(self._feed)
            self._feed = -1

    def _looked(self, now: float) -> Killed:
        job, limits = self._job, self._job.plan.limits
        job.output.hand_on()
        job.cpu_s = max(job.cpu_s, self._processes.cpu_s())
        if job.cpu_s > limits.cpu_s:
            return "cpu"
        memory = self._started.memory
        used = memory.used_bytes if memory is not None else self._processes.memory_bytes()
        job.memory_bytes = max(job.memory_bytes, used)
        if (memory is not None and memory.killed) or used > limits.memory_mb * _MB:
            return "memory"
        if passed := self._watched.exceeded(self._processes):
            return passed
        if self._started.namespace and self._processes.inodes_of_memory(_MEMORY_FOLDERS) > limits.inodes:
            return "inodes"
        if limits.idle_s is not None and not self._paused_at and self._is_idle(now, limits.idle_s):
            return "idle"
        return ""

    def _is_idle(self, now: float, idle_s: float) -> bool:
        job = self._job
        if job.cpu_s - job.spoke_cpu_s > _IDLE_SHARE * (now - job.spoke_s) + 0.02:
            job.spoke_s, job.spoke_cpu_s = now, job.cpu_s
        return now - job.spoke_s > idle_s


def _next(looked: float) -> float:
    now = time.monotonic()
    return now + (_SLOW_LOOK_S if now - looked > _LOOK_S / 10 else _LOOK_S)


def _ends(pid: int) -> int:
    """A descriptor that becomes readable when the process ends, -1 where there is no such thing."""
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return -1


def _is_over(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


_CODES: dict[str, int] = {"wall": 124, "idle": 124, "memory": 137}
_SIGKILL = 9


def _ended(job: SupervisedJob, started: Started, status: int) -> _Ended:
    """The exit code as a shell would tell it. Raises SandboxError where the command was never tried."""
    if job.killed:
        job.output.release()
        return _Ended(_CODES.get(job.killed, 125), _SIGKILL)
    if started.status is not None:
        return _ended_inside(job, started)
    assert started.failure is not None
    said = b"".join(rest_of(started.failure))
    if said and said != b".":
        fault = json.loads(said.removeprefix(b"."))
        if not said.startswith(b"."):
            raise SandboxError(f"the sandbox cannot be set up: {fault['text']}")
        return _not_started(job, fault["errno"] == 2, fault["text"])
    if os.WIFSIGNALED(status):
        return _Ended(128 + os.WTERMSIG(status), os.WTERMSIG(status))
    return _Ended(os.waitstatus_to_exitcode(status), None)


def _not_started(job: SupervisedJob, missing: bool, text: str) -> _Ended:
    said = f"ratchet: cannot start {job.plan.argv[0]}: {text}\n"
    job.output.held = b""
    job.output.keep(plan.STDERR, said.encode("utf-8", "surrogateescape"))
    return _Ended(127 if missing else 126, None)


def _ended_inside(job: SupervisedJob, started: Started) -> _Ended:
    assert started.status is not None
    for line in b"".join(rest_of(started.status)).splitlines():
        code = json.loads(line).get("exit-code")
        if code is not None:
            job.output.release()
            # bubblewrap tells a signal as 128 + n, as shells do; a command that exits so itself looks the same.
            return _Ended(code, code - 128 if 128 < code <= 128 + 64 else None)
    found = re.search(rb"bwrap: execvp .*: ([^:\n]+)\n", job.output.held)
    if found:
        text = found[1].decode("ascii", "replace")
        return _not_started(job, text == os.strerror(errno.ENOENT), text)
    fault = b"".join(rest_of(started.failure)) if started.failure is not None else b""
    text = job.output.held.decode(errors="replace").strip() or (
        json.loads(fault)["text"] if fault else "it ended early"
    )
    raise SandboxError(f"bubblewrap cannot set the sandbox up: {text}")

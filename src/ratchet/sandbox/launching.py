"""Starts the first process of a job, confined. Runs in the job's supervisor, which has one thread and may fork."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import select
import signal
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ratchet.errors import SandboxError
from ratchet.sandbox import kernel, landlock_rules, network, seccomp, staging
from ratchet.sandbox.cgroup import MemoryGroup
from ratchet.sandbox.command import Limits
from ratchet.sandbox.plan import Plan

if TYPE_CHECKING:
    from ratchet.sandbox.proxy import ProxyProcess

_MB = 1_048_576
_START_S = 30.0  # a machine that needs longer to make namespaces is broken


@dataclass(slots=True)
class Started:
    """A job's first process. `pid` is the one to wait for, `first` the one that all the others descend from."""

    pid: int
    first: int
    namespace: bool
    memory: MemoryGroup | None = None
    status: int | None = None
    """Where bubblewrap reports the exit code of a command that did start."""
    proxy: ProxyProcess | None = None
    """The way out to the domains that may be reached."""
    failure: int | None = None
    """Where the child reports why it could not start the command."""


def start(plan: Plan, streams: tuple[int, int, int], uid: int | None, hidden: list[str]) -> Started:
    """Start the command of a plan on these streams; `hidden` are paths below its folder that it must not see.

    Raises SandboxError where the confinement cannot be set up.
    """
    for each in streams:
        if uid is not None and stat.S_ISFIFO(os.fstat(each).st_mode):
            os.fchown(each, uid, -1)  # as /dev/stderr it is opened once more, by that user
    if plan.means == "bubblewrap":
        return _in_namespaces(plan, streams, uid, hidden)
    return _in_domain(plan, streams, uid)


# -- namespaces --------------------------------------------------------------------------------------------------------


def _in_namespaces(plan: Plan, streams: tuple[int, int, int], uid: int | None, hidden: list[str]) -> Started:
    memory = MemoryGroup.create(plan.limits.memory_mb * _MB)
    families = seccomp.INSIDE
    program = seccomp.program(families, memory_unseen=memory is None, shared=False)
    status, status_end = os.pipe()
    go_end, go = os.pipe()
    fault, fault_end = os.pipe()

    def child() -> NoReturn:
        os.set_inheritable(status_end, True)
        os.set_inheritable(go_end, True)
        steps = plan.steps if not hidden else [*plan.steps, *_hiding(plan, hidden)]
        path, steps = staging.staged(plan.program, steps, plan.cwd) if uid is not None else (plan.program, steps)
        arguments = _arguments(plan, steps, status_end, go_end, _in_memory(program), staged=uid is not None)
        if uid is not None:
            _become(uid)
        _die_with_parent()
        os.chdir("/")
        # Everything travels in a file: neither the host's list of processes nor /proc/1 inside shows it. The
        # environment is empty, since /proc/1/environ would show that, too.
        text = _in_memory(b"\0".join(map(os.fsencode, arguments)) + b"\0")
        os.execve(path, ["bwrap", "--args", str(text), "--", *plan.argv], {})  # noqa: S606  (no shell is the point)

    pid = _forked(child, streams, fault_end)
    for each in (status_end, go_end, fault_end):
        os.close(each)
    started = Started(pid=pid, first=0, namespace=True, memory=memory, status=status, failure=fault)
    try:
        if memory is not None:
            memory.attach(pid)  # takes the kernel 10 ms and more, while the child makes its view
        started.first = _first_process(status)
        if started.first:
            if memory is not None and not memory.holds(started.first):
                memory.attach(started.first)  # it was born while its parent was being moved
            _limit_as(uid, started.first, plan.limits)
            if plan.net.startswith(network.PREFIX):
                from ratchet.sandbox.proxy import ProxyProcess  # asyncio: only for a job that needs it

                started.proxy = ProxyProcess.start(plan.net, started.first, uid)
    except (OSError, SandboxError) as error:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        if memory is not None:
            memory.remove()
        if isinstance(error, SandboxError):
            raise
        raise SandboxError(f"the sandbox's limits cannot be set: {error}") from error
    finally:
        os.close(go)  # what waits for its limits goes on
    return started


def _hiding(plan: Plan, hidden: list[str]) -> list[list[str | int | list[str]]]:
    """Hide what is not to be seen: an empty folder, or file, stands in for each."""
    steps: list[list[str | int | list[str]]] = []
    for path in hidden:
        outside, inside = os.path.join(plan.folder, path), os.path.join(plan.cwd, path)
        if os.path.islink(outside):
            continue
        if os.path.isdir(outside):
            steps += [["tmpfs", 1, inside], ["lock", inside]]
        else:
            steps.append(["text", "", inside])
    return steps


def _first_process(status: int) -> int:
    """The process number of the namespace's first process, 0 where bubblewrap failed before that."""
    text = b""
    while not text.endswith(b"\n"):
        if not select.select([status], [], [], _START_S)[0]:
            raise OSError(errno.ETIMEDOUT, "bubblewrap does not start")
        part = os.read(status, 4096)
        if not part:
            return 0
        text += part
    return int(json.loads(text.splitlines()[0])["child-pid"])


def _arguments(
    plan: Plan, steps: list[list[str | int | list[str]]], status: int, go: int, rules: int, *, staged: bool
) -> list[str]:
    made = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if plan.net != "host":
        made.append("--unshare-net")
    made += ["--disable-userns", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox", "--cap-drop", "ALL"]
    made += ["--die-with-parent", "--new-session", "--json-status-fd", str(status), "--block-fd", str(go)]
    made += ["--seccomp", str(rules)]
    for step in steps:
        made += _held(step) if not staged and staging.is_within(step, plan.cwd) else _step(step)
    for name, value in plan.environ.items():
        made += ["--setenv", name, value]
    return [*made, "--chdir", plan.cwd]


def _step(step: list[str | int | list[str]]) -> list[str]:
    verb, *rest = step
    if verb == "overlay":
        layers, upper, scratch, at = rest
        assert isinstance(layers, list)
        sources = [word for layer in layers for word in ("--overlay-src", layer)]
        return [*sources, "--overlay", str(upper), str(scratch), str(at)]
    words = [str(word) for word in rest]
    if verb == "tmpfs":
        return ["--size", str(int(words[0]) * _MB), "--perms", "1777", "--tmpfs", words[1]]
    if verb == "text":
        return ["--ro-bind-data", str(_in_memory(os.fsencode(words[0]))), words[1]]
    flag = {"ro": "--ro-bind", "rw": "--bind", "link": "--symlink", "dir": "--dir", "lock": "--remount-ro"}
    return [flag.get(str(verb), f"--{verb}"), *words]


def _held(step: list[str | int | list[str]]) -> list[str]:
    """Hold open what is shown in the working directory, lest a link take its place before it is mounted."""
    made = staging.opened(str(step[1]), linked=False)
    os.set_inheritable(made, True)
    return ["--ro-bind-fd", str(made), str(step[2])]


def _in_memory(content: bytes) -> int:
    """A descriptor from which a child may read this, from the start."""
    made = os.memfd_create("ratchet", 0)
    os.write(made, content)
    os.lseek(made, 0, os.SEEK_SET)
    return made


# -- Landlock, and nothing ---------------------------------------------------------------------------------------------


def _in_domain(plan: Plan, streams: tuple[int, int, int], uid: int | None) -> Started:
    fault, fault_end = os.pipe()
    supervisor = os.getpid()
    confined = plan.means == "landlock"
    seen = _processes_of(uid if uid is not None and confined else os.getuid())

    def child() -> NoReturn:
        os.setsid()
        _limit(0, plan.limits)
        reading = confined and uid is not None and not _reachable(plan)
        domain = landlock_rules.prepared(plan, processes=not reading) if confined else None
        if uid is not None and confined:
            _become_reading(uid) if reading else _become(uid)
        _limit_processes(plan.limits.pids, seen)
        _die_with_parent()
        if os.getppid() != supervisor:
            os._exit(125)
        os.chdir(plan.cwd)
        if domain is not None:
            landlock_rules.enter(domain)
            families = seccomp.HOST if plan.net == "host" else seccomp.NOWHERE
            kernel.install_filter(seccomp.program(families, memory_unseen=True, shared=True))
        os.write(fault_end, b".")  # from here on a failure is the command's
        os.execvpe(plan.argv[0], plan.argv, plan.environ)  # noqa: S606  (no shell is the point)

    pid = _forked(child, streams, fault_end)
    os.close(fault_end)
    return Started(pid=pid, first=pid, namespace=False, failure=fault)


def _limit_processes(most: int, seen: int) -> None:
    """Let this process have `most` with all that it starts. The kernel's limit counts all processes and threads of the
    user, also those of other containers, which nothing here lists: how many there are is found by trying, from `seen`
    on. Raises OSError where no process can be started at all: then nothing here holds the limit."""
    low = high = seen
    while not _may_fork(high):
        if high >= _highest(resource.RLIMIT_NPROC):
            raise OSError(errno.EAGAIN, "no process can be started: this user, or the container, has too many already")
        low, high = high, 2 * high + 16
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _may_fork(middle) else (middle, high)
    limit = min(most + high, _highest(resource.RLIMIT_NPROC))
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))


def _may_fork(others: int) -> bool:
    """Tell whether this process may start another under a limit for both and `others`."""
    highest = _highest(resource.RLIMIT_NPROC)
    resource.setrlimit(resource.RLIMIT_NPROC, (min(others + 2, highest), highest))
    try:
        pid = os.fork()
    except BlockingIOError:
        return False
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True


def _processes_of(uid: int) -> int:
    """Processes of this user that can be seen from here."""
    found = 0
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        with contextlib.suppress(OSError):
            found += name.isdecimal() and os.stat(f"/proc/{name}").st_uid == uid
    return found


# -- both --------------------------------------------------------------------------------------------------------------


def _forked(child: Callable[[], NoReturn], streams: tuple[int, int, int], fault: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
            signal.signal(each, signal.SIG_DFL)
        for at, stream in enumerate(streams):
            os.dup2(stream, at, inheritable=True)
        child()
    except BaseException as error:  # noqa: BLE001  (a forked child must never return into its parent's code)
        number = error.errno if isinstance(error, OSError) else None
        text = json.dumps({"errno": number, "text": f"{error}"})
        with contextlib.suppress(OSError):
            os.write(fault, text.encode())
    finally:
        os._exit(125)


def _limit_as(uid: int | None, pid: int, limits: Limits) -> None:
    """Set the limits of another process. A root without CAP_SYS_RESOURCE may not; the process's own user may, and what
    the kernel compares is the real one."""
    if uid is None:
        _limit(pid, limits)
        return
    os.setresgid(uid, -1, -1)
    os.setresuid(uid, -1, -1)
    try:
        _limit(pid, limits)
    finally:
        os.setresuid(0, -1, -1)
        os.setresgid(0, -1, -1)


def _limit(pid: int, limits: Limits) -> None:
    """Limits of each process, taken on by all that it starts. Set from outside where the process is in a namespace of
    its own: only there the number of processes counts just the sandbox's."""
    cpu_s = int(limits.cpu_s) + 2  # the watcher is meant to be first, and says why
    values = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, limits.file_mb * _MB),
        (resource.RLIMIT_NOFILE, limits.descriptors),
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_MEMLOCK, 8 * _MB),
    ]
    if hasattr(resource, "RLIMIT_MSGQUEUE"):  # Linux
        values += [(resource.RLIMIT_MSGQUEUE, 819_200), (resource.RLIMIT_RTPRIO, 0), (resource.RLIMIT_NICE, 0)]
    if pid:
        values.append((resource.RLIMIT_NPROC, limits.pids))
    for which, value in values:
        limit = min(value, _highest(which))
        if pid and hasattr(resource, "prlimit"):
            resource.prlimit(pid, which, (limit, limit))
        else:
            resource.setrlimit(which, (limit, limit))


def _highest(which: int) -> int:
    hard = resource.getrlimit(which)[1]
    return hard if hard != resource.RLIM_INFINITY else 1 << 62


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _become_reading(uid: int) -> None:
    """The same, but able to pass folders that are closed to it. Landlock still says which files it may open."""
    kernel.prctl(kernel.PR_SET_KEEPCAPS, 1)
    _become(uid)
    kernel.keep_only(kernel.CAP_DAC_READ_SEARCH)


def _reachable(plan: Plan) -> bool:
    """Tell whether another user gets to what the command needs: below /root nobody does."""
    paths = [Path(each) for each in (plan.cwd, *plan.readable)]
    return all(above.stat().st_mode & 0o001 for path in paths if path.exists() for above in path.resolve().parents)


def _die_with_parent() -> None:
    with contextlib.suppress(OSError):  # not on macOS
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)

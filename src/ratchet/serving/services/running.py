"""Services as processes: one folder each with its state, its log and its data.

A service holds a lock on a file for as long as any process of it lives (they inherit it), so that what is alive, and
that nothing is left, is known on every system and however it ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Literal

from ratchet import files
from ratchet.errors import BackendError, Conflict, Refused
from ratchet.records import Json, number_in, text_in, whole_in
from ratchet.serving.services.closing import asking, let_in
from ratchet.serving.services.known import HOST, SERVICES, Launch, Service, place_of

START_S = 60.0
STOP_S = 20.0
"""How long a service may take to answer, and to end before it is killed."""
_MAKE_S = 120.0
_LOOK_S = 0.05
_NOBODY = 65_534
_TAIL = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceState:
    """One service as it is. `starting` is alive and does not answer yet; `died` ended without being asked to."""

    name: str
    state: Literal["up", "starting", "died", "down"]
    port: int
    url: str = ""
    pid: int = 0
    since: float = 0.0
    log: str = ""
    note: str = ""


class Services:
    """The services of one home."""

    def __init__(self, home: Path, *, start_s: float = START_S) -> None:
        self._home = home
        self._start_s = start_s

    def status(self, name: str) -> ServiceState:
        """The service as it is now: it is asked a question that only it answers."""
        service, place, held = SERVICES[name], self._place(name), self._held(name)
        if not held:
            lives = self._alive(name)
            note = f"alive, and {place / 'state.json'} does not say which process it is" if lives else ""
            return ServiceState(name=name, state="starting" if lives else "down", port=service.port, note=note)
        port = whole_in(held, "port")
        seen = ServiceState(
            name=name,
            state="died",
            port=port,
            url=service.url(self._home, port),
            pid=whole_in(held, "pid"),
            since=number_in(held, "since"),
            log=str(place / "log"),
        )
        if not self._alive(name):
            return _with(seen, "died", f"ended by itself; the log says: {_last(place / 'log')}")
        return _with(seen, "up") if service.answers(port) else _with(seen, "starting", "alive, and does not answer")

    def up(
        self, name: str, *, port: int = 0, model: str = "", told: Callable[[str], None] = lambda _text: None
    ) -> ServiceState:
        """Start a service and wait until it answers; one that is up stays as it is.

        Raises Refused where its program is not here, Conflict where its port is another's or it is up on another port,
        BackendError where it ends or does not answer: nothing of it is left then.
        """
        service = SERVICES[name]
        with files.claimed(self._home / "services" / f"{name}.claim", f"service {name}"):
            now = self.status(name)
            port = port or (now.port if now.state == "up" else service.port)
            launch = service.launch(self._data(name), self._home, port, model)
            everybody = isinstance(launch, Launch) and launch.rules is not None and bool(let_in(launch.rules))
            if now.state == "up" and not everybody:
                if port != now.port:
                    raise Conflict(
                        f"{name} is up on port {now.port} and stays there; to move it: ratchet services down {name}, "
                        f"then up {name} --port {name}={port}"
                    )
                return now
            if isinstance(launch, str):
                raise Refused(launch)
            if everybody:
                told(f"{name} was made by an older Ratchet and let everybody in: from now on it asks for its password")
            if self._alive(name):
                self._end(name, service)
            _free(name, port)
            self._make(name, launch)
            told(f"starting {name} on port {port}")
            return self._started(service, launch, port)

    def down(self, name: str) -> bool:
        """Stop a service and whatever it started; False where it was not up. Its data and its log stay."""
        with files.claimed(self._home / "services" / f"{name}.claim", f"service {name}"):
            was = self._alive(name)
            if was:
                self._end(name, SERVICES[name])
            (self._place(name) / "state.json").unlink(missing_ok=True)
        return was

    # -- its folder ----------------------------------------------------------------------------------------------------

    def _place(self, name: str) -> Path:
        return place_of(self._home, name)

    def _data(self, name: str) -> Path:
        """The folder of a service's data: its own, or where root's home is closed to nobody, one that is not."""
        place = self._place(name)
        if name != "database" or os.geteuid() != 0:
            return place
        return Path("/var/lib/ratchet") / hashlib.sha256(os.fsencode(self._home)).hexdigest()[:16] / name

    def _held(self, name: str) -> dict[str, Json]:
        try:
            held = json.loads((self._place(name) / "state.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return held if isinstance(held, dict) else {}

    def _alive(self, name: str) -> bool:
        """Tell whether any process of a service lives: then it holds the lock."""
        try:
            descriptor = os.open(self._place(name) / "alive", os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            return not files.lock(descriptor)
        finally:
            os.close(descriptor)

    def _make(self, name: str, launch: Launch) -> None:
        """Prepare the folders, and run what is to be run once."""
        data = self._data(name)
        for each in (self._place(name), data):
            each.mkdir(parents=True, exist_ok=True, mode=0o700)
        if launch.unprivileged and os.geteuid() == 0:
            data.parent.chmod(0o711)
            data.parent.parent.chmod(0o711)
            os.chown(data, _NOBODY, _NOBODY)
        password = self._password(name) if launch.keys else ""
        for path, text in launch.keys.items():
            self._put(name, launch, path, text.format(password))
        try:
            if launch.before and launch.made is not None and not launch.made.exists():
                for path, text in launch.once.items():
                    self._put(name, launch, path, text.format(password))
                self._run(name, launch, launch.before)
        finally:
            for path in launch.once:
                path.unlink(missing_ok=True)
        if launch.rules is not None and (text := let_in(launch.rules)):
            self._run(name, launch, launch.closing, launch.closed.format(password))
            self._put(name, launch, launch.rules, asking(text))

    def _run(self, name: str, launch: Launch, argv: tuple[str, ...], told: str = "") -> None:
        """Run a program of a service to its end. Raises BackendError where it fails."""
        log = self._place(name) / "log"
        with _opened(log) as written:
            ran = _spawned(launch, argv, self._data(name), written.fileno(), (), subprocess.PIPE)
            try:
                ran.communicate(told.encode("ascii"), _MAKE_S)
            except subprocess.TimeoutExpired:
                ran.kill()
                ran.wait()
        if ran.returncode:
            raise BackendError(f"{name} could not be set up: {_last(log)}")

    def _password(self, name: str) -> str:
        """The password of a service: one for good, for this user."""
        kept = self._place(name) / "password"
        if not kept.exists():
            files.replace(kept, secrets.token_urlsafe(24).encode(), mode=0o600)
        return kept.read_text(encoding="ascii")

    def _put(self, name: str, launch: Launch, path: Path, text: str) -> None:
        """Write a file that the service reads, whole or not at all, and in its own folder for it alone."""
        fresh = path.with_name(f"{path.name}.new")
        # The folder may be nobody's: no link of theirs is followed.
        fresh.unlink(missing_ok=True)
        opened = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(opened, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
            if launch.unprivileged and os.geteuid() == 0 and path.is_relative_to(self._data(name)):
                os.fchown(file.fileno(), _NOBODY, _NOBODY)
        fresh.replace(path)

    # -- start and end -------------------------------------------------------------------------------------------------

    def _started(self, service: Service, launch: Launch, port: int) -> ServiceState:
        place = self._place(service.name)
        descriptor = os.open(place / "alive", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not files.lock(descriptor):
                raise Conflict(f"processes of service {service.name} are still there: ratchet services down")
            # One that ended by itself is still named there, and its number may be another's by now.
            (place / "state.json").unlink(missing_ok=True)
            with _opened(place / "log") as log:
                process = _spawned(launch, launch.argv, self._data(service.name), log.fileno(), (descriptor,))
        finally:
            os.close(descriptor)  # the service's own copy holds the lock from now on
        state = {"pid": process.pid, "began": _began(process.pid), "port": port, "since": time.time()}
        files.replace(place / "state.json", json.dumps(state).encode())
        ends = time.monotonic() + self._start_s
        while time.monotonic() < ends and process.poll() is None:
            if service.answers(port):
                return self.status(service.name)
            time.sleep(_LOOK_S)
        ended = process.poll()
        self._end(service.name, service)
        (place / "state.json").unlink(missing_ok=True)
        why = f"did not answer within {self._start_s:g} s" if ended is None else f"ended with {ended}"
        raise BackendError(f"{service.name} {why}; {place / 'log'} says: {_last(place / 'log')}")

    def _end(self, name: str, service: Service) -> None:
        """End all processes of a service: asked first, killed after a while. Raises BackendError where one stays."""
        held = self._held(name)
        pid, began = whole_in(held, "pid"), text_in(held, "began")
        # To `kill` 0 is our own group, and -1 everybody. A number is used again, but not while its group lives.
        stranger = pid <= 1 or (began and _began(pid) not in ("", began))
        if stranger and self._alive(name):
            lock = self._place(name) / "alive"
            raise BackendError(
                f"processes of {name} live, and {lock.with_name('state.json')} does not say which: end those that hold "
                f"{lock} open (fuser -k {lock})"
            )
        launch = service.launch(self._data(name), self._home, service.port, "")
        polite = getattr(signal, launch.signal) if isinstance(launch, Launch) else signal.SIGTERM
        for number, wait_s in ((polite, STOP_S), (signal.SIGTERM, 1.0), (signal.SIGKILL, STOP_S)):
            if not self._alive(name):
                return
            _signalled(pid, number, to_all=number != polite or polite == signal.SIGTERM)
            ends = time.monotonic() + wait_s
            while self._alive(name) and time.monotonic() < ends:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)  # where it is our own child
                time.sleep(_LOOK_S)
        if self._alive(name):
            raise BackendError(f"a process of {name} does not end, session {pid}: look at it with ps -s {pid}")


def _with(seen: ServiceState, state: Literal["up", "starting", "died"], note: str = "") -> ServiceState:
    return replace(seen, state=state, note=note)


def _began(pid: int) -> str:
    """When a process began, in the system's own words: with its number, what it is known by. "" where there is none."""
    with suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    with suppress(OSError):
        asked = ("ps", "-o", "lstart=", "-p", str(pid))
        return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
    return ""


def _opened(log: Path) -> BinaryIO:
    """A log to write to. Raises Refused for a link or a pipe, which nobody reads."""
    try:
        return os.fdopen(
            os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600), "ab"
        )
    except OSError as error:
        raise Refused(f"{log} cannot be written to ({error.strerror}): it is to be a plain file, or none") from error


def _signalled(pid: int, number: signal.Signals, *, to_all: bool) -> None:
    """Signal a service: its first process, or all of its session's group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number) if to_all else os.kill(pid, number)


def _free(name: str, port: int) -> None:
    """Raise Conflict where somebody else listens on a port."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((HOST, port))
        except OSError as error:
            raise Conflict(
                f"port {port} is another program's, so {name} was not started: stop that one, or name another port "
                f"with --port {name}={port + 1} ({error.strerror})"
            ) from error


def _spawned(
    launch: Launch,
    argv: tuple[str, ...],
    folder: Path,
    log: int,
    kept: tuple[int, ...],
    stdin: int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """A process of its own session, with little of this one's environment."""
    passed: Mapping[str, str] = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    drops = launch.unprivileged and os.geteuid() == 0
    who = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if drops else {}
    process: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603  (a program of the table of services)
        argv,
        cwd=folder,
        env={**passed, "TZ": "UTC", **launch.environ},
        stdin=stdin,
        stdout=log,
        stderr=log,
        start_new_session=True,
        pass_fds=kept,
        **who,  # type: ignore[call-overload]
    )
    return process


def _last(log: Path) -> str:
    """The last line that a log says."""
    try:
        lines = (files.read(log) or b"")[-_TAIL:].decode("utf-8", "replace").strip().splitlines()
    except (BackendError, Refused):
        return "nothing"
    return " ".join(lines[-1].split())[:300] if lines else "nothing"

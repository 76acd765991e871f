"""Test what a sandbox holds on this machine: seen, by a canary inside that tries to get out. No version is ever
read."""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.errors import RatchetError, Refused, SandboxError
from ratchet.sandbox import domain_canary
from ratchet.sandbox.command import Command, Guarantee, Isolation, Limits, View

if TYPE_CHECKING:
    from ratchet.ports import Sandbox

# Runs inside. Tries each way out and says which one was open; prints one JSON object.
_CANARY = """
import json, os, socket, sys
secret, outside, port, host_pid, path = sys.argv[1:6]
opened = {}
def tries(name, action):
    try:
        action()
    except BaseException:
        opened[name] = False
    else:
        opened[name] = True
def connects():
    socket.create_connection(("127.0.0.1", int(port)), 2).close()
def told():
    for each in os.listdir("/proc"):
        if each.isdecimal():
            try:
                if secret in open("/proc/%s/environ" % each).read():
                    return
            except OSError:
                pass
    raise OSError
def held():
    if secret not in os.environ.get("RATCHET_CANARY", ""):
        raise KeyError
tries("read", lambda: open(path).read())
tries("write", lambda: open(outside, "w").write("x"))
tries("system", lambda: open("/etc/ratchet-canary", "w"))
tries("inside", lambda: open("canary.txt", "w").write("x"))
tries("connect", connects)
tries("vsock", lambda: socket.socket(40, socket.SOCK_STREAM))
tries("kill", lambda: os.kill(int(host_pid), 0))
tries("mode", lambda: os.chmod(path, 0o644))
tries("environ", told)
tries("variable", held)
print(json.dumps(opened))
"""
_MEMORY = "kept = b'x' * (2 << 30)"
_WATCHED_SLACK_MB = 24  # shared libraries; at gigabytes a second a watcher comes much later
_DISK = """
for number in range(400):
    with open("fill%d" % number, "wb") as file:
        file.write(b"x" * (1 << 20))
import time
time.sleep(5)
"""


def probe(sandbox: Sandbox, *, verified: bool = True, quick: bool = False) -> Isolation:
    """Let the canary try. `quick` leaves out the parts that take a second (memory, disk and domains are then "none").
    Never raises for a sandbox that does not work: `works` and `note` say so."""
    nothing = Isolation(name=sandbox.name, works=False, verified=verified)
    try:
        with _scene() as (work, arguments):
            ran = _tried(sandbox, work, _CANARY, arguments)
            if not ran["inside"]:
                return replace(nothing, note="nothing can be written inside")
            found = Isolation(
                name=sandbox.name,
                works=True,
                files=_closed(ran, "read", "write", "system"),
                network=_closed(ran, "connect", "vsock"),
                pids=_closed(ran, "kill"),
                secrets=_closed(ran, "environ", "variable", "read"),
                note="modes and times of your own files can be changed from inside" if ran["mode"] else "",
                verified=verified,
            )
            return found if quick else replace(_with_limits(found, sandbox, work), domains=_domains(sandbox))
    except (RatchetError, OSError) as error:
        return replace(nothing, note=str(error))


_ALONE = threading.Lock()


@contextmanager
def _scene() -> Iterator[tuple[Path, list[str]]]:
    """A folder to work in, and beside it what must not be reached: a file, a listener, this process, a variable."""
    secret = secrets.token_hex(8)
    # One at a time: the variable is the whole process's.
    with _ALONE, tempfile.TemporaryDirectory(prefix="ratchet-canary-") as folder, socket.socket() as listener:
        work, outside = Path(folder, "work"), Path(folder, "outside")
        work.mkdir()
        outside.mkdir()
        # Open to all on purpose: what keeps the canary out must be the sandbox, not the file's mode.
        for each in (Path(folder), work, outside):
            each.chmod(0o777)
        (outside / "secret").write_text(secret)
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        above = os.environ.get("RATCHET_CANARY")
        os.environ["RATCHET_CANARY"] = secret
        try:
            port = str(listener.getsockname()[1])
            yield work, [secret, str(outside / "new"), port, str(os.getpid()), str(outside / "secret")]
        finally:
            if above is None:
                del os.environ["RATCHET_CANARY"]
            else:
                os.environ["RATCHET_CANARY"] = above


def _tried(sandbox: Sandbox, work: Path, code: str, arguments: list[str]) -> dict[str, bool]:
    argv = (sys.executable, "-I", "-S", "-c", code, *arguments)
    ran = sandbox.run(Command(argv=argv, view=View(folder=work), limits=Limits(wall_s=30, cpu_s=20)))
    if ran.exit_code != 0:
        said = ran.stderr.decode(errors="replace").strip().splitlines()
        raise SandboxError(f"the canary ended with {ran.exit_code}: {said[-1] if said else ran.killed or 'silent'}")
    found: dict[str, bool] = json.loads(ran.stdout)
    return found


def _domains(sandbox: Sandbox) -> Guarantee:
    try:
        domain_canary.prove(sandbox.name, sandbox.run)
    except Refused:
        return "none"
    return "enforced"


def _closed(ran: dict[str, bool], *ways: str) -> Guarantee:
    return "none" if any(ran[way] for way in ways) else "enforced"


def _with_limits(found: Isolation, sandbox: Sandbox, work: Path) -> Isolation:
    python = (sys.executable, "-I", "-S", "-c")
    view = View(folder=work)
    small = Limits(wall_s=20, memory_mb=64, disk_mb=32)
    filled = sandbox.run(Command(argv=(*python, _MEMORY), view=view, limits=small))
    if filled.killed != "memory":
        memory: Guarantee = "none"
    else:
        memory = "enforced" if filled.max_memory_mb <= small.memory_mb + _WATCHED_SLACK_MB else "watched"
    written = sandbox.run(Command(argv=(*python, _DISK), view=view, limits=small))
    disk: Guarantee = "watched" if written.killed == "disk" else "none"
    return replace(found, memory=memory, disk=disk)

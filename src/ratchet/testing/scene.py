"""Scene of an abuse case: a folder to work in, and beside it all that must not be reached."""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SHELL_KEY = "RATCHET_ABUSE_SECRET"


@dataclass(frozen=True, slots=True)
class Scene:
    """`work` is the command's folder, with a socket in it at which a program outside listens. `outside` holds
    `secret.txt` and a listening socket; `victim` is a process."""

    work: Path
    outside: Path
    secret: str
    tcp_port: int
    victim: subprocess.Popen[bytes]
    shm_id: int

    @property
    def argument(self) -> str:
        """Return what the attack is told, as JSON: everything, since an attacker may guess it all."""
        return json.dumps(
            {
                "secret": self.secret,
                "outside": str(self.outside),
                "port": self.tcp_port,
                "victim": self.victim.pid,
                "host": os.getpid(),
                "home": str(Path.home()),
                "abstract": self.secret,
                "shm": self.shm_id,
                "python": sys.prefix,
            }
        )

    def intact(self) -> list[str]:
        """List what was done to the world outside."""
        wrong = []
        if (self.outside / "secret.txt").read_text(encoding="utf-8") != self.secret:
            wrong.append("a file outside was changed")
        if sorted(each.name for each in self.outside.iterdir()) != ["secret.txt", "socket"]:
            wrong.append("something was made outside")
        if (self.outside / "secret.txt").stat().st_nlink != 1:
            wrong.append("a file outside got another name")
        if self.victim.poll() is not None:
            wrong.append("a process outside was ended")
        return wrong


@contextmanager
def scene(folder: Path) -> Iterator[Scene]:
    """Set a scene up in an empty folder, and clear it away. Everything is open to all users: what keeps the attack
    away must be the sandbox, not the mode of a file."""
    work, outside, secret = folder / "work", folder / "outside", secrets.token_hex(12)
    for each in (folder, work, outside):
        each.mkdir(exist_ok=True)
        each.chmod(0o777)
    (outside / "secret.txt").write_text(secret, encoding="utf-8")
    (outside / "secret.txt").chmod(0o666)
    above = os.environ.get(SHELL_KEY)
    os.environ[SHELL_KEY] = secret
    victim = subprocess.Popen([sys.executable, "-I", "-c", "import time; time.sleep(600)"])
    shm_id = _shared_memory()
    try:
        with _listening(outside, work, secret) as port:
            yield Scene(work, outside, secret, port, victim, shm_id)
    finally:
        victim.kill()
        victim.wait()
        _forget(shm_id)
        if above is None:
            del os.environ[SHELL_KEY]
        else:
            os.environ[SHELL_KEY] = above


@contextmanager
def _listening(outside: Path, work: Path, secret: str) -> Iterator[int]:
    with (
        socket.socket() as tcp,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX) as near,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        tcp.bind(("127.0.0.1", 0))
        for made, folder in ((named, outside), (near, work)):
            made.bind(str(folder / "socket"))
            (folder / "socket").chmod(0o777)
        abstract.bind(f"\0{secret}")
        for each in (tcp, named, near, abstract):
            each.listen(8)
        yield int(tcp.getsockname()[1])


def _shared_memory() -> int:
    made: int = ctypes.CDLL(None).shmget(0, 4096, 0o1666)
    return made


def _forget(shm_id: int) -> None:
    if shm_id >= 0:
        ctypes.CDLL(None).shmctl(shm_id, 0, None)

"""Proof that a sandbox holds a command to named domains: a canary inside tries other ways before anything else runs."""

from __future__ import annotations

import json
import secrets
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ratchet.errors import Refused, SandboxError
from ratchet.sandbox.command import Command, Limits, Ran, View

# Runs inside. Prints the ways on which something answered, and what the one honest way brought.
_CANARY = """
import http.client, json, os, socket, sys, urllib.parse
welcome, stranger = map(int, sys.argv[1:3])
proxy = urllib.parse.urlsplit(os.environ.get("http_proxy", ""))
opened = []
def tries(name, action):
    try:
        if action(): opened.append(name)
    except (OSError, http.client.HTTPException):
        pass
def direct(family, address, port):
    with socket.socket(family) as made:
        made.settimeout(2)
        made.connect((address, port))
        made.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
        return made.recv(1)
def asked(target, method="GET", then=b""):
    with socket.create_connection((proxy.hostname, proxy.port), 5) as made:
        made.sendall(("%s %s HTTP/1.1\\r\\nHost: ratchet-canary.test\\r\\n\\r\\n" % (method, target)).encode())
        said = made.recv(65536)
        if then and said.startswith(b"HTTP/1.1 200"):
            made.sendall(then)
            said = made.recv(65536)
        return said if said.startswith((b"HTTP/1.1 200", b"HTTP/1.0 200")) else b""
for port in (welcome, stranger):
    tries("a direct connection", lambda: direct(socket.AF_INET, "127.0.0.1", port))
    tries("a direct connection by IPv6", lambda: direct(socket.AF_INET6, "::ffff:127.0.0.1", port))
for host in ("127.0.0.1", "localhost", "2130706433", "ratchet-stranger.test", "[::1]"):
    tries("the proxy, to " + host, lambda: asked("http://%s:%d/" % (host, stranger)))
    tries("a tunnel to " + host, lambda: asked("%s:%d" % (host, stranger), "CONNECT"))
plain = b"GET / HTTP/1.0\\r\\n\\r\\n"
tries("a tunnel without TLS", lambda: asked("ratchet-canary.test:%d" % welcome, "CONNECT", plain))
honest = ""
try:
    honest = asked("http://ratchet-canary.test:%d/" % welcome).rpartition(b"\\r\\n\\r\\n")[2].decode()
except (OSError, TypeError):
    pass
print(json.dumps({"opened": opened, "honest": honest}))
"""
_LOCK = threading.Lock()
_PROVEN: set[str] = set()


def assure(name: str, run: Callable[[Command], Ran]) -> None:
    """Prove it once in the life of this process. Raises Refused."""
    with _LOCK:
        if name not in _PROVEN:
            prove(name, run)
            _PROVEN.add(name)


def prove(name: str, run: Callable[[Command], Ran]) -> None:
    """Let the canary try, against two listeners of this machine. Raises Refused where any way but the named one is
    open, and where the named one is not."""
    token = secrets.token_hex(8)
    with _listener(token) as (welcome, _), _listener(token) as (stranger, heard), _folder() as work:
        argv = (sys.executable, "-I", "-S", "-c", _CANARY, str(welcome), str(stranger))
        net = f"domains:ratchet-canary.test:{welcome}=127.0.0.1"
        try:
            ran = run(Command(argv=argv, view=View(folder=work), limits=Limits(wall_s=60, cpu_s=30), net=net))
            found = json.loads(ran.stdout)
        except (SandboxError, ValueError) as error:
            raise _refusal(name, f"its canary does not end: {error}") from error
        if found["opened"] or heard:
            raise _refusal(name, f"open all the same: {', '.join(found['opened']) or 'a way to a stranger'}")
        if found["honest"] != token:
            raise _refusal(name, "the named domain is not reached either")


def _refusal(name: str, why: str) -> Refused:
    return Refused(
        f"the sandbox {name} does not hold a command to named domains on this machine ({why}); use --net none, or "
        "accept all of your network with --net host"
    )


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ratchet-canary-") as folder:
        work = Path(folder, "work")
        work.mkdir()
        for each in (Path(folder), work):
            each.chmod(0o777)  # the sandbox may be another user
        yield work


@contextmanager
def _listener(token: str) -> Iterator[tuple[int, list[str]]]:
    """The port of a server on this machine that says the token to everybody, and who has come."""
    heard: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    client, place = listening.accept()
                except OSError:
                    return  # the proof is over
                heard.append(str(place))
                with client:
                    client.settimeout(5)
                    try:
                        client.recv(4096)
                        client.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + token.encode())
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1], heard
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(10)

"""Runs the app: binds, says where it is, and ends within ten seconds of being asked to, whatever is open."""

from __future__ import annotations

import errno
import gc
import ipaddress
import signal
import socket
import sys
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from ratchet.errors import UsageError
from ratchet.serving.api.connections import Room, quiet
from ratchet.serving.api.origins import is_address
from ratchet.serving.api.serving import Served

_CLOSE_S = 3
"""How long requests under way may still take when the server is asked to end."""


_SWITCH_S = 0.001
"""A request gives the interpreter up at each of its queries. Where another thread computes (a look in the background)
it waited 5 ms each time to have it back, Python's default, which for 25 queries is what a page may take."""

_BACKLOG = 128
"""Connections that may wait to be accepted. asyncio tries as often at once, and fails as often where files run out."""


def bound(host: str, port: int) -> socket.socket:
    """A listening place. Raises UsageError where it is taken, or is not this machine's."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except BaseException:
            listener.close()
            raise
    except (OSError, UnicodeError) as error:
        elsewhere = not isinstance(error, OSError) or error.errno == errno.EADDRNOTAVAIL
        wrong = "host" if elsewhere or isinstance(error, socket.gaierror) else "port"
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot listen on {host}:{port} ({said}); choose another --{wrong}") from error
    listener.set_inheritable(False)
    return listener


def address_of(listener: socket.socket, host: str) -> str:
    """The URL under which a person reaches it."""
    port = listener.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    if is_address(host) and ipaddress.ip_address(host).is_unspecified:  # all of them: this machine's is one
        shown = "[::1]" if ":" in host else "127.0.0.1"
    return f"http://{shown}:{port}"


class Server(uvicorn.Server):
    """uvicorn's, whose streams and tasks end when it is asked to."""

    def __init__(self, app: FastAPI, started: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Room().protocol(),
                backlog=_BACKLOG,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_CLOSE_S,
                timeout_keep_alive=30,
                ws="none",
                lifespan="on",
            )
        )
        self._served: Served = app.state.served
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            # What is there now stays: no collection looks through it again (a tenth of what a batch costs).
            gc.collect()
            gc.freeze()
            self._tell()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._served.ending()
        await super().shutdown(sockets)


def run(app: FastAPI, listener: socket.socket, started: Callable[[], None]) -> bool:
    """Serve until SIGINT or SIGTERM; False when it could not start."""
    server = Server(app, started)
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    # uvicorn raises a signal that it caught again once it has ended: that is the end that was asked for, and no error.
    for each in before:
        signal.signal(each, signal.SIG_IGN)
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        with quiet():
            server.run(sockets=[listener])
    finally:
        sys.setswitchinterval(usual_s)
        for each, handler in before.items():
            signal.signal(each, handler)
        listener.close()
    return server.started

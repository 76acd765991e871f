"""Check who may do what: a token with scopes on every route, checked before anything else looks at the request."""

from __future__ import annotations

import asyncio
import hmac
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Asked

from ratchet.errors import BackendError
from ratchet.serving.api.problems import RETRY_S, HttpProblem
from ratchet.store.tokens import SCOPES, Scope, Token, TokenBook, hash_of

log = logging.getLogger(__name__)

COOKIE = "ratchet_token"
"""Where a browser keeps its token once it has logged in: EventSource cannot send headers."""
LOOK_S = 1.0
"""How long a response that goes on may outlive its caller's token."""
OPEN_PATHS = ("/openapi.json", "/docs", "/login", "/ui/login", "/favicon.ico")
OPEN_FOLDERS = ("/static/", "/ui/static/")
"""What is served to everybody: the description, and what a login page needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Caller of a route. Without any token on this server that is anybody on this machine, with all scopes."""

    name: str = "anybody"
    scopes: frozenset[Scope] = frozenset(SCOPES)


@dataclass(slots=True)
class Access:
    """Knows the tokens. `given` is the one of the command line, which counts for this run only.

    Looked up at each request, so that a revoked token is refused at once; while the store is down those last seen
    count, since recording goes on then.
    """

    book: TokenBook
    given: str = ""
    guarded: bool = False
    """Nobody gets in without a token, though there be none: others than this machine reach the server, or it has asked
    for one. Who revokes the last token means to shut somebody out, not to let everybody in."""
    _seen: list[Token] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tokens(self) -> list[Token]:
        """Every token that counts now. Raises BackendError while none could be read yet."""
        try:
            found = self.book.counting()
        except BackendError:
            with self._lock:
                if self._seen is None:
                    raise
                found = self._seen
            log.warning("tokens.stale", extra={"why": "the store is down"})
        else:
            with self._lock:
                self._seen = found
        if self.given:
            found = [Token(name="--token", scopes=SCOPES, hash=hash_of(self.given)), *found]
        return found

    def caller(self, secret: str | None) -> Caller | None:
        """Return who sent this; None for a missing or wrong token."""
        counting = self.tokens()
        if counting:
            self.guarded = True
        elif not self.guarded:
            return Caller()
        wanted = hash_of(secret) if secret else ""
        for each in counting:
            if hmac.compare_digest(each.hash, wanted):
                return Caller(name=each.name, scopes=frozenset(each.scopes))
        return None


class Doorkeeper:
    """ASGI middleware: nobody gets past without a token where there are tokens. The scope is each route's own matter
    (`Needs`); a mounted app asks `caller_of`."""

    def __init__(self, app: ASGIApp, access: Access, paced: Callable[[ASGIApp], ASGIApp] = lambda app: app) -> None:
        self._app = app
        self._access = access
        self._refuse = paced(_refuse)  # whoever tries out tokens has no more tries a second than others have requests

    async def __call__(self, scope: Asked, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        path = str(scope["path"])
        secret = secret_of(Headers(scope=scope))
        try:
            caller = await run_in_threadpool(self._access.caller, secret)
        except BackendError as error:
            problem = HttpProblem(
                503,
                "backend",
                f"the tokens cannot be read, so nobody is let in: {error}",
                "Wait and try again; `ratchet doctor` on the server says what is broken.",
                {"Retry-After": str(RETRY_S)},
            )
            if not is_open(path):
                await problem.response(path)(scope, receive, send)
                return
            caller = None
        if caller is None and not is_open(path):
            await self._refuse(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = caller
        if caller is None or scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        lasting = _Lasting(receive, send, lambda: self._holds(secret, caller))
        await self._app(scope, lasting.receive, lasting.send)

    def _holds(self, secret: str | None, caller: Caller) -> bool:
        """Tell whether a caller may still do what it could when it was let in."""
        try:
            now = self._access.caller(secret)
        except BackendError:
            return True  # none could be read yet, and somebody was let in: there were none
        return now is not None and now.scopes >= caller.scopes


class _Lasting:
    """A response that goes on for long, such as a stream of events, ends with its caller's right to it."""

    def __init__(self, receive: Receive, send: Send, holds: Callable[[], bool]) -> None:
        self._receive = receive
        self._send = send
        self._holds = holds
        self._looked = time.monotonic()
        self._heard = False  # all that the client asks for
        self._ended = asyncio.Event()

    async def receive(self) -> Message:
        """Return what the client sends; that it has gone, once the response was ended."""
        if not self._heard:
            message = await self._receive()
            self._heard = not message.get("more_body", False)
            return message
        ended = asyncio.ensure_future(self._ended.wait())
        asked = asyncio.ensure_future(self._receive())
        try:
            await asyncio.wait((ended, asked), return_when=asyncio.FIRST_COMPLETED)
            return {"type": "http.disconnect"} if ended.done() else asked.result()
        finally:
            ended.cancel()
            asked.cancel()

    async def send(self, message: Message) -> None:
        if self._ended.is_set():
            return
        if message.get("more_body") and time.monotonic() - self._looked >= LOOK_S:
            if not await run_in_threadpool(self._holds):
                self._ended.set()
                message = {"type": "http.response.body", "body": b"", "more_body": False}
            self._looked = time.monotonic()
        await self._send(message)


async def _refuse(scope: Asked, receive: Receive, send: Send) -> None:
    await _unknown(secret_of(Headers(scope=scope))).response(str(scope["path"]))(scope, receive, send)


def _unknown(secret: str | None) -> HttpProblem:
    said = "this token is not known, or was revoked" if secret else "this server asks for a token"
    return HttpProblem(
        401,
        "unauthorized",
        said,
        "Send `Authorization: Bearer TOKEN`; `ratchet token add NAME --scope read` on the server makes one.",
        {"WWW-Authenticate": 'Bearer realm="ratchet"'},
    )


def is_open(path: str) -> bool:
    """Tell whether a path is served to everybody."""
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDERS)


def secret_of(headers: Headers) -> str | None:
    """The token of a request: its Authorization header, else the cookie of a browser that has logged in."""
    if len(headers.getlist("authorization")) > 1:
        return ""  # who stands between may have looked at the other one
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and value.strip():
        return value.strip()
    if kind:
        return ""  # another scheme: no token, and no cookie in its place
    return cookie_parser(headers.get("cookie", "")).get(COOKIE)


def caller_of(request: Request) -> Caller:
    """Return who asks, for what is not open to everybody."""
    caller: Caller | None = getattr(request.state, "caller", None)
    assert caller is not None, "behind the Doorkeeper every request has a caller"
    return caller


class Needs:
    """Route dependency: the caller has one of these scopes."""

    def __init__(self, *scopes: Scope) -> None:
        self.scopes = scopes

    def __call__(self, request: Request) -> Caller:
        caller = caller_of(request)
        check_scopes(caller, *self.scopes)
        return caller


READS, WRITES, RUNS = Depends(Needs("read")), Depends(Needs("write")), Depends(Needs("run"))


def check_scopes(caller: Caller, *scopes: Scope) -> None:
    """Raise the Problem of a caller who has none of these scopes."""
    if not caller.scopes.intersection(scopes):
        wanted = " or ".join(scopes)
        raise HttpProblem(
            403,
            "scope",
            f"token {caller.name} lacks the scope {wanted}",
            f"Use a token with it: ratchet token add NAME --scope {scopes[0]}",
        )

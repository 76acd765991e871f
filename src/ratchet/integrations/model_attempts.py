"""Records each request to a model's API, those that an SDK repeats by itself among them.

    from ratchet.integrations.model_attempts import recorded

    client = recorded(openai.OpenAI(), "shop")

The same for `anthropic.Anthropic`, and for the asynchronous clients of both.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Protocol, Self, TypeVar, cast

from ratchet.client import Ratchet, default
from ratchet.errors import UsageError
from ratchet.ids import uuid7

Client = TypeVar("Client")

_BAD = 400  # from this status on the body says what went wrong


class HttpUrl(Protocol):
    """Address of a request."""

    host: str
    path: str


class HttpRequest(Protocol):
    """A request, of httpx or of the package that took its place."""

    url: HttpUrl
    headers: dict[str, str]


class HttpResponse(Protocol):
    """An answer of the same."""

    status_code: int
    headers: dict[str, str]
    text: str

    def read(self) -> bytes:
        """Read the body."""

    async def aread(self) -> bytes:
        """Read the body."""


class HttpTransport(Protocol):
    """Sends requests below a client; of each pair of methods it has one."""

    def handle_request(self, request: HttpRequest) -> HttpResponse:
        """Send one request."""

    async def handle_async_request(self, request: HttpRequest) -> HttpResponse:
        """Send one request."""

    def close(self) -> None:
        """Close connections."""

    async def aclose(self) -> None:
        """Close connections."""


class HttpClient(Protocol):
    """The client of httpx below an SDK's."""

    _transport: HttpTransport
    _mounts: dict[object, HttpTransport | None]


def recorded(client: Client, agent: str, *, ratchet: Ratchet | None = None) -> Client:
    """Record every attempt that this client of an SDK makes from now on; return the client. Its copies
    (`with_options`) are recorded, too. Neither prompts nor answers are kept.

    Raises UsageError for what is no client of OpenAI's or Anthropic's SDK.
    """
    http = cast("HttpClient | None", getattr(client, "_client", None))
    if http is None or not hasattr(http, "_transport"):
        raise UsageError(
            f"{type(client).__name__} is no client whose requests are known: use that of openai or anthropic"
        )
    log = AttemptLog(agent, ratchet or default())
    http._transport = RecordingTransport(http._transport, log)
    for pattern, mounted in http._mounts.items():
        if mounted is not None:  # a proxy
            http._mounts[pattern] = RecordingTransport(mounted, log)
    return client


class AttemptLog:
    """Writes attempts down. The SDK's own header says which try of a call each is."""

    def __init__(self, agent: str, ratchet: Ratchet) -> None:
        self._agent = agent
        self._ratchet = ratchet
        self._session = uuid7()

    def answered(self, request: HttpRequest, response: HttpResponse, began: float) -> None:
        """An answer came, good or bad; of a bad one the body has been read."""
        if response.status_code < _BAD:
            self._record(request, began, {})
            return
        wait = response.headers.get("retry-after-ms") or response.headers.get("retry-after")
        said = f"HTTP {response.status_code}: {response.text}"
        self._record(request, began, {"retry_after": wait} if wait else {}, said, response.status_code)

    def broke(self, request: HttpRequest, error: Exception, began: float) -> None:
        """No answer came."""
        self._record(request, began, {}, error)

    def _record(
        self,
        request: HttpRequest,
        began: float,
        more: dict[str, str],
        error: str | Exception | None = None,
        status: int | None = None,
    ) -> None:
        retry = request.headers.get("x-stainless-retry-count", "0")
        self._ratchet.record(
            self._agent,
            task=request.url.path,
            ok=error is None,
            error=error,
            status=status,
            context={"host": request.url.host, "retry": retry, **more},
            session=self._session,
            started_at=began,
            duration_s=time.time() - began,
            source="sdk",
        )


class RecordingTransport:
    """A transport that tells the log of each request, whatever becomes of it."""

    def __init__(self, transport: HttpTransport, log: AttemptLog) -> None:
        self._transport = transport
        self._log = log

    def handle_request(self, request: HttpRequest) -> HttpResponse:
        began = time.time()
        try:
            response = self._transport.handle_request(request)
            if response.status_code >= _BAD:
                response.read()
        except Exception as error:
            self._log.broke(request, error, began)
            raise
        self._log.answered(request, response, began)
        return response

    async def handle_async_request(self, request: HttpRequest) -> HttpResponse:
        began = time.time()
        try:
            response = await self._transport.handle_async_request(request)
            if response.status_code >= _BAD:
                await response.aread()
        except Exception as error:
            self._log.broke(request, error, began)
            raise
        self._log.answered(request, response, began)
        return response

    def close(self) -> None:
        self._transport.close()

    async def aclose(self) -> None:
        await self._transport.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

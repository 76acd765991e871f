"""Asks a worker that is an address: one POST of JSON, one answer of JSON.

    asked     {"task": id, "work": ..., "results": {...}, "mail": [...], "last": text, "known": text}
    answered  any JSON, or {"answer": ..., "cost_usd": x, "tokens": n}

Each attempt at a task carries one `Idempotency-Key`, by which a service knows that it was asked before.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request

from ratchet.errors import UsageError
from ratchet.team.hands.inline import in_thread
from ratchet.team.hands.reply import WorkerReply, WorkRequest, reply_of
from ratchet.team.values import MOST_BYTES

_SAID = 2_000


class HttpHands:
    """Asks `url`. An answer of 4xx or 5xx is a failure of that status; redirects are not followed: work goes to the
    address that was named."""

    def __init__(self, url: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"url is {url!r:.80}: give an address that begins with http:// or https://")
        self._url, self._headers = url, headers

    async def do(self, request: WorkRequest) -> WorkerReply:
        request.begun()
        # A thread that is left behind holds nothing but its connection, which ends with its time-out.
        return await in_thread(self.ask, (request,))

    async def close(self) -> None:
        return None

    def ask(self, request: WorkRequest) -> WorkerReply:
        """Ask once, and wait."""
        told = request.told
        body = {"task": request.task.id, "work": request.task.work, **told}
        asked = urllib.request.Request(  # noqa: S310  (http or https, see above)
            self._url,
            data=json.dumps(body).encode(),
            headers={
                "Content-Type": "application/json",
                "Accept": "application/json",
                "Idempotency-Key": str(told.get("key", "")),
                **dict(self._headers),
            },
        )
        try:
            with urllib.request.build_opener(_Staying).open(asked, timeout=request.task.timeout_s) as answered:
                text = answered.read(MOST_BYTES + 1)
        except urllib.error.HTTPError as error:
            with error:
                said = error.read(_SAID).decode("utf-8", "replace")
            return WorkerReply(error=f"HTTP {error.code}: {said or error.reason}", status=error.code)
        except (OSError, http.client.HTTPException) as error:
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            refused = isinstance(cause, ConnectionRefusedError)
            return WorkerReply(error=f"{type(cause).__name__}: {cause}", sick=True, reported=refused)
        try:
            return reply_of(json.loads(text))
        except (ValueError, RecursionError):
            said = text[:200].decode("utf-8", "replace")
            return WorkerReply(error=f"{self._url} answered what is no JSON: {said}", kind="malformed_output")


class _Staying(urllib.request.HTTPRedirectHandler):
    """Task and work go to the address that was named, and nowhere else."""

    def redirect_request(self, *_asked: object, **_named: object) -> None: ...

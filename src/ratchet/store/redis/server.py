"""A Redis server that may die or lie at any moment: asked while it answers, left alone for a while when it does not."""

from __future__ import annotations

import importlib.util
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from ratchet.errors import RedisError, Refused, UsageError
from ratchet.registry import adding
from ratchet.store.address import masked, without_secrets
from ratchet.store.redis.bounds import Bounds, bounded

if TYPE_CHECKING:
    from redis import Redis

log = logging.getLogger(__name__)

T = TypeVar("T")

CONNECT_S = 0.25
"""How long a server is waited for: recall has an answer of its own within that time."""
ANSWER_S = 2.0
"""How long one question may take, from the connection to the last byte of the answer."""
REST_S = 2.0
"""How long a server that did not answer is not asked again, at least."""
REST_SHARE = 15
"""How many times as long as it was waited for it is then left alone: one that is silent costs a sixteenth of the
time."""
REST_MOST_S = 300.0
_SCANNED = 1_000  # keys at once
_LOOKED_S = 0.05  # at how far a log is
_TOLD = 200  # characters of a server's words: it may send any number


class RedisServer:
    """One server by its address. Safe for many threads. `note` is a file by which short-lived processes tell each other
    that it does not answer. Raises Refused without the client, UsageError for an address that cannot be read."""

    def __init__(self, url: str, *, note: Path | None = None) -> None:
        if importlib.util.find_spec("redisvl") is None:
            raise Refused(f"{masked(url)} needs the client of Redis, which is not installed: {adding('redis')}")
        self._url = url
        self._client: Redis | None = None
        self._lock = threading.Lock()
        self._bounds = Bounds()
        self._note = note
        self._again_at = time.monotonic() + _noted_s(note)
        self._away = self.resting
        self._told: set[str] = set()
        if self._away:
            log.warning("%s did not answer a moment ago; until it is asked again the store answers alone", self.shown)

    @property
    def shown(self) -> str:
        return masked(self._url)

    @property
    def resting(self) -> bool:
        """Tell whether it did not answer a moment ago."""
        return time.monotonic() < self._again_at

    def wake(self) -> None:
        """Ask it again, though it did not answer a moment ago: a person wants to know."""
        self._again_at = 0.0

    def patient(self, seconds: float) -> AbstractContextManager[None]:
        """Wait for the server no longer than this, in all questions herein together."""
        return self._bounds.operation(seconds)

    def ask(self, question: Callable[[Redis], T], *, within_s: float = ANSWER_S) -> T:
        """Put a question to the server, and read its answer: whatever goes wrong with either is the server's fault.
        Raises RedisError where it does not answer, at once while it is resting, where it refuses, and where its answer
        cannot be read."""
        if self.resting:
            raise RedisError(f"{self.shown} did not answer a moment ago; it is left alone for a while")
        client = self.client
        try:
            with self._bounds.question(within_s):
                found = question(client)
        except Exception as error:  # anything: the store answers
            raise self._failed(error) from error
        if self._away:
            self._away = False
            self._told.clear()
            self._noted(None)
            log.warning("%s answers again", self.shown)
        return found

    def drop(self, pattern: str) -> None:
        """Take out all keys that are like this, piece by piece: a shared server may have millions. Raises
        RedisError."""

        def piece(cursor: int, redis: Redis) -> int:
            cursor, keys = cast("tuple[int, list[bytes]]", redis.scan(cursor, match=pattern, count=_SCANNED))
            if keys:
                redis.unlink(*keys)
            return cursor

        cursor = self.ask(partial(piece, 0))
        while cursor:
            cursor = self.ask(partial(piece, cursor))

    def rewrite(self) -> None:
        """Have the server write its log (AOF) anew, where it keeps one: until then what was taken out stands on its
        disk. Waits for the end of it. Raises RedisError."""

        def kept(redis: Redis) -> tuple[bool, bool]:
            said = cast("Mapping[str, int]", redis.info("persistence"))
            return bool(said["aof_enabled"]), bool(said["aof_rewrite_in_progress"] or said["aof_rewrite_scheduled"])

        is_logged, is_busy = self.ask(kept)
        for begin in (False, True) if is_logged else ():
            if begin:
                self.ask(lambda redis: redis.bgrewriteaof())
                is_busy = True
            while is_busy:
                time.sleep(_LOOKED_S)
                _, is_busy = self.ask(kept)

    def _failed(self, error: Exception) -> RedisError:
        """The error in words, said once; unless it only refuses, the server is left alone."""
        from redis.exceptions import RedisError as Failed
        from redis.exceptions import ResponseError
        from redisvl.exceptions import RedisVLError

        cause = error.__cause__ or error
        told = without_secrets(str(cause), self._url)[: _TOLD + 1] or type(cause).__name__
        told = "".join(each if each.isprintable() else " " for each in told)
        told = told if len(told) <= _TOLD else f"{told[:_TOLD]}..."
        if isinstance(cause, ResponseError):
            return self._say("refuses", told)
        self._away = True
        rest = min(REST_MOST_S, max(REST_S, self._bounds.spent_s * REST_SHARE))
        self._again_at = time.monotonic() + rest
        self._noted(time.time() + rest)
        if isinstance(error, (Failed, RedisVLError, OSError)):
            return self._say("does not answer", told)
        return self._say("gives an answer that cannot be read (`ratchet services rebuild` makes all anew)", told)

    def _say(self, verb: str, told: str) -> RedisError:
        """Say once that the store answers alone, and why."""
        trouble = f"{self.shown} {verb}: {told}"
        if verb not in self._told:
            self._told.add(verb)
            log.warning("%s; until it does the store answers alone, and nothing is lost", trouble)
        return RedisError(trouble)

    def _noted(self, until: float | None) -> None:
        """Tell other processes of this home until when (Unix seconds) it is left alone; None: it answers again."""
        if self._note is None:
            return
        with suppress(OSError):
            if until is None:
                self._note.unlink(missing_ok=True)
            else:
                self._note.touch()
                os.utime(self._note, (until, until))

    @property
    def client(self) -> Redis:
        from redis import Redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        with self._lock:
            if self._client is None:
                # Once more at once: the server may have been restarted since this connection was opened.
                retry = Retry(NoBackoff(), 1)
                try:
                    # Answers of searches are parsed in a third of the time of version 3.
                    client = Redis.from_url(self._url, retry=retry, protocol=2)
                except ValueError as error:  # its message names a part of the address
                    raise UsageError(f"{self.shown} is no address of a Redis; write redis://HOST:6379/0") from error
                pool = client.connection_pool
                pool.connection_kwargs |= {  # whatever the address says
                    "socket_connect_timeout": CONNECT_S,
                    "socket_timeout": ANSWER_S,
                    "decode_responses": False,
                }
                pool.connection_class = bounded(pool.connection_class, self._bounds)
                try:
                    pool.connection_class(**pool.connection_kwargs)
                except Exception as error:
                    raise UsageError(
                        f"RATCHET_REDIS_URL ({self.shown}) has an option after its `?` that the client of Redis does"
                        " not take; leave it out"
                    ) from error
                self._client = client
            return self._client

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):  # it is away already
                client.close()


def _noted_s(note: Path | None) -> float:
    """Seconds for which another process of this home wants the server left alone."""
    try:
        left = note.stat().st_mtime - time.time() if note is not None else 0.0
    except OSError:
        return 0.0
    return left if 0.0 < left <= REST_MOST_S else 0.0  # a clock that was set back

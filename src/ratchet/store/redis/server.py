"""A Redis server that may die at any moment: asked while it answers, left alone for a while when it does not."""

from __future__ import annotations

import importlib.util
import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ratchet.errors import RedisError, Refused, UsageError
from ratchet.store.address import masked, without_secrets

if TYPE_CHECKING:
    from redis import Redis

log = logging.getLogger(__name__)

T = TypeVar("T")

CONNECT_S = 0.25
"""How long a server is waited for: recall has an answer of its own within that time."""
ANSWER_S = 2.0
REST_S = 2.0
"""How long a server that did not answer is not asked again."""
EXTRA = "install its client: pip install 'ratchet-ai[redis]'"


class RedisServer:
    """One server by its address. Safe for many threads. Raises Refused without the client, UsageError for an address
    that cannot be read."""

    def __init__(self, url: str) -> None:
        if importlib.util.find_spec("redisvl") is None:
            raise Refused(f"{masked(url)} needs the client of Redis, which is not installed; {EXTRA}")
        self._url = url
        self._client: Redis | None = None
        self._lock = threading.Lock()
        self._again_at = 0.0
        self._away = False
        self._told: set[str] = set()

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

    def ask(self, question: Callable[[Redis], T]) -> T:
        """Put a question to the server. Raises RedisError where it does not answer, at once while it is resting, and
        where it refuses."""
        if self.resting:
            raise RedisError(f"{self.shown} did not answer a moment ago; it is asked again within {REST_S:g} seconds")
        from redis.exceptions import RedisError as Failed
        from redis.exceptions import ResponseError
        from redisvl.exceptions import RedisVLError

        try:
            found = question(self.client)
        except (Failed, RedisVLError, OSError) as error:
            told = without_secrets(str(error.__cause__ or error), self._url)
            if isinstance(error.__cause__ or error, ResponseError):
                refused = f"{self.shown} refuses: {told}"
                self._say(refused)
                raise RedisError(refused) from error
            self._again_at = time.monotonic() + REST_S
            self._away = True
            self._say(f"{self.shown} does not answer: {told}")
            raise RedisError(f"{self.shown} does not answer: {told}") from error
        if self._away:
            self._away = False
            self._told.clear()
            log.warning("%s answers again", self.shown)
        return found

    def _say(self, trouble: str) -> None:
        """Say once that the store answers alone, and why."""
        if trouble not in self._told:
            self._told.add(trouble)
            log.warning("%s; until it does the store answers alone, and nothing is lost", trouble)

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
                    self._client = Redis.from_url(
                        self._url,
                        socket_connect_timeout=CONNECT_S,
                        socket_timeout=ANSWER_S,
                        retry=retry,
                        protocol=2,  # answers of searches are parsed in a third of the time of version 3
                    )
                except ValueError as error:  # its message names a part of the address
                    raise UsageError(f"{self.shown} is no address of a Redis; write redis://HOST:6379/0") from error
            return self._client

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

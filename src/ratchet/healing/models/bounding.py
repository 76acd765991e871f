"""Bounds how much of a server's answer is taken in: an endless line, or much that was packed small, would fill the
memory long before the time is over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, cast

from pydantic_ai.exceptions import UnexpectedModelBehavior

MOST_BYTES = 64_000_000
"""Unpacked. The longest answers of today are 128,000 tokens, each an event of some 300 bytes."""


class ReadResponse(Protocol):
    """An answer of httpx, or of the package that took its place: whoever reads it, streamed or whole, reads these."""

    aiter_bytes: Callable[..., AsyncIterator[bytes]]


class HookedClient(Protocol):
    """The client of httpx below an SDK's."""

    event_hooks: dict[str, list[Callable[[ReadResponse], Awaitable[None]]]]


def bounded(sdk: object, most_bytes: int = MOST_BYTES) -> None:
    """Have the client of an SDK raise UnexpectedModelBehavior at an answer larger than that. One that is not built upon
    httpx stays as it is."""

    async def bound(response: ReadResponse) -> None:
        unbounded = response.aiter_bytes

        async def counted(*given: int, **named: int) -> AsyncIterator[bytes]:
            seen = 0
            async for part in unbounded(*given, **named):
                seen += len(part)
                if seen > most_bytes:
                    raise UnexpectedModelBehavior(f"its answer is larger than {most_bytes:,} bytes")
                yield part

        response.aiter_bytes = counted

    http = getattr(sdk, "_client", None)
    if hasattr(http, "event_hooks"):
        hooks = cast("HookedClient", http).event_hooks
        cast("HookedClient", http).event_hooks = {**hooks, "response": [*hooks.get("response", ()), bound]}

"""Events of the feed as a browser hears them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import pytest

pytest.importorskip("sse_starlette")

from ratchet.errors import NotFound, StoreError
from ratchet.records import Row
from ratchet.serving.api.feed import Feed
from ratchet.serving.api.serving import Served
from ratchet.serving.api.streams import stream


@pytest.mark.parametrize("last_id", [None, "e7"])
def test_every_event_has_an_id_also_those_that_no_record_keeps(last_id: str | None) -> None:
    down = True

    def read(since: float) -> Sequence[Row]:
        if down:
            raise StoreError("down")
        return []

    def after(name: str) -> list[Row]:
        raise NotFound(name)

    async def heard() -> list[str]:
        nonlocal down
        feed = Feed(read, poll_s=0.01)
        runtime = SimpleNamespace(timeline=SimpleNamespace(after=after))
        held = SimpleNamespace(feed=feed, serving=SimpleNamespace(heartbeat_s=5), runtime=runtime)
        told: list[str] = []
        events = stream(cast("Served", held), last_id, ended=lambda: len(told) >= 2).body_iterator
        async for event in events:
            told.append(event.encode().decode())  # type: ignore[union-attr]
            down = False
        return told

    told = asyncio.run(heard())
    assert [line for each in told for line in each.split("\r\n") if line.startswith("event:")] == [
        "event: store",
        "event: store",
        "event: end",
    ]
    assert all(f"id: {last_id or 0}\r\n" in each for each in told)

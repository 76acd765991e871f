"""What people hear of the timeline."""

from __future__ import annotations

import time
from pathlib import Path

from ratchet.healing import rows as episodes
from ratchet.healing.episode import Budget, Task
from ratchet.improving.loop.telling import tell
from ratchet.ports import Notice
from ratchet.store.sqlite import SqliteStore


def test_the_end_of_a_healing_is_told_once_with_how_it_went(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    told: list[Notice] = []
    assert tell(store, told.append, now=time.time()) == 0
    begun = episodes.begin(store, Task(id="t", check=("true",)), Budget(), solver="repair")
    episodes.write(store, begun, "ended", status="budget", reason="the 60 s are over")
    for _ in range(2):
        tell(store, told.append, now=time.time())
    assert [(each.title, each.text) for each in told] == [(f"a healing ended: {begun.id}", "budget; the 60 s are over")]
    store.close()

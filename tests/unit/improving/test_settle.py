"""An outcome that comes after what was read already is counted behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet.improving.trials.arms import CHANNEL
from ratchet.improving.trials.settle import settle_units
from ratchet.records import Row
from ratchet.store.sqlite import SqliteStore


@pytest.mark.parametrize(("started_at", "late"), [(98.0, True), (99.0, True), (99.5, False)])
def test_what_ended_by_the_moment_that_is_known_counts_just_after_it(
    tmp_path: Path, started_at: float, late: bool
) -> None:
    store = SqliteStore(tmp_path / "store.db")
    met: Row = {"trial": "t", "unit": "u", "channel": CHANNEL, "at": 95.0, "due_at": 200.0, "revision": 1}
    store.insert_new("exposures", [met])
    outcome: Row = {"trials": {"t": "u"}, "started_at": started_at, "duration_s": 1.0, "ok": True}
    assert settle_units(store, [outcome], known=100.0) == 1
    told = store.get("exposures", ("t", "u"))
    assert told is not None
    ended_at = float(str(told["settled_at"]))
    assert (ended_at > 100.0, ended_at < 100.001) == (True, late)
    store.close()

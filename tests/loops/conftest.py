"""Fixtures of the loops' tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from ratchet.improving.trials import arms, planning
from support.healing import Bench, needs_sandbox
from support.worlds import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """One agent whose watched calls live on the world's own clock."""
    made = World(tmp_path / "home")
    monkeypatch.setattr(arms, "time", SimpleNamespace(time=lambda: made.now, monotonic=lambda: made.now))
    ids = count(1)
    monkeypatch.setattr(planning, "new_id", lambda: f"t{next(ids):04d}")
    monkeypatch.setattr(planning, "new_salt", lambda: "salt")
    yield made
    made.store.close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    needs_sandbox(tmp_path)
    made = Bench(tmp_path)
    yield made
    made.runtime.close()

"""Trials on several machines: processes with homes of their own, one Postgres."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from support.postgres_server import Databases

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The benchmark that plays them, as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.setenv("RATCHET_DRAIN_INTERVAL_S", "1")
    monkeypatch.delenv("RATCHET_DATABASE_URL", raising=False)
    yield import_module("homes")
    for name in ("homes", "figures"):
        sys.modules.pop(name, None)


def test_a_harmful_trial_is_undone_on_every_machine_and_a_stopped_one_is_gone(
    tmp_path: Path, machines: Any, postgres: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.fresh()
    monkeypatch.setenv("RATCHET_DATABASE_URL", url)
    harmful, halted = machines.play(tmp_path, url, homes=2)
    postgres.give_back(url)
    assert (harmful.trial.state, harmful.homes) == ("reverted", 2)
    assert harmful.trial.reason.startswith("proven worse")
    assert 0 < harmful.seen_at <= 100
    assert (halted.trial.state, halted.homes) == ("undecided", 2)

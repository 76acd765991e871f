"""The loop on live processes, some of which are killed: one decision an act, and what it rests on stays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The benchmark that plays it, as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield import_module("guard_live")
    for name in ("guard_live", "figures"):
        sys.modules.pop(name, None)


def check(found: Any, expected: list[tuple[str, str]]) -> None:
    assert found.decisions == [(act, state, 1, 1) for act, state in expected]
    assert found.wrong == 0
    assert 0 < found.decided_on == found.counted <= found.exposures
    assert found.exposures >= found.noted > 0


def test_a_provider_that_limits_is_answered_with_more_backoff(tmp_path: Path, live: Any) -> None:
    found = live.play(tmp_path, agents=6, warm_s=2.0, acts=("rules",))
    check(found, [("rules", "kept")])
    assert found.values == {"max_retries": 2, "backoff_s": 0.2}


@pytest.mark.soak
def test_what_harms_and_what_kills_is_undone_whoever_dies(tmp_path: Path, live: Any) -> None:
    found = live.play(tmp_path, agents=8)
    check(found, [("rules", "kept"), ("shorter", "reverted"), ("broken", "reverted")])
    assert found.values == {"max_retries": 2, "backoff_s": 0.2}

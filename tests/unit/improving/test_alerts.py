"""Alerts name what is new, came back, rises or fails too often, each once, and nothing that was there before."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.config import Often
from ratchet.errors import UsageError
from ratchet.improving.loop.alerts import alert
from ratchet.ports import Notice
from ratchet.runtime import Runtime

DISK, ROUTE = "No space left on device", "no route to host"
NOW = time.time()


class Told:
    """A home, and what its people heard."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.notices: list[Notice] = []

    def fail(self, error: str, times: int, *, at: float = NOW) -> None:
        for number in range(times):
            self.runtime.record("a", session=f"s{number}", error=error, started_at=at + number)

    def look(self, often: Often | None = None, *, at: float = NOW + 100) -> list[str]:
        """The lines that are told now."""
        before = len(self.notices)
        alert(self.runtime.store, self.runtime.patterns(), often, self.notices.append, now=at)
        return [line for notice in self.notices[before:] for line in notice.text.split("\n")]


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    with Runtime.open(home=tmp_path / "home") as runtime:
        yield Told(runtime)


def test_a_new_pattern_that_came_again_is_told_once(told: Told) -> None:
    assert told.look(at=NOW - 1) == []
    told.fail(DISK, 1)
    assert told.look() == []
    told.fail(DISK, 2, at=NOW + 10)
    (line,) = told.look()
    assert line.startswith(f"new: {DISK} (")
    assert told.look() == told.look(at=NOW + 7 * 86_400) == []


def test_what_was_there_before_is_nobody_s_news(told: Told) -> None:
    told.fail(DISK, 5, at=NOW - 50)
    assert told.look() == told.look() == []


def test_a_pattern_that_comes_back_is_told_and_what_was_put_aside_is_not(told: Told) -> None:
    told.fail(DISK, 3, at=NOW - 500)
    told.fail(ROUTE, 3, at=NOW - 500)
    told.look()
    by_text = {each.template: each.id for each in told.runtime.patterns()}
    told.runtime.failing.triage(by_text[DISK], state="resolved")
    told.runtime.failing.triage(by_text[ROUTE], state="ignored")
    assert told.look(Often(2, 3_600.0)) == []
    told.fail(DISK, 1, at=time.time() + 5)
    told.fail(ROUTE, 9, at=time.time() + 5)
    (line,) = told.look(Often(2, 3_600.0), at=time.time() + 20)
    assert line.startswith(f"back after it was resolved: {DISK}")


def test_so_many_failures_in_so_long_are_told_and_again_after_a_day(told: Told) -> None:
    told.fail(DISK, 5, at=NOW - 40 * 86_400)
    told.look(at=NOW - 10)
    often = Often(4, 3_600.0)
    told.fail(DISK, 3)
    assert [line for line in told.look(often) if line.startswith("frequent")] == []
    told.fail(DISK, 4, at=NOW + 20)
    assert [line.partition(":")[0] for line in told.look(often)] == ["frequent"]
    assert told.look(often) == []
    told.fail(DISK, 4, at=NOW + 86_400)
    assert [line.partition(":")[0] for line in told.look(often, at=NOW + 86_500)] == ["frequent"]


@pytest.mark.parametrize("nonsense", ["often", "20", "20/", "/1h", "20/h", "20/1m", "-1/1h", "9" * 30 + "/1h"])
def test_a_number_and_a_length_are_due(nonsense: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="20/1h"):
        Runtime.open(home=tmp_path, alert_often=nonsense)

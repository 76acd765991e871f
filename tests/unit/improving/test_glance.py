"""A long look is shared, given as it was while another is under way, and ended by what somebody decides."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ratchet.improving.glance import SLOW_S, Glance
from ratchet.runtime import Runtime


class Looks:
    """Counts its calls; each takes so much processor time."""

    def __init__(self, spent_s: float) -> None:
        self.count = 0
        self._spent_s = spent_s

    def __call__(self) -> int:
        until = time.thread_time() + self._spent_s
        while time.thread_time() < until:
            pass
        self.count += 1
        return self.count


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with Runtime.open(home=tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def happens(runtime: Runtime) -> Callable[[], None]:
    def happen() -> None:
        runtime.record("a", ok=True)
        runtime.drain()

    happen()
    return happen


def test_a_long_look_is_given_as_it_was_while_another_is_under_way(
    runtime: Runtime, happens: Callable[[], None]
) -> None:
    glance, look, renewed = Glance(), Looks(2 * SLOW_S), threading.Event()
    glance.renewed = renewed.set
    assert [glance.at(runtime.store, look, late=True) for _ in range(2)] == [1, 1]
    happens()
    assert glance.at(runtime.store, look, late=True) == 1
    assert renewed.wait(30)
    assert [glance.at(runtime.store, look, late=True) for _ in range(2)] == [2, 2]


def test_who_takes_no_late_look_has_what_is_there_now(runtime: Runtime, happens: Callable[[], None]) -> None:
    glance, look = Glance(), Looks(2 * SLOW_S)
    assert glance.at(runtime.store, look) == 1
    happens()
    assert glance.at(runtime.store, look) == 2


def test_a_short_look_is_taken_anew(runtime: Runtime, happens: Callable[[], None]) -> None:
    glance, look = Glance(), Looks(0.0)
    assert glance.at(runtime.store, look, late=True) == 1
    happens()
    assert glance.at(runtime.store, look, late=True) == 2


def test_what_somebody_decides_is_seen_at_once(runtime: Runtime, happens: Callable[[], None]) -> None:
    glance, look = Glance(), Looks(2 * SLOW_S)
    assert glance.at(runtime.store, look, late=True) == 1
    runtime.lessons.add(when="no space left on device", do="remove old segments", scope="global")
    assert glance.at(runtime.store, look, late=True) == 2

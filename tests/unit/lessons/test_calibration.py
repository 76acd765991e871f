"""Thresholds come from a home's own memories, and keep the promise that is made of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.lessons.calibration import LEAST, calibrate, promise_of, quantile
from ratchet.lessons.finding import Bars
from ratchet.lessons.lessons import add
from ratchet.lessons.recall import bars_of
from ratchet.ports import Store
from ratchet.testing.stores import open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path)
    yield opened
    opened.close()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=200), st.sampled_from([0.02, 0.05, 0.5]))
def test_at_most_the_promised_share_of_scores_reaches_the_threshold(scores: list[float], alpha: float) -> None:
    bar = quantile(scores, alpha)
    assert sum(score >= bar for score in scores) <= alpha * (len(scores) + 1)


def test_few_memories_leave_the_thresholds_that_are_shipped(store: Store) -> None:
    add(store, when="fatal: no upstream branch", do="push with -u")
    bars = calibrate(store)
    assert (bars.line, bars.trace) == (Bars().line, Bars().trace)
    assert promise_of(store).lines_from == 0


def test_own_memories_choose_the_threshold_once_and_again_when_they_have_grown(store: Store) -> None:
    verbs = ("open", "close", "lift", "fold", "send", "read", "mend", "join")
    things = ("shelf", "wheel", "gear", "spring", "valve", "crane", "drum")
    with store.transaction():
        for verb in verbs:
            for thing in things:
                add(store, when=f"cannot {verb} the {thing} while it turns", do=f"stop before you {verb} a {thing}")
    assert len(verbs) * len(things) >= LEAST
    bars = calibrate(store)
    assert 0.90 <= bars.line <= 0.99
    assert promise_of(store).lines_from == len(verbs) * len(things)
    held = store.get("meta", "recall")
    calibrate(store)
    assert store.get("meta", "recall") == held
    assert bars_of(store).line == bars.line

"""One place enforces the budget: reserve before, settle after, and what nobody saw end counts in full."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.errors import Refused, UsageError
from ratchet.healing.episode import Budget
from ratchet.healing.purse import EpisodePurse
from ratchet.ports import Store
from ratchet.testing.stores import open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = open_store(tmp_path)
    yield made
    made.close()


def test_a_call_that_may_cost_more_than_is_left_is_not_made(store: Store) -> None:
    purse = EpisodePurse(store, "e", Budget(usd=1.0))
    first = purse.reserve(0.7)
    with pytest.raises(Refused, match="--budget-usd"):
        purse.reserve(0.4)
    assert "1 USD" in purse.spent()
    purse.settle(first, 0.2, tokens=10)
    assert purse.usd_left() == pytest.approx(0.8)
    usd, tokens = purse.charged(0)
    assert (round(usd, 9), tokens) == (0.2, 10)


def test_many_threads_together_never_reserve_more_than_there_is(store: Store) -> None:
    purse = EpisodePurse(store, "e", Budget(usd=1.0))
    got: list[str] = []

    def take() -> None:
        for _ in range(5):
            try:
                got.append(purse.reserve(0.3))
            except Refused:
                return

    threads = [threading.Thread(target=take) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(got) == 3


def test_a_call_whose_end_nobody_saw_counts_in_full_in_the_next_process(store: Store) -> None:
    before = EpisodePurse(store, "e", Budget(usd=1.0))
    before.settle(before.reserve(0.5), 0.1)
    before.reserve(0.6)
    after = EpisodePurse(store, "e", Budget(usd=1.0))
    assert after.usd_left() == pytest.approx(0.3)
    with pytest.raises(Refused):
        after.reserve(0.31)


def test_settling_twice_counts_once(store: Store) -> None:
    purse = EpisodePurse(store, "e", Budget(usd=1.0))
    reservation = purse.reserve(0.5)
    purse.settle(reservation, 0.5)
    purse.settle(reservation, 0.5)
    assert purse.usd_spent() == pytest.approx(0.5)


@pytest.mark.parametrize("price", [float("nan"), float("inf"), -1.0])
def test_a_price_that_is_none_is_refused(store: Store, price: float) -> None:
    with pytest.raises(Refused):
        EpisodePurse(store, "e", Budget()).reserve(price)


def test_seconds_used_before_count_and_nothing_is_reserved_without_time(store: Store) -> None:
    purse = EpisodePurse(store, "e", Budget(seconds=10), used_s=10)
    assert purse.seconds_left() == 0
    assert purse.cancelled()
    assert "10 s" in purse.spent()
    with pytest.raises(Refused):
        purse.reserve(0.0)


@pytest.mark.parametrize("name", ["usd", "seconds"])
@pytest.mark.parametrize("limit", [float("nan"), -1.0, None, "1"])
def test_a_budget_that_no_spending_would_reach_is_refused(name: str, limit: object) -> None:
    with pytest.raises(UsageError, match=f"the budget's {name} is"):
        Budget(**{name: limit})  # type: ignore[arg-type]

"""`ratchet.retry`: again where that can help, within attempts, seconds and money, with what is remembered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import ratchet
from ratchet.improving.calls.retry import RetryOptions
from ratchet.records import Lesson

QUICK_S = 0.001


@pytest.fixture
def r(home: Path) -> Iterator[ratchet.Ratchet]:
    with ratchet.Ratchet(home=home) as made:
        yield made


def test_what_may_pass_is_tried_until_the_attempts_are_used_up(r: ratchet.Ratchet) -> None:
    tries: list[int] = []

    @r.retry(attempts=3, backoff_s=QUICK_S, idempotent=True)
    def call(fails: int) -> str:
        tries.append(1)
        if len(tries) <= fails:
            raise ConnectionResetError("reset by peer")
        return "done"

    assert call(2) == "done"
    assert len(tries) == 3
    tries.clear()
    with pytest.raises(ConnectionResetError):
        call(9)
    assert len(tries) == 3


def test_what_will_not_pass_or_is_not_idempotent_is_tried_once(r: ratchet.Ratchet) -> None:
    tries: list[str] = []

    @r.retry(attempts=3, backoff_s=QUICK_S)
    def bug() -> None:
        tries.append("bug")
        raise KeyError("name")

    @r.retry(attempts=3, idempotent=False, backoff_s=QUICK_S)
    def pays() -> None:
        tries.append("pays")
        raise ConnectionResetError("reset by peer")

    for call in (bug, pays):
        with pytest.raises((KeyError, ConnectionResetError)):
            call()
    assert tries == ["bug", "pays"]


def test_coroutines_generators_and_async_generators_are_retried_as_what_they_are(r: ratchet.Ratchet) -> None:
    tries: dict[str, int] = {}

    def shaky(name: str) -> None:
        tries[name] = tries.get(name, 0) + 1
        if tries[name] == 1:
            raise TimeoutError

    @r.retry(backoff_s=QUICK_S, idempotent=True)
    async def coroutine() -> int:
        shaky("coroutine")
        return 1

    @r.retry(backoff_s=QUICK_S, idempotent=True)
    def generator() -> Iterator[int]:
        shaky("generator")
        yield from (1, 2)

    @r.retry(backoff_s=QUICK_S, idempotent=True)
    async def stream() -> AsyncIterator[int]:
        shaky("stream")
        yield 1

    class Client:
        @r.retry(backoff_s=QUICK_S, idempotent=True)
        def method(self) -> int:
            shaky("method")
            return 2

        @r.retry(backoff_s=QUICK_S, idempotent=True)
        @staticmethod
        def static() -> int:
            shaky("static")
            return 3

    async def items() -> list[int]:
        return [each async for each in stream()]

    assert asyncio.run(coroutine()) == 1
    assert list(generator()) == [1, 2]
    assert asyncio.run(items()) == [1]
    assert (Client().method(), Client.static()) == (2, 3)
    assert set(tries.values()) == {2}


def test_the_seconds_hold_also_for_a_try_that_hangs_and_for_waits(r: ratchet.Ratchet) -> None:
    @r.retry(attempts=100, budget_s=0.3, backoff_s=0.02, max_wait_s=0.05, idempotent=True)
    def resets() -> None:
        raise ConnectionResetError("reset by peer")

    @r.retry(attempts=100, budget_s=0.3, backoff_s=0.001, idempotent=True)
    async def hangs() -> None:
        await asyncio.sleep(60)

    @r.retry(attempts=100, budget_s=0.3)
    def asked_to_wait() -> None:
        raise RuntimeError("429 Too Many Requests: try again in 30s")

    began = time.monotonic()
    with pytest.raises(ConnectionResetError):
        resets()
    with pytest.raises(TimeoutError):
        asyncio.run(hangs())
    with pytest.raises(RuntimeError):
        asked_to_wait()
    assert time.monotonic() - began < 20  # three budgets of 0.3 s, on however slow a machine


def test_money_is_set_aside_before_each_try_and_never_exceeded(r: ratchet.Ratchet) -> None:
    spent: list[float] = []

    @r.retry(attempts=100, budget_usd=0.35, cost_usd=0.10, backoff_s=QUICK_S, idempotent=True)
    def asks() -> None:
        spent.append(0.10)
        raise ConnectionResetError("reset by peer")

    with pytest.raises(ConnectionResetError):
        asks()
    assert len(spent) == 3


def test_budgets_that_make_no_sense_are_refused_at_once(r: ratchet.Ratchet) -> None:
    nonsense: tuple[tuple[RetryOptions, str], ...] = (
        ({"attempts": 0}, "attempts"),
        ({"budget_usd": 1.0}, "unknown price"),
        ({"budget_usd": 0.1, "cost_usd": 0.2}, "one try may cost"),
        ({"budget_s": 0.0}, "no call through"),
        ({"budget_s": float("nan")}, "budget_s"),
    )
    for options, said in nonsense:
        with pytest.raises(ratchet.UsageError, match=said):
            r.retry(**options)


def test_a_function_that_takes_lessons_is_tried_again_with_them_whatever_failed(r: ratchet.Ratchet) -> None:
    r.lessons.add(when="KeyError: 'plug'", do="Ask for `socket` instead.", state="active", scope="global")
    r.lessons.add(when="KeyError: 'plug'", do="Never shown.", state="candidate", scope="global")
    given: list[tuple[str, ...]] = []

    @r.retry(attempts=3, backoff_s=QUICK_S)
    def ask(*, lessons: tuple[Lesson, ...] = ()) -> str:
        given.append(tuple(each.text for each in lessons))
        if not lessons:
            raise KeyError("plug")
        return "socket"

    assert ask() == "socket"
    assert given == [(), ("Ask for `socket` instead.",)]


def test_the_same_lesson_is_no_reason_to_try_a_third_time(r: ratchet.Ratchet) -> None:
    r.lessons.add(when="KeyError: 'plug'", do="Ask for `socket` instead.", state="active", scope="global")
    tries: list[int] = []

    @r.retry(attempts=9, backoff_s=QUICK_S)
    def ask(*, lessons: tuple[Lesson, ...] = ()) -> str:
        tries.append(len(lessons))
        raise KeyError("plug")

    with pytest.raises(KeyError):
        ask()
    assert tries == [0, 1]


def test_without_any_store_there_is_nothing_to_recall_and_no_fault(home: Path) -> None:
    @ratchet.Ratchet(home=home).retry(attempts=2, backoff_s=QUICK_S)
    def call(lessons: tuple[Lesson, ...] = ()) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        call()
    assert not home.exists()

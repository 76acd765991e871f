"""Guarded calls: the built-in knobs act, and what must not be repeated is not."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet import Choice, Knob, Range, UsageError
from ratchet.errors import StoreError
from ratchet.failures.kinds.kind import is_retry_safe
from ratchet.failures.kinds.table import KINDS
from ratchet.improving.calls.guarded import Timing
from ratchet.improving.calls.limits import CallPace, Slots
from ratchet.improving.calls.tries import Tries
from ratchet.improving.calls.waits import named_wait_s, wait_in_words_s
from ratchet.improving.settings.agent_settings import AgentSettings
from ratchet.improving.settings.builtin import Policy
from ratchet.improving.settings.live import Live
from ratchet.ports import Store
from ratchet.recording.background import Background
from ratchet.recording.run import enclosing

LIMITED = "429 Too Many Requests"
QUOTA = "insufficient_quota: You exceeded your current quota"


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self, draw: float = 0.0) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []
        self.timing = Timing(
            sleep=self._sleep,
            sleep_async=self._sleep_async,
            monotonic=lambda: self.now,
            wall=lambda: self.now,
            draw=lambda: draw,
        )

    def _sleep(self, seconds: float) -> None:
        if seconds:
            self.slept.append(round(seconds, 6))
            self.now += seconds

    async def _sleep_async(self, seconds: float) -> None:
        self._sleep(seconds)
        await asyncio.sleep(0)


def no_store() -> Store:
    raise StoreError("not in these tests")


def settings(clock: Clock | None = None, **knobs: Knob) -> AgentSettings:
    return AgentSettings(
        "bot",
        knobs,
        live=Live(lambda work, every_s: Background(work, 0, name="none")),
        store=no_store,
        enclosing=enclosing,
        timing=(clock or Clock()).timing,
    )


class Fails:
    """Raises the given errors in turn, then answers; keeps count."""

    def __init__(self, *errors: str | Exception, answer: object = "ok") -> None:
        self.errors = [RuntimeError(error) if isinstance(error, str) else error for error in errors]
        self.answer = answer
        self.calls = 0

    def __call__(self, *args: object) -> object:
        self.calls += 1
        if self.calls <= len(self.errors):
            raise self.errors[self.calls - 1]
        return self.answer


Run = Callable[..., object]


def plainly(s: AgentSettings, work: Fails, **options: Any) -> object:
    return s.guarded(work.__call__, **options)()


def awaited(s: AgentSettings, work: Fails, **options: Any) -> object:
    async def call() -> object:
        await asyncio.sleep(0)
        return work()

    return asyncio.run(s.guarded(call, **options)())


def by_lambda(s: AgentSettings, work: Fails, **options: Any) -> object:
    async def call() -> object:
        return work()

    async def main() -> object:
        return await s.guarded(lambda: call(), **options)()

    return asyncio.run(main())


def streamed(s: AgentSettings, work: Fails, **options: Any) -> object:
    def items() -> Iterator[object]:
        yield work()

    return next(s.guarded(items, **options)())


def streamed_async(s: AgentSettings, work: Fails, **options: Any) -> object:
    async def items() -> AsyncIterator[object]:
        yield work()

    async def main() -> object:
        return [item async for item in s.guarded(items, **options)()].pop()

    return asyncio.run(main())


EACH = pytest.mark.parametrize("run", [plainly, awaited, by_lambda, streamed, streamed_async])


# -- retries ---------------------------------------------------------------------------------------------------------


@EACH
def test_what_may_pass_is_tried_again_with_growing_waits(run: Run) -> None:
    clock, work = Clock(draw=1.0), Fails(LIMITED, "503 Service Unavailable", TimeoutError())
    assert (
        run(
            settings(clock, max_retries=Range(0, 5, default=3), backoff_s=Range(0, 9, default=1)), work, idempotent=True
        )
        == "ok"
    )
    assert work.calls == 4
    assert clock.slept == [1.0, 2.0, 4.0]


@EACH
def test_after_the_last_retry_the_error_comes_as_it_was_raised(run: Run) -> None:
    error = RuntimeError(LIMITED)
    work = Fails(RuntimeError(LIMITED), error)
    with pytest.raises(RuntimeError) as caught:
        run(settings(max_retries=Range(0, 5, default=1)), work)
    assert caught.value is error
    assert work.calls == 2


@EACH
@pytest.mark.parametrize(
    "error", [QUOTA, "401 Unauthorized: invalid api key", "400 Bad Request: schema", ValueError("x")]
)
def test_what_waiting_cannot_heal_is_not_tried_again(run: Run, error: str | Exception) -> None:
    work = Fails(error)
    with pytest.raises((RuntimeError, ValueError)):
        run(settings(max_retries=Range(0, 5, default=5)), work)
    assert work.calls == 1


@EACH
def test_an_operation_that_is_not_idempotent_is_never_repeated(run: Run) -> None:
    s = settings(
        max_retries=Range(0, 5, default=5),
        empty_retries=Range(0, 5, default=5),
        model=Choice("large", "small"),
        fallback_models=Choice(["small"]),
    )
    for work in (Fails(LIMITED), Fails("prompt is too long: 250000 tokens"), Fails(answer="")):
        with suppress(RuntimeError):
            run(s, work, idempotent=False, trim=lambda args, kwargs: (args, kwargs))
        assert work.calls == 1


def test_run_takes_idempotent_too() -> None:
    work = Fails(LIMITED)
    with pytest.raises(RuntimeError):
        settings(max_retries=Range(0, 5, default=5)).run(work, idempotent=False)
    assert work.calls == 1
    assert settings(max_retries=Range(0, 5, default=5)).run(Fails(LIMITED)) == "ok"


@EACH
@pytest.mark.parametrize(
    ("message", "wait_s"),
    [
        ("429: Please try again in 7s", 7.0),
        ("Rate limit reached. Please try again in 1m30.5s.", 90.5),
        ('429 {"error": {"details": [{"retryDelay": "17s"}]}}', 17.0),
        ("rate limited, retry after 20 seconds", 20.0),
    ],
)
def test_a_wait_that_the_provider_names_is_kept(run: Run, message: str, wait_s: float) -> None:
    clock, work = Clock(draw=1.0), Fails(message)
    run(settings(clock, max_retries=Range(0, 5, default=2)), work)
    assert wait_s <= clock.slept[0] <= wait_s * 1.1


def test_a_named_wait_beyond_the_budget_fails_at_once_instead_of_waiting_in_vain() -> None:
    clock, work = Clock(), Fails("429: try again in 2 hours")
    with pytest.raises(RuntimeError):
        settings(clock, max_retries=Range(0, 5, default=5)).run(work)
    assert (work.calls, clock.slept) == (1, [])


def test_all_waits_of_a_call_stay_within_its_budget() -> None:
    clock, work = Clock(draw=1.0), Fails(*[LIMITED] * 50)
    knobs = {"max_retries": Range(0, 50, default=50), "wait_budget_s": Range(0, 900, default=20)}
    with pytest.raises(RuntimeError):
        settings(clock, **knobs).run(work)
    assert clock.slept == [1.0, 2.0, 4.0, 8.0]


@given(st.floats(0, 0.999), st.integers(1, 12), st.floats(0.01, 10), st.floats(0.01, 100))
def test_backoff_grows_within_its_bounds(draw: float, retries: int, backoff_s: float, max_wait_s: float) -> None:
    policy = Policy(max_retries=retries, backoff_s=backoff_s, max_wait_s=max_wait_s, wait_budget_s=1e9)
    tries = Tries(policy, idempotent=True, can_trim=False, draw=lambda: draw)
    for n in range(retries):
        again = tries.failed(RuntimeError(LIMITED), now=0)
        assert again is not None
        step = min(max_wait_s, backoff_s * 2**n)
        assert step / 2 <= again.wait_s <= step
    assert tries.failed(RuntimeError(LIMITED), now=0) is None


@given(st.sampled_from(sorted(KINDS)))
def test_only_kinds_that_are_safe_to_retry_are_retried(kind: str) -> None:
    assert is_retry_safe("quota_exhausted") is False
    assert {k for k in KINDS if is_retry_safe(k)} == {
        "rate_limit", "overloaded", "server_error", "timeout", "network", "empty_response", "malformed_output"
    }  # fmt: skip


def test_interrupts_are_not_failures() -> None:
    for error in (KeyboardInterrupt(), SystemExit(1), GeneratorExit()):
        work = Fails(error)  # type: ignore[arg-type]
        with pytest.raises(type(error)):
            settings(max_retries=Range(0, 5, default=5)).run(work)
        assert work.calls == 1


# -- waits named -----------------------------------------------------------------------------------------------------


class Response:
    def __init__(self, **headers: str) -> None:
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class ApiError(Exception):
    def __init__(self, **given: object) -> None:
        super().__init__("429")
        self.__dict__.update(given)


@pytest.mark.parametrize(
    ("error", "wait_s"),
    [
        (ApiError(response=Response(retry_after="12")), 12.0),
        (ApiError(response=Response(retry_after_ms="1500")), 1.5),
        (ApiError(headers={"Retry-After": "3"}), 3.0),
        (ApiError(response={"ResponseMetadata": {"HTTPHeaders": {"retry-after": "4"}}}), 4.0),
        (ApiError(response=Response(retry_after=format_datetime(datetime.fromtimestamp(1_030, UTC)))), 30.0),
        (ApiError(retry_after=2.5), 2.5),
        (ApiError(retry_after=timedelta(seconds=9)), 9.0),
        (ApiError(body={"error": {"details": [{"retryDelay": "17s"}]}}), 17.0),
        (ApiError(retry_after="soon", headers=5, response=7), None),
        (ApiError(retry_after=float("nan")), None),
        (ApiError(retry_after=-5), None),
        (ApiError(retry_after=1_900_000_000), 1_900_000_000.0),
    ],
)
def test_waits_in_headers_attributes_and_bodies(error: Exception, wait_s: float | None) -> None:
    assert named_wait_s(error, now=1_000.0) == wait_s


def test_a_wait_named_by_a_cause_counts() -> None:
    error = RuntimeError("the model failed")
    error.__cause__ = ApiError(retry_after=6)
    assert named_wait_s(error, now=0) == 6


@pytest.mark.parametrize(
    ("text", "wait_s"),
    [
        ("Please try again in 350ms", 0.35),
        ("try again in 2 seconds", 2.0),
        ("try again after 1 hour", 3600.0),
        ("Please retry after 6 seconds.", 6.0),
        ("Retry-After: 30", 30.0),
        ("retry_after_ms=250", 0.25),
        ("limit resets in 4m12s", 252.0),
        ("Please wait 10 s before the next call", 10.0),
        ("quota available again in 2h 5m", 7500.0),
        ("try again later", None),
        ("retrying is pointless, 5 times failed", None),
        ("waited 5 s for a lock", None),
        ("", None),
    ],
)
def test_waits_in_words(text: str, wait_s: float | None) -> None:
    found = wait_in_words_s(text)
    assert found == (None if wait_s is None else pytest.approx(wait_s))


@given(st.text(alphabet="try again in 0123456789smh.retry-after:\"' ", max_size=300))
def test_any_text_names_a_sane_wait_or_none(text: str) -> None:
    found = wait_in_words_s(text)
    assert found is None or found >= 0


# -- models, empty answers, context ----------------------------------------------------------------------------------


def test_the_next_model_answers_where_the_first_cannot() -> None:
    s = settings(model=Choice("large", "small"), fallback_models=Choice(["large", "small", "tiny"]))
    asked = []

    @s.guarded
    def ask() -> str:
        asked.append(s.current().model)
        if s.current().model != "tiny":
            raise RuntimeError(QUOTA)
        return "ok"

    assert ask() == "ok"
    assert asked == ["large", "small", "tiny"]
    assert s.current().model == "large"


def test_a_wrong_request_is_wrong_for_every_model() -> None:
    work = Fails("400 Bad Request: invalid schema")
    with pytest.raises(RuntimeError):
        settings(model=Choice("large"), fallback_models=Choice(["small"])).run(work)
    assert work.calls == 1


def test_a_stream_keeps_the_model_that_began_it() -> None:
    s = settings(model=Choice("large"), fallback_models=Choice(["small"]))

    @s.guarded
    def items() -> Iterator[str]:
        if s.current().model == "large":
            raise RuntimeError(QUOTA)
        yield s.current().model
        yield s.current().model

    seen = [(item, s.current().model) for item in items()]
    assert seen == [("small", "large")] * 2


@EACH
def test_an_empty_answer_is_asked_for_again(run: Run) -> None:
    if run in (streamed, streamed_async):
        pytest.skip("a stream is empty when it has no item")
    answers = iter([None, " \n", "ok"])
    work = Fails()
    work.answer = None

    class Emptyish(Fails):
        def __call__(self, *args: object) -> object:
            self.calls += 1
            return next(answers)

    work = Emptyish()
    assert run(settings(empty_retries=Range(0, 3, default=3)), work) == "ok"
    assert work.calls == 3


@EACH
def test_an_answer_that_stays_empty_is_given_as_it_is(run: Run) -> None:
    if run in (streamed, streamed_async):
        pytest.skip("a stream is empty when it has no item")
    work = Fails(answer="")
    assert run(settings(empty_retries=Range(0, 3, default=2)), work) == ""
    assert work.calls == 3


def test_a_stream_without_items_is_asked_for_again() -> None:
    lengths = iter([0, 0, 2])
    s = settings(empty_retries=Range(0, 3, default=3))

    @s.guarded
    def items() -> Iterator[int]:
        yield from range(next(lengths))

    assert list(items()) == [0, 1]


def test_zero_and_false_are_answers_and_one_may_say_what_is_none() -> None:
    s = settings(empty_retries=Range(0, 3, default=3))
    for answer in (0, False):
        work = Fails(answer=answer)
        assert s.run(work) == answer
        assert work.calls == 1
    work = Fails(answer="n/a")
    s.guarded(work.__call__, is_empty=lambda value: value == "n/a")()
    assert work.calls == 4


def test_what_does_not_fit_the_context_is_trimmed() -> None:
    s = settings(max_trims=Range(0, 3, default=3))
    seen = []

    def trim(
        args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object]] | None:
        (text,) = args
        assert isinstance(text, str)
        return ((text[: len(text) // 2],), kwargs) if len(text) > 2 else None

    @s.guarded(trim=trim)
    def ask(text: str) -> int:
        seen.append(len(text))
        if len(text) > 4:
            raise RuntimeError("prompt is too long: 250000 tokens > 200000 maximum")
        return len(text)

    assert ask("x" * 16) == 4
    assert seen == [16, 8, 4]
    with pytest.raises(RuntimeError):
        ask("x" * 200)

    def broken(args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        raise ZeroDivisionError

    with pytest.raises(RuntimeError):
        s.guarded(Fails("prompt is too long: 250000 tokens").__call__, trim=broken)()


# -- time ------------------------------------------------------------------------------------------------------------


def test_a_plain_call_that_takes_too_long_is_given_up_and_says_which_setting() -> None:
    ended = threading.Event()
    s = settings(timeout_s=Range(0.01, 60, default=0.05))
    with pytest.raises(TimeoutError, match="timeout_s"):
        s.run(ended.wait, 10, idempotent=False)
    ended.set()


def test_a_coroutine_that_takes_too_long_is_cancelled() -> None:
    cancelled = []

    async def slow() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.append(1)
            raise

    s = settings(timeout_s=Range(0.01, 60, default=0.02), max_retries=Range(0, 3, default=1))
    with pytest.raises(TimeoutError, match="timeout_s"):
        asyncio.run(s.run(slow, idempotent=True))
    assert len(cancelled) == 2


def test_a_cancelled_call_is_cancelled_and_not_tried_again() -> None:
    calls = []

    async def slow() -> None:
        calls.append(1)
        await asyncio.sleep(30)

    async def main() -> None:
        task = asyncio.ensure_future(
            settings(timeout_s=Range(1, 60, default=50), max_retries=Range(0, 3, default=3)).run(slow)
        )
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert calls == [1]


def test_a_call_in_its_own_thread_sees_the_context_and_gives_its_value_and_errors() -> None:
    s = settings(timeout_s=Range(1, 60, default=30), model=Choice("large"), fallback_models=Choice(["small"]))
    caller = threading.current_thread()

    @s.guarded
    def ask() -> str:
        assert threading.current_thread() is not caller
        if s.current().model == "large":
            raise RuntimeError(QUOTA)
        return str(s.current().model)

    assert ask() == "small"
    error = ValueError("x")
    with pytest.raises(ValueError, match="x") as caught:
        s.run(Fails(error))
    assert caught.value is error


# -- limits ----------------------------------------------------------------------------------------------------------


def test_no_more_calls_run_at_once_than_set_in_threads_and_tasks() -> None:
    s = settings(concurrency=Range(1, 8, default=3))
    running, most, lock = 0, 0, threading.Lock()

    def enter(by: int) -> None:
        nonlocal running, most
        with lock:
            running += by
            most = max(most, running)

    def work() -> None:
        enter(1)
        time.sleep(0.002)
        enter(-1)

    async def work_async() -> None:
        enter(1)
        await asyncio.sleep(0.002)
        enter(-1)

    async def many() -> None:
        await asyncio.gather(*(s.run(work_async) for _ in range(30)))

    with ThreadPoolExecutor(9) as pool:
        futures = [pool.submit(s.run, work) for _ in range(30)]
        futures.append(pool.submit(lambda: asyncio.run(many())))
        for future in futures:
            future.result(30)
    assert (running, most) == (0, 3)


def test_two_handles_of_one_agent_share_its_limits() -> None:
    live = Live(lambda work, every_s: Background(work, 0, name="none"))
    one, other = (
        AgentSettings("bot", {"concurrency": Range(1, 8, default=1)}, live=live, store=no_store, enclosing=enclosing)
        for _ in range(2)
    )
    gate, order = threading.Event(), list[str]()

    def first() -> None:
        order.append("first")
        gate.wait(10)
        order.append("first ends")

    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(one.run, first)
        while not order:
            time.sleep(0.001)
        waiting = pool.submit(other.run, order.append, "second")
        assert not waiting.done()
        gate.set()
        held.result(10)
        waiting.result(10)
    assert order == ["first", "first ends", "second"]


def test_a_guarded_call_within_a_guarded_call_does_not_wait_for_its_own_slot() -> None:
    s = settings(concurrency=Range(1, 8, default=1), timeout_s=Range(1, 60, default=20))
    work = Fails()
    inner = s.guarded(work.__call__)
    assert s.run(lambda: (inner(), inner())) == ("ok", "ok")


def test_a_slot_comes_back_from_errors_streams_and_cancelled_waits() -> None:
    s = settings(concurrency=Range(1, 8, default=1))

    @s.guarded
    def items() -> Iterator[int]:
        yield 1
        yield 2

    for _ in items():
        assert s.run(Fails()) == "ok"
    with pytest.raises(ValueError, match="x"):
        s.run(Fails(ValueError("x")))
    assert s.run(Fails()) == "ok"

    async def main() -> object:
        gate = asyncio.Event()
        first = asyncio.ensure_future(s.run(gate.wait))
        await asyncio.sleep(0)
        waiting = asyncio.ensure_future(s.run(gate.wait))
        await asyncio.sleep(0.01)
        waiting.cancel()
        gate.set()
        await first
        return await s.guarded(gate.wait)()

    assert asyncio.run(main()) is True


def test_what_is_called_on_the_loop_itself_never_blocks_those_who_would_make_room() -> None:
    s = settings(concurrency=Range(1, 8, default=1))

    async def work() -> str:
        await asyncio.sleep(0.001)
        assert s.run(lambda: 5) == 5  # within its own slot
        return "ok"

    async def main() -> list[str]:
        gate = asyncio.Event()
        held = asyncio.ensure_future(s.run(gate.wait))
        await asyncio.sleep(0)
        later = [asyncio.ensure_future(s.run(lambda: work())) for _ in range(5)]
        assert s.run(lambda: 7) == 7
        gate.set()
        await held
        return await asyncio.gather(*later)

    assert asyncio.run(main()) == ["ok"] * 5


def test_a_slot_that_comes_while_its_waiter_is_cancelled_is_passed_on() -> None:
    async def main() -> None:
        slots = Slots()
        await slots.enter_async(1)
        waiter = asyncio.ensure_future(slots.enter_async(1))
        await asyncio.sleep(0)
        slots.leave()  # the slot is granted, and the waiter has not yet seen it
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        assert slots.in_flight == 0

    asyncio.run(main())


def test_a_forked_child_does_not_wait_for_its_parents_calls() -> None:
    s = settings(concurrency=Range(1, 8, default=1))
    gate, entered = threading.Event(), threading.Event()

    def work() -> None:
        entered.set()
        gate.wait(30)

    thread = threading.Thread(target=s.run, args=(work,))
    thread.start()
    entered.wait(10)
    child = os.fork()
    if child == 0:
        os._exit(0 if s.run(lambda: 1) == 1 else 1)
    gate.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_calls_start_no_faster_than_the_rate_set() -> None:
    clock = Clock()
    s = settings(clock, calls_per_minute=Range(1, 6000, default=60))
    began = []
    for _ in range(5):
        s.run(lambda: began.append(clock.now))
    assert began == [1_000.0, 1_001.0, 1_002.0, 1_003.0, 1_004.0]


@given(st.floats(1, 6_000), st.lists(st.floats(0, 5), min_size=2, max_size=60))
def test_in_no_span_more_calls_start_than_its_share_and_one_burst(rate: float, gaps: list[float]) -> None:
    pace, now, starts = CallPace(), 0.0, []
    for gap in gaps:
        now += gap
        starts.append(now + pace.reserve(rate, now))
    for i in range(len(starts)):
        for j in range(i, len(starts)):
            assert j - i + 1 <= (starts[j] - starts[i]) * rate / 60 + max(1.0, rate / 60) + 1e-6


# -- kinds of functions ----------------------------------------------------------------------------------------------


def test_functions_stay_what_they_are() -> None:
    s = settings(max_retries=Range(0, 3))

    class Agent:
        @s.guarded
        def ask(self, text: str, *, twice: bool = False) -> str:
            """Asks."""
            return text * (1 + twice)

        @s.guarded
        async def ask_async(self, text: str) -> str:
            return text

    assert Agent().ask("a", twice=True) == "aa"
    assert Agent.ask.__doc__ == "Asks."
    assert asyncio.iscoroutinefunction(Agent.ask_async)
    assert asyncio.run(Agent().ask_async("b")) == "b"
    with pytest.raises(UsageError):
        s.guarded(5)  # type: ignore[call-overload]


def test_a_generator_is_sent_to_thrown_into_and_closed_as_its_own() -> None:
    s = settings(max_retries=Range(0, 3, default=2))
    closed = []
    failures = iter([RuntimeError(LIMITED)])

    @s.guarded
    def talk() -> Generator[object, object, str]:
        for failure in failures:
            raise failure
        try:
            heard = yield "first"
            try:
                yield heard
            except ValueError as error:
                yield f"caught {error}"
        finally:
            closed.append(1)
        return "value"

    def outer() -> Iterator[object]:
        value = yield from talk()
        yield value

    stream: Any = outer()
    assert [next(stream), stream.send("hello"), stream.throw(ValueError("x"))] == ["first", "hello", "caught x"]
    assert next(stream) == "value"
    stream = talk()
    next(stream)
    stream.close()
    assert closed == [1, 1]


def test_an_async_generator_likewise() -> None:
    s = settings(max_retries=Range(0, 3, default=2))
    closed = []
    failures = iter([RuntimeError(LIMITED)])

    @s.guarded
    async def talk() -> AsyncIterator[object]:
        for failure in failures:
            raise failure
        try:
            heard = yield "first"
            try:
                yield heard
            except ValueError as error:
                yield f"caught {error}"
        finally:
            closed.append(1)

    async def main() -> list[object]:
        stream: Any = talk()
        got = [await anext(stream), await stream.asend("hello"), await stream.athrow(ValueError("x"))]
        got += [item async for item in stream]
        other: Any = talk()
        async with aclosing(other):
            await anext(other)
        return got

    assert asyncio.run(main()) == ["first", "hello", "caught x"]
    assert closed == [1, 1]


def test_a_stream_that_breaks_after_its_first_item_is_not_begun_again() -> None:
    begun = []
    s = settings(max_retries=Range(0, 3, default=3))

    @s.guarded
    def items() -> Iterator[int]:
        begun.append(1)
        yield 1
        raise RuntimeError(LIMITED)

    stream = items()
    assert next(stream) == 1
    with pytest.raises(RuntimeError):
        next(stream)
    assert begun == [1]


def test_built_in_knobs_with_values_that_mean_nothing_are_refused() -> None:
    for name, knob in (
        ("max_retries", Range(-1, 5)),
        ("concurrency", Range(0, 5)),
        ("timeout_s", Range(0, 60)),
        ("calls_per_minute", Range(0, 60)),
        ("max_retries", Range(0, 5, default=2.5)),
    ):
        with pytest.raises(UsageError):
            settings(None, **{name: knob})


def test_a_fault_of_our_own_gives_the_host_its_own_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("ratchet.improving.calls.tries.kind_raised", lambda error: 1 / 0)
    with pytest.raises(RuntimeError, match="429"):
        settings(max_retries=Range(0, 5, default=2)).run(Fails(LIMITED))
    assert "call.not_judged" in caplog.text

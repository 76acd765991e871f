"""`watch` records each run once, when it is over, and changes nothing about what it watches."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import gc
import inspect
import logging
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Any, cast

import pytest

from ratchet.errors import UsageError
from ratchet.recording.recorder import row_of
from ratchet.recording.run import current
from ratchet.recording.watch import Watch


class Kept:
    """Stands for a recorder: keeps the rows it would write."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def record(self, agent: str, **given: Any) -> str:
        row = cast("dict[str, Any]", row_of(agent, given))
        self.rows.append(row)
        return str(row["id"])

    def watch(self, agent: str = "bot", **given: Any) -> Watch:
        return Watch(self.record, agent, **given)

    @property
    def only(self) -> dict[str, Any]:
        (row,) = self.rows
        return row


@pytest.fixture
def kept() -> Kept:
    return Kept()


# --- functions -------------------------------------------------------------------------------------------------------
def test_a_call_is_recorded_with_its_duration_and_its_value_handed_on(kept: Kept) -> None:
    value = object()

    @kept.watch(fields={"model": "m"}, task="t")
    def run(x: int, *, y: int = 2) -> object:
        """Says."""
        return value

    assert run(1, y=3) is value
    assert kept.only["ok"] is True
    assert (kept.only["agent"], kept.only["model"], kept.only["task"]) == ("bot", "m", "t")
    assert kept.only["duration_s"] >= 0
    assert "first_item_s" not in kept.only
    assert (run.__name__, run.__doc__, str(inspect.signature(run))) == (
        "run",
        "Says.",
        "(x: 'int', *, y: 'int' = 2) -> 'object'",
    )


def test_an_exception_is_recorded_and_goes_on(kept: Kept) -> None:
    error = ValueError("no")

    @kept.watch()
    def run() -> None:
        raise error

    with pytest.raises(ValueError, match="no") as caught:
        run()
    assert caught.value is error
    assert kept.only["ok"] is False
    assert kept.only["failure"]["message"] == "no"
    assert kept.only["failure"]["type"] == "ValueError"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError()])
def test_a_cancelled_call_is_recorded_as_that_and_goes_on(kept: Kept, error: BaseException) -> None:
    @kept.watch()
    def run() -> None:
        raise error

    with pytest.raises(type(error)):
        run()
    assert (kept.only["ok"], kept.only["failure"]["kind"]) == (False, "cancelled")


@pytest.mark.parametrize(("code", "ok"), [(None, True), (0, True), (3, False), ("wrong", False)])
def test_an_exit_is_a_failure_when_its_code_says_so(kept: Kept, code: Any, ok: bool) -> None:
    @kept.watch()
    def run() -> None:
        raise SystemExit(code)

    with pytest.raises(SystemExit):
        run()
    assert kept.only["ok"] is ok


def test_a_call_with_wrong_arguments_is_a_failed_run_of_every_kind(kept: Kept) -> None:
    @kept.watch()
    def plain(x: int) -> None: ...
    @kept.watch()
    async def coroutine(x: int) -> None: ...
    @kept.watch()
    def generator(x: int) -> Iterator[int]:
        yield x

    @kept.watch()
    async def stream(x: int) -> AsyncIterator[int]:
        yield x

    async def all_async() -> None:
        with pytest.raises(TypeError):
            await cast("Any", coroutine)()
        with pytest.raises(TypeError):
            await anext(cast("Any", stream)())

    with pytest.raises(TypeError):
        cast("Any", plain)()
    with pytest.raises(TypeError):
        next(cast("Any", generator)())
    asyncio.run(all_async())
    assert [row["failure"]["type"] for row in kept.rows] == ["TypeError"] * 4


def test_methods_of_every_kind_are_watched_with_the_decorators_in_either_order(kept: Kept) -> None:
    class Agent:
        @kept.watch()
        def method(self, x: int) -> tuple[object, int]:
            return self, x

        @staticmethod
        @kept.watch()
        def inner_static(x: int) -> int:
            return x

        @kept.watch()
        @staticmethod
        def outer_static(x: int) -> int:
            return x

        @classmethod
        @kept.watch()
        def inner_class(cls, x: int) -> object:
            return cls, x

        @kept.watch()
        @classmethod
        def outer_class(cls, x: int) -> object:
            return cls, x

    agent = Agent()
    assert agent.method(1) == (agent, 1)
    assert agent.inner_static(1) == Agent.outer_static(1) == 1
    assert agent.inner_class(1) == Agent.outer_class(1) == (Agent, 1)
    assert len(kept.rows) == 5


def test_the_kind_of_a_function_stays(kept: Kept) -> None:
    async def coroutine() -> None: ...
    def generator() -> Iterator[int]:
        yield 1

    async def stream() -> AsyncIterator[int]:
        yield 1

    watch = kept.watch()
    assert inspect.iscoroutinefunction(watch(coroutine))
    assert asyncio.iscoroutinefunction(watch(functools.partial(coroutine)))
    assert inspect.isgeneratorfunction(watch(generator))
    assert inspect.isasyncgenfunction(watch(stream))


def test_what_is_no_function_is_refused_when_it_is_decorated(kept: Kept) -> None:
    with pytest.raises(UsageError, match="name"):
        kept.watch(cast("Any", lambda: 1))
    with pytest.raises(UsageError, match="decorates functions"):
        kept.watch()(cast("Any", 3))


def test_a_plain_function_that_hands_out_a_coroutine_or_stream_is_recorded_when_that_ends(kept: Kept) -> None:
    async def coroutine() -> int:
        return 1

    def generator() -> Iterator[int]:
        yield 1

    async def stream() -> AsyncIterator[int]:
        yield 1

    class AsyncCallable:
        async def __call__(self) -> int:
            return 2

    async def run() -> None:
        pending = kept.watch()(lambda: coroutine())()
        assert kept.rows == []
        assert await pending == 1
        assert await kept.watch()(AsyncCallable())() == 2
        assert list(kept.watch()(lambda: generator())()) == [1]
        assert [item async for item in kept.watch()(lambda: stream())()] == [1]

    asyncio.run(run())
    assert len(kept.rows) == 4


def test_the_task_may_follow_from_the_arguments(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    @kept.watch(task=lambda question: f"asked: {question}")
    def run(question: Any) -> None: ...

    run("why")
    assert kept.only["task"] == "asked: why"

    @kept.watch(task=lambda: "no arguments fit")
    def other(x: int) -> int:
        return x

    assert other(3) == 3
    assert "task" in caplog.text


def test_a_recorder_that_breaks_costs_the_host_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(agent: str, **given: Any) -> str:
        raise RuntimeError("no recorder")

    assert Watch(broken, "a")(lambda: 5)() == 5
    assert "could not be recorded" in caplog.text


# --- coroutines ------------------------------------------------------------------------------------------------------
def test_a_coroutine_is_recorded_when_it_is_over(kept: Kept) -> None:
    @kept.watch()
    async def run(x: int) -> int:
        await asyncio.sleep(0.01)
        return x

    assert asyncio.run(run(7)) == 7
    assert kept.only["duration_s"] >= 0.009


def test_a_cancelled_task_is_recorded_as_that_and_stays_cancelled(kept: Kept) -> None:
    @kept.watch()
    async def run() -> None:
        await asyncio.sleep(60)

    async def main() -> bool:
        task = asyncio.create_task(run())
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return task.cancelled()

    assert asyncio.run(main())
    assert (kept.only["ok"], kept.only["failure"]["kind"]) == (False, "cancelled")


def test_a_timeout_around_a_run_is_seen_as_one_outside_and_a_cancellation_inside(kept: Kept) -> None:
    @kept.watch()
    async def run() -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        await asyncio.wait_for(run(), 0.01)

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert kept.only["failure"]["kind"] == "cancelled"


# --- streams ---------------------------------------------------------------------------------------------------------
def test_a_generator_is_recorded_when_it_ends_with_the_time_to_its_first_item(kept: Kept) -> None:
    @kept.watch()
    def run() -> Iterator[int]:
        yield 1
        yield 2

    stream = run()
    assert next(stream) == 1
    assert kept.rows == []
    assert list(stream) == [2]
    assert 0 <= kept.only["first_item_s"] <= kept.only["duration_s"]
    assert kept.only["ok"] is True


def test_an_exception_late_in_a_stream_is_seen(kept: Kept) -> None:
    @kept.watch()
    def run() -> Iterator[int]:
        yield 1
        raise ValueError("late")

    with pytest.raises(ValueError, match="late"):
        list(run())
    assert kept.only["failure"]["message"] == "late"
    assert "first_item_s" in kept.only


def test_what_is_sent_thrown_and_returned_passes_through(kept: Kept) -> None:
    @kept.watch()
    def run() -> Generator[object, object, str]:
        got = yield "first"
        try:
            yield got
        except KeyError as error:
            yield error.args[0]
        return "value"

    def delegating() -> Generator[object, object, str]:
        return (yield from run())

    stream = delegating()
    assert next(stream) == "first"
    assert stream.send("sent") == "sent"
    assert stream.throw(KeyError("thrown")) == "thrown"
    with pytest.raises(StopIteration) as stop:
        next(stream)
    assert stop.value.value == "value"
    assert kept.only["ok"] is True


def test_a_stream_thrown_out_of_is_a_failure(kept: Kept) -> None:
    @kept.watch()
    def run() -> Iterator[int]:
        yield 1
        yield 2

    stream = cast("Generator[int, None, None]", run())
    next(stream)
    with pytest.raises(KeyError):
        stream.throw(KeyError("x"))
    assert kept.only["failure"]["type"] == "KeyError"


@pytest.mark.parametrize("how", ["close", "collect"])
def test_a_stream_left_early_is_no_failure_and_its_cleanup_runs(kept: Kept, how: str) -> None:
    cleaned: list[bool] = []

    @kept.watch()
    def run() -> Iterator[int]:
        try:
            yield 1
            yield 2
        finally:
            cleaned.append(True)

    stream = cast("Generator[int, None, None]", run())
    next(stream)
    if how == "close":
        stream.close()
    del stream
    gc.collect()
    assert cleaned == [True]
    assert kept.only["ok"] is True
    assert kept.only["context"] == {"closed_early": True}


def test_a_cleanup_that_fails_when_a_stream_is_left_is_a_failure(kept: Kept) -> None:
    @kept.watch()
    def run() -> Iterator[int]:
        try:
            yield 1
        finally:
            raise OSError("cleanup")

    stream = cast("Generator[int, None, None]", run())
    next(stream)
    with pytest.raises(OSError, match="cleanup"):
        stream.close()
    assert kept.only["failure"]["message"] == "cleanup"


def test_a_stream_never_begun_is_no_run(kept: Kept) -> None:
    @kept.watch()
    def run() -> Iterator[int]:
        yield 1

    run()
    gc.collect()
    assert kept.rows == []


def test_an_async_stream_passes_everything_through_and_is_recorded_at_its_end(kept: Kept) -> None:
    @kept.watch()
    async def run() -> AsyncGenerator[object, object]:
        got = yield "first"
        await asyncio.sleep(0)
        try:
            yield got
        except KeyError as error:
            yield error.args[0]

    async def main() -> None:
        stream = run()
        assert await anext(stream) == "first"
        assert await stream.asend("sent") == "sent"
        assert await stream.athrow(KeyError("thrown")) == "thrown"
        assert kept.rows == []
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    asyncio.run(main())
    assert kept.only["ok"] is True
    assert "first_item_s" in kept.only


def test_an_async_stream_that_fails_late_is_seen(kept: Kept) -> None:
    @kept.watch()
    async def run() -> AsyncIterator[int]:
        yield 1
        raise ValueError("late")

    async def main() -> None:
        async for _ in run():
            pass

    with pytest.raises(ValueError, match="late"):
        asyncio.run(main())
    assert kept.only["failure"]["message"] == "late"


@pytest.mark.parametrize("how", ["aclose", "break"])
def test_an_async_stream_left_early_is_no_failure_and_its_cleanup_runs(kept: Kept, how: str) -> None:
    cleaned: list[bool] = []

    @kept.watch()
    async def run() -> AsyncGenerator[int, None]:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)

    async def main() -> None:
        stream = run()
        async for _ in stream:
            break
        if how == "aclose":
            await stream.aclose()
        del stream
        gc.collect()
        await asyncio.sleep(0.01)

    asyncio.run(main())
    assert cleaned == [True]
    assert kept.only["ok"] is True


def test_an_async_stream_cancelled_while_it_waits_is_cancelled(kept: Kept) -> None:
    @kept.watch()
    async def run() -> AsyncIterator[int]:
        yield 1
        await asyncio.sleep(60)

    async def consume() -> None:
        async for _ in run():
            pass

    async def main() -> None:
        task = asyncio.create_task(consume())
        await asyncio.sleep(0.01)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert kept.only["failure"]["kind"] == "cancelled"


def test_context_variables_set_in_a_stream_are_seen_as_without_watching(kept: Kept) -> None:
    variable = contextvars.ContextVar("variable", default="outer")

    async def stream() -> AsyncIterator[str]:
        yield variable.get()
        variable.set("inner")
        yield variable.get()

    async def seen(function: Callable[[], AsyncIterator[str]]) -> list[str]:
        found: list[str] = []
        async for item in function():
            found += [item, variable.get()]
        return found

    assert asyncio.run(seen(kept.watch()(stream))) == asyncio.run(seen(stream))


# --- the judge -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        (True, {"ok": True}),
        (False, {"ok": False}),
        (0.25, {"ok": False, "score": 0.25}),
        (1, {"ok": True, "score": 1.0}),
        (None, {"ok": True}),
        ({"ok": False, "tokens": 9, "cost_usd": 0.5}, {"ok": False, "tokens": 9, "cost_usd": 0.5}),
        ({"score": 0.75}, {"ok": True, "score": 0.75}),
        ({"error": "empty answer"}, {"ok": False}),
        ({"agent": "other", "self": 1, 3: 4, "ok": True}, {"ok": True, "agent": "bot"}),
    ],
)
def test_a_judge_turns_a_value_into_what_is_recorded(kept: Kept, judgement: Any, expected: dict[str, Any]) -> None:
    assert kept.watch(judge=lambda value: judgement)(lambda: "value")() == "value"
    assert {name: kept.only[name] for name in expected} == expected


@pytest.mark.parametrize("judgement", ["good", object(), [1], 7.5])
def test_a_judgement_that_is_none_is_named(kept: Kept, judgement: Any) -> None:
    assert kept.watch(judge=lambda value: judgement)(lambda: "value")() == "value"
    assert kept.only["context"]["invalid"] == ["score"]


def test_a_judge_that_fails_is_logged_and_costs_nothing(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    def judge(value: object) -> bool:
        raise RuntimeError("no opinion")

    assert kept.watch(judge=judge)(lambda: 5)() == 5
    assert kept.only["ok"] is True
    assert kept.only["context"]["judge_error"] == "RuntimeError: no opinion"
    assert caplog.records[0].levelno == logging.ERROR


def test_an_async_judge_judges_async_runs_only(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    async def judge(value: object) -> bool:
        await asyncio.sleep(0)
        return value == 1

    @kept.watch(judge=judge)
    async def run(x: int) -> int:
        return x

    assert asyncio.run(run(2)) == 2
    assert kept.only["ok"] is False
    assert kept.watch(judge=judge)(lambda: 5)() == 5
    assert "judge_error" in kept.rows[1]["context"]


def test_the_judge_of_a_stream_is_given_its_value_else_its_last_item(kept: Kept) -> None:
    seen: list[object] = []
    watch = kept.watch(judge=seen.append)

    @watch
    def returning() -> Generator[int, None, str]:
        yield 1
        return "value"

    @watch
    def yielding() -> Iterator[int]:
        yield 1
        yield 2

    @watch
    async def streaming() -> AsyncIterator[int]:
        yield 3
        yield 4

    async def main() -> list[int]:
        return [item async for item in streaming()]

    list(returning())
    list(yielding())
    asyncio.run(main())
    assert seen == ["value", 2, 4]


# --- blocks ----------------------------------------------------------------------------------------------------------
def test_a_block_is_recorded_with_what_was_noted(kept: Kept) -> None:
    with kept.watch("importer", task="nightly") as run:
        run.note(score=0.9, cost_usd=0.02)
        run.note(tokens=5, context={"rows": 3})
    assert run.id == kept.only["id"]
    assert (kept.only["score"], kept.only["cost_usd"], kept.only["tokens"]) == (0.9, 0.02, 5)
    assert kept.only["context"] == {"rows": 3}
    assert kept.only["task"] == "nightly"


def test_a_block_that_raises_failed_whatever_was_noted_before(kept: Kept) -> None:
    def block() -> None:
        with kept.watch() as run:
            run.note(ok=True, score=1.0)
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        block()
    assert kept.only["ok"] is False
    assert kept.only["failure"]["message"] == "no"


def test_a_block_may_be_async_and_entered_by_many_at_once(kept: Kept) -> None:
    watch = kept.watch()

    async def work(number: int) -> None:
        async with watch as run:
            await asyncio.sleep(0.001 * (5 - number))
            run.note(tokens=number)

    async def main() -> None:
        await asyncio.gather(*(work(number) for number in range(5)))

    asyncio.run(main())
    assert sorted(row["tokens"] for row in kept.rows) == [0, 1, 2, 3, 4]
    durations = {row["tokens"]: row["duration_s"] for row in kept.rows}
    assert durations[0] > durations[4]


def test_the_current_run_is_the_innermost_of_its_thread_or_task(kept: Kept) -> None:
    seen: list[object] = []

    @kept.watch("inner")
    def inner() -> None:
        run = current()
        assert run is not None
        assert run.outer is outer_run
        run.note(tokens=1)

    with kept.watch("outer") as outer_run:
        assert current() is outer_run
        inner()
        assert current() is outer_run
        thread = threading.Thread(target=lambda: seen.append(current()))
        thread.start()
        thread.join()
    assert current() is None
    assert seen == [None]
    assert [row["agent"] for row in kept.rows] == ["inner", "outer"]


def test_a_stream_is_current_only_while_it_runs(kept: Kept) -> None:
    @kept.watch()
    def run() -> Iterator[object]:
        yield current()
        yield current()

    for seen in run():
        assert seen is not None
        assert current() is None


def test_the_same_block_may_be_entered_within_itself(kept: Kept) -> None:
    watch = kept.watch()
    with watch as outer:
        outer.note(tokens=1)
        with watch as inner:
            inner.note(tokens=2)
    assert [row["tokens"] for row in kept.rows] == [2, 1]


@pytest.mark.parametrize("context", [7, "x", [1], True])
def test_a_context_that_is_none_costs_itself_and_no_call(kept: Kept, context: Any) -> None:
    with kept.watch(fields={"context": {"kept": 1}}) as run:
        run.note(context=context)
    assert kept.only["ok"] is True
    assert kept.watch(judge=lambda value: {"context": context})(lambda: 3)() == 3
    assert len(kept.rows) == 2


def test_nothing_that_is_said_of_a_run_renames_who_ran(kept: Kept) -> None:
    fields = cast("Any", {"agent": "x", "self": 1, "model": "m"})
    with kept.watch(fields=fields) as run:
        run.note(**cast("Any", {"agent": "y"}))
    assert kept.only["agent"] == "bot"


def test_a_run_whose_judge_is_interrupted_is_recorded(kept: Kept) -> None:
    def interrupted(value: object) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept.watch(judge=interrupted)(lambda: 1)()
    assert kept.only["ok"] is False

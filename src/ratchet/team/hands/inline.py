"""Runs a Python callable in this process: a coroutine in the loop, any other function in a thread of its own."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from ratchet.failures.classification import kind_raised, raised
from ratchet.failures.redaction.text import text_of
from ratchet.recording.recorder import type_name
from ratchet.team.handed import takes_context
from ratchet.team.hands.reply import Notes, WorkerReply, WorkRequest, reply_of

T = TypeVar("T")


class InlineHands:
    """Calls `function(work)`, or `function(work, context)` where it takes two.

    A coroutine that is cancelled ends; a function in a thread cannot be ended: it is left behind, as a daemon, and what
    it brings later is dropped.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self._with_context = takes_context(function)
        called = getattr(function, "__call__", None)  # noqa: B004  (an object's own, which may be a coroutine function)
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)

    async def do(self, request: WorkRequest) -> WorkerReply:
        request.begun()
        notes = Notes()
        given = (request.task.work, notes.context(request.told)) if self._with_context else (request.task.work,)
        try:
            value = self._function(*given) if self._is_async else await in_thread(self._function, given)
            if inspect.isawaitable(value):
                value = await value
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():  # by whoever waits for this, not by the work itself
                raise
            return failure_reply(error, notes)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the edge to somebody's own code)
            return failure_reply(error, notes)
        return reply_of(value, notes)

    async def close(self) -> None:
        return None


def failure_reply(error: BaseException, notes: Notes | None = None) -> WorkerReply:
    """The reply that an exception is. Its kind is found by its class, its status and its code, as everywhere."""
    facts, kept = raised(error), notes or Notes()
    return WorkerReply(
        error=text_of(error) or type(error).__name__,
        type=type_name(type(error)),
        kind=kind_raised(error),
        status=facts.status,
        exit_code=facts.exit_code,
        cost_usd=kept.cost_usd,
        tokens=kept.tokens,
        letters=tuple(kept.letters),
    )


def in_thread(function: Callable[..., T], given: tuple[object, ...]) -> Awaitable[T]:
    """A daemon thread of its own: a pool would wait, at its end, for what never ends."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if not future.done():
            future.set_exception(error) if error is not None else future.set_result(cast("T", value))

    def run() -> None:
        value: T | None = None
        error: BaseException | None = None
        try:
            value = function(*given)
        except BaseException as fault:  # noqa: BLE001  (handed to whoever waits)
            told = isinstance(fault, (Exception, SystemExit)) and not isinstance(fault, StopIteration)
            # Any other would end or cancel the loop that it is raised in, and not only whoever waits for it.
            error = fault if told else RuntimeError(f"{type(fault).__name__}: {text_of(fault)}")
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="ratchet-team-work", daemon=True).start()
    return future

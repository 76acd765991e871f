"""A call made as its agent's live settings say, in one file since its four kinds are alike."""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator, Mapping, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, TypeAlias, cast

from ratchet.failures.classification import classify
from ratchet.improving.calls.breaker import DEAD, target_in
from ratchet.improving.calls.limits import CallLimits
from ratchet.improving.calls.safety import marked
from ratchet.improving.calls.streams import Rest
from ratchet.improving.calls.threads import in_thread, too_long
from ratchet.improving.calls.tries import Again, Tries
from ratchet.improving.settings.builtin import Policy, policy_of

log = logging.getLogger(__name__)

Arguments: TypeAlias = tuple[tuple[object, ...], dict[str, object]]
Trim: TypeAlias = "Callable[[tuple[object, ...], dict[str, object]], Arguments | None]"
"""Given the arguments of a call that did not fit the model's context: shorter ones, or None to give up."""

_TOLD = 20  # different reasons that are logged for one agent

_inside: ContextVar[frozenset[str]] = ContextVar("ratchet.inside", default=frozenset())
"""Agents whose slot this thread or task holds: a guarded call within a guarded call must not wait for its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Source of time and chance."""

    sleep: Callable[[float], None] = time.sleep
    sleep_async: Callable[[float], Awaitable[None]] = asyncio.sleep
    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    draw: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True, kw_only=True)
class CallGuard:
    """State shared by all guarded calls of one agent in this process."""

    agent: str
    values: Callable[[], Mapping[str, object]]
    trying: Callable[..., AbstractContextManager[None]]
    limits: CallLimits = field(default_factory=CallLimits)
    timing: Timing = field(default_factory=Timing)


class Course(Protocol):
    """Whatever else decides about the tries of one call."""

    def limit_s(self) -> float | None:
        """Return how long the next try may take."""

    def decided(self, error: Exception, again: Again | None) -> Again | None:
        """Decide what to do after a failed try, given what the settings say; None: nothing more."""

    def given(self) -> Mapping[str, object]:
        """Keyword arguments that the next try gets besides its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The caller's options for one function."""

    idempotent: bool | None = None
    """None: repeated where the failure proves that nothing happened. A function's own mark False wins."""
    trim: Trim | None = None
    is_empty: Callable[[object], bool] | None = None
    course: Callable[[], Course] | None = None
    """Begun with each call."""


def guarded(guard: CallGuard, function: Callable[..., object], options: Options) -> Callable[..., object]:
    """The function, of the same kind, made as the live settings say."""
    options = replace(options, idempotent=marked(function, options.idempotent))

    def begun(args: tuple[object, ...], kwargs: dict[str, object]) -> GuardedCall:
        return GuardedCall(guard, function, options, args, kwargs)

    called = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    if _is(inspect.isasyncgenfunction, function, called):
        return _async_generator(begun)
    if _is(inspect.iscoroutinefunction, function, called):
        return _coroutine(begun)
    if _is(inspect.isgeneratorfunction, function, called):
        return _generator(begun)
    return lambda *args, **kwargs: begun(args, kwargs).run()


def _is(test: Callable[[object], bool], *candidates: object) -> bool:
    return any(test(candidate) for candidate in candidates)


def _coroutine(begun: Callable[..., GuardedCall]) -> Callable[..., object]:
    async def run(*args: object, **kwargs: object) -> object:
        return await begun(args, kwargs).run_async()

    return run


def _generator(begun: Callable[..., GuardedCall]) -> Callable[..., object]:
    def run(*args: object, **kwargs: object) -> Generator[object, object, object]:
        return (yield from begun(args, kwargs).stream())

    return run


def _async_generator(begun: Callable[..., GuardedCall]) -> Callable[..., object]:
    async def run(*args: object, **kwargs: object) -> AsyncGenerator[object, object]:
        call = begun(args, kwargs)
        opened = await call.opened_async()
        if opened is None:
            return
        stream, item = opened
        while True:
            try:
                sent = yield item
            except GeneratorExit:
                await stream.aclose()
                raise
            except BaseException as thrown:  # noqa: BLE001  (handed on)
                step = stream.athrow(thrown)
            else:
                step = stream.asend(sent)
            try:
                item = await call.step(step)
            except StopAsyncIteration:
                return

    return run


class GuardedCall:
    """One guarded call under way."""

    def __init__(
        self,
        guard: CallGuard,
        function: Callable[..., object],
        options: Options,
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> None:
        self._guard = guard
        self._function = function
        self._options = options
        self._args, self._kwargs = args, kwargs
        self._course = options.course() if options.course else None
        self._policy_held: Policy | None = None
        self._tries_held: Tries | None = None
        self._probes = False
        """The one call that an open circuit lets through: it is made once."""

    # -- the four kinds of functions -----------------------------------------------------------------------------------

    def run(self) -> object:
        """Call a plain function until it is done or given up.

        On an event loop's own thread it waits for no slot and no place: whoever has to make room could not run.
        """
        waits = not on_loop()
        self._admit()
        with self._probing():
            while True:
                if waits:
                    self._hold_back()
                try:
                    value = self._within(self._invoked, waits=waits)
                except Exception as error:
                    wait_s = self._after(error)
                    if wait_s is None:
                        raise
                else:
                    if inspect.iscoroutine(value):  # a plain function may hand out what has yet to run
                        return self.run_async(value)
                    wait_s = self._after_value(value)
                    if wait_s is None:
                        return value
                self._guard.timing.sleep(wait_s)

    async def run_async(self, begun: Coroutine[object, object, object] | None = None) -> object:
        """Call a coroutine function likewise; `begun` is the first try, made already and not yet awaited."""
        if begun is None:
            self._admit()
            return await self._run_async(self._awaited)
        try:
            return await self._run_async(lambda: begun)
        finally:
            begun.close()  # where it was cancelled before it was awaited; else it has ended

    async def _run_async(self, work: Callable[[], Awaitable[object]]) -> object:
        with self._probing():
            await self._hold_back_async()
            while True:
                try:
                    value = await self._within_async(work)
                except Exception as error:
                    wait_s = self._after(error)
                    if wait_s is None:
                        raise
                else:
                    wait_s = self._after_value(value)
                    if wait_s is None:
                        return value
                work = self._awaited
                await self._guard.timing.sleep_async(wait_s)
                await self._hold_back_async()

    def stream(self) -> Generator[object, object, object]:
        """Begin a generator until its first item comes; from then on nothing is repeated."""
        waits = not on_loop()
        self._admit()
        with self._probing():
            while True:
                if waits:
                    self._hold_back()
                try:
                    rest = cast("Rest", self._within(self._first, waits=waits))
                except Exception as error:
                    wait_s = self._after(error)
                    if wait_s is None:
                        raise
                else:
                    if not rest.ended:
                        self._answered()
                        return (yield from rest)
                    wait_s = self._after_value(None)
                    if wait_s is None:
                        return (yield from rest)
                self._guard.timing.sleep(wait_s)

    async def opened_async(self) -> tuple[AsyncGenerator[object, object], object] | None:
        """Begin an async generator likewise: the stream and its first item, or None where it has none."""
        self._admit()
        with self._probing():
            while True:
                await self._hold_back_async()
                stream = cast("AsyncGenerator[object, object]", self._function(*self._args, **self._kwargs))
                try:
                    item = await self._within_async(partial(self._opened, stream))
                    self._answered()
                    return stream, item
                except StopAsyncIteration:
                    wait_s = self._after_value(None)
                    if wait_s is None:
                        return None
                except Exception as error:
                    wait_s = self._after(error)
                    if wait_s is None:
                        raise
                await self._guard.timing.sleep_async(wait_s)

    # -- one try -------------------------------------------------------------------------------------------------------

    def _invoked(self) -> object:
        with self._trying():
            return self._function(*self._args, **self._kwargs)

    async def _awaited(self) -> object:
        with self._trying():
            return await cast("Awaitable[object]", self._function(*self._args, **self._kwargs))

    async def step(self, step: Awaitable[object]) -> object:
        """One step of a stream, with the model that its call fell back to."""
        with self._trying():
            return await step

    async def _opened(self, stream: AsyncGenerator[object, object]) -> object:
        return await self.step(stream.__anext__())

    def _first(self) -> Rest:
        with self._trying():
            stream = cast("Generator[object, object, object]", self._function(*self._args, **self._kwargs))
        return Rest(stream, self._trying)

    def _trying(self) -> AbstractContextManager[None]:
        model = self._tries.model
        return nullcontext() if model is None else self._guard.trying(model=model)

    def _within(self, work: Callable[[], object], *, waits: bool = True) -> object:
        """Do it in a slot and within the time set.

        A thread cannot be ended from outside: work that takes too long goes on in its own thread, holding its slot, and
        what it comes to is dropped.
        """
        limit_s = self._course.limit_s() if self._course else self._policy.timeout_s
        entered = self._guard.agent not in _inside.get()
        if entered:
            self._guard.limits.slots.enter(self._policy.concurrency if waits else None)
        token = _inside.set(_inside.get() | {self._guard.agent})
        try:
            leave = self._guard.limits.slots.leave if entered else _nothing
            if limit_s is not None:
                return in_thread(work, limit_s, after=leave, name=self._guard.agent)
            try:
                return work()
            finally:
                leave()
        finally:
            _inside.reset(token)

    async def _within_async(self, work: Callable[[], Awaitable[object]]) -> object:
        """The same for asyncio, where what takes too long is cancelled."""
        limit_s = self._course.limit_s() if self._course else self._policy.timeout_s
        entered = self._guard.agent not in _inside.get()
        if entered:
            await self._guard.limits.slots.enter_async(self._policy.concurrency)
        token = _inside.set(_inside.get() | {self._guard.agent})
        try:
            async with asyncio.timeout(limit_s) as limit:
                return await work()
        except TimeoutError as error:
            if limit_s is None or not limit.expired():
                raise
            raise TimeoutError(too_long(self._guard.agent, limit_s)) from error
        finally:
            _inside.reset(token)
            if entered:
                self._guard.limits.slots.leave()

    def _hold_back(self) -> None:
        wait_s = self._place()
        if wait_s:
            self._guard.timing.sleep(wait_s)

    async def _hold_back_async(self) -> None:
        wait_s = self._place()
        if wait_s:
            await self._guard.timing.sleep_async(wait_s)

    def _place(self) -> float:
        return self._guard.limits.pace.reserve(self._policy.calls_per_minute, self._guard.timing.monotonic())

    # -- what then -----------------------------------------------------------------------------------------------------

    def _after(self, error: Exception) -> float | None:
        """Seconds until the next try; None: there is none."""
        try:
            target = self._target()
            again = self._tries.failed(error, now=self._guard.timing.wall())
            if again is None or self._probes or self._target() != target:
                dead = self._count(target, error)
                probed, self._probes = self._probes, False
                if again is not None and probed and dead and self._target() == target:
                    again = self._tries.skip()  # a probe is made once, then another model may answer
                if again is None and probed:
                    return None
            if again is None and self._tries.held_back:
                self._tell_once(self._tries.held_back)
            if self._course is not None:
                again = self._course.decided(error, again)
                self._kwargs = {**self._kwargs, **self._course.given()}
        except Exception:  # the edge to the host, who must get the error of its own call and no other
            log.exception("call.not_judged", extra={"agent": self._guard.agent})
            return None
        if again is None or (again.trim and not self._trimmed()):
            return None
        return self._told(again)

    def _after_value(self, value: object) -> float | None:
        self._answered()
        if not self._policy.empty_retries or not self._is_empty(value):
            return None
        again = self._tries.empty()
        return None if again is None else self._told(again)

    def _is_empty(self, value: object) -> bool:
        try:
            return (self._options.is_empty or says_nothing)(value)
        except Exception:  # the host's own hook, or its object without a length: its caller must get the answer
            log.exception("call.not_judged", extra={"agent": self._guard.agent})
            return False

    @contextmanager
    def _probing(self) -> Iterator[None]:
        """Let another call probe where this one is cancelled or interrupted before anything is known of its target."""
        try:
            yield
        except BaseException:
            if self._probes:
                self._guard.limits.breakers.abandoned(self._target(), now=self._guard.timing.monotonic())
            raise

    def _admit(self) -> None:
        """Go to a target whose circuit lets the call through. Raises BackendError where there is none."""
        if not self._policy.circuit_breaker_failures:
            return
        while True:
            self._probes, refused = self._guard.limits.breakers.admit(
                self._target(), now=self._guard.timing.monotonic()
            )
            if refused is None:
                return
            if self._options.idempotent is False or not self._tries.skip():
                raise refused

    def _target(self) -> str:
        model = self._tries.model if self._tries.model is not None else self._policy.model
        return " ".join(filter(None, (target_in(self._args, self._kwargs), "" if model is None else str(model))))

    def _answered(self) -> None:
        self._probes = False
        self._guard.limits.breakers.ended(self._target())

    def _count(self, target: str, error: Exception) -> bool:
        """Count a failure for the circuit of `target`; tell whether the next call there would meet it as well."""
        policy, breakers = self._policy, self._guard.limits.breakers
        if not policy.circuit_breaker_failures:
            return False
        found = classify(error)
        if found.kind not in DEAD:
            breakers.ended(target)
            return False
        if breakers.failed(
            target,
            error,
            f"{found.kind} {found.signature}",
            now=self._guard.timing.monotonic(),
            failures=policy.circuit_breaker_failures,
            open_s=policy.circuit_breaker_s,
        ):
            log.warning("call.circuit_open", extra={"agent": self._guard.agent, "target": target, "kind": found.kind})
        return True

    def _tell_once(self, reason: str) -> None:
        told = self._guard.limits.told
        if reason not in told and len(told) < _TOLD:
            told.add(reason)
            log.warning("%s is not tried again: %s", self._guard.agent, reason)

    def _told(self, again: Again) -> float:
        log.info("call.again", extra={"agent": self._guard.agent, "kind": again.kind, "wait_s": round(again.wait_s, 3)})
        return again.wait_s

    def _trimmed(self) -> bool:
        assert self._options.trim is not None
        try:
            shorter = self._options.trim(self._args, self._kwargs)
        except Exception:  # the host's own hook; the failure that led to it tells its caller more
            log.exception("call.trim_failed", extra={"agent": self._guard.agent})
            return False
        if shorter is None:
            return False
        self._args, self._kwargs = shorter
        return True

    # Read at the first try and not when a generator is made: it may be begun in another context than it is made in.
    @property
    def _policy(self) -> Policy:
        if self._policy_held is None:
            self._policy_held = policy_of(self._guard.values())
        return self._policy_held

    @property
    def _tries(self) -> Tries:
        if self._tries_held is None:
            self._tries_held = Tries(
                self._policy,
                idempotent=self._options.idempotent,
                can_trim=self._options.trim is not None,
                draw=self._guard.timing.draw,
            )
        return self._tries_held


def says_nothing(value: object) -> bool:
    """Tell whether an answer is empty: None, blank text, a collection of nothing. Numbers and False are answers."""
    if isinstance(value, str | bytes):
        return not value.strip()
    return value is None or (isinstance(value, Sized) and not isinstance(value, type) and len(value) == 0)


def on_loop() -> bool:
    """Tell whether this thread is running an event loop now."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _nothing() -> None:
    """The slot belongs to the guarded call around."""

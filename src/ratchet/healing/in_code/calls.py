"""One call of a healed function under way, for every kind of function: begun, failed, made again.

The host's value, its exceptions, what it sends into a generator and the kind of function stay as they were.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from ratchet.healing.in_code.decorator import HealedFunction
    from ratchet.healing.in_code.recorded import Form

_COPIED_ITEMS = 10_000  # of one argument; larger ones are not put back
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200  # code flags, as `inspect` names them


class Made:
    """One call: its arguments, and the contents of those that it might change before it fails."""

    __slots__ = ("_kept", "_token", "args", "generation", "healed", "kwargs", "nested")

    def __init__(self, healed: HealedFunction, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        self.healed = healed
        self.args = args
        self.kwargs = kwargs
        self.generation = healed.generation
        self.nested = False
        """Made by a call of the same function: that one is healed, since it is what somebody asked for."""
        self._token: Token[frozenset[HealedFunction]] | None = None
        self._kept = [(each, _copy(each)) for each in (*args, *kwargs.values()) if _is_copied(each)]

    def begin(self) -> object:
        return self.healed.called(*self.args, **self.kwargs)

    def enter(self) -> None:
        """Be under way in this thread or task."""
        around = _under_way.get()
        self.nested = self.healed in around
        self._token = None if self.nested else _under_way.set(around | {self.healed})

    def leave(self) -> None:
        token, self._token = self._token, None
        if token is not None:
            try:
                _under_way.reset(token)
            except ValueError:  # entered in another context, which then keeps its own value
                return

    def failed(
        self, error: Exception, form: Form, *, taken: int | None = None, cancelled: Callable[[], bool] = lambda: False
    ) -> bool:
        """Heal it: whether to make the call again; its lists, dicts and sets then hold what they held at first."""
        if self.nested:
            return False
        from ratchet.healing.in_code.healer import Failed

        after = [_copy(held) for held, _ in self._kept]
        self._put_back([kept for _, kept in self._kept])
        again = self.healed.heal(
            Failed(
                error=error,
                args=self.args,
                kwargs=self.kwargs,
                form=form,
                generation=self.generation,
                wrapper=self.healed.wrapper,
                taken=taken,
                cancelled=cancelled,
            )
        )
        if not again:
            self._put_back(after)
        return again

    def _put_back(self, contents: list[object]) -> None:
        for (held, _), content in zip(self._kept, contents, strict=True):
            if isinstance(held, list | bytearray):
                held[:] = content  # type: ignore[call-overload]
            elif isinstance(held, dict | set):
                held.clear()
                held.update(cast("dict[object, object]", content))


_under_way: ContextVar[frozenset[HealedFunction]] = ContextVar("ratchet.under_way", default=frozenset())


def _is_copied(value: object) -> bool:
    return type(value) in (list, dict, set, bytearray) and len(cast("list[object]", value)) <= _COPIED_ITEMS


def _copy(value: object) -> object:
    return cast("list[object]", value).copy()


# -- the kinds of functions --------------------------------------------------------------------------------------------


def wrapped(healed: HealedFunction) -> Callable[..., object]:
    flags = healed.inner.__code__.co_flags
    if flags & _COROUTINE:
        wrapper = _coroutine(healed)
    elif flags & _ASYNC_GENERATOR:
        wrapper = _async_generator(healed)
    elif flags & _GENERATOR:
        wrapper = _generator(healed)
    else:
        wrapper = _function(healed)
    healed.wrapper = wrapper
    return wrapper


def _function(healed: HealedFunction) -> Callable[..., object]:
    def run(*args: object, **kwargs: object) -> object:
        made = Made(healed, args, kwargs)
        made.enter()
        try:
            return made.begin()
        except Exception as error:
            done = _again(made) if made.failed(error, "function") else None
            if done is None:
                raise
            return done[0]
        finally:
            made.leave()

    return run


def _again(made: Made) -> tuple[object] | None:
    """The value of a healed call; None where it does not do here what it did in the sandbox."""
    try:
        value = made.begin()
    except Exception as error:  # noqa: BLE001  (told; the caller gets the failure of its own call)
        made.healed.take_back(error)
        return None
    return made.healed.kept(made, value)


def _coroutine(healed: HealedFunction) -> Callable[..., object]:
    async def run(*args: object, **kwargs: object) -> object:
        made = Made(healed, args, kwargs)
        made.enter()
        try:
            return await cast("Awaitable[object]", made.begin())
        except Exception as error:
            done = await _again_async(made) if await _failed_async(made, error, "coroutine") else None
            if done is None:
                raise
            return done[0]
        finally:
            made.leave()

    return run


async def _again_async(made: Made) -> tuple[object] | None:
    try:
        value = await cast("Awaitable[object]", made.begin())
    except Exception as error:  # noqa: BLE001  (as above)
        made.healed.take_back(error)
        return None
    return made.healed.kept(made, value)


def _generator(healed: HealedFunction) -> Callable[..., object]:
    def run(*args: object, **kwargs: object) -> Generator[object, object, object]:
        made = Made(healed, args, kwargs)
        stream = cast("Generator[object, object, object]", made.begin())
        step: Callable[[], object] = functools.partial(next, stream)
        taken, touched = 0, False  # touched: something was sent or thrown into it
        while True:
            made.enter()
            try:
                item = step()
            except StopIteration as stop:
                return stop.value
            except Exception as error:
                fresh = _resumed(made, taken) if not touched and made.failed(error, "generator", taken=taken) else None
                if fresh is None:
                    raise
                step = functools.partial(next, stream := fresh)
                continue
            finally:
                made.leave()
            taken += 1
            try:
                sent = yield item
            except GeneratorExit:
                stream.close()
                raise
            except BaseException as thrown:  # noqa: BLE001  (handed on)
                touched = True
                step = functools.partial(stream.throw, thrown)
            else:
                touched = touched or sent is not None
                step = functools.partial(stream.send, sent)

    return run


def _resumed(made: Made, taken: int) -> Generator[object, object, object] | None:
    """A healed stream, behind the items that were handed out; the sandbox has seen that they are the same."""
    made.generation = made.healed.generation
    try:
        stream = cast("Generator[object, object, object]", made.begin())
        for _ in range(taken):
            next(stream)
    except Exception as error:  # noqa: BLE001  (as above)
        made.healed.take_back(error)
        return None
    return stream


def _async_generator(healed: HealedFunction) -> Callable[..., object]:
    async def run(*args: object, **kwargs: object) -> AsyncGenerator[object, object]:
        made = Made(healed, args, kwargs)
        stream = cast("AsyncGenerator[object, object]", made.begin())
        step: Awaitable[object] = stream.__anext__()
        taken, touched = 0, False
        while True:
            made.enter()
            try:
                item = await step
            except StopAsyncIteration:
                return
            except Exception as error:
                heals = not touched and await _failed_async(made, error, "async generator", taken=taken)
                fresh = await _resumed_async(made, taken) if heals else None
                if fresh is None:
                    raise
                step = (stream := fresh).__anext__()
                continue
            finally:
                made.leave()
            taken += 1
            try:
                sent = yield item
            except GeneratorExit:
                await stream.aclose()
                raise
            except BaseException as thrown:  # noqa: BLE001  (handed on)
                touched = True
                step = stream.athrow(thrown)
            else:
                touched = touched or sent is not None
                step = stream.asend(sent)

    return run


async def _resumed_async(made: Made, taken: int) -> AsyncGenerator[object, object] | None:
    made.generation = made.healed.generation
    try:
        stream = cast("AsyncGenerator[object, object]", made.begin())
        for _ in range(taken):
            await stream.__anext__()
    except Exception as error:  # noqa: BLE001  (as above)
        made.healed.take_back(error)
        return None
    return stream


async def _failed_async(made: Made, error: Exception, form: Form, *, taken: int | None = None) -> bool:
    """Heal without holding the event loop up; cancelling the task ends the healing, too."""
    import asyncio  # a coroutine runs: its framework is loaded, and a host without one does not pay for it

    try:
        asyncio.get_running_loop()
    except RuntimeError:  # another framework's loop, which has threads of its own
        return made.failed(error, form, taken=taken)
    given_up = threading.Event()
    heal = functools.partial(made.failed, error, form, taken=taken, cancelled=given_up.is_set)
    try:
        return await asyncio.to_thread(heal)
    except BaseException:
        given_up.set()
        raise

"""`watch`: records what a function, coroutine, generator, async generator or block of code did, and changes nothing.

    @ratchet.watch("researcher", judge=lambda answer: {"ok": bool(answer.text), "tokens": answer.tokens})
    async def research(question: str) -> Answer: ...

    with ratchet.watch("importer", task="nightly") as run:
        run.note(cost_usd=0.02, score=0.9)

The host's value, its exceptions, what it sends into a generator and the kind of function it is stay as they were.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from types import AsyncGeneratorType, CoroutineType, GeneratorType, TracebackType
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from ratchet.errors import UsageError
from ratchet.recording.run import Record, Run, Trials, current, log_fault

if TYPE_CHECKING:
    from ratchet.records import Fields

Function = TypeVar("Function", bound=Callable[..., object])
Judgement: TypeAlias = "bool | float | Fields | None"
"""What a judge says of a value: ok or not, a score in [0, 1], or any of the fields that `record` takes."""
Judge: TypeAlias = "Callable[..., Judgement | Awaitable[Judgement]]"

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200  # code flags, as `inspect` names them


class Watch:
    """Records each run of what it decorates or encloses.

    `task` may be a function of the call's arguments. `judge` is given the value returned (of a stream: the value its
    generator returned, else its last item) and may be async where the host is. Other `fields` are those of `record`
    and go with every run. `trials` tells which open trials a run was part of. Decorates methods too,
    above or below `staticmethod` and `classmethod`.
    """

    def __init__(
        self,
        record: Record,
        agent: str,
        *,
        task: str | Callable[..., str] = "",
        judge: Judge | None = None,
        fields: Fields | None = None,
        trials: Trials | None = None,
    ) -> None:
        if not isinstance(agent, str):
            raise UsageError('watch needs the agent\'s name: @ratchet.watch("name")')
        self.record = record
        self.agent = agent
        self.fields: Fields = {**(fields or {})}
        self._task = task if callable(task) else None
        self._judge = judge
        self._trials = trials
        self._entered: list[Run] = []
        if isinstance(task, str) and task:
            self.fields["task"] = task

    # -- as a decorator ---------------------------------------------------------------------------------------------

    def __call__(self, function: Function) -> Function:
        """The function, watched: of the same kind, with the same signature."""
        if isinstance(function, staticmethod | classmethod):
            return cast("Function", type(function)(self(function.__func__)))
        if not callable(function):
            raise UsageError(f"watch({self.agent!r}) decorates functions, not {type(function).__name__}")
        innermost: object = function
        while isinstance(innermost, functools.partial):
            innermost = innermost.func
        flags = getattr(getattr(innermost, "__code__", None), "co_flags", 0)
        wrapper: Callable[..., object]
        if flags & _COROUTINE:
            wrapper = self._coroutine(cast("Callable[..., Coroutine[object, object, object]]", function))
        elif flags & _ASYNC_GENERATOR:
            wrapper = self._async_generator(cast("Callable[..., AsyncGenerator[object, object]]", function))
        elif flags & _GENERATOR:
            wrapper = self._generator(cast("Callable[..., Generator[object, object, object]]", function))
        else:
            wrapper = self._function(function)
        return cast("Function", functools.wraps(function)(wrapper))

    def _function(self, function: Callable[..., object]) -> Callable[..., object]:
        def watched(*args: object, **kwargs: object) -> object:
            run = self._begin(args, kwargs)
            run.enter()
            try:
                value = function(*args, **kwargs)
            except BaseException as error:
                run.end(error)
                raise
            finally:
                run.leave()
            # A plain function may hand out what has yet to run (a lambda, a partial, an object with an async __call__).
            if type(value) in _DEFERRED:
                return self._deferred(run, value)
            run.end(said=self._judged(run, value))
            return value

        return watched

    def _coroutine(self, function: Callable[..., Coroutine[object, object, object]]) -> Callable[..., object]:
        async def watched(*args: object, **kwargs: object) -> object:
            run = self._begin(args, kwargs)
            return await self._awaited(run, run.started(function, args, kwargs))

        return watched

    def _generator(self, function: Callable[..., Generator[object, object, object]]) -> Callable[..., object]:
        def watched(*args: object, **kwargs: object) -> Generator[object, object, object]:
            run = self._begin(args, kwargs)
            return (yield from self._iterated(run, run.started(function, args, kwargs)))

        return watched

    def _async_generator(self, function: Callable[..., AsyncGenerator[object, object]]) -> Callable[..., object]:
        async def watched(*args: object, **kwargs: object) -> AsyncGenerator[object, object]:
            run = self._begin(args, kwargs)
            stream = run.started(function, args, kwargs)
            step: Awaitable[object] = stream.__anext__()
            while True:
                run.enter()
                try:
                    item = await step
                except StopAsyncIteration:
                    run.leave()
                    run.end(said=await self._judged_async(run, run.last_item))
                    return
                except BaseException as error:
                    run.end(error)
                    raise
                finally:
                    run.leave()
                run.item(item)
                try:
                    sent = yield item
                except GeneratorExit as closing:
                    await _closed(run, stream, closing)
                    raise
                except BaseException as thrown:  # noqa: BLE001  (handed on)
                    step = stream.athrow(thrown)
                else:
                    step = stream.asend(sent)

        return watched

    # -- the kinds of runs --------------------------------------------------------------------------------------------

    def _begin(self, args: tuple[object, ...], kwargs: dict[str, object]) -> Run:
        run = Run(self.record, self.agent, self.fields, self._trials)
        if self._task is not None:
            try:
                run.note(task=self._task(*args, **kwargs))
            except Exception:  # noqa: BLE001  (the host's own function, which must not cost it the call)
                log_fault("watch(%r): the function that names the task failed", self.agent)
        return run

    def _deferred(self, run: Run, value: object) -> object:
        if isinstance(value, CoroutineType):
            return self._awaited(run, value)
        if isinstance(value, GeneratorType):
            return self._iterated(run, value)
        return self._async_generator(lambda: cast("AsyncGenerator[object, object]", value))()

    async def _awaited(self, run: Run, running: Awaitable[object]) -> object:
        run.enter()
        try:
            value = await running
        except BaseException as error:
            run.end(error)
            raise
        finally:
            run.leave()
        run.end(said=await self._judged_async(run, value))
        return value

    def _iterated(self, run: Run, stream: Generator[object, object, object]) -> Generator[object, object, object]:
        """The stream, item by item, with what is sent and thrown into it passed on (PEP 380)."""
        step: Callable[[], object] = functools.partial(next, stream)
        while True:
            run.enter()
            try:
                item = step()
            except StopIteration as stop:
                value = stop.value
                break
            except BaseException as error:
                run.end(error)
                raise
            finally:
                run.leave()
            run.item(item)
            try:
                sent = yield item
            except GeneratorExit as closing:
                try:
                    stream.close()
                except BaseException as error:
                    run.end(error)
                    raise
                run.end(closing)
                raise
            except BaseException as thrown:  # noqa: BLE001  (handed on)
                step = functools.partial(stream.throw, thrown)
            else:
                step = functools.partial(stream.send, sent)
        run.end(said=self._judged(run, run.last_item if value is None else value))
        return value

    # -- the judge ----------------------------------------------------------------------------------------------------

    def _judged(self, run: Run, value: object) -> Fields | None:
        if self._judge is None:
            return None
        try:
            judgement = self._judge(value)
            if isinstance(judgement, CoroutineType):
                judgement.close()
                raise TypeError("an async judge needs an async function")
            return _fields_of(judgement)
        except Exception as error:  # noqa: BLE001  (the host's own judge, which must not cost it the value)
            return self._misjudged(error)
        except BaseException as error:  # interrupted while it judged
            run.end(error)
            raise

    async def _judged_async(self, run: Run, value: object) -> Fields | None:
        if self._judge is None:
            return None
        try:
            judgement = self._judge(value)
            return _fields_of(await judgement if isinstance(judgement, Awaitable) else judgement)
        except Exception as error:  # noqa: BLE001  (as above)
            return self._misjudged(error)
        except BaseException as error:  # cancelled while it judged
            run.end(error)
            raise

    def _misjudged(self, error: Exception) -> Fields:
        log_fault("watch(%r): the judge failed; the run is recorded without its judgement", self.agent)
        return {"context": {"judge_error": f"{type(error).__name__}: {error}"}}

    # -- as a context manager -----------------------------------------------------------------------------------------

    def __enter__(self) -> Run:
        run = Run(self.record, self.agent, self.fields, self._trials)
        run.enter()
        self._entered.append(run)
        return run

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run = self._leaving()
        run.leave()
        run.end(error)

    async def __aenter__(self) -> Run:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def _leaving(self) -> Run:
        """The innermost run that this thread or task entered through this watch."""
        run = current()
        while run is not None and run not in self._entered:
            run = run.outer
        if run is None:  # left in another context than it was entered in
            return self._entered.pop()
        self._entered.remove(run)
        return run


_NOT_SAID = ("self", "agent")  # a judge may not rename who ran
_DEFERRED = frozenset((CoroutineType, GeneratorType, AsyncGeneratorType))


async def _closed(run: Run, stream: AsyncGenerator[object, object], closing: GeneratorExit) -> None:
    try:
        await stream.aclose()
    except BaseException as error:
        run.end(error)
        raise
    run.end(closing)


def _fields_of(judgement: object) -> Fields | None:
    if judgement is None:
        return None
    if isinstance(judgement, bool):
        return {"ok": judgement}
    if isinstance(judgement, dict):
        said = {name: value for name, value in judgement.items() if isinstance(name, str) and name not in _NOT_SAID}
        return cast("Fields", said)
    return {"score": cast("float", judgement)}

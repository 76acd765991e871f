"""`heal`: a function that fails is mended in a sandbox and called again; what cannot be healed fails as it would have.

    @ratchet.heal(check=lambda rows: all(row["total"] >= 0 for row in rows))
    def totals(text: str) -> list[Row]: ...

The machinery is loaded by the first failure. Until then a call costs a shallow copy of the lists, dicts and sets that
it is given, so that a call that is made again sees what the first one saw.
"""

from __future__ import annotations

import functools
import inspect
import logging
import os
import threading
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, TypeAlias, TypedDict, TypeVar, cast

from ratchet.errors import UsageError
from ratchet.healing.in_code import REPLAYING
from ratchet.healing.in_code.calls import Made, wrapped

if TYPE_CHECKING:
    from ratchet.healing.in_code.healer import Failed, Healer, Mode
    from ratchet.healing.job import Solver
    from ratchet.runtime import Runtime

log = logging.getLogger("ratchet.heal")

Function = TypeVar("Function")
Check: TypeAlias = "str | Callable[..., object]"
"""A command that must pass, or a function of the value (and of the call's arguments, if it takes more than one) that
answers with something true."""

MODES = ("memory", "patch", "apply")


class HealOptions(TypedDict, total=False):
    """Options of `heal`, whose documentation says what they mean."""

    check: Check | None
    solver: str | Solver
    mode: Mode
    attempts: int
    budget_usd: float
    budget_s: float


class Heal:
    """Heals what it decorates: functions, coroutines, generators, async generators, methods, properties, static and
    class methods, above or below other decorators. Made by `ratchet.heal`."""

    def __init__(
        self,
        runtime: Callable[[], Runtime],
        *,
        check: Check | None = None,
        solver: str | Solver = "auto",
        mode: Mode = "memory",
        attempts: int = 5,
        budget_usd: float = 1.0,
        budget_s: float = 60.0,
    ) -> None:
        if mode not in MODES:
            raise UsageError(f"mode {mode!r} is unknown; use {', '.join(MODES)}")
        if check is None and mode != "patch":
            raise UsageError(
                "heal needs check=...: that a patch does not raise proves nothing. Give a function of the value, or a "
                'command such as "pytest -q tests/test_it.py"; without one only mode="patch" makes sense'
            )
        if check is not None and not isinstance(check, str) and not callable(check):
            raise UsageError(f"check is a command or a function of the value, not {type(check).__name__}")
        if attempts < 1 or not 0 <= budget_usd < float("inf") or not 0 < budget_s < float("inf"):
            raise UsageError("heal needs attempts >= 1, budget_usd >= 0 and budget_s > 0")
        self._runtime = runtime
        self._check = check
        self._solver = solver
        self._mode = mode
        self._limits = attempts, budget_usd, budget_s

    def __call__(self, function: Function) -> Function:
        """The function, healed when it fails: of the same kind, with the same signature."""
        if isinstance(function, staticmethod | classmethod):
            return cast("Function", type(function)(self(function.__func__)))
        if isinstance(function, property):
            get, put, delete = (part and self(part) for part in (function.fget, function.fset, function.fdel))
            return cast("Function", property(get, put, delete, function.__doc__))  # type: ignore[arg-type]
        if isinstance(function, functools.cached_property):
            return cast("Function", functools.cached_property(self(function.func)))
        inner = inspect.unwrap(function) if callable(function) else function
        if not isinstance(inner, FunctionType) or not callable(function):
            raise UsageError(f"heal decorates functions that are written in Python, not {type(function).__name__}")
        if os.environ.get(REPLAYING):
            from ratchet.healing.in_code.replaying import Replayed, replayed

            check = self._check if callable(self._check) else None
            place = function.__module__, inner.__code__.co_qualname, inner.__code__.co_firstlineno
            replayed[place] = Replayed(function, check)
            return function
        return cast("Function", functools.wraps(function)(wrapped(HealedFunction(self, function, inner))))

    def healer(self, function: FunctionType, stamp: tuple[int, int] | None) -> Healer:
        """Return what heals one function; loads the machinery."""
        from ratchet.healing.episode import Budget
        from ratchet.healing.in_code.checking import accept_of
        from ratchet.healing.in_code.healer import Healer, HealPlan
        from ratchet.healing.project_check import argv_of

        command = argv_of(self._check) if isinstance(self._check, str) else ()
        accept = accept_of(self._check) if callable(self._check) else None
        attempts, usd, seconds = self._limits
        budget = Budget(attempts=attempts, usd=usd, seconds=seconds)
        plan = HealPlan(mode=self._mode, solver=self._solver, budget=budget, command=command, accept=accept)
        return Healer(function=function, plan=plan, runtime=self._runtime, stamp=stamp)


class HealedFunction:
    """One decorated function. `called` is what the decorator was given, `inner` the function that can be mended."""

    def __init__(self, heal: Heal, called: Callable[..., object], inner: FunctionType) -> None:
        self._heal = heal
        self.called = called
        self.inner = inner
        self.wrapper: object = None
        self._healer: Healer | None = None
        self._lock = threading.Lock()
        self._stamp = _stamp(inner.__code__.co_filename)

    @property
    def generation(self) -> int:
        return 0 if self._healer is None else self._healer.generation

    def heal(self, failed: Failed) -> bool:
        """Tell whether the call may be made again; says once why not."""
        try:
            with self._lock:
                if self._healer is None:
                    self._healer = self._heal.healer(self.inner, self._stamp)
            done = self._healer.heal(failed)
        except Exception as error:  # the edge to the host, who must get the error of its own call and no other
            log.warning("%s is not healed: healing broke (%s: %s)", self._name, type(error).__name__, error)
            log.debug("healing broke", exc_info=True)
            return False
        if done.reason:
            log.warning("%s is not healed: %s", self._name, done.reason)
        return done.again

    def kept(self, made: Made, value: object) -> tuple[object] | None:
        """The value of a healed call; None where the check does not take it here, and the version is taken back."""
        assert self._healer is not None
        accept = self._healer.plan.accept
        reason = accept(value, (made.args, made.kwargs)) if accept else ""
        if not reason:
            return (value,)
        self.take_back(reason)
        return None

    def take_back(self, reason: object) -> None:
        """Undo a version that does not do here what it did in the sandbox."""
        assert self._healer is not None
        log.warning("%s is put back as it was: healed, it still does not do here (%s)", self._name, reason)
        try:
            self._healer.take_back()
        except Exception:  # the edge to the host; its file may be somebody else's by now
            log.exception("%s could not be put back", self._name)

    @property
    def _name(self) -> str:
        return f"{self.inner.__module__}.{self.inner.__qualname__}"


def _stamp(file: str) -> tuple[int, int] | None:
    """Return what changes when a file is written to: its time and size."""
    try:
        found = os.stat(file)  # noqa: PTH116  (at every decoration, where pathlib need not be loaded)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size

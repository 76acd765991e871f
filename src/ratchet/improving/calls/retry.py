"""`retry`: a call that failed is made again while that can help and the budget lasts, with what is remembered of it.

    @ratchet.retry(attempts=4, budget_s=120, budget_usd=0.50, cost_usd=0.10)
    def ask(question: str, *, lessons: tuple[ratchet.Lesson, ...] = ()) -> str: ...

Which failures are worth a try, how long to wait and what a provider asks for is decided as in a guarded call of live
settings (`knobs.guarded`).
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, TypedDict, TypeVar, cast

from ratchet.arguments import need_number
from ratchet.errors import RatchetError, UsageError
from ratchet.failures.classification import kind_raised
from ratchet.improving.calls.guarded import CallGuard, Options, guarded
from ratchet.improving.calls.safety import marked, may_repeat
from ratchet.improving.calls.tries import Again

if TYPE_CHECKING:
    from ratchet.records import Lesson
    from ratchet.runtime import Runtime

Function = TypeVar("Function", bound=Callable[..., object])
log = logging.getLogger("ratchet.retry")

_LESSONS = "lessons"
_CENT_FRACTION = 1e-9  # rounding of sums of prices is no overdraft


class RetryOptions(TypedDict, total=False):
    """Options of `retry`, whose documentation says what they mean."""

    attempts: int
    budget_s: float | None
    budget_usd: float | None
    cost_usd: float | None
    backoff_s: float
    max_wait_s: float
    max_asked_wait_s: float
    circuit_breaker_failures: int
    circuit_breaker_s: float
    idempotent: bool | None
    recall: bool


class Retry:
    """Retries what it decorates. Made by `ratchet.retry`."""

    def __init__(
        self,
        runtime: Callable[[], Runtime],
        *,
        attempts: int = 3,
        budget_s: float | None = None,
        budget_usd: float | None = None,
        cost_usd: float | None = None,
        backoff_s: float = 1.0,
        max_wait_s: float = 60.0,
        max_asked_wait_s: float = 300.0,
        circuit_breaker_failures: int = 3,
        circuit_breaker_s: float = 60.0,
        idempotent: bool | None = None,
        recall: bool = True,
    ) -> None:
        need_number("attempts", attempts, least=1, whole=True, why=", the first try included")
        need_number("circuit_breaker_failures", circuit_breaker_failures, whole=True, why=", 0 for none")
        for name, number in (
            *(("backoff_s", backoff_s), ("max_wait_s", max_wait_s), ("max_asked_wait_s", max_asked_wait_s)),
            ("circuit_breaker_s", circuit_breaker_s),
        ):
            need_number(name, number)
        for name, value in (("budget_s", budget_s), ("budget_usd", budget_usd), ("cost_usd", cost_usd)):
            if value is not None:
                need_number(name, value, finite=True)
        if idempotent not in (None, True, False):
            raise UsageError(f"idempotent is {idempotent!r}: use True, False or None")
        if budget_s == 0:
            raise UsageError("budget_s is 0, which lets no call through; leave it out for no limit")
        if budget_usd is not None and cost_usd is None:
            raise UsageError("budget_usd needs cost_usd, the most that one try may cost: an unknown price has no limit")
        if budget_usd is not None and cost_usd is not None and cost_usd > budget_usd + _CENT_FRACTION:
            raise UsageError(f"one try may cost {cost_usd:g} USD and the budget is {budget_usd:g}; give more")
        self._runtime = runtime
        self.attempts = attempts
        self.budget_s = budget_s
        self.budget_usd = budget_usd
        self.cost_usd = cost_usd or 0.0
        self._values = {
            "max_retries": attempts - 1,
            "backoff_s": backoff_s,
            "max_wait_s": max_wait_s,
            "max_asked_wait_s": max_asked_wait_s,
            "circuit_breaker_failures": circuit_breaker_failures,
            "circuit_breaker_s": circuit_breaker_s,
            "wait_budget_s": float("inf") if budget_s is None else budget_s,
        }
        self.idempotent = idempotent
        self.recalls = recall

    def __call__(self, function: Function) -> Function:
        """The function, of the same kind, made again where that can help."""
        if isinstance(function, staticmethod | classmethod):
            return cast("Function", type(function)(self(function.__func__)))
        if not callable(function):
            raise UsageError(f"retry decorates functions, not {type(function).__name__}")
        name = getattr(function, "__qualname__", type(function).__name__)
        guard = CallGuard(agent=name, values=lambda: self._values, trying=lambda **_values: nullcontext())
        takes = self.recalls and _takes_lessons(function)
        safe = marked(function, self.idempotent)
        options = Options(idempotent=safe, course=lambda: _Course(self, guard, takes_lessons=takes, idempotent=safe))
        return cast("Function", functools.wraps(function)(guarded(guard, function, options)))

    def lessons(self, error: Exception) -> tuple[Lesson, ...]:
        """Active lessons about a failure. None where nothing is known, or the store cannot be read."""
        from ratchet.failures.classification import raised

        said = raised(error)
        text = f"{said.classes[0]}: {said.text}" if said.classes and said.text != said.classes[0] else said.text
        try:
            found = self._runtime().recall(text, drained=False).lessons
        except RatchetError as fault:
            log.debug("nothing is recalled: %s", fault)
            return ()
        return tuple(each.lesson for each in found if each.lesson.state == "active")


class _Course:
    """The tries of one call: what they may still use, and what is remembered of their failures."""

    def __init__(self, retry: Retry, guard: CallGuard, *, takes_lessons: bool, idempotent: bool | None) -> None:
        self._retry = retry
        self._guard = guard
        self._takes_lessons = takes_lessons
        self._idempotent = idempotent
        self._began = guard.timing.monotonic()
        self._tried = 1
        self._reserved_usd = retry.cost_usd  # the first try's
        self._lessons: dict[str, Lesson] = {}

    def limit_s(self) -> float | None:
        budget_s = self._retry.budget_s
        return None if budget_s is None else max(0.001, budget_s - self._used_s())

    def given(self) -> Mapping[str, object]:
        return {_LESSONS: tuple(self._lessons.values())} if self._takes_lessons and self._lessons else {}

    def decided(self, error: Exception, again: Again | None) -> Again | None:
        new = self._remember(error)
        advised = again is None and self._takes_lessons and new
        if advised and may_repeat(error, kind_raised(error), idempotent=self._idempotent):
            again = Again(kind="recalled")  # the same call would fail the same way; with advice it is another one
        if again is None:
            return None
        spent = self._spent(again.wait_s)
        if spent:
            log.info("%s is not tried again: %s", self._guard.agent, spent)
            return None
        self._tried += 1
        self._reserved_usd += self._retry.cost_usd
        return again

    def _remember(self, error: Exception) -> bool:
        """Tell whether something is known that was not known at the try before."""
        if not self._retry.recalls:
            return False
        new = [each for each in self._retry.lessons(error) if each.id not in self._lessons]
        for each in new:
            self._lessons[each.id] = each
            log.info("%s: what helped before: %s", self._guard.agent, each.text)
        return bool(new)

    def _spent(self, wait_s: float) -> str:
        """Name what of the budget the next try would exceed."""
        retry = self._retry
        if self._tried >= retry.attempts:
            return f"{retry.attempts} attempts are used up"
        if retry.budget_s is not None and self._used_s() + wait_s >= retry.budget_s:
            return f"{retry.budget_s:g} s are over"
        if retry.budget_usd is not None and self._reserved_usd + retry.cost_usd > retry.budget_usd + _CENT_FRACTION:
            return f"the next try might cost more than is left of {retry.budget_usd:g} USD"
        return ""

    def _used_s(self) -> float:
        return self._guard.timing.monotonic() - self._began


def _takes_lessons(function: Callable[..., object]) -> bool:
    try:
        parameter = inspect.signature(function).parameters.get(_LESSONS)
    except (TypeError, ValueError):  # a builtin without one
        return False
    return parameter is not None and parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)

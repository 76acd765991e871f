"""Choose what follows a failed try of a call: wait and repeat, use another model, shorten the input, or give up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ratchet.failures.classification import kind_raised
from ratchet.failures.kinds.kind import is_retry_safe
from ratchet.improving.calls.safety import may_repeat
from ratchet.improving.calls.waits import named_wait_s
from ratchet.improving.settings.builtin import Policy

# Failures of a model or its provider which another model may not have. Not those of the request itself.
ELSEWHERE = frozenset(
    (
        *("rate_limit", "quota_exhausted", "overloaded", "server_error", "timeout", "network", "auth", "permission"),
        *("model_not_found", "context_overflow", "content_filter", "refusal", "empty_response", "malformed_output"),
    )
)
_LONGEST_S = 366 * 86_400.0  # a longer wait overflows some platforms' clocks
_JITTER = 0.10  # of a wait that the provider names: only later, never earlier


@dataclass(frozen=True, slots=True)
class Again:
    """Make the call again, after `wait_s`; with `trim`, on a shorter input."""

    wait_s: float = 0.0
    kind: str = ""
    trim: bool = False


class Tries:
    """The tries of one guarded call.

    `draw` gives numbers in [0, 1). An operation that is `idempotent` may be repeated; one that is not (False) never is,
    whatever went wrong; None: where the failure proves that nothing happened (`calls.safety`).
    """

    def __init__(self, policy: Policy, *, idempotent: bool | None, can_trim: bool, draw: Callable[[], float]) -> None:
        self._policy = policy
        self._idempotent = idempotent
        self._can_trim = can_trim
        self._draw = draw
        self._models = [model for model in policy.fallback_models if model != policy.model]
        self._retries = 0
        self._empties = 0
        self._trims = 0
        self._waited_s = 0.0
        self.model: object = None
        """The model to use instead of the one set; None: that one."""
        self.held_back = ""
        """Why a failure that may pass is not followed by another try; empty where that needs no saying."""

    def failed(self, error: Exception, *, now: float) -> Again | None:
        """Choose what follows this error; None: let the caller have it."""
        self.held_back = ""
        if self._idempotent is False:
            return None
        kind = kind_raised(error)
        if not may_repeat(error, kind, idempotent=self._idempotent):
            if self._policy.max_retries or self._models:
                self.held_back = (
                    f"after a failure of kind {kind} it may have been carried out; mark it idempotent=True where "
                    "making it twice does no harm"
                )
            return None
        if kind == "context_overflow" and self._can_trim and self._trims < self._policy.max_trims:
            self._trims += 1
            return Again(kind=kind, trim=True)
        if is_retry_safe(kind) and self._retries < self._policy.max_retries:
            named_s = named_wait_s(error, now=now)
            wait_s = self._wait_s(named_s)
            most_s = min(self._policy.wait_budget_s - self._waited_s, self._policy.max_asked_wait_s, _LONGEST_S)
            if named_s and wait_s > most_s:
                self._decline(error, named_s, most_s)
            elif self._waited_s + wait_s <= self._policy.wait_budget_s:
                self._retries += 1
                self._waited_s += wait_s
                return Again(wait_s=wait_s, kind=kind)
        return self._elsewhere(kind)

    def skip(self) -> Again | None:
        """Go on to the next model without another try; None where there is none."""
        return self._elsewhere("overloaded")

    def empty(self) -> Again | None:
        """Choose what follows an empty answer; None: let the caller have it."""
        if self._idempotent is False:
            return None
        if self._empties < self._policy.empty_retries:
            self._empties += 1
            return Again(kind="empty_response")
        return self._elsewhere("empty_response") if self._policy.empty_retries else None

    def _elsewhere(self, kind: str) -> Again | None:
        """The next model, which has not failed yet and gets retries of its own; the waits stay spent."""
        if kind not in ELSEWHERE or not self._models:
            return None
        self.model = self._models.pop(0)
        self._retries = self._empties = 0
        return Again(kind=kind)

    def _decline(self, error: Exception, named_s: float, most_s: float) -> None:
        """Say in the error, which goes to the caller as it is, how long it asks to wait."""
        self.held_back = f"it asks to wait {named_s:g} s, longer than the {most_s:g} s that a call may wait"
        note = f"ratchet: not tried again, since {self.held_back}"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)

    def _wait_s(self, named_s: float | None) -> float:
        """Exponential backoff, half of it random ("equal jitter": Brooker, AWS Architecture Blog, 2015), so that calls
        which failed together do not return together; never earlier than the provider asked."""
        step_s = min(_LONGEST_S, self._policy.max_wait_s, self._policy.backoff_s * 2.0 ** min(self._retries, 60))
        if named_s:  # "retry after 0" names no wait
            return named_s + min(named_s * _JITTER, step_s) * self._draw()
        return step_s * (1 + self._draw()) / 2

"""The knobs whose values act by themselves in a guarded call, and the policy that they make together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ratchet.errors import UsageError
from ratchet.improving.settings.knob import Knob, Range

WHOLE = frozenset(("max_retries", "empty_retries", "max_trims", "concurrency", "circuit_breaker_failures"))
"""Built-in knobs that count something."""
_LISTS = frozenset(("fallback_models",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Policy of a guarded call. A knob that was not declared has the default here, which repeats nothing.

    Sources of the defaults: waits of 1 s doubling to at most 60 s and their jitter are those of the providers' own
    advice on rate limits; a total of 300 s keeps a call within half of the 600 s after which a trial counts it failed;
    60 s of an open circuit are what pybreaker and resilience4j wait.
    """

    max_retries: int = 0
    """Further tries after a failure that may pass and is safe to retry."""
    backoff_s: float = 1.0
    """The wait before the first retry; it doubles with each."""
    max_wait_s: float = 60.0
    """The longest wait of our own choice. A longer one that the provider names is honoured, up to:"""
    max_asked_wait_s: float = 300.0
    """The longest wait that a provider may ask for; a call that is asked to wait longer fails at once."""
    wait_budget_s: float = 300.0
    """All waits of a call together; a call that would wait longer fails at once."""
    timeout_s: float | None = None
    """How long one try may take (a stream: until its first item)."""
    concurrency: int | None = None
    """Calls of this agent that run at once in this process."""
    calls_per_minute: float | None = None
    """Tries of this agent that start per minute in this process."""
    model: object = None
    fallback_models: tuple[object, ...] = ()
    """Models to try in turn when the one before cannot answer; `current().model` is the one to use."""
    empty_retries: int = 0
    """Further tries when the answer is empty."""
    max_trims: int = 2
    """How often `trim` may shorten what does not fit the model's context."""
    circuit_breaker_failures: int = 0
    """Calls in a row to one target that fail equally, after which its circuit opens; 0: never."""
    circuit_breaker_s: float = 60.0
    """How long an open circuit lets no call through, before one probes it."""


def policy_of(values: Mapping[str, object]) -> Policy:
    """The policy in a set of values; other knobs are the agent's own business."""
    given = {name: values[name] for name in _FIELDS if name in values}
    if "fallback_models" in given:
        named = given["fallback_models"]
        given["fallback_models"] = tuple(named) if isinstance(named, list | tuple) else (named,) if named else ()
    return Policy(**given)  # type: ignore[arg-type]


def check_builtin(name: str, knob: Knob) -> None:
    """Refuse a built-in knob that could take values which mean nothing. Whole ones become so by themselves."""
    if name not in _FIELDS or name in _LISTS or name == "model":
        return
    if not isinstance(knob, Range):
        return
    least = 1 if name == "concurrency" else 0
    if knob.low < least:
        raise UsageError(f"{name} cannot be {knob.low:g}; let its range begin at {least} or more")
    if name in ("timeout_s", "calls_per_minute") and knob.low <= 0:
        raise UsageError(f"{name} cannot be 0, which would let no call through; let its range begin above it")
    if name in WHOLE and not knob.integer:
        knob.integer = True
        knob.default = knob.check(knob.default)


_FIELDS = tuple(Policy.__dataclass_fields__)

"""The built-in proposer: for each kind of failure what to change, and by how much.

A rule names knobs; it applies to an agent that declared the first of them and has room left within its bounds. A rule
that buys success with time says so (`trade`), since the gate would take the time for harm otherwise. Where no rule
applies, a person is told what usually helps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ratchet.failures.kinds.table import KINDS
from ratchet.improving.targets.edit import same
from ratchet.ports import Fix, Problem
from ratchet.records import Json

SAFE = frozenset(("retry_logic", "routing_config", "threshold_tuning"))
"""Classes of fixes that may start by themselves: they stay within declared bounds and act in a single call."""


@dataclass(frozen=True, slots=True)
class KnobStep:
    """Move of one knob: a number times `times` plus `plus`, within its bounds; a choice to its next option."""

    knob: str
    times: float = 1.0
    plus: float = 0.0

    def moved(self, value: Json, knob: Mapping[str, Json]) -> Json:
        """The new value; the old one where there is no room left, or where this knob is no such thing."""
        if knob.get("type") == "choice":
            return _next(value, knob.get("options"))
        low, high = knob.get("low"), knob.get("high")
        if not (_is_number(value) and _is_number(low) and _is_number(high)):
            return value
        assert isinstance(value, int | float)
        assert isinstance(low, int | float)
        assert isinstance(high, int | float)
        moved = min(max(value * self.times + self.plus, low), high)
        return round(moved) if knob.get("integer") else round(moved, 3)


@dataclass(frozen=True, slots=True)
class Rule:
    """One template: its class, what it does in words, the knobs it moves, and the trade it declares."""

    fix: str
    title: str
    steps: tuple[KnobStep, ...]
    trade: Mapping[str, float] = field(default_factory=dict)


_SLOWER = {"latency": 3.0}
_MORE_RETRIES = Rule(
    "retry_logic",
    "retry more often, with longer pauses",
    (KnobStep("max_retries", plus=2), KnobStep("backoff_s", times=2)),
    _SLOWER,
)
_FEWER_AT_ONCE = Rule("threshold_tuning", "run fewer calls at once", (KnobStep("concurrency", times=0.5),), _SLOWER)
_SLOWER_PACE = Rule(
    "threshold_tuning", "start fewer calls a minute", (KnobStep("calls_per_minute", times=0.7),), _SLOWER
)
_LONGER_TIMEOUT = Rule(
    "threshold_tuning", "allow a call more time", (KnobStep("timeout_s", times=1.5),), {"latency": 2.0}
)
_FALLBACK = Rule(
    "routing_config", "fall back to other models", (KnobStep("fallback_models"),), {"latency": 2.0, "cost": 2.0}
)
_OTHER_MODEL = Rule("routing_config", "use another model", (KnobStep("model"),), {"cost": 2.0})
_EMPTY_RETRY = Rule(
    "retry_logic", "ask again after an empty answer", (KnobStep("empty_retries", plus=1),), {"latency": 2.0}
)
_TRIM = Rule("context_trimming", "shorten what does not fit the model's context", (KnobStep("max_trims", plus=1),))
_OTHER_PROMPT = Rule("prompt", "use the next prompt", (KnobStep("prompt"),))

RULES: dict[str, tuple[Rule, ...]] = {
    "rate_limit": (_MORE_RETRIES, _FEWER_AT_ONCE, _SLOWER_PACE, _FALLBACK),
    "quota_exhausted": (_FALLBACK, _OTHER_MODEL),
    "overloaded": (_MORE_RETRIES, _FALLBACK, _FEWER_AT_ONCE),
    "server_error": (_MORE_RETRIES, _FALLBACK),
    "timeout": (_LONGER_TIMEOUT, _MORE_RETRIES, _FALLBACK),
    "network": (_MORE_RETRIES,),
    "model_not_found": (_FALLBACK, _OTHER_MODEL),
    "context_overflow": (_TRIM, _OTHER_MODEL),
    "content_filter": (_OTHER_PROMPT, _FALLBACK),
    "refusal": (_OTHER_PROMPT, _FALLBACK),
    "empty_response": (_EMPTY_RETRY, _FALLBACK),
    "malformed_output": (_MORE_RETRIES, _OTHER_PROMPT),
    "wrong_output": (_OTHER_PROMPT, _OTHER_MODEL),
}
"""Kind -> rules, in the order in which they are tried."""


_STUCK = 3  # equal refusals from which on the next turn will bring the same
# What an API says when the messages before the last one are at fault: a call without its result, turns out of order, an
# old message named by its place.
_HISTORY_REFUSED = re.compile(
    r"(?i)\bids? were found without\b|must be followed by tool messages|thinking.{0,80}not be modified|must alternate"
    r"|without (?:a )?(?:preceding|corresponding|matching)|no tool (?:output|call) found|unexpected .{0,40}tool_use_id"
    r"|function (?:call|response) (?:turn|parts)|\bmessages?(?:\.|\[)(?:<\w+>|\d+)"
)
NEW_SESSION = (
    "start a new session, or go back to before the message that is refused: each turn sends the same history again"
)


def propose(problem: Problem) -> Iterator[Fix]:
    """The fixes that apply to this problem, the usual one first; advice at the end. See `ports.Proposer`."""
    for rule in RULES.get(problem.kind, ()):
        new = _moved(rule, problem)
        if new and not any(same(dict(new), dict(tried)) for tried, _ in problem.tried):
            yield Fix(title=rule.title, fix=rule.fix, new=new, trade=rule.trade)
    usual = KINDS[problem.kind][3] if problem.kind in KINDS else ()
    if problem.kind == "invalid_request" and problem.count >= _STUCK and _HISTORY_REFUSED.search(problem.template):
        yield Fix(title=NEW_SESSION, fix="advice")
    elif usual:
        yield Fix(title="; or ".join(usual), fix="advice")


def _moved(rule: Rule, problem: Problem) -> dict[str, Json]:
    """The new values of the knobs that move; nothing unless the first one does."""
    new: dict[str, Json] = {}
    for position, step in enumerate(rule.steps):
        knob = problem.knobs.get(step.knob)
        value = problem.values.get(step.knob)
        moved = step.moved(value, knob) if knob is not None else value
        if not same(moved, value):
            new[step.knob] = moved
        elif position == 0:
            return {}
    return new


def _next(value: Json, options: Json) -> Json:
    """The option after the present one; the present one at the end of the list."""
    if not isinstance(options, list):
        return value
    at = next((place for place, option in enumerate(options) if same(option, value)), -1)
    return options[at + 1] if at + 1 < len(options) else value


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

"""Check what proposers hand in: data of a model or of a user's function, looked through before anything is made of
it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import cast, get_args

from ratchet.errors import UsageError
from ratchet.gate.bets import positive
from ratchet.improving.calls.threads import in_thread
from ratchet.improving.settings.knob import described_knob
from ratchet.improving.settings.versions import target_of
from ratchet.improving.targets import edit as edits
from ratchet.ports import Fix, Problem, Proposer
from ratchet.records import Metric

MOST = 20  # of one proposer for one problem: a model's list may be endless
LIMIT_S = 120.0
"""How long a proposer may think: one that hangs must not hold up the trials that are open."""


def asked(proposer: Proposer, problem: Problem) -> list[Fix]:
    """The first fixes that a proposer gives, in a thread of its own, which is left behind when it takes too long.

    Raises what the proposer raises, and TimeoutError after `LIMIT_S` seconds.
    """

    def few() -> list[Fix]:
        return [*islice(proposer(problem) or (), MOST)]

    late = f"no answer within {LIMIT_S:g} s"
    return cast("list[Fix]", in_thread(few, LIMIT_S, after=lambda: None, name="proposer", late=late))


def checked(problem: Problem, fix: Fix) -> Fix:
    """The fix, with its values as JSON. Raises UsageError for one that could not be tried or shown: it would fail at
    every look and stand in the way of what can be."""
    if not isinstance(fix, Fix):
        raise UsageError(f"{type(fix).__name__} is no Fix; yield ratchet.Fix(title=..., fix=..., new={{...}})")
    for name in ("title", "fix"):
        value = getattr(fix, name)
        if not isinstance(value, str) or not value.strip():
            raise UsageError(f"a fix's {name} is {value!r}; say it in words")
    if fix.metric not in get_args(Metric):
        raise UsageError(f"{fix.title}: the metric is {fix.metric!r}; use one of {', '.join(get_args(Metric))}")
    for name in ("new", "trade"):
        if not isinstance(getattr(fix, name), Mapping):
            raise UsageError(f"{fix.title}: {name} is {getattr(fix, name)!r}; use a dict")
    for name, factor in fix.trade.items():
        if name not in get_args(Metric):
            raise UsageError(f"{fix.title}: the trade names {name!r}; use some of {', '.join(get_args(Metric))}")
        positive(f"{fix.title}: the trade of {name}", factor)
    if not isinstance(fix.target, str):
        raise UsageError(
            f"{fix.title}: the target is {fix.target!r}; name it, or leave it out for the agent's settings"
        )
    new = edits.plain_values(fix.new, fix.title)
    if fix.target in ("", target_of(problem.agent)):
        for name, value in new.items():
            _refuse_unfit(problem, fix, name, value)
    return replace(fix, new=new, neutral_ok=fix.neutral_ok is True)


def _refuse_unfit(problem: Problem, fix: Fix, name: str, value: object) -> None:
    knob = problem.knobs.get(name)
    if knob is None:
        known = ", ".join(sorted(problem.knobs)) or "no live settings"
        raise UsageError(f"{fix.title}: {problem.agent} has no knob {name!r}; it has {known}")
    try:
        described_knob(dict(knob)).check(value)
    except UsageError as error:
        raise UsageError(f"{fix.title}: {name}: {error}") from error

"""Plan a trial before it begins: who holds its target, its arms, its deadline, its share of the budget."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

from ratchet import ids
from ratchet.errors import Conflict, Refused, UsageError
from ratchet.failures.redaction.text import clean
from ratchet.gate import trial as trialgate
from ratchet.gate.bets import positive
from ratchet.improving.targets import edit as edits
from ratchet.improving.trials.deadline import call_deadline_of, deadline_of
from ratchet.improving.trials.evidence import plan_of
from ratchet.improving.trials.history import history
from ratchet.improving.trials.trials import trials
from ratchet.ports import Store, Target
from ratchet.records import Change, Json, Metric, Trial, TrialMode, UnitKind, as_row, whole_in

ALPHA = 0.05
_SETTINGS = "settings:"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRequest:
    """Choices of whoever opens a trial; None is derived."""

    mode: TrialMode | None = None
    unit: UnitKind | None = None
    deadline_s: float | None = None
    alpha: float = ALPHA
    ramp: bool = True


def plan(store: Store, change: Change, asked: TrialRequest, target_of: Callable[[str], Target], *, now: float) -> Trial:
    """The trial of a change, not written yet. Raises Refused, UsageError, NotFound, BackendError."""
    refuse_second(store, change.target)
    _refuse_overspent(store, change, now)
    if not change.new:
        raise UsageError(f"the change of {change.target} names no key; give its new values")
    _refuse_meaningless(change)
    target = target_of(change.target)
    base = target.read()
    defaults = _defaults(store, change.target)
    _refuse_no_change(change, {**defaults, **base.values})
    edit = target.plan(change.new)
    known = history(store, change.agent, now=now)
    mode = asked.mode or ("coin" if change.target.startswith(_SETTINGS) else "switchback")
    unit = asked.unit or known.unit
    share = trialgate.ramp(0, calls_per_day=known.calls_per_day if asked.ramp and mode == "coin" else 0.0)
    planned = Trial(
        id=new_id(),
        change=change,
        state="planned",
        edit={**as_row(edit), "usual": {name: defaults[name] for name in change.new if name in defaults}},
        base=dict(base.values),
        mode=mode,
        unit=unit,
        alpha=asked.alpha,
        share=share,
        ramp=trialgate.RAMP if share != trialgate.FULL_SHARE else (),
        quiet_s=call_deadline_of(defaults, base.values, edit.after),
        deadline_s=deadline_of(unit, defaults, base.values, edit.after)
        if asked.deadline_s is None
        else positive("deadline_s", asked.deadline_s),
        before=known.before,
        metrics=tuple(dict.fromkeys((*known.metrics, change.metric))),
        salt=new_salt(),
        attempt=1 + _attempts(store, change),
        created_at=now,
    )
    trialgate.TrialGate(plan_of(planned), share=share)  # what it cannot weigh is refused now, not at every look
    return planned


def new_id() -> str:
    """The id of a new trial; later ones sort later."""
    return "t" + ids.uuid7().replace("-", "")[:20]


def new_salt() -> str:
    """Draw the salt of the trial's coin: the same for every process, unknown before."""
    return os.urandom(8).hex()


def take_lease(store: Store, planned: Trial) -> None:
    """Hold the trial's target, in the transaction that writes the trial. Raises Refused, Conflict."""
    target = planned.change.target
    lease = store.get("leases", target) or {}
    revision = whole_in(lease, "revision")
    if lease.get("trial") or not store.swap("leases", target, revision, {"trial": planned.id}):
        refuse_second(store, target)
        raise Conflict(f"somebody else opened a trial on {target} at this moment; look: ratchet trials list")


def release(store: Store, done: Trial) -> None:
    """Let go of the target, in the transaction that settles the trial."""
    lease = store.get("leases", done.change.target) or {}
    if lease.get("trial") == done.id:
        store.swap("leases", done.change.target, whole_in(lease, "revision"), {"trial": ""})


def refuse_second(store: Store, target: str) -> None:
    """Raises Refused, with the remedy, while a trial holds the target."""
    holder = str((store.get("leases", target) or {}).get("trial") or "")
    if holder:
        raise Refused(
            f"{target} is under trial {holder} already, and two changes at once could not be told apart; wait for "
            f"its decision (ratchet trials show {holder}) or end it: ratchet trials stop {holder}"
        )


def _refuse_meaningless(change: Change) -> None:
    ranked = sorted(set(get_args(Metric)) - {"success"})
    for name, factor in change.trade.items():
        if name not in ranked:
            raise UsageError(f"the trade names {name!r}; what may get worse is {', '.join(ranked)}")
        positive(f"the trade of {name}", factor)


def _refuse_no_change(change: Change, present: dict[str, Json]) -> None:
    if all(name in present and edits.same(present[name], value) for name, value in change.new.items()):
        said = clean(", ".join(f"{name} is {json.dumps(value)}" for name, value in change.new.items()), 200)
        raise Refused(f"{change.target} has this already ({said}), and both arms would be alike; give another value")


def _refuse_overspent(store: Store, change: Change, now: float) -> None:
    if not change.neutral_ok:
        return
    kept = trials(store, states=("kept",), target=change.target)
    charges = [(each.closed_at, each.change.margin) for each in kept if each.change.neutral_ok]
    left = trialgate.neutral_allowance(charges, now_s=now)
    if change.margin > left + 1e-9:
        raise Refused(
            f"{change.target} may lose {left:.1%} more this quarter to changes that need only do no harm, and this one "
            f"asks for {change.margin:.1%}; wait, lower its margin, or let it prove what it betters"
        )


def _defaults(store: Store, target: str) -> dict[str, Json]:
    """The declared defaults of an agent's knobs; nothing for other targets."""
    declared = (store.get("settings", target) or {}).get("knobs")
    if not isinstance(declared, dict):
        return {}
    return {name: knob.get("default") for name, knob in declared.items() if isinstance(knob, dict)}


def _attempts(store: Store, change: Change) -> int:
    earlier = trials(store, target=change.target)
    return sum(edits.same(dict(each.change.new), dict(change.new)) for each in earlier)

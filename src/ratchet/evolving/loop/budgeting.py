"""Shares out the budget of a run: so much is kept back that what is kept can be measured, and a run whose budget ended
says what more of it would buy. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import ceil

from ratchet.evolving.bench.benchmark import Evaluation
from ratchet.evolving.candidate import Candidate, Evolution
from ratchet.healing.episode import Budget

KEPT_BACK = 0.1
"""Share of the budget that is kept back at least, for measuring the winner on the sealed tasks."""
MOST_KEPT_BACK = 0.5
_MARGIN = 1.2  # sealed tasks may be dearer than those seen so far


def for_search(run: Evolution, known: Collection[Evaluation], sealed: int) -> Budget:
    """The budget that may go into searching: without what the winner and the agent as it was will take on `sealed`
    tasks, at the mean price and time of the evaluations that are `known`."""
    runs = 2 * run.repeats * sealed * _MARGIN
    usd = sum(each.cost_usd for each in known) / len(known) if known else 0.0
    wall_s = sum(each.wall_s for each in known) / len(known) / run.parallel if known else 0.0
    return Budget(
        usd=run.usd - min(MOST_KEPT_BACK * run.usd, max(KEPT_BACK * run.usd, runs * usd)),
        seconds=run.seconds - min(MOST_KEPT_BACK * run.seconds, max(KEPT_BACK * run.seconds, runs * wall_s)),
    )


def would_change(run: Evolution, candidates: Sequence[Candidate], *, usd: float, seconds: float, by_time: bool) -> str:
    """Say how much of the budget the proposals that are left would take, at the price of those that were decided.
    `usd` and `seconds` are what is used up; `by_time`: it was the time that ended."""
    proposed = [each for each in candidates if each.n and not each.retry_of]
    decided = [each for each in candidates if each.n and each.state in ("kept", "reverted", "screened_out")]
    left = (
        run.proposals - len(proposed) + sum(each.state not in ("kept", "reverted", "screened_out") for each in proposed)
    )
    option, used, given, unit = (
        ("--budget-s", seconds, run.seconds, "s") if by_time else ("--budget-usd", usd, run.usd, "USD")
    )
    if not decided:
        return f"no proposal was decided yet; give more with {option}"
    price = used / len(decided)
    total = max(given, used + left * price) / (1 - KEPT_BACK)
    shown = f"{ceil(total):,}" if by_time or total >= 10 else f"{total:.2f}"
    goes_on = f"--resume {run.id}" if not any(each.state == "kept" for each in decided) else "a new run"
    return (
        f"{len(decided)} decided at {price:.3g} {unit} each, {left} to go: {goes_on} with {option} "
        f"{shown.replace(',', '')} would see them all"
    )

"""Health: how well an agent's last calls went, recent ones first. Pure.

An exponentially weighted success rate: the newest call weighs 1, and every 20 calls halve the weight. With that
half-life a drop of the success rate from .95 to .55 lowers the score by .10 or more within 20 calls in over 95 % of
simulated runs (tests/unit/test_health.py), while a steady agent's score stays within about .03 of its rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import mul

HALF_LIFE_CALLS = 20
RECENT = 200
"""Outcomes per agent that matter: the 200th newest weighs a thousandth of the newest."""

EXCUSED = frozenset(("cascade", "user_denied", "cancelled"))
"""Kinds that are labelled and do not count as the agent's failures: a sibling's failure, a refusal by the person, and
an interruption, after which nobody knows how the call would have ended."""

_WEIGHTS = tuple(0.5 ** (age / HALF_LIFE_CALLS) for age in range(RECENT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Scores in [0, 1]. `score` is None when no agent has run yet, which is neither good nor bad health."""

    score: float | None
    agents: Mapping[str, float]
    half_life_calls: int = HALF_LIFE_CALLS


def score_of(ran: Iterable[bool]) -> float | None:
    """The score of one agent from its calls, oldest first; None without any. An agent that never fails is exactly 1."""
    return health_of({"": ran}).score


def health_of(agents: Mapping[str, Iterable[bool]]) -> Health:
    """Health of every agent and overall. Agents without a call are left out.

    Overall is the mean of the agents' scores, each weighed by the evidence behind it (the sum of its calls' weights, at
    most 29): an agent with 2 calls cannot drown one with 200, and a busy one cannot hide a failing one.
    """
    scores: dict[str, float] = {}
    all_good = all_weight = 0.0
    for agent, ran in agents.items():
        newest_first = list(ran)[: -RECENT - 1 : -1]
        if not newest_first:
            continue
        weight = sum(_WEIGHTS[: len(newest_first)])
        # Subtracting the failures, and not summing the successes, keeps a perfect agent at 1.0 to the last bit.
        good = weight - sum(map(mul, _WEIGHTS, [not ok for ok in newest_first]))
        scores[agent] = _within(good / weight)
        all_good += good
        all_weight += weight
    return Health(score=_within(all_good / all_weight) if scores else None, agents=scores)


def _within(score: float) -> float:
    """Rounding may leave -1e-17 where every call failed."""
    return min(1.0, max(0.0, score))

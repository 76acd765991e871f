"""All cases of the abuse suite, in one place."""

from __future__ import annotations

from ratchet.testing import abuse_limits, abuse_reach
from ratchet.testing.abuse import Case, problems

CASES: tuple[Case, ...] = (
    *abuse_reach.SECRETS,
    *abuse_reach.FILES,
    *abuse_reach.KERNEL,
    *abuse_reach.PROCESSES,
    *abuse_reach.NETWORK,
    *abuse_limits.TIME,
    *abuse_limits.AMOUNTS,
    *abuse_limits.RESULTS,
)

__all__ = ["CASES", "Case", "problems"]

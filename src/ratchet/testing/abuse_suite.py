"""All cases of the abuse suite, in one place."""

from __future__ import annotations

from ratchet.testing import abuse_files, abuse_kernel, abuse_limits, abuse_results
from ratchet.testing.abuse import Case, problems

CASES: tuple[Case, ...] = (
    *abuse_files.SECRETS,
    *abuse_files.FILES,
    *abuse_kernel.KERNEL,
    *abuse_kernel.PROCESSES,
    *abuse_kernel.NETWORK,
    *abuse_limits.TIME,
    *abuse_limits.AMOUNTS,
    *abuse_results.RESULTS,
)

__all__ = ["CASES", "Case", "problems"]

"""The one place where a run's budget is enforced: set aside before an attempt starts, settled after it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

from ratchet.team.values import TeamBudget, TeamRecord, TeamTask

_CENT_FRACTION = 1e-9  # rounding of sums of prices is no overdraft


class TeamPurse:
    """Rest of a budget. What earlier processes of the run spent counts, and an attempt of theirs whose end
    nobody saw counts in full."""

    def __init__(self, budget: TeamBudget, records: Iterable[TeamRecord]) -> None:
        self._budget = budget
        self._began = time.monotonic()
        self._usd = self._tokens = 0.0
        self._held: dict[tuple[str, int], tuple[float, int]] = {}
        for each in records:
            self._usd += each.cost_usd
            self._tokens += each.tokens

    def seconds_left(self) -> float | None:
        """None: as long as it takes."""
        limit = self._budget.seconds
        return None if limit is None else max(0.0, limit - (time.monotonic() - self._began))

    def refuses(self, task: TeamTask) -> str:
        """Say why an attempt at this task must not start; "" where it may."""
        held_usd = sum(usd for usd, _ in self._held.values())
        held_tokens = sum(tokens for _, tokens in self._held.values())
        usd, tokens = self._budget.usd, self._budget.tokens
        if self.seconds_left() == 0:
            return f"the {self._budget.seconds:g} s of the run are over"
        if usd is not None and (
            self._usd + held_usd + task.cost_usd > usd + _CENT_FRACTION or (self._usd + held_usd >= usd and usd > 0)
        ):
            left = max(0.0, usd - self._usd - held_usd)
            return f"it may cost {task.cost_usd:.4f} USD and {left:.4f} of {usd:g} are left"
        if tokens is not None and (
            self._tokens + held_tokens + task.tokens > tokens or self._tokens + held_tokens >= tokens
        ):
            return f"it may take {task.tokens} tokens and {max(0, tokens - int(self._tokens) - held_tokens)} are left"
        return ""

    def waits(self) -> bool:
        """Tell whether something is set aside that may still come back."""
        return any(usd or tokens for usd, tokens in self._held.values())

    def hold(self, task: TeamTask, n: int) -> None:
        """Set the most of an attempt aside."""
        self._held[task.id, n] = (task.cost_usd, task.tokens)

    def settle(self, task: TeamTask, n: int, usd: float, tokens: int) -> None:
        """Count what it cost instead; all that was set aside where that is no amount, which no sum survives."""
        held_usd, _ = self._held.pop((task.id, n), (task.cost_usd, task.tokens))
        self._usd += usd if 0 <= usd < math.inf else held_usd
        self._tokens += max(0, tokens)

"""Holds what rsi-loop's adapters share: a loop of their own over a folder."""

from __future__ import annotations

from typing import TypedDict, Unpack

from ratchet.compat.rsi_loop.loop import RSILoop
from ratchet.compat.rsi_loop.types import Config, Pattern


class Options(TypedDict, total=False):
    """The settings of `Config` besides the folder."""

    analysis_window_days: int
    recurrence_threshold: int
    auto_fix_enabled: bool
    safe_categories: list[str]


class Adapter:
    """A loop over `data_dir`, which is found as `Config` says unless given."""

    def __init__(self, data_dir: str | None = None, **options: Unpack[Options]) -> None:
        self.loop = RSILoop(Config(**options) if data_dir is None else Config(data_dir=data_dir, **options))

    def run_cycle(self) -> list[Pattern]:
        """Go round once; return the patterns."""
        return self.loop.run_cycle()

    def health_score(self) -> float:
        """Rate the last runs: 0 (all fail) to 1."""
        return self.loop.health_score()

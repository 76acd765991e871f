"""Goes round observe, analyze, fix, verify the rsi-loop way: Ratchet's own loop, over the same store."""

from __future__ import annotations

import logging

from ratchet.compat.rsi_loop.analyzer import Analyzer
from ratchet.compat.rsi_loop.fixer import Fixer
from ratchet.compat.rsi_loop.observer import Observer
from ratchet.compat.rsi_loop.types import Config, Fix, Pattern
from ratchet.recording.background import Background

log = logging.getLogger(__name__)


class RSILoop:
    """The whole of rsi-loop over one folder: `observer` records, `run_cycle` finds what fails and tries fixes."""

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or Config()
        self.observer = Observer(self.config)
        self.analyzer = Analyzer(self.config, self.observer)
        self.fixer = Fixer(self.config, self.observer.ratchet)
        self._background: Background | None = None

    def run_cycle(self) -> list[Pattern]:
        """Go round once; return the patterns. Trials that are open are looked at, and safe fixes start where the agent
        has live settings (`ratchet.settings`)."""
        patterns = self.analyzer.analyze()
        ticked = self.observer.ratchet.tick(auto_fix=False)
        for fault in ticked.faults:
            log.error("cycle.failed", extra={"why": fault})
        if self.config.auto_fix_enabled:
            for fix in self.fixes():
                self.fixer.apply_if_safe(fix)
        return patterns

    def health_score(self) -> float:
        """Rate the last runs: 0 (all fail) to 1."""
        return self.analyzer.health_score()

    def patterns(self) -> list[Pattern]:
        """The patterns as of now."""
        return self.analyzer.analyze()

    def fixes(self) -> list[Fix]:
        """The fixes that were put forward."""
        return self.fixer.load_proposals()

    def start_background(self, interval_seconds: float = 3600) -> None:
        """Go round in a thread of its own; one that goes round already goes on. A fault costs its turn."""
        if self._background is None:
            self._background = Background(self.run_cycle, interval_seconds, name="rsi-loop")

    def stop_background(self) -> None:
        """Stop the thread after its turn under way."""
        work, self._background = self._background, None
        if work is not None:
            work.stop()

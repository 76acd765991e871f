"""Tells people what the loop did, through a method that users override."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from ratchet.records import Json, Row


class TelegramNotifier:
    """Prints what it is told. Override `_send_message` to reach a channel; `ratchet` has notifiers of its own, too
    (settings `notify_webhook`, `notify_email`)."""

    def __init__(self, enabled: bool = True) -> None:
        self.enabled = enabled

    def notify_improvement(self, agent_id: str, improvements_applied: int, details: Row | None = None) -> None:
        """A change was applied."""
        self._tell(f"{agent_id}: {improvements_applied} change(s) applied", details)

    def notify_rollback(self, agent_id: str, reason: str, metrics: Row | None = None) -> None:
        """A change was undone."""
        self._tell(f"{agent_id}: rolled back: {reason}", metrics, priority="high")

    def notify_daily_summary(self, stats: Mapping[str, Json]) -> None:
        """Figures of the day."""
        self._tell("daily summary", stats)

    def notify_threshold_adjusted(self, agent_id: str, profile: Mapping[str, Json]) -> None:
        """An agent is looked at by other thresholds."""
        self._tell(f"{agent_id}: thresholds changed", profile)

    def _tell(self, title: str, details: Mapping[str, Json] | None, priority: str = "normal") -> None:
        if self.enabled:
            lines = [f"  {name}: {value}" for name, value in (details or {}).items()]
            self._send_message("\n".join([f"Self-Improving Loop: {title}", *lines]), priority=priority)

    def _send_message(self, message: str, priority: str = "normal") -> None:
        print(_encode_for_stdout(f"[{priority.upper()}] {message}"))


def _encode_for_stdout(text: str, encoding: str | None = None) -> str:
    """The text as this console can show it."""
    target = encoding or sys.stdout.encoding or "utf-8"
    return text.encode(target, errors="replace").decode(target)

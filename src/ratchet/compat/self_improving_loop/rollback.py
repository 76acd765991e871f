"""Keeps configurations as they were before a change, and says whether what came after is worse."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from math import erfc, sqrt
from pathlib import Path
from uuid import uuid4

from ratchet.config import home_of
from ratchet.failures.patterns.correlation import hypergeometric_tail
from ratchet.records import Json, Row, number_in, whole_in

Metrics = Mapping[str, Json]

ALPHA = 0.05
_LEAST_RANKED = 8


class AutoRollback:
    """Backups of configurations and the history of rollbacks, in files of one folder."""

    SUCCESS_RATE_DROP_THRESHOLD = 0.10
    LATENCY_INCREASE_THRESHOLD = 0.20
    CONSECUTIVE_FAILURES_THRESHOLD = 5
    VERIFICATION_WINDOW = 10

    def __init__(self, data_dir: str | None = None) -> None:
        self._folder = home_of(data_dir)
        self._folder.mkdir(parents=True, exist_ok=True)
        self.backup_file = self._folder / "config_backups.jsonl"
        self.rollback_log = self._folder / "rollback_history.jsonl"

    def backup_config(self, agent_id: str, config: Row, improvement_id: str) -> str:
        """Keep a configuration as it is; return the backup's id."""
        backup_id = f"{agent_id}_{uuid4().hex[:12]}"
        row: Row = {"backup_id": backup_id, "agent_id": agent_id, "improvement_id": improvement_id}
        _append(self.backup_file, {**row, "config": config, "timestamp": datetime.now().astimezone().isoformat()})
        return backup_id

    def should_rollback(
        self, agent_id: str, improvement_id: str, before_metrics: Metrics, after_metrics: Metrics
    ) -> tuple[bool, str]:
        """Compare two figures by the thresholds: whether the later is bad enough to undo a change, and why. The loop
        asks for proof besides (`proven_worse`, `proven_slower`): two figures alone may differ by chance."""
        del agent_id, improvement_id
        reason = self._reason(before_metrics, after_metrics)
        return bool(reason), reason

    def rollback(self, agent_id: str, backup_id: str, reason: str = "rolled back by hand") -> Row:
        """Note a rollback; return the configuration to put back, or the error."""
        backup = next((each for each in _rows(self.backup_file) if each.get("backup_id") == backup_id), None)
        if backup is None:
            return {"success": False, "error": f"Backup not found: {backup_id}"}
        known: Row = {name: backup.get(name) for name in ("backup_id", "improvement_id")}
        entry: Row = {"rollback_id": f"rollback_{uuid4().hex[:12]}", "agent_id": agent_id, **known, "reason": reason}
        _append(self.rollback_log, {**entry, "timestamp": datetime.now().astimezone().isoformat()})
        return {"success": True, **known, "config": backup.get("config")}

    def get_rollback_history(self, agent_id: str | None = None) -> list[Row]:
        """The rollbacks of one agent or of all, oldest first."""
        return [each for each in _rows(self.rollback_log) if agent_id in (None, each.get("agent_id"))]

    def get_stats(self) -> Row:
        """Count the rollbacks, and name their agents."""
        history = self.get_rollback_history()
        agents: list[Json] = [*dict.fromkeys(each.get("agent_id") for each in history)]
        return {"total_rollbacks": len(history), "agents_rolled_back": len(agents), "agents": agents}

    def _reason(self, before: Metrics, after: Metrics) -> str:
        was, now = number_in(before, "success_rate"), number_in(after, "success_rate")
        if was > 0 and was - now > self.SUCCESS_RATE_DROP_THRESHOLD:
            return f"success rate fell from {was:.0%} to {now:.0%}"
        slow, slower = number_in(before, "avg_duration_sec"), number_in(after, "avg_duration_sec")
        if slow > 0 and slower / slow - 1 > self.LATENCY_INCREASE_THRESHOLD:
            return f"latency rose from {slow:.3g} s to {slower:.3g} s"
        streak = whole_in(after, "consecutive_failures")
        return f"{streak} consecutive failures" if streak >= self.CONSECUTIVE_FAILURES_THRESHOLD else ""


def proven_worse(before: Metrics, after: Metrics) -> bool:
    """Tell whether so many failures after the change are more than chance explains, given those before it.

    Fisher's exact test, one-sided. Look number t, after t tasks, may spend .05 / (t (t + 1)), which sums to .05 over
    all looks: who looks after every task raises no more false alarms. Without a control arm an outage that began with
    the change looks the same; `ratchet.settings` tosses a coin per call instead.
    """
    old, new = whole_in(before, "total_tasks"), whole_in(after, "total_tasks")
    failed = round((1 - number_in(after, "success_rate")) * new)
    failures = failed + round((1 - number_in(before, "success_rate")) * old)
    return new > 0 and hypergeometric_tail(old + new, failures, new, failed) <= ALPHA / (new * (new + 1))


def proven_slower(old: Sequence[float], new: Sequence[float]) -> bool:
    """Tell whether the tasks after the change took longer than chance explains: Mann and Whitney's rank sum, one-sided,
    with the same share of .05 at each look. Needs 8 tasks on each side, from where on the normal curve fits."""
    if min(len(old), len(new)) < _LEAST_RANKED:
        return False
    wins = sum((later > earlier) + 0.5 * (later == earlier) for later in new for earlier in old)
    pairs = len(old) * len(new)
    spread = sqrt(pairs * (len(old) + len(new) + 1) / 12)
    return erfc((wins - pairs / 2) / spread / sqrt(2)) / 2 <= ALPHA / (len(new) * (len(new) + 1))


def _append(path: Path, row: Row) -> None:
    """Add a line in one write: two processes never lose each other's."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, json.dumps(row, ensure_ascii=False).encode() + b"\n")
    finally:
        os.close(descriptor)


def _rows(path: Path) -> list[Row]:
    if not path.exists():
        return []
    rows = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            row = json.loads(line)
        except ValueError:  # torn by a full disk
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows

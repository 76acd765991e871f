"""Names what connects the loop to an application: its configuration, and who thinks of changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ratchet.records import Json, Row


class ConfigAdapter(Protocol):
    """Reads and writes an agent's configuration."""

    def get_config(self, agent_id: str) -> Row:
        """All of the configuration."""

    def apply_config(self, agent_id: str, config_patch: Row) -> bool:
        """Change these keys; False refuses."""

    def rollback_config(self, agent_id: str, backup_config: Row) -> None:
        """Put back all of an earlier configuration."""


class Strategy(Protocol):
    """Thinks of a change. It may also have `current_config`, `apply` and `rollback`, which stand in for an adapter."""

    def analyze(self, agent_id: str, traces: Sequence[Row], before_metrics: Mapping[str, Json]) -> Row | None:
        """The keys to change; None or nothing for no idea."""

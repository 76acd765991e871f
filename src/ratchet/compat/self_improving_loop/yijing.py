"""Refuses self-improving-loop's hexagrams by name: no measurement stands behind them."""

from __future__ import annotations

from typing import Never

from ratchet.errors import UsageError

_INSTEAD = (
    "the hexagram strategy has no counterpart here: its policies were never measured. Any object with "
    "analyze(agent_id, traces, before_metrics) is a strategy, and ratchet.settings tries changes against a control"
)


class YijingEvolutionStrategy:
    """Raises UsageError, which says what to use instead."""

    def __init__(self, **_: object) -> None:
        raise UsageError(_INSTEAD)


def score_lines(*_: object, **__: object) -> Never:
    """Raise UsageError, which says what to use instead."""
    raise UsageError(_INSTEAD)


def identify_hexagram(*_: object) -> Never:
    """Raise UsageError, which says what to use instead."""
    raise UsageError(_INSTEAD)

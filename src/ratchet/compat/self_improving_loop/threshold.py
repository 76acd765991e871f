"""Says when an agent is looked at: Ratchet's pulses, in self-improving-loop's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from ratchet.client import Ratchet
from ratchet.improving.loop.pulse import BUSY, BUSY_CALLS_A_DAY, HOUR_S, QUIET, STEADY, STEADY_CALLS_A_DAY, Pulse
from ratchet.records import Json

_FREQUENCY = {BUSY: "high", STEADY: "medium", QUIET: "low"}


class AdaptiveThreshold:
    """Thresholds of agents: by their pace, unless a person set them."""

    def __init__(self, data_dir: str | None = None, ratchet: Ratchet | None = None) -> None:
        self._ratchet = ratchet or Ratchet(data_dir, foreign_home=True)

    def get_threshold(self, agent_id: str, task_history: Sequence[Mapping[str, Json]] = ()) -> tuple[int, int, int]:
        """(failures, hours of the window, hours of the cooldown). The pace is that of the history, if one is given,
        else the measured one."""
        held = self._pulse(agent_id, task_history)
        return held.failures, round(held.window_s / HOUR_S), round(held.cooldown_s / HOUR_S)

    def set_manual_threshold(
        self,
        agent_id: str,
        failure_threshold: int | None = None,
        analysis_window_hours: float | None = None,
        cooldown_hours: float | None = None,
        is_critical: bool | None = None,
    ) -> None:
        """Set an agent's own thresholds; what is None stays. Raises UsageError."""
        self._ratchet.pulses.set(
            agent_id,
            critical=is_critical,
            failures=failure_threshold,
            window_s=None if analysis_window_hours is None else analysis_window_hours * HOUR_S,
            cooldown_s=None if cooldown_hours is None else cooldown_hours * HOUR_S,
        )

    def get_agent_profile(self, agent_id: str, task_history: Sequence[Mapping[str, Json]] = ()) -> dict[str, Json]:
        """The thresholds with what they follow from."""
        held = self._pulse(agent_id, task_history)
        failures, window, cooldown = self.get_threshold(agent_id, task_history)
        own = self._ratchet.pulses.show(agent_id)
        return {
            "agent_id": agent_id,
            "frequency": _FREQUENCY.get(_paced(task_history), "medium"),
            "is_critical": "critical" in held.why,
            "failure_threshold": failures,
            "analysis_window_hours": window,
            "cooldown_hours": cooldown,
            "tasks_per_day": _today(task_history),
            "source": "auto" if own in _FREQUENCY else "manual",
        }

    def _pulse(self, agent: str, history: Sequence[Mapping[str, Json]]) -> Pulse:
        held = self._ratchet.pulses.show(agent)
        return _paced(history) if history and held in _FREQUENCY else held


def _paced(history: Sequence[Mapping[str, Json]]) -> Pulse:
    if not history:
        return STEADY
    a_day = _today(history)
    return BUSY if a_day > BUSY_CALLS_A_DAY else STEADY if a_day >= STEADY_CALLS_A_DAY else QUIET


def _today(history: Sequence[Mapping[str, Json]]) -> int:
    since = datetime.now().astimezone() - timedelta(days=1)
    return sum((at := moment_of(each)) is not None and at > since for each in history)


def moment_of(trace: Mapping[str, Json]) -> datetime | None:
    """When a trace was made; None where it does not say."""
    try:
        return datetime.fromisoformat(str(trace.get("timestamp") or trace.get("start_time"))).astimezone()
    except ValueError:
        return None

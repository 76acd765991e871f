"""Records what happens to a coding agent, in rsi-loop's words."""

from __future__ import annotations

from ratchet.compat.rsi_loop.integrations.adapter import Adapter
from ratchet.compat.rsi_loop.types import Outcome

_SOURCE = "openclaw"


class ClaudeCodeAdapter(Adapter):
    """Adapter for Claude Code and OpenClaw. `ratchet install` records both without a line of code."""

    def on_task_complete(
        self,
        task: str,
        success: bool = True,
        error: str | None = None,
        model: str | None = None,
        duration_ms: int | None = None,
        quality: int = 3,
        notes: str = "",
    ) -> Outcome:
        """A task ended."""
        return self.loop.observer.record_simple(
            task, success, error, model, duration_ms, quality, source=_SOURCE, notes=notes
        )

    def on_session_reset(self, notes: str = "") -> Outcome:
        """A session began anew, and its context is gone."""
        return self._failed("session_management", "Session reset — context lost", notes)

    def on_model_fallback(self, from_model: str, to_model: str, reason: str = "unavailable") -> Outcome:
        """Another model stood in."""
        return self.loop.observer.record(
            Outcome(
                source=_SOURCE,
                task_type="model_routing",
                quality=2,
                issues=["model_fallback"],
                error_message=f"Model fallback: {from_model} → {to_model} ({reason})",
                model=to_model,
                notes=f"Fell back from {from_model} to {to_model}: {reason}",
            )
        )

    def on_cron_failure(self, job_name: str, error: str) -> Outcome:
        """A job that runs by the clock failed."""
        return self._failed("cron_management", error, f"Cron job '{job_name}' failed")

    def on_subagent_failure(self, label: str, error: str, model: str = "") -> Outcome:
        """A subagent failed."""
        return self._failed("subagent_management", error, f"Sub-agent '{label}' failed", model)

    def _failed(self, task: str, error: str, notes: str, model: str = "") -> Outcome:
        return self.loop.observer.record_simple(task, False, error, model, quality=1, source=_SOURCE, notes=notes)

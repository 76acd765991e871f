"""Makes each attempt an Outcome, so that memory, facts, budgets and pages hold for teams, too."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping

from ratchet.client import Ratchet
from ratchet.failures import tool_call
from ratchet.lessons import reply
from ratchet.recording import recorder
from ratchet.records import Fields, Json
from ratchet.team.hands.reply import WorkerReply
from ratchet.team.values import TeamAttempt, TeamTask

log = logging.getLogger(__name__)

SOURCE = "team"


class TeamOutcomes:
    """Records the attempts of one run: the run is the session, the task its thread, the worker the agent."""

    def __init__(self, ratchet: Ratchet, team: str, run: str) -> None:
        self._ratchet, self._team, self._run = ratchet, team, run
        ratchet._begin_draining()

    def record(self, task: TeamTask, attempt: TeamAttempt, answer: WorkerReply, *, learns: bool = True) -> str:
        """Journal an attempt; return what is known to fix its failure, fenced, by the coin of the run; "" otherwise.
        Costs microseconds where it went well."""
        given: Fields = {
            "task": task.id,
            "ok": attempt.ok,
            "started_at": attempt.began_at,
            "duration_s": max(0.0, attempt.ended_at - attempt.began_at),
            "cost_usd": answer.cost_usd or None,
            "tokens": answer.tokens or None,
            "session": self._run,
            "thread": task.id,
            "source": SOURCE,
            "id": f"{task.id}/{attempt.n}",
            "context": _context(self._team, task, attempt),
        }
        if not attempt.ok:
            given |= {
                "error": tool_call.message_text(answer.error),
                "kind": attempt.kind or None,
                "exit_code": answer.exit_code,
                "status": answer.status,
            }
        row = recorder.row_of(attempt.worker, given)
        failure = row.get("failure")
        if isinstance(failure, dict) and answer.type:
            failure["type"] = answer.type
        row["step"] = tool_call.step_row(attempt.worker, task.work)
        append = self._ratchet._recorder.append
        if not append(row) or attempt.ok or not learns:
            return ""
        try:
            return reply.to_failure(str(self._ratchet._home()), row, append)
        except (OSError, sqlite3.Error):
            log.warning("team.recall_failed", exc_info=True, extra={"run": self._run, "task": task.id})
            return ""


def _context(team: str, task: TeamTask, attempt: TeamAttempt) -> Mapping[str, Json]:
    said: dict[str, Json] = {"team": team, "attempt": attempt.n}
    if task.skill:
        said["skill"] = task.skill
    if task.needs:
        said["needs"] = [*task.needs]
    if attempt.adopted:
        said["adopted"] = True
    return said

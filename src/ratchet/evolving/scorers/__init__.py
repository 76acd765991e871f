"""Scorers: how good is what an agent left behind?

They come once the agent is gone. What it left is data: nothing of it runs outside a sandbox, and nothing of it decides
how it is judged.
"""

from __future__ import annotations

from collections.abc import Callable

from ratchet.errors import BackendError, Refused
from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.evolving.scorers import calls, command, graded, plan
from ratchet.evolving.scorers.scored import Scored, Scorer, unmeasured
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import Limits

__all__ = ["SCORERS", "Scored", "score"]


SCORERS: dict[str, Scorer] = {
    "pytest": graded.score,
    "command": command.score,
    "plan": plan.score,
    "calls": calls.score,
}


def score(
    task: BenchTask,
    workspace: Workspace,
    sandbox: Sandbox,
    *,
    limits: Limits | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Scored:
    """Score the files of a workspace as an answer to a task.

    The workspace began as the task's `files` and is only read; its agent must be gone. `limits` bound the run of the
    graders. Never raises for what the answer is; a machine that fails is `unmeasured`, and so is being cancelled.
    """
    scorer = SCORERS.get(task.scorer)
    if scorer is None:
        return unmeasured(f"task {task.id} asks for the scorer {task.scorer!r}; there are: {', '.join(SCORERS)}")
    try:
        found = scorer(task, workspace, sandbox, limits=limits or Limits(), cancelled=cancelled)
    except (BackendError, Refused, OSError) as error:
        return unmeasured(f"{task.id} could not be scored: {error}")
    return unmeasured(f"{task.id}: cancelled while it was scored", kind="cancelled") if cancelled() else found

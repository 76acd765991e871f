"""Weigh a patch that passes and that no search found: a model's, an agent's, a person's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ratchet.healing.episode import Standing, Task, Verdict
from ratchet.healing.job import Purse
from ratchet.healing.solvers.repair import SearchRequest, doubts, search
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import FileChange, Limits

_LONGEST_S, _SHARE = 60.0, 0.15  # that it may take, and of the time that is left


@dataclass(frozen=True, slots=True)
class Weighing:
    """Weighs changes of one episode, on copies of the untouched project."""

    workspace: Workspace
    beginning: str
    sandbox: Sandbox
    limits: Limits
    purse: Purse

    def __call__(self, changes: Sequence[FileChange], task: Task, first: Verdict) -> tuple[Standing, str]:
        """Tell how sure a change is, and what speaks for it, as the search does of its own. No standing, and why, where
        that cannot be told: only Python that was there is weighed."""
        given = {each.path: each.after for each in changes if each.after is not None and each.before is not None}
        if len(given) < len(changes) or not all(path.endswith(".py") for path in given):
            return "", "not weighed: it changes more than Python files that were there"
        asked = SearchRequest(
            check=task.check,
            candidates=0,
            seconds=min(_LONGEST_S, _SHARE * self.purse.seconds_left()),
            quarantined=task.quarantined,
            failing=first.tests.failed_ids if first.tests else (),
            given=given,
        )
        copy = self.workspace.fork(self.beginning)
        try:
            found = search(asked, self.sandbox, copy.view(), limits=self.limits, cancelled=self.purse.cancelled)
        finally:
            copy.close()
        if not found.patches:
            return "", f"not weighed: {found.problem or 'the time was up'}"
        doubt = doubts(found, found.patches[0])
        return "doubtful" if doubt else "sure", ";\n".join(filter(None, (doubt, found.grounds.told())))

"""Look for the mistake of a healed episode elsewhere in its project, and hold the tests against each remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ratchet.errors import Refused
from ratchet.healing.episode import Task, Verdict
from ratchet.healing.job import Judge, Purse
from ratchet.healing.judges.protection import may_change
from ratchet.healing.judges.readers import untouched
from ratchet.healing.patches import diff_text
from ratchet.healing.shown import shown_text
from ratchet.healing.siblings import Sibling, rules_of, siblings_of
from ratchet.healing.solvers.survey import content, listing
from ratchet.healing.suite import compared, whole_suite
from ratchet.healing.testruns import reading
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox import opening
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.command import FileChange, Limits

_MOST = 8  # that are told: a rule that fits everywhere is none
_SHARE = 0.4  # of the time that is left, what the first run of the tests may take


@dataclass(frozen=True, slots=True, kw_only=True)
class SiblingPatch:
    """A proposal: the same mistake in another place, its remedy, and what the tests say of that. No test failed there:
    a person decides."""

    path: str
    line: int
    function: str
    diff: str
    shown: str
    """The diff without secrets: all that is ever shown of it."""
    check: tuple[str, ...]
    kept: int = 0
    """Tests that pass with it as they did."""
    broken: str = ""
    """Tests that speak against it, or why none could be asked."""


@contextmanager
def healed_copy(sandbox: Sandbox, folder: Path, place: Path, changes: Sequence[FileChange]) -> Iterator[Workspace]:
    """A copy of a project with these changes in it, for as long as it is looked at. Raises Refused where a file holds
    neither what it held before nor what it holds after."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    workspace = opening.copied(sandbox, folder, place)
    try:
        for each in changes:
            present = content(workspace, each.path)
            if present not in (each.before, each.after):
                raise Refused(f"{each.path} was edited since it was healed; heal it anew to look for siblings")
            if each.after is not None and present != each.after:
                workspace.write(each.path, each.after, mode=each.after_mode)
        yield workspace
    finally:
        workspace.close()
        remove_tree(place)


@dataclass(frozen=True, slots=True)
class SiblingSearch:
    """The search in a copy of the project, in which the healed files are in place."""

    task: Task
    workspace: Workspace
    sandbox: Sandbox
    judge: Judge
    limits: Limits
    purse: Purse

    def found(self, changes: Sequence[FileChange]) -> tuple[SiblingPatch, ...]:
        """Every proposal, with the whole suite held against it where a check runs a part of that.

        Raises SandboxError."""
        rules = [
            rule
            for each in changes
            if each.path.endswith(".py") and each.before is not None and each.after is not None
            for rule in rules_of(each.before, each.after)
        ]
        siblings = siblings_of(rules, self._program()) if rules else []
        if not siblings:
            return ()
        check = whole_suite(self.task, reading(untouched(self.workspace.view()))) or self.task.check
        task = replace(self.task, check=check, held_check=(), selected=())
        before = self._judged((), task, _SHARE * self.purse.seconds_left())
        return tuple(self._proposed(each, task, before) for each in siblings[:_MOST])

    def _program(self) -> dict[str, bytes]:
        paths = [each for each in listing(self.workspace, self.sandbox, self.limits) if each.endswith(".py")]
        fixed = [path for path in paths if may_change(path, self.task.protected)]
        return {path: held for path in fixed if (held := content(self.workspace, path)) is not None}

    def _proposed(self, one: Sibling, task: Task, before: Verdict) -> SiblingPatch:
        change = FileChange(path=one.path, before=one.before, after=one.after, before_mode=0o644, after_mode=0o644)
        told = SiblingPatch(
            path=one.path,
            line=one.line,
            function=one.function,
            diff=diff_text([change]),
            shown=shown_text([change]),
            check=task.check,
        )
        if before.tests is None or before.killed or self.purse.cancelled():
            return replace(told, broken=f"no test could be asked: {before.reason or 'no time is left'}")
        wall_s = min(10.0 + 4 * before.duration_s, self.purse.seconds_left())
        said = compared(task, before, lambda asked, limit_s: self._judged((change,), asked, limit_s), wall_s)
        return replace(told, kept=said.kept, broken=said.broken)

    def _judged(self, changes: Sequence[FileChange], task: Task, wall_s: float) -> Verdict:
        copy = self.workspace.fork(self.workspace.checkpoint())
        try:
            for each in changes:
                copy.write(each.path, each.after or b"", mode=each.after_mode)
            limits = replace(self.limits, wall_s=max(1.0, wall_s))
            return self.judge.judge(copy, self.sandbox, task, limits=limits, purse=self.purse)
        finally:
            copy.close()

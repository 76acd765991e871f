"""Mend failing tests one by one, where no one change makes all of them pass.

A fresh clone often fails in several ways that have nothing to do with each other: by a bug, and by a newer Python or a
package that changed. What mends one of them and breaks none is worth having, though the check fails still.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path

from ratchet.healing.episode import RIVAL, Standing, Verdict
from ratchet.healing.job import Solved, SolveJob
from ratchet.healing.judges.readers import untouched
from ratchet.healing.missing import outside
from ratchet.healing.purse import ShorterPurse
from ratchet.healing.suite import one_test
from ratchet.healing.testruns import reading
from ratchet.ports import Workspace
from ratchet.records import Json

_JOINT_SHARE = 0.4  # of the time, for one change that mends all
_LEAST_S = 30.0  # a search that has less sees hardly more than its first run
_ENDING_S = 5.0

Solve = Callable[[SolveJob, bool], Solved]
"""Asked for one change that mends all that fails; with True it may give up at once where there can be none."""
_ALONE = "alone"  # in the memo of an attempt: tests for which, each by itself, no change was found


def solved(job: SolveJob, solve: Solve) -> Solved:
    """The answer of a solver to all failing tests; where it has none, its answers to one test after another."""
    before = job.failure.tests
    shut = outside(job.failure, Path(job.task.folder))
    failing = [each for each in _in_turn(before.failed_ids if before else ()) if each not in shut]
    told = f"left out, since no edit of the project mends them: {'; '.join(shut.values())}" if shut else ""
    vain = {n: names for each in job.tried if isinstance(names := each.memo.get(_ALONE), list) for n in (each.n,)}
    left = [each for each in failing if not any(each in names for names in vain.values())]
    if (shut or vain) and not left:
        said = (
            f"nothing more was tried: attempt {max(vain)} found no change for the tests that still fail" if vain else ""
        )
        return Solved(status="gave_up", reason="; ".join(filter(None, (said, told))))
    read = reading(untouched(job.workspace.view()))
    if not vain and (len(failing) + bool(shut) < 2 or not one_test(job.task, read, failing[0])):
        return solve(job, False)
    joint = Solved(status="gave_up", reason=told)
    if not (shut or vain):
        joint = solve(_shorter(job, _JOINT_SHARE * job.purse.seconds_left(), 0.5), True)
    if joint.status == "proposed" or job.cancelled():
        return joint
    job.note(f"no one change mends all that fails: {len(left)} tests are tried one by one")
    found = _each(job, left, solve)
    ended = found[:-1] if job.cancelled() else found
    return _together(told, joint, found, [test for test, each in ended if each.status != "proposed"])


def _each(job: SolveJob, failing: Sequence[str], solve: Solve) -> list[tuple[str, Solved]]:
    """The answers to single tests, each on top of those before; what others mended is not tried again."""
    found: list[tuple[str, Solved]] = []
    now = job.failure
    for at, test in enumerate(failing):
        seconds = job.purse.seconds_left() - _ENDING_S
        if job.cancelled() or seconds < _LEAST_S:
            break
        if now.tests is None or test not in now.tests.failed_ids:
            continue
        job.note(f"test {at + 1} of {len(failing)}: {test}")
        left = min(len(failing) - at, max(1, int(seconds / _LEAST_S)))
        alone = _Alone(_shorter(job, seconds / left, 1 / left), now, test)
        answer = solve(alone.job, False)
        now = alone.now
        found.append((test, answer))
    return found


class _Alone:
    """A job with one failing test. `now` is the check's word on the workspace, with what was mended so far."""

    def __init__(self, job: SolveJob, now: Verdict, test: str) -> None:
        self._judge = job.judge
        self._test = test
        self.now = now
        assert now.tests is not None
        read = reading(untouched(job.workspace.view()))
        self.job = replace(
            job,
            task=replace(job.task, check=one_test(job.task, read, test)),
            failure=replace(now, tests=replace(now.tests, failed_ids=(test,))),
            judge=self._judged,
        )

    def _judged(self, workspace: Workspace) -> Verdict:
        """The check's verdict; passed where this test passes and all that passed does still."""
        verdict = self._judge(workspace)
        before, after = self.now.tests, verdict.tests
        if verdict.passed or verdict.refused or verdict.killed or before is None or after is None:
            return verdict
        passing = frozenset(after.passed_ids)
        lost = [name for name in before.passed_ids if name not in passing]
        if lost or self._test not in passing:
            why = f"{lost[0]} passed before and not with it" if lost else f"{self._test} fails still"
            return replace(verdict, reason=why)
        self.now = verdict
        return replace(verdict, passed=True)


def _together(told: str, joint: Solved, found: Sequence[tuple[str, Solved]], alone: Sequence[str]) -> Solved:
    """One answer of many: what mended some tests, else what was found of each. `alone` are those that nothing did."""
    mended = [(test, each) for test, each in found if each.status == "proposed"]
    candidates = joint.candidates + sum(each.candidates for _, each in found)
    memo: dict[str, Json] = {_ALONE: [*alone]}
    hints = tuple(f"{test}: {hint}" for test, each in found for hint in each.hints) or joint.hints
    if not mended:
        more = f"none of {candidates - joint.candidates:,} mends one of {len(found)} failing tests by itself"
        reason = "; ".join(filter(None, (joint.reason, more)))
        return replace(joint, reason=reason, candidates=candidates, hints=hints, memo=memo)
    said = [each.evidence.partition(f"\n{RIVAL}") for _, each in mended]
    words = [grounds.rpartition(";\n") for grounds, _, _ in said]
    doubts, figures = (_by_test(mended, [each[at] for each in words]) for at in (0, 2))
    grounds = [f"{'; '.join(doubts)};"] * bool(doubts) + figures
    standing: Standing = "sure" if all(each.standing == "sure" for _, each in mended) else "doubtful"
    return Solved(
        status="proposed",
        cause="; ".join(each.cause for _, each in mended),
        fix="; ".join(each.fix for _, each in mended),
        candidates=candidates,
        reason=told,
        alternatives=sum(each.alternatives for _, each in found),
        standing=standing,
        evidence="".join(["\n".join(grounds), *(f"\n{RIVAL}{each}" for _, rivals, each in said if rivals)]),
        hints=hints,
        memo={**_remembered([each.memo for _, each in mended]), **memo},
    )


def _by_test(mended: Sequence[tuple[str, Solved]], texts: Sequence[str]) -> list[str]:
    """Each text once, with the tests that it is about."""
    tests: dict[str, list[str]] = {}
    for (test, _), text in zip(mended, texts, strict=True):
        tests.setdefault(text, []).append(test)
    return [f"{', '.join(names)}: {text}" for text, names in tests.items() if text]


def _remembered(memos: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """One memo of several changes that were made one on top of the other, so that all are made again at once."""
    if len(memos) == 1:
        return {**memos[0]}
    edits = [held if isinstance(held := each.get("marks"), list) else [] for each in memos]
    return {"marks": [mark for each in edits for mark in each]} if all(edits) else {}


def _shorter(job: SolveJob, seconds: float, share: float) -> SolveJob:
    """The job with a part of its time and of its candidates."""
    return replace(job, purse=ShorterPurse(job.purse, seconds), candidates=max(1, int(share * job.candidates)))


def _in_turn(names: Sequence[str]) -> list[str]:
    """One of each file, then the second of each: tests of one file often fail of the same."""
    files: dict[str, list[str]] = {}
    for name in names:
        files.setdefault(name.partition("::")[0], []).append(name)
    return [name for name in chain.from_iterable(zip_longest(*files.values())) if name]

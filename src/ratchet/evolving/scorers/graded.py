"""The scorer of pytest: the share of the graders' tests that pass, in a fresh copy that the agent never saw.

The copy is made of the task's files, the graders, and what the agent changed, without all that would steer the harness:
such a file is named and left out. Assertions run in another process than the answer (`judges.pytest`).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ratchet.errors import Refused
from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.evolving.bench.laying import write_files
from ratchet.evolving.scorers.scored import Scored, unmeasured, wrong
from ratchet.healing.episode import Task, Verdict
from ratchet.healing.judges.grading import Graded
from ratchet.healing.judges.protection import MOST_BYTES, is_harness, is_test, is_test_module
from ratchet.healing.judges.pytest import PytestJudge
from ratchet.healing.judges.reaching import reaches
from ratchet.healing.patches import LINK_MODE
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import FileChange, Limits, View
from ratchet.sandbox.opening import copied

_MOST_FILES = 2_000
_COMPILED = (".pyc", ".pyo", ".so", ".pyd")


@dataclass(frozen=True, slots=True)
class Answer:
    """The part of an agent's changes that is judged, and what is not honoured."""

    changes: tuple[FileChange, ...]
    tampered: tuple[str, ...]
    left_out: str = ""
    """Why there is nothing to judge at all."""


def answer_of(task: BenchTask, workspace: Workspace) -> Answer:
    """Collect what the agent changed, without links, compiled code, tests, graders and the harness's own files."""
    try:
        found = workspace.diff()
    except (OSError, Refused, ValueError, RecursionError) as error:  # a stranger's tree, not our machine
        return Answer((), (), f"what it left cannot be read: {error}")
    if len(found) > _MOST_FILES or sum(len(each.after or b"") for each in found) > MOST_BYTES:
        return Answer((), (), f"it changed more than {_MOST_FILES} files or {MOST_BYTES // 1_048_576} MB")
    kept, tampered = [], []
    for change in found:
        said = _tampering(task, change)
        if said:
            tampered.append(said)
        elif not _is_left_out(change):
            kept.append(change)
    return Answer(tuple(kept), tuple(tampered))


def _tampering(task: BenchTask, change: FileChange) -> str:
    path = change.path
    if any(path == each or PurePosixPath(path) in PurePosixPath(each).parents for each in task.graders):
        return f"{path}: it has the name of a grader"
    if is_harness(path):
        return f"{path}: it would steer what runs the graders"
    if is_test(path) and path in task.files:
        return f"{path}: it is a test that was given"
    return ""


def _is_left_out(change: FileChange) -> bool:
    is_link = LINK_MODE in (change.before_mode, change.after_mode)
    compiled = change.path.endswith(_COMPILED) or "__pycache__" in PurePosixPath(change.path).parts
    return is_link or compiled or is_test(change.path)


@dataclass(frozen=True, slots=True)
class Bench:
    """A fresh workspace with graders and answer, and the folder that it is in."""

    workspace: Workspace
    folder: Path

    def close(self) -> None:
        self.workspace.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def laid_out(task: BenchTask, changes: Sequence[FileChange], sandbox: Sandbox, *, held: Iterable[str] = ()) -> Bench:
    """The task's files, the graders and these changes, in a workspace of their own. Where a grader is `held` back, an
    empty file stands in for it.

    Graders belong to what was there from the beginning, so that a judge trusts them; the changes come on top.
    """
    gone = {each.path for each in changes if each.after is None}
    texts = {path: text for path, text in task.files.items() if path not in gone}
    folder = Path(tempfile.mkdtemp(prefix="ratchet-score-"))
    try:
        folder.chmod(0o755)  # the sandbox may run as another user
        write_files(folder / "project", {**texts, **task.graders, **dict.fromkeys(held, "")})
        workspace = copied(sandbox, folder / "project", folder / "workspace")
        for each in changes:
            if each.after is not None:
                _write(workspace, each)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Bench(workspace, folder)


def _write(workspace: Workspace, change: FileChange) -> None:
    try:
        workspace.write(change.path, change.after or b"", mode=change.after_mode)
    except (Refused, OSError, ValueError):
        # A path that no file can have here is the answer's, not the machine's: it is as if it were not there.
        return


def score(
    task: BenchTask, workspace: Workspace, sandbox: Sandbox, *, limits: Limits, cancelled: Callable[[], bool]
) -> Scored:
    """The share of the graders' tests that pass. `spec["together"]` lets tests that are no plain calls share a process
    with the answer; then an answer that reaches for the harness counts for nothing. `spec["plugins"]` lets pytest load
    the plugins that are installed."""
    answer = answer_of(task, workspace)
    if answer.left_out:
        return wrong(answer.left_out, tampered=answer.tampered)
    together = bool(task.spec.get("together"))
    held = _held(task)
    bench = laid_out(task, answer.changes, sandbox, held=held)
    try:
        right = _right(task, sandbox, held) if together and task.reference else None
        judge = PytestJudge(apart_only=not together, plugins=bool(task.spec.get("plugins")), held=held, right=right)
        check = ("python", "-m", "pytest", "-q", *sorted(_tests(task.graders)))
        asked = Task(id=task.id, check=check)
        verdict = judge.judge(bench.workspace, sandbox, asked, limits=limits, purse=Cancelling(cancelled))
    finally:
        bench.close()
    return _scored(verdict, answer, together=together)


def _right(
    task: BenchTask, sandbox: Sandbox, held: Iterable[str]
) -> Callable[[Callable[[View], Graded | None]], Graded | None]:
    """Runs something with the task's own right answer laid out: it tells which tests are plain calls."""

    def graded(grade: Callable[[View], Graded | None]) -> Graded | None:
        texts = {path: text.encode("utf-8", "surrogateescape") for path, text in task.reference.items()}
        changes = [
            FileChange(path=path, before=None, after=text, before_mode=0, after_mode=0o644)
            for path, text in texts.items()
        ]
        bench = laid_out(task, changes, sandbox, held=held)
        try:
            return grade(bench.workspace.view())
        finally:
            bench.close()

    return graded


def _held(task: BenchTask) -> dict[str, str]:
    """Test modules that no agent has seen: no answer gets to read in them what it is asked for. What tests read, import
    or run stays where they look for it."""
    return {
        path: text
        for path, text in task.graders.items()
        if task.files.get(path) != text and (is_test_module(path) or PurePosixPath(path).name == "conftest.py")
    }


def _tests(graders: Iterable[str]) -> list[str]:
    """The graders that pytest is given; what else is there, they read or import."""
    names = [path for path in graders if path.endswith(".py") and PurePosixPath(path).name != "conftest.py"]
    return [path for path in names if is_test_module(path)] or names


def _scored(verdict: Verdict, answer: Answer, *, together: bool) -> Scored:
    if verdict.passed and verdict.tests is not None and not verdict.tests.passed:
        return wrong("no test of the graders was run", output=verdict.output, tampered=answer.tampered)
    if verdict.passed:
        return Scored(score=1.0, output=verdict.output, tampered=answer.tampered)
    if verdict.reason.startswith("No module named 'pytest'"):
        return unmeasured(verdict.reason, kind="dependency_missing")
    if verdict.refused:
        tampered = (*answer.tampered, verdict.reason.removeprefix("refused: "))
        return wrong(verdict.reason, kind="refusal", tampered=tampered)
    reached = reaches(answer.changes) if together and verdict.score else ""
    reason = f"{verdict.reason}; no part of it counts, since {reached}" if reached else verdict.reason
    return Scored(
        score=0.0 if reached else verdict.score,
        reason=reason,
        output=verdict.output,
        kind=verdict.kind,
        signature=verdict.signature,
        tampered=answer.tampered,
    )


@dataclass(frozen=True, slots=True)
class Cancelling:
    """Port `Purse` of a run that costs nothing and only can be cancelled."""

    asked: Callable[[], bool]

    def seconds_left(self) -> float:
        return float("inf")

    def usd_left(self) -> float:
        return 0.0

    def reserve(self, usd: float) -> str:
        raise Refused(f"a scorer has no money, and asked for {usd} USD")

    def settle(self, reservation: str, usd: float, *, tokens: int = 0) -> None:
        raise Refused(f"a scorer has no reservation {reservation!r} to settle ({usd} USD, {tokens} tokens)")

    def cancelled(self) -> bool:
        return self.asked()

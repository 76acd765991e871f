"""The judge of pytest: counts what became of each test in a process that the program under test cannot speak for.

Grading pytest by its exit code is fooled by a conftest hook, an `os._exit(0)` at import, a `pytest.py` in the working
directory, a forged report and patched reports (5 of 5 in our trials). Here the tests are the untouched ones, mounted
read-only; a plugin tells their outcomes to a process that holds a one-time token; all tests that were there must be
there and pass; and where a test is a plain call, the program runs in another process than the assertion. For any other
test a change that reaches for the harness is refused.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import cast

from ratchet.healing.episode import Reads, RunnerCounts, Task, Verdict
from ratchet.healing.job import Purse
from ratchet.healing.judges.protection import is_test
from ratchet.healing.judges.reaching import reaches
from ratchet.healing.judges.readers import untouched
from ratchet.healing.judges.verdicts import failed, text_of
from ratchet.healing.testruns import counted_arguments, reading, suite_run
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import Command, FileChange, Limits, Ran, View

INSIDE = Path(__file__).parent / "inside"
_SETTINGS = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg")
_MOST_MOUNTS = 400
_PYTHON_CHARS = 300
_PASSED = ("passed", "xfailed", "xpassed")


class PytestJudge:
    """Port `Judge` for a check that runs pytest.

    `apart_only`: a test counts only where it passed with the program in another process; one that is no plain call of
    the program does not pass. Then no change can reach for the harness, and none is refused for trying. Without
    `plugins`, none is loaded that happens to be installed. `held` are texts of test modules in whose places the
    workspace holds empty files: only the grader is told them, so that the program cannot look up what is asked for.
    """

    name = "pytest"

    def __init__(
        self, *, apart_only: bool = False, plugins: bool = True, held: Mapping[str, str] | None = None
    ) -> None:
        self._apart_only = apart_only
        self._plugins = plugins
        self._held = dict(held or {})

    def judge(
        self,
        workspace: Workspace,
        sandbox: Sandbox,
        task: Task,
        *,
        limits: Limits,
        purse: Purse,
        first: Verdict | None = None,
    ) -> Verdict:
        changes = workspace.diff()
        token = "ratchet-" + secrets.token_hex(16)
        view = workspace.view()
        trusted = _trusted(view)
        run = suite_run(task.check, reading(untouched(view)))
        spec = {
            "token": token,
            "run": asdict(run),
            "project": str(view.known_as or ""),
            "arguments": counted_arguments(run),
            "apart": bool(changes) or self._apart_only,
            "together": not self._apart_only,
            "trusted": sorted(trusted),
            "held": self._held,
            "conftests": sorted(path for path in trusted if PurePosixPath(path).name == "conftest.py"),
            "has_settings": any(_is_settings(path.removeprefix(f"{run.cwd}/")) for path in trusted),
            "new_names": sorted(_new_names(changes)),
            "selected": list(task.selected),
            "quarantined": list(task.quarantined),
        }
        command = Command(
            argv=("python", "-B", str(INSIDE / "grade.py")),
            view=_guarded(view, trusted) if sandbox.overlays else view,
            limits=limits,
            readable=(INSIDE,),
            environ={} if self._plugins else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            stdin=json.dumps(spec).encode(),
        )
        ran = sandbox.run(command, cancelled=purse.cancelled)
        graded = _read(ran, token)
        return _Judged(ran=ran, graded=graded, changes=changes, limits=limits, first=first).verdict()


@dataclass(frozen=True, slots=True)
class _Told:
    """Report of one run of pytest: ids in order, the outcome of each, files that could not be collected."""

    ids: tuple[str, ...]
    outcomes: dict[str, str]
    errors: tuple[str, ...]
    strangers: tuple[str, ...]
    finished: bool
    reads: Reads


@dataclass(frozen=True, slots=True)
class _Graded:
    """The grader's answer. `together` ran the program in pytest's own process."""

    output: str
    shadows: tuple[str, ...]
    missing: bool
    python: str
    apart: _Told | None
    together: _Told | None


def _read(ran: Ran, token: str) -> _Graded | None:
    """The answer behind the token; None where there is none."""
    head, found, said = ran.stdout.decode("utf-8", "replace").rpartition(token + " ")
    if not found:
        return None
    try:
        answer = json.loads(said)
    except ValueError:
        return None
    output = text_of(replace(ran, stdout=head.rstrip("\n").encode()))
    return _Graded(
        output=output,
        shadows=tuple(map(str, answer.get("shadows", ()))),
        missing=bool(answer.get("missing")),
        python=str(answer.get("python", ""))[:_PYTHON_CHARS],
        apart=_told(answer.get("apart")),
        together=_told(answer.get("together")),
    )


def _told(said: dict[str, object] | None) -> _Told | None:
    if said is None:
        return None
    outcomes = said["outcomes"]
    assert isinstance(outcomes, dict)
    ids, errors, strangers = (said[name] for name in ("ids", "errors", "strangers"))
    assert isinstance(ids, list)
    assert isinstance(errors, list)
    assert isinstance(strangers, list)
    reads = Reads(
        *(frozenset(map(str, cast("list[str]", said[name]))) for name in ("read_by_program", "read_by_tests"))
    )
    return _Told(tuple(ids), outcomes, tuple(errors), tuple(strangers), bool(said["finished"]), reads)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    ran: Ran
    graded: _Graded | None
    changes: Sequence[FileChange]
    limits: Limits
    first: Verdict | None

    def verdict(self) -> Verdict:
        graded = self.graded
        if graded is None or self.ran.killed:
            reason = "pytest ended before it had told what became of the tests"
            return self._failed(text_of(self.ran), reason)
        if graded.missing:
            return self._failed(graded.output, "No module named 'pytest' in the project's Python: install it there")
        if graded.shadows:
            return _refused(f"it would stand in for the installed module {graded.shadows[0]}")
        outcomes, tests = self._merged(graded)
        reason = self._objection(graded, outcomes, tests)
        if reason:
            return self._failed(graded.output, reason, tests)
        by_whom = graded.together.outcomes if graded.together is not None else {}
        apart = graded.apart.outcomes if graded.apart is not None else {}
        if self.changes and any(apart.get(name) not in _PASSED for name in by_whom if by_whom[name] in _PASSED):
            reached = reaches(self.changes)
            if reached:
                return _refused(reached)
        return Verdict(
            passed=True,
            score=1.0,
            output=graded.output,
            exit_code=0,
            tests=tests,
            isolation=self.ran.isolation,
            duration_s=self.ran.wall_s,
            python=graded.python,
        )

    def _merged(self, graded: _Graded) -> tuple[dict[str, str], RunnerCounts]:
        """The outcome of each test: the one with the program apart where it passed so, else the other."""
        outcomes: dict[str, str] = {}
        if graded.together is not None:
            outcomes = {name: graded.together.outcomes.get(name, "not run") for name in graded.together.ids}
        if graded.apart is not None and graded.apart.finished:
            passed = {name: said for name, said in graded.apart.outcomes.items() if said in (*_PASSED, "skipped")}
            if graded.together is None or outcomes:
                outcomes = {
                    name: passed.get(name, outcomes.get(name, "not run")) for name in graded.apart.ids or outcomes
                }
        told = graded.together or graded.apart
        errors = told.errors if told is not None else ()
        bad = [name for name, said in outcomes.items() if said in ("failed", "error", "not run")]
        good = [name for name, said in outcomes.items() if said in ("passed", "xpassed")]
        skipped = [name for name, said in outcomes.items() if said in ("skipped", "xfailed")]
        counts = RunnerCounts(
            passed=len(good),
            failed=len(bad),
            errors=len(errors),
            skipped=len(skipped),
            failed_ids=(*errors, *bad),
            passed_ids=tuple(good),
            skipped_ids=tuple(skipped),
        )
        return outcomes, counts

    def _objection(self, graded: _Graded, outcomes: dict[str, str], tests: RunnerCounts) -> str:
        """Why this is no pass, "" where it is one."""
        for told in filter(None, (graded.apart, graded.together)):
            if told.strangers:
                return f"{told.strangers[0]} is no conftest of the project"
        last = graded.together or graded.apart
        if last is not None and not last.finished:
            return "pytest ended before its tests did"
        if tests.errors:
            return f"{tests.failed_ids[0]} cannot be collected"
        if not tests.total:
            return "0 tests were collected"
        if tests.failed:
            return f"{tests.failed} of {tests.total} tests fail"
        before = self.first.tests if self.first is not None else None
        if before is None:
            return ""
        known = {*before.passed_ids, *before.failed_ids, *before.skipped_ids}
        gone = sorted(name for name in known if "::" in name and name not in outcomes)
        if gone:
            return f"{len(gone)} tests are gone, {gone[0]} among them"
        off = sorted(
            set(tests.skipped_ids) - set(before.skipped_ids) & known | set(tests.skipped_ids) & set(before.passed_ids)
        )
        return f"{off[0]} is skipped now" if off else ""

    def _failed(self, output: str, reason: str, tests: RunnerCounts | None = None) -> Verdict:
        verdict = failed(
            output or reason,
            exit_code=self.ran.exit_code or 1,
            killed=self.ran.killed,
            wall_s=self.limits.wall_s,
            tests=tests,
            isolation=self.ran.isolation,
            duration_s=self.ran.wall_s,
        )
        told = self.graded.together if self.graded is not None else None
        python = self.graded.python if self.graded is not None else ""
        verdict = replace(verdict, reads=told.reads if told is not None else None, python=python)
        return verdict if self.ran.killed else replace(verdict, reason=reason)


def _refused(reason: str) -> Verdict:
    return Verdict(passed=False, score=0.0, reason=f"refused: {reason}", refused=True)


def _trusted(view: View) -> dict[str, Path]:
    """Tests, what they read, and settings of the harness: path -> the untouched file. No attempt may change them."""
    root = untouched(view)
    found: dict[str, Path] = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in ("node_modules", ".git", "__pycache__")]
        for name in files:
            path = Path(folder, name)
            relative = path.relative_to(root).as_posix()
            if (is_test(relative) or name == "conftest.py" or _is_settings(relative)) and not path.is_symlink():
                found[relative] = path
    return found


def _is_settings(path: str) -> bool:
    return path in _SETTINGS


def _guarded(view: View, trusted: Mapping[str, Path]) -> View:
    """The view with the trusted files mounted read-only over themselves; Python files first where there are very
    many."""
    order = sorted(trusted, key=lambda path: (not path.endswith(".py"), path))[:_MOST_MOUNTS]
    return replace(view, overlaid={**view.overlaid, **{path: trusted[path] for path in order}})


def _new_names(changes: Sequence[FileChange]) -> set[str]:
    """Top-level modules that these changes bring."""
    names = set()
    for each in changes:
        parts = PurePosixPath(each.path.removeprefix("src/")).parts
        if each.before is None and each.after is not None and each.path.endswith((".py", ".so", ".pyd")):
            names.add(parts[0].partition(".")[0])
    return names

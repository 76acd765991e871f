"""Runs the grader of Python tests in a sandbox: what became of each test with the program in another process than the
assertions, and what with the program beside them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import cast

from ratchet.files import walk
from ratchet.healing.episode import Reads, Task
from ratchet.healing.judges.protection import is_test
from ratchet.healing.judges.readers import untouched
from ratchet.healing.judges.verdicts import text_of
from ratchet.healing.testruns import SuiteRun, counted_arguments
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import Command, FileChange, Limits, Ran, View
from ratchet.sandbox.environments import judge_program
from ratchet.sandbox.workspace import START

INSIDE = Path(__file__).parent / "inside"
PASSED = ("passed", "xfailed", "xpassed")
_SETTINGS = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg")
_MOST_MOUNTS = 400
_PYTHON_CHARS = 300


def python_of(run: SuiteRun, view: View) -> str:
    """The interpreter for a run: the one that it names, where that is another than the project's and can be trusted."""
    writable = (view.folder, *filter(None, (view.known_as,)))
    is_named = run.python.startswith("/") and judge_program(run.python, writable) is not None
    return run.python if is_named else "python"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grader:
    """Grades the tests of one task in one sandbox."""

    sandbox: Sandbox
    task: Task
    run: SuiteRun
    limits: Limits
    cancelled: Callable[[], bool]
    plugins: bool = True
    held: Mapping[str, str] = field(default_factory=dict)
    """Texts of test modules in whose places the workspace holds empty files."""

    def __call__(
        self, view: View, changes: Sequence[FileChange] = (), *, apart: bool, together: bool
    ) -> tuple[Ran, Graded | None]:
        """Run the tests with these files; what the sandbox saw, and what the grader told."""
        token = "ratchet-" + secrets.token_hex(16)
        trusted = _trusted(view)
        run = self.run
        spec = {
            "token": token,
            "run": asdict(run),
            "project": str(view.known_as or ""),
            "arguments": counted_arguments(run),
            "apart": apart,
            "together": together,
            "trusted": sorted(trusted),
            "held": dict(self.held),
            "conftests": sorted(path for path in trusted if PurePosixPath(path).name == "conftest.py"),
            "has_settings": any(_is_settings(path.removeprefix(f"{run.cwd}/")) for path in trusted),
            "new_names": sorted(_new_names(changes)),
            "selected": list(self.task.selected),
            "quarantined": list(self.task.quarantined),
        }
        command = Command(
            argv=(python_of(run, view), "-B", str(INSIDE / "grade.py")),
            view=_guarded(view, trusted) if self.sandbox.overlays else view,
            limits=self.limits,
            readable=(INSIDE,),
            environ={} if self.plugins else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            stdin=json.dumps(spec).encode(),
        )
        ran = self.sandbox.run(command, cancelled=self.cancelled)
        return ran, _read(ran, token)

    def both(self, view: View) -> Graded | None:
        """Grade files in both ways."""
        return self(view, apart=True, together=True)[1]


@dataclass(frozen=True, slots=True)
class GradedRun:
    """Report of one run of pytest: ids in order, the outcome of each, errors of collecting."""

    ids: tuple[str, ...]
    outcomes: dict[str, str]
    errors: Mapping[str, str]
    """What could not be collected, and what pytest itself reports of it."""
    strangers: tuple[str, ...]
    finished: bool
    reads: Reads
    unplain: tuple[tuple[str, str], ...] = ()
    """Tests, files or folders, and what of the program they could not have as a plain value."""
    answers: frozenset[str] = frozenset()
    """Tests to which the program returned plain values other than None."""
    touched: tuple[str, ...] = ()
    """What of the harness was replaced."""

    def note(self, test: str) -> str:
        """Tell what a test, or what it lies in, could not have; "" where it is made of plain calls."""
        return next((what for where, what in self.unplain if test == where or _lies_in(test, where)), "")

    def fails_plainly(self, test: str) -> bool:
        """Tell whether a test was made of plain calls, and failed."""
        return self.finished and self.outcomes.get(test) == "failed" and not self.note(test)


def _lies_in(test: str, where: str) -> bool:
    return test.startswith((f"{where}::", f"{where}/", f"{where}["))


@dataclass(frozen=True, slots=True)
class Graded:
    """The grader's answer. `together` ran the program in pytest's own process."""

    output: str
    shadows: tuple[str, ...]
    missing: bool
    python: str
    apart: GradedRun | None
    together: GradedRun | None


def _read(ran: Ran, token: str) -> Graded | None:
    """The answer behind the token; None where there is none, or the program wrote into it what no grader tells."""
    head, found, said = ran.stdout.decode("utf-8", "replace").rpartition(token + " ")
    if not found:
        return None
    output = text_of(replace(ran, stdout=head.rstrip("\n").encode()))
    try:
        answer = json.loads(said)
        return Graded(
            output=output,
            shadows=tuple(map(str, answer.get("shadows", ()))),
            missing=bool(answer.get("missing")),
            python=str(answer.get("python", ""))[:_PYTHON_CHARS],
            apart=_told(answer.get("apart")),
            together=_told(answer.get("together")),
        )
    except (ValueError, TypeError, RecursionError):
        return None


def _told(said: dict[str, object] | None) -> GradedRun | None:
    if said is None:
        return None
    outcomes = cast("dict[str, str]", said["outcomes"])
    ids, strangers = (tuple(map(str, cast("list[str]", said[name]))) for name in ("ids", "strangers"))
    errors = cast("list[list[str]]", said["errors"])
    reads = Reads(
        *(frozenset(map(str, cast("list[str]", said[name]))) for name in ("read_by_program", "read_by_tests"))
    )
    pairs = cast("list[list[str]]", said["unplain"])
    return GradedRun(
        ids,
        {name: str(outcome) for name, outcome in outcomes.items()},
        {str(where): str(why) for where, why in errors},
        strangers,
        bool(said["finished"]),
        reads,
        unplain=tuple((str(where), str(what)) for where, what in pairs),
        answers=frozenset(map(str, cast("list[str]", said["answers"]))),
        touched=tuple(str(what) for _, what in cast("list[list[str]]", said["touched"])),
    )


def graded_untouched(workspace: Workspace, grade: Grader) -> Graded | None:
    """Grade the project as it was copied in, without what was changed since."""
    copy = workspace.fork(START)
    try:
        return grade.both(copy.view())
    finally:
        copy.close()


def _trusted(view: View) -> dict[str, Path]:
    """Tests, what they read, and settings of the harness: path -> the untouched file. No attempt may change them."""
    root = untouched(view)
    found: dict[str, Path] = {}
    for folder, folders, names in walk(root):
        folders[:] = [each for each in folders if each not in ("node_modules", ".git", "__pycache__")]
        for name in names:
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

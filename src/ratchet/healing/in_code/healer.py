"""Heals one function: records the call that failed, has it mended in a sandbox, and brings the new version into force.

What cannot be healed is told as a reason, once; the caller then raises the exception that there was.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Literal, TypeAlias

from ratchet import registry
from ratchet.errors import RatchetError, Refused
from ratchet.failures.classification import Classification, classify
from ratchet.files import Locked
from ratchet.healing import rows as episodes
from ratchet.healing.book import HealMeans, HealRequest, judge_name
from ratchet.healing.episode import Budget, Episode, Task
from ratchet.healing.in_code import landing, versions
from ratchet.healing.in_code.judge import Accept, RecordedCallJudge, SettledJudge
from ratchet.healing.in_code.recorded import FOLDER, SCRIPT, Form, RecordedCall, pickled
from ratchet.healing.in_code.source import code_of, definition, first_line, parsed, same_code
from ratchet.healing.in_code.staging import Project, project_of, stage
from ratchet.healing.job import Judge, Solved, SolveJob, Solver
from ratchet.healing.project_check import own_check
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.command import FileChange

if TYPE_CHECKING:
    from ratchet.runtime import Runtime

Mode: TypeAlias = Literal["memory", "patch", "apply"]
MOST_FAILURES = 3
"""Different failures of one function that are healed in one process: who fails in ever new ways needs a person."""
_CHECK = ("python", f"{FOLDER}/{SCRIPT}")
_CALL_S = 30.0
_UNHEALABLE = {"dependency_missing": "a package is missing", "permission": "it may not do what it tries"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HealPlan:
    """Plan for healing a function. `command` and `accept` are the two forms of a check."""

    mode: Mode
    solver: str | Solver
    budget: Budget
    command: tuple[str, ...] = ()
    accept: Accept | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A call that failed. `taken` counts the items of a stream that had been handed out; `wrapper` is what the
    function's own name stands for."""

    error: Exception
    args: tuple[object, ...]
    kwargs: dict[str, object]
    form: Form
    generation: int
    wrapper: object = None
    taken: int | None = None
    cancelled: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True, kw_only=True)
class Healing:
    """Result of a healing. `again`: the call may be made again, by the version that is in force now. `reason` says why
    not; it is empty where that was said before."""

    again: bool = False
    reason: str = ""


@dataclass(slots=True)
class _Loaded:
    """The version that is in force, as text: the file's, until one was healed in memory only."""

    file: Path
    on_disk: bytes
    content: bytes
    line: int


@dataclass(slots=True)
class Healer:
    """Heals one function of this process, whoever holds it. Safe under threads. `stamp` is what its file looked like
    when it was loaded."""

    function: FunctionType
    plan: HealPlan
    runtime: Callable[[], Runtime]
    stamp: tuple[int, int] | None
    generation: int = 0
    """Counts the versions that came into force."""
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _seen: dict[str, str] = field(default_factory=dict)
    _enough: str = f"it failed in more than {MOST_FAILURES} different ways; look at it"
    _loaded: _Loaded | None = None
    _undo: Callable[[], None] | None = None

    def heal(self, failed: Failed) -> Healing:
        """One failure, at most once. Raises nothing that belongs to healing."""
        with self._lock:
            if failed.generation != self.generation:  # healed by another thread while this one failed
                return Healing(again=True)
            known = classify(failed.error)
            if known.signature in self._seen:
                reason, self._seen[known.signature] = self._seen[known.signature], ""
                return Healing(reason=reason)
            if len(self._seen) >= MOST_FAILURES:
                reason, self._enough = self._enough, ""
                return Healing(reason=reason)
            self._seen[known.signature] = ""
            try:
                again = self._healed(failed, known)
            except RatchetError as error:
                return Healing(reason=str(error))
            if again:
                self._seen[known.signature] = "it fails as it did before it was healed"
            return Healing(again=again)

    def take_back(self) -> None:
        """Undo the last version: it does not hold in this process what it held in the sandbox."""
        with self._lock:
            undo, self._undo = self._undo, None
            if undo is not None:
                undo()

    # -- one failure ---------------------------------------------------------------------------------------------------

    def _healed(self, failed: Failed, known: Classification) -> bool:
        """Tell whether a new version is in force. Raises Refused."""
        if known.transient:
            raise Refused(f"{known.kind} may pass by itself; ratchet.retry is for that")
        if known.kind in _UNHEALABLE:
            raise Refused(f"{_UNHEALABLE[known.kind]}, which no change of the function mends")
        file = Path(self.function.__code__.co_filename)
        if self.function.__name__ == "<lambda>":
            raise Refused("a lambda has no name to find it by; make it a def")
        if not file.is_file():
            raise Refused("its source is in no file (a prompt, exec, python -c)")
        project = project_of(file, self.function.__module__)
        with self._alone(file, failed):
            loaded, edited = self._source(file)
            call = self._call(failed, project, loaded)
            judge = RecordedCallJudge(
                call,
                raised=[each.__name__ for each in type(failed.error).__mro__ if each is not object],
                exact=f"{type(failed.error).__module__}.{type(failed.error).__qualname__}",
                accept=self.plan.accept,
                project=project.folder,
            )
            after = self._answer(failed, known, project, loaded, call, judge, edited=edited)
            again = self._land(loaded, project, known, after)
        return again and (failed.taken in (None, 0) or judge.resumable)

    def _source(self, file: Path) -> tuple[_Loaded, bool]:
        """The function as text, and whether what is in the file is another version than the loaded one."""
        content = file.read_bytes()
        if self._loaded is not None:
            if content != self._loaded.on_disk:
                raise Refused(f"{file} was edited since it was healed; it is left alone")
            return self._loaded, False
        text = versions.read(content).text
        code = self.function.__code__
        try:
            node = definition(parsed(text), code.co_qualname, code.co_firstlineno) or definition(
                parsed(text), code.co_qualname
            )
        except SyntaxError as error:
            raise Refused(f"{file} is not Python as it is now (line {error.lineno}); it is left alone") from error
        if node is None:
            raise Refused(f"{file} holds no function {code.co_qualname}")
        line = first_line(node)
        loaded = _Loaded(file, content, content, line)
        if self.stamp == _stamp(file):
            return loaded, False
        there = code_of(text, str(file), code.co_qualname, line, free=code.co_freevars)
        return loaded, there is None or not same_code(there, code)

    def _call(self, failed: Failed, project: Project, loaded: _Loaded) -> RecordedCall:
        return RecordedCall(
            module=self.function.__module__,
            path=project.path,
            paths=project.paths,
            qualname=self.function.__code__.co_qualname,
            line=loaded.line,
            form=failed.form,
            before=loaded.content,
            arguments=pickled(self.function, failed.args, failed.kwargs, failed.wrapper),
            taken=failed.taken,
        )

    # -- the answer ----------------------------------------------------------------------------------------------------

    def _answer(
        self,
        failed: Failed,
        known: Classification,
        project: Project,
        loaded: _Loaded,
        call: RecordedCall,
        judge: RecordedCallJudge,
        *,
        edited: bool,
    ) -> bytes:
        """The file with the function healed. Raises Refused."""
        runtime = self.runtime()
        wanted = self._asked(failed, known, project, loaded)
        solver: Solver | None = None if isinstance(self.plan.solver, str) else self.plan.solver
        known_before = None if edited else self._known(runtime, wanted)
        if edited or known_before is not None:
            solver = _KnownSolver(known_before or ())
        with tempfile.TemporaryDirectory(prefix="ratchet-") as place:
            source = Path(place) / "project"
            beside = self._own_tests(project, judge)
            stage(project, loaded.content, call, source, whole=bool(self.plan.command or beside))
            means = HealMeans(
                solver=solver, judge=judge, source=source, check_s=_CALL_S, cancelled=failed.cancelled, beside=beside
            )
            try:
                episode = runtime.episodes.run(wanted, means)
            finally:
                self._forget(runtime, wanted)
        self._record(runtime, failed, episode)
        if episode.status == "already_passing" and edited:
            return loaded.content
        if edited:
            raise Refused(f"{loaded.file} was edited since it was loaded, and fails as it is; it is left alone")
        if episode.status == "already_passing":
            raise Refused("the call does not fail when it is made again")
        if episode.status != "passed":
            raise Refused(_why(episode))
        changes = episodes.checkpoint(runtime.store, episode.id, episode.attempts[-1].n).changes
        (change,) = changes
        return judge.settled(change.after or b"")

    def _own_tests(self, project: Project, judge: RecordedCallJudge) -> tuple[tuple[str, ...], Judge] | None:
        """The project's own tests, where a file of it is to be written: what passes without the change must pass with
        it. None where it has none, or the check is these already."""
        own = own_check(project.folder) if self.plan.mode == "apply" and project.folder != Path.home() else None
        if own is None or own.argv == self.plan.command:
            return None
        task = Task(id="", check=own.argv, folder=str(project.folder))
        return own.argv, SettledJudge(registry.judge(judge_name(task)), judge.settled)

    def _asked(self, failed: Failed, known: Classification, project: Project, loaded: _Loaded) -> HealRequest:
        code = self.function.__code__
        source = hashlib.sha256(loaded.content).hexdigest()[:12]
        instruction = (
            f"{code.co_qualname} in {project.path} raises {type(failed.error).__name__} when it is called as recorded."
            f" Mend that function: change nothing else, keep its name, arguments and decorators, let errors be raised."
            f" (failure {known.signature}, source {source})"
        )
        return HealRequest(
            check=_CHECK,
            folder=project.folder,
            instruction=instruction,
            solver=self.plan.solver if isinstance(self.plan.solver, str) else self.plan.solver.name,
            budget=self.plan.budget,
            held_check=self.plan.command,
        )

    def _known(self, runtime: Runtime, asked: HealRequest) -> tuple[FileChange, ...] | None:
        """Look up what an earlier process found for the very same failure of the very same source; None where it is
        new.

        Raises Refused where that was tried in vain: nothing is paid for twice."""
        for held in _tried(runtime, asked):
            if (
                held.task.held_check != asked.held_check
                or held.asked != asked.solver
                or held.solver == _KnownSolver.name
            ):
                continue
            if held.status == "passed":
                return episodes.checkpoint(runtime.store, held.id, held.attempts[-1].n).changes
            if held.status in ("failed", "no_progress", "breaker", "budget"):
                raise Refused(f"it was tried before, in vain (`ratchet episodes show {held.id}`); change it yourself")
        return None

    def _forget(self, runtime: Runtime, asked: HealRequest) -> None:
        """Remove the copies that were worked on, also those of a process that was killed: they hold the arguments of
        the call, which nothing that is kept may hold."""
        for held in _tried(runtime, asked):
            remove_tree(runtime.home / "workspaces" / held.id)

    def _record(self, runtime: Runtime, failed: Failed, episode: Episode) -> None:
        """The failure as an outcome, redacted like all that is recorded."""
        code = self.function.__code__
        runtime.record(
            f"{self.function.__module__}.{code.co_qualname}",
            error=failed.error,
            task="heal",
            project=episode.task.folder,
            context={"episode": episode.id, "status": episode.status},
        )

    # -- landing -------------------------------------------------------------------------------------------------------

    def _land(self, loaded: _Loaded, project: Project, known: Classification, after: bytes) -> bool:
        """Bring the answer to where the mode wants it; whether it is in force here."""
        code = self.function.__code__
        before = loaded.content
        if self.plan.mode == "patch":
            name = f"{self.function.__module__}.{code.co_qualname}.{known.signature[3:11]}".replace("<locals>.", "")
            file = landing.write_patch(project.folder, project.path, before, after, name)
            raise Refused(f"a patch is in {file}: look at it, then `git apply {file.relative_to(project.folder)}`")
        version = self._version(before, after, loaded.line)  # before anything is written: it must fit
        written = after
        line = loaded.line
        if self.plan.mode == "apply" and after != loaded.on_disk:
            written = landing.write_file(loaded.file, before, after)
            if written != after:  # edits elsewhere have moved it
                node = definition(parsed(versions.read(written).text), code.co_qualname)
                line = first_line(node) if node else line
        old, old_loaded = versions.held(self.function), self._loaded
        versions.put(self.function, version)
        self.generation += 1
        on_disk = written if self.plan.mode == "apply" else loaded.on_disk
        self._loaded = _Loaded(loaded.file, on_disk, written, line)

        def undo() -> None:
            versions.put(self.function, old)
            self._loaded = old_loaded
            if self.plan.mode == "apply" and after != loaded.on_disk:
                landing.write_file(loaded.file, after, before)

        self._undo = undo
        return True

    def _version(self, before: bytes, after: bytes, line: int) -> versions.CodeVersion:
        code = self.function.__code__
        old, new = versions.read(before), versions.read(after).text
        return versions.version_of(self.function, old, new, code.co_filename, code.co_qualname, line)

    def _alone(self, file: Path, failed: Failed) -> Locked:
        """One process at a time heals functions of a file; the others then find what it did. Raises Refused."""
        name = hashlib.sha256(os.fsencode(file.resolve())).hexdigest()[:16]
        busy = Refused(f"another process is healing {file}")
        place = self.runtime().home / "locks" / f"heal-{name}"
        return Locked(place, busy, wait_s=self.plan.budget.seconds, stopped=failed.cancelled)


class _KnownSolver:
    """Port `Solver` for what is known already: proposes it once."""

    name = "known"

    def __init__(self, changes: tuple[FileChange, ...]) -> None:
        self._changes = changes

    def solve(self, job: SolveJob) -> Solved:
        changes, self._changes = self._changes, ()
        for each in changes:
            job.workspace.write(each.path, each.after or b"", mode=each.after_mode)
        if not changes:
            return Solved(status="gave_up", reason="nothing is known that helps")
        return Solved(status="proposed", fix="what passed before, for the same failure of the same source")


def _tried(runtime: Runtime, asked: HealRequest) -> list[Episode]:
    """Look up what was tried for the very same failure of the very same source."""
    task = episodes.task_id_of(str(asked.folder), asked.check, asked.instruction)
    return [held for held in runtime.episodes.list(folder=asked.folder) if held.task.id == task]


def _why(episode: Episode) -> str:
    """Why an episode healed nothing: what ended it, and what spoke against the last attempt."""
    tried = [each.reason for each in episode.attempts if each.reason and each.status != "gave_up"]
    last = tried[-1] if tried else ""
    return episode.reason if not last or last in episode.reason else f"{episode.reason or episode.status}: {last}"


def _stamp(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_mtime_ns, found.st_size

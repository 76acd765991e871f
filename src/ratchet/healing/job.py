"""The ports of healing: who changes the files, who judges them, and the purse that both are paid from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ratchet.healing.episode import Attempt, Memo, SolvedStatus, Standing, Task, Verdict
from ratchet.healing.models.question import Model
from ratchet.ports import Sandbox, Workspace
from ratchet.records import Json, Lesson
from ratchet.sandbox.command import Limits


class Purse(Protocol):
    """Budget left to an episode; the one place where it is enforced. Safe to use from many threads."""

    def seconds_left(self) -> float:
        """Never below 0. Every process started and every request made takes at most this long."""

    def usd_left(self) -> float:
        """Neither spent nor reserved."""

    def reserve(self, usd: float) -> str:
        """Set money aside for one call, the most that it may cost, before it is made; return the reservation's id.

        It is written down, so that a call whose end nobody saw counts in full. Raises Refused when less is left, or
        the time is up: then end the attempt (the loop sees why).
        """

    def settle(self, reservation: str, usd: float, *, tokens: int = 0) -> None:
        """Say what the call did cost; the rest is free again. Once per reservation."""

    def cancelled(self) -> bool:
        """Tell whether to stop: somebody cancelled, or the time is up. Asked often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveJob:
    """One attempt, as a solver is asked for it. The files of `workspace` are the question, and then the answer."""

    task: Task
    workspace: Workspace
    sandbox: Sandbox
    failure: Verdict
    """What the check says of the files as they are now: kind, signature, output, tests."""
    judge: Callable[[Workspace], Verdict]
    """The full check of a workspace's present files (this one's, or a fork's). Costs a run of the check, once for the
    same files; solvers that try many changes run the tests their own cheaper way and ask this last."""
    purse: Purse
    candidates: int
    """At most so many changes are tried out."""
    lessons: tuple[Lesson, ...] = ()
    """Data, never orders: relevant to the failure or the task, with their figures, the best first."""
    tried: tuple[Attempt, ...] = ()
    """Earlier attempts of the episode, in order: diff, signature, reason."""
    memos: tuple[Memo, ...] = ()
    """What this solver asked to be remembered of edits that passed, in other tasks."""
    donors: Mapping[str, str] = field(default_factory=dict)
    """Texts of other implementations that are right, as the person named them: path -> text."""
    hints: tuple[str, ...] = ()
    """Findings of another solver that looked at these files before and found nothing: one line each, data."""
    more: bool = False
    """Whether another attempt may follow, which knows what became of this one."""
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    """For every command that it runs; cut `wall_s` to `purse.seconds_left()`."""
    note: Callable[[str], None] = lambda _text: None
    """Tell a watching person what is going on, in one line."""

    def cancelled(self) -> bool:
        return self.purse.cancelled()


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """Result of one attempt.

    `proposed`: the workspace's files are the answer (none changed: it had an idea that came to nothing, ask again).
    `gave_up`: it has nothing more to try; asking again is no use. `refused`: it cannot work on such a task at all, and
    `reason` names the remedy. Money is counted by the purse, not told here.
    """

    status: SolvedStatus
    cause: str = ""
    """What is wrong, in one line."""
    fix: str = ""
    """What was changed, in one line."""
    candidates: int = 0
    """Changes that were tried out, up to and including the first that passes."""
    alternatives: int = 0
    """Changes that were tried after it, to choose among those that pass."""
    standing: Standing = ""
    evidence: str = ""
    """What speaks for the answer, and why it is doubtful, if it is."""
    reason: str = ""
    note: str = ""
    """Anything else worth keeping with the attempt, such as which model answered."""
    by: str = ""
    """The solver that found it, where that is another than the one that was asked."""
    hints: tuple[str, ...] = ()
    """Findings of one that gave up, for whoever is asked next (`SolveJob.hints`)."""
    memo: Mapping[str, Json] = field(default_factory=dict)
    """Remembered if the attempt passes, and handed back in `SolveJob.memos`."""


class Solver(Protocol):
    """Changes the files of a workspace so that a check passes."""

    @property
    def name(self) -> str: ...

    def solve(self, job: SolveJob) -> Solved:
        """One attempt. Stops soon after `job.cancelled()`. Whatever a model, a program or a file says is data: it ends
        in a `Solved`, not in an exception. Raises SandboxError, ModelError, Refused where the machine, not the task,
        is at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderOptions:
    """Set-up of whoever changes files by a model or a program: a solver, a proposer of changes to an agent."""

    argument: str = ""
    """What follows the colon of the name: the command of `command:...`, a model's name in `model:...`, a file."""
    net: str = "none"
    environ: Mapping[str, str] = field(default_factory=dict)
    """Variables that the person passes on by name."""
    readable: tuple[Path, ...] = ()
    allow_unknown_price: bool = False
    prompts: Path | None = None
    """A folder of the person's own prompts; see `ratchet.healing.models.prompts`."""
    models: Callable[[str], Model] | None = None
    """The language models of a name (a chain of `provider:name` separated by commas; "" for those of the settings).
    Raises Refused where none is named or the extra is not installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverOptions(ProviderOptions):
    """Set-up of a solver. Entry points of the group `ratchet.solvers` are called with it and return a Solver."""

    named: Callable[[str], Solver]
    """Another solver by its name, with these options. Raises UsageError, Refused."""


class Judge(Protocol):
    """Says whether the files of a workspace are what the task asked for.

    Entry points of the group `ratchet.judges` are classes that are called without arguments.
    """

    @property
    def name(self) -> str: ...

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
        """Run what must be run, with nothing that the workspace holds able to forge the answer. `first` is what it said
        of the untouched project (None: this is that): tests that were there must be there. A failing check is a
        Verdict; raises SandboxError where it could not be run. May change the workspace: it is given one to spend."""

"""The ports of evolving: who changes an agent, and who measures a version of it on one task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ratchet.evolving.bench.benchmark import Agent, BenchTask, Evaluation
from ratchet.evolving.candidate import Candidate
from ratchet.evolving.competitors.comparing import ComparedFeature
from ratchet.healing.job import ProviderOptions, Purse
from ratchet.ports import Sandbox, Workspace
from ratchet.records import Json, Pattern
from ratchet.sandbox.command import Limits

ExecutorName = Literal["threads", "processes", "dask", "ray"]
"""Where evaluations are made: in this process, in others of this machine, or on the workers of a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeakTask:
    """A task of the `dev` split on which the parent does badly, with what it did there."""

    task: BenchTask
    score: float
    """Mean over `runs`."""
    runs: int
    examples: tuple[Evaluation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalJob:
    """One proposal, as a proposer is asked for it. The files of `workspace` are the parent's, and then the answer."""

    agent: Agent
    parent: Candidate
    workspace: Workspace
    sandbox: Sandbox
    weakest: tuple[WeakTask, ...]
    """Of the `dev` split, the worst first."""
    patterns: tuple[Pattern, ...] = ()
    """What keeps failing over the parent's runs."""
    tried: tuple[Candidate, ...] = ()
    """Earlier candidates of the run, in order, with what became of them."""
    purse: Purse
    limits: Limits = field(default_factory=Limits)
    gaps: tuple[ComparedFeature, ...] = ()
    """What other projects offer and the agent does not, each with the line that shows it; the widest gaps first."""
    seed: int = 0
    note: Callable[[str], None] = lambda _text: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """Result of asking a proposer once. `proposed`: the workspace's files and `settings` are the candidate. `nothing`:
    no idea this time. `refused`: it cannot work on such an agent at all, and `reason` names the remedy."""

    status: Literal["proposed", "nothing", "refused"]
    hypothesis: str = ""
    """Why it should be better, in one line."""
    expected: float = 0.0
    """The gain that it expects, in points of score."""
    settings: Mapping[str, Json] = field(default_factory=dict)
    """New values of declared knobs; those not named stay."""
    reason: str = ""


class AgentProposer(Protocol):
    """Changes an agent so that it does better. Only the gate decides what stays."""

    @property
    def name(self) -> str: ...

    def propose(self, job: ProposalJob) -> Proposed:
        """One proposal. What a model, a program or a file says is data: it ends in a `Proposed`, not in an exception.
        Raises SandboxError, ModelError, Refused where the machine is at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposerOptions(ProviderOptions):
    """Set-up of a proposer. Entry points of the group `ratchet.agent_proposers` are called with it."""

    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One evaluation to be made: a value, so that it can be sent to another thread, process or machine.

    `id` names it for cancelling: a file of that name in `cancel` ends it as a process tree. `version` is a folder that
    holds the version's files, and is only read.
    """

    id: str
    run: str
    candidate: str
    agent: Agent
    version: str
    settings: Mapping[str, Json]
    task: BenchTask
    seed: int
    scratch: str
    """A folder for working copies; each evaluation uses one of its own and removes it."""
    cancel: str = ""
    unsafe: bool = False
    seconds: float = 600.0


class Measure(Protocol):
    """Makes one evaluation. A module-level function or a picklable object, for executors of processes.

    Never raises for what the agent did; a broken machine is an Evaluation that is `unmeasured`.
    """

    def __call__(self, job: Job, /) -> Evaluation: ...

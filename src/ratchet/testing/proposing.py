"""For authors of proposers: a proposal to be asked for, and a proposer that plays a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ratchet.evolving.bench.benchmark import Agent, BenchTask, Evaluation, Split
from ratchet.evolving.candidate import Candidate, CandidateState
from ratchet.evolving.competitors.comparing import ComparedFeature
from ratchet.evolving.job import ProposalJob, Proposed, ProposerOptions, WeakTask
from ratchet.healing.job import Purse
from ratchet.ports import Sandbox, Workspace
from ratchet.records import Json, Pattern
from ratchet.sandbox.command import Limits
from ratchet.testing.purses import PlainPurse

Play = Callable[[ProposalJob], Proposed]


@dataclass
class RunThroughProposer:
    """Port `AgentProposer`: one entry after the other, then nothing. An entry is a mapping of files to write (path ->
    text), or a function of the job. What it was asked is kept in `jobs`."""

    script: Sequence[Mapping[str, str] | Play]
    name: str = "scripted"
    jobs: list[ProposalJob] = field(default_factory=list)

    def propose(self, job: ProposalJob) -> Proposed:
        at = len(self.jobs)
        self.jobs.append(job)
        if at >= len(self.script):
            return Proposed(status="nothing", reason="the script is at its end")
        entry = self.script[at]
        if callable(entry):
            return entry(job)
        for path, text in entry.items():
            job.workspace.write(path, text.encode())
        return Proposed(status="proposed", hypothesis=f"new content of {', '.join(entry)}", expected=0.1)


def idle(options: ProposerOptions) -> RunThroughProposer:
    """A proposer without ideas (`--proposer ratchet.testing.proposing:idle`)."""
    del options
    return RunThroughProposer([], name="idle")


def candidate(
    n: int,
    *,
    state: CandidateState = "reverted",
    settings: Mapping[str, Json] | None = None,
    parent: str = "c0",
    mean: float = 0.0,
    diff: str = "",
    hypothesis: str = "",
    reason: str = "",
) -> Candidate:
    """A version `c<n>` of a run, as a proposer is told of it."""
    return Candidate(
        id=f"c{n}",
        run="run",
        n=n,
        state=state,
        parent=parent if n else "",
        settings=settings or {},
        mean=mean,
        pairs=60 if mean else 0,
        diff=diff,
        hypothesis=hypothesis,
        reason=reason,
    )


def weak_task(
    name: str = "t1", *, split: Split = "dev", instruction: str = "Do it.", output: str = "", reason: str = "wrong"
) -> WeakTask:
    """A task on which an agent failed twice."""
    task = BenchTask(
        id=name,
        kind="code",
        split=split,
        instruction=instruction,
        scorer="command",
        graders={"grade.py": "GRADER-TEXT"},
        reference={"answer.txt": "REFERENCE-TEXT"},
    )
    run = Evaluation(run="run", candidate="c0", task=name, seed=1, result="failed", reason=reason, output=output)
    return WeakTask(task=task, score=0.0, runs=2, examples=(run,))


def proposal_job(
    workspace: Workspace,
    sandbox: Sandbox,
    *,
    changes: tuple[str, ...] = (),
    knobs: Mapping[str, Mapping[str, Json]] | None = None,
    settings: Mapping[str, Json] | None = None,
    parent: Candidate | None = None,
    weakest: tuple[WeakTask, ...] = (),
    patterns: tuple[Pattern, ...] = (),
    tried: tuple[Candidate, ...] = (),
    gaps: tuple[ComparedFeature, ...] = (),
    purse: Purse | None = None,
    wall_s: float = 30.0,
    seed: int = 0,
) -> ProposalJob:
    """One asking, about an agent whose files are those of the workspace."""
    return ProposalJob(
        agent=Agent(how="command", argv=("true",), changes=changes, knobs=knobs or {}, settings=settings or {}),
        parent=parent or candidate(0, state="baseline"),
        workspace=workspace,
        sandbox=sandbox,
        weakest=weakest,
        patterns=patterns,
        tried=tried,
        gaps=gaps,
        purse=purse or PlainPurse(),
        limits=Limits(wall_s=wall_s),
        seed=seed,
    )

"""Small real stand-ins for whoever writes proposers, measures and executors: a proposer that plays a script, and an
agent whose true score is known."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ratchet.evolving.bench.benchmark import Agent, Benchmark, BenchTask, Evaluation, Split
from ratchet.evolving.job import Job, ProposalJob, Proposed

Play = Callable[[ProposalJob], Proposed]
SKILLS = "skills.json"
"""The file of a synthetic agent: a JSON object of task id (or "*" for all others) -> probability to solve it."""


@dataclass
class ScriptedProposer:
    """Port `AgentProposer`: its first answer in a run plays the first entry, and so on; the last one for ever.

    An entry is a mapping of files to write, or a function of the job. What it was asked is kept in `jobs`.
    """

    script: Sequence[Mapping[str, str] | Play]
    name: str = "scripted"
    jobs: list[ProposalJob] = field(default_factory=list)

    def propose(self, job: ProposalJob) -> Proposed:
        self.jobs.append(job)
        asked = sum(not each.retry_of for each in job.tried)
        entry = self.script[min(asked, len(self.script) - 1)]
        if callable(entry):
            return entry(job)
        for path, text in entry.items():
            job.workspace.write(path, text.encode())
        return Proposed(status="proposed", hypothesis=f"other content of {', '.join(entry)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticMeasure:
    """Port `Measure` without any agent: a coin by what `skills.json` of the version says. The same evaluation comes out
    the same in every process; two seeds, versions or tasks are independent.

    `log` names a file that each evaluation adds a line to as it begins. `unmeasured` is the share that fails by the
    machine's fault.
    """

    seconds: float = 0.0
    cost_usd: float = 0.0
    unmeasured: float = 0.0
    log: str = ""
    salt: str = ""

    def __call__(self, job: Job, /) -> Evaluation:
        if self.log:
            with Path(self.log).open("a", encoding="utf-8") as file:
                file.write(json.dumps([job.candidate, job.task.id, job.seed]) + "\n")
        skills = json.loads(Path(job.version, SKILLS).read_text(encoding="utf-8"))
        dice = random.Random(f"{self.salt}/{job.candidate}/{job.task.id}/{job.seed}")  # noqa: S311  (no secret)
        told = {"run": job.run, "candidate": job.candidate, "task": job.task.id, "seed": job.seed, "at": time.time()}
        ended = time.monotonic() + self.seconds
        while time.monotonic() < ended:
            if job.cancel and Path(job.cancel, job.id).exists():
                return Evaluation(**told, result="unmeasured", killed="cancel", reason="cancelled")  # type: ignore[arg-type]
            time.sleep(0.005)
        if dice.random() < self.unmeasured:
            return Evaluation(**told, result="unmeasured", reason="the machine failed")  # type: ignore[arg-type]
        passed = dice.random() < float(skills.get(job.task.id, skills.get("*", 0.0)))
        meddled = tuple(skills.get("meddles", ()))
        return Evaluation(
            **told,  # type: ignore[arg-type]
            result="passed" if passed else "failed",
            score=float(passed),
            reason="" if passed else "wrong answer",
            kind="" if passed else "wrong_output",
            signature="" if passed else "v1:0000000000000001",
            cost_usd=self.cost_usd,
            wall_s=self.seconds,
            tampered=meddled,
        )


def synthetic_agent(folder: Path, skills: Mapping[str, object]) -> Agent:
    """An agent for `SyntheticMeasure`, its folder made. Only its skills may change."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SKILLS).write_text(skills_text(skills), encoding="utf-8")
    return Agent(how="command", argv=("true",), folder=str(folder), changes=(SKILLS,))


def skills_text(skills: Mapping[str, object]) -> str:
    return json.dumps(dict(skills), indent=0, sort_keys=True) + "\n"


def synthetic_benchmark(
    *, dev: int = 2, gate: int = 10, sealed: int = 4, smoke: int = 0, name: str = "synthetic"
) -> Benchmark:
    """A benchmark of so many tasks that nobody has to solve; the first `smoke` of `gate` are smoke tasks."""
    counts: tuple[tuple[Split, int], ...] = (("dev", dev), ("gate", gate), ("sealed", sealed))
    tasks = [
        BenchTask(
            id=f"{split}-{number}",
            kind="code",
            split=split,
            instruction="nothing is asked",
            scorer="command",
            smoke=split == "gate" and number < smoke,
        )
        for split, count in counts
        for number in range(count)
    ]
    return Benchmark(name=name, title="nothing is asked", tasks=tuple(tasks))

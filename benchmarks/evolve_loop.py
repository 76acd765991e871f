"""The whole loop, with its store, archive and rows, on worlds of known truth; and what it costs beside the evaluations.

The synthetic agent's folder holds one file with a line for each proposal, 0 or 1: whether it was made. So two changes
never touch the same line, and a candidate that waits is carried over to the new incumbent as any other would be.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from evolve_rules import Bench, Ran, bench, shortened
from guard_search import FDR, PROPOSALS, Agent, score
from ratchet.evolving.bench.benchmark import Agent as AgentUnderTest
from ratchet.evolving.bench.benchmark import Benchmark, BenchTask, Evaluation
from ratchet.evolving.candidate import Evolution
from ratchet.evolving.job import Job, ProposalJob, Proposed
from ratchet.evolving.request import EvolveAsked, EvolveMeans
from ratchet.runtime import Runtime
from ratchet.testing.evolving import SyntheticMeasure, synthetic_agent, synthetic_benchmark

MADE = "made.txt"


@lru_cache(maxsize=8)
def _bench(seed: int, kind: str) -> Bench:
    return bench(seed, kind)


@lru_cache(maxsize=4_096)
def _rates(seed: int, kind: str, version: str) -> tuple[Agent, Agent]:
    """The version's chance to solve each gate task and each sealed one."""
    on = _bench(seed, kind)
    agent, sealed = on.agent, on.sealed
    for n, line in enumerate(Path(version, MADE).read_text().splitlines()):
        if line.endswith("1"):
            agent, sealed = on.proposals[n].applied(agent), on.on_sealed[n].applied(sealed)
    return agent, sealed


@dataclass(frozen=True, slots=True)
class WorldMeasure:
    """Port `Measure`: a coin by the truth of the world."""

    seed: int
    kind: str

    def __call__(self, job: Job, /) -> Evaluation:
        gate, sealed = _rates(self.seed, self.kind, job.version)
        split, _, number = job.task.id.partition("-")
        rates = sealed if split == "sealed" else gate
        passed = Random(f"{job.candidate}{job.task.id}{job.seed}").random() < rates[int(number)]
        return Evaluation(
            run=job.run,
            candidate=job.candidate,
            task=job.task.id,
            seed=job.seed,
            result="passed" if passed else "failed",
            score=float(passed),
            at=time.time(),
        )


class InOrder:
    """Port `AgentProposer`: makes the proposals of the world, one after the other."""

    name = "in order"

    def propose(self, job: ProposalJob) -> Proposed:
        n = sum(not each.retry_of for each in job.tried)
        lines = job.workspace.read(MADE).decode().splitlines()
        lines[n] = f"{n}: 1"
        job.workspace.write(MADE, "\n".join([*lines, ""]).encode())
        return Proposed(status="proposed", hypothesis=f"proposal {n}")


def looped(seed: int, *, at_once: int, kind: str = "", proposals: int = PROPOSALS) -> tuple[Ran, Evolution]:
    """One world through the whole loop."""
    on = shortened(_bench(seed, kind), proposals)
    tasks = [_task("gate", n) for n in range(len(on.agent))] + [_task("sealed", n) for n in range(len(on.sealed))]
    with TemporaryDirectory() as folder, Runtime.open(home=Path(folder, "home")) as runtime:
        agent = Path(folder, "agent")
        agent.mkdir()
        (agent / MADE).write_text("".join(f"{n}: 0\n" for n in range(len(on.proposals))))
        asked = EvolveAsked(
            agent=AgentUnderTest(how="command", argv=("true",), folder=str(agent), changes=(MADE,)),
            benchmark=Benchmark(name="world", title="known truth", tasks=tuple(tasks)),
            proposals=len(on.proposals),
            batch=at_once,
            fdr=FDR,
            seed=seed,
        )
        means = EvolveMeans(proposer=InOrder(), measure=WorldMeasure(seed, kind), unsafe=True)
        ended = runtime.evolutions.run(asked, means)
        kept = [each for each in runtime.evolutions.candidates(ended.id) if each.state == "kept"]
        deciding = [each for each in runtime.evolutions.evaluations(ended.id) if each.task.startswith("gate")]
        winner = max(kept, key=lambda each: each.batch, default=None)
        truth, sealed = on.agent, on.sealed
        if winner is not None:
            truth, sealed = _rates(seed, kind, str(runtime.home / "evolve" / ended.id / "versions" / winner.tree))
        helps = [on.proposals[int(each.hypothesis.split()[-1])].relieves > 0 for each in kept]
    claimed = ended.report.winner if ended.report else score(sealed)
    return (
        Ran(
            kept=len(kept),
            false=helps.count(False),
            runs=len(deciding),
            gain=score(truth) - score(on.agent),
            claimed=claimed,
            truth=score(sealed),
        ),
        ended,
    )


def _task(split: str, n: int) -> BenchTask:
    return BenchTask(
        id=f"{split}-{n}",
        kind="code",
        split="gate" if split == "gate" else "sealed",
        instruction="nothing is asked",
        scorer="command",
    )


# -- what it costs -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """CPU and wall milliseconds of the loop for an evaluation that costs nothing itself, and seconds to list them."""

    evaluations: int
    cpu_ms: float
    wall_ms: float
    listed: int
    list_s: float


class Same:
    """Port `AgentProposer`: a new version each time, which behaves as the old one."""

    name = "same"

    def propose(self, job: ProposalJob) -> Proposed:
        text = job.workspace.read("skills.json").decode().rstrip()
        job.workspace.write("skills.json", (text + " " * len(job.tried) + "\n\n").encode())
        return Proposed(status="proposed", hypothesis="nothing")


def cost(evaluations: int = 10_000) -> Cost:
    """A run of about so many evaluations, in one thread: each proposal takes some 250 until it is given up."""
    with TemporaryDirectory() as folder, Runtime.open(home=Path(folder, "home")) as runtime:
        asked = EvolveAsked(
            agent=synthetic_agent(Path(folder, "agent"), {"*": 0.5}),
            benchmark=synthetic_benchmark(gate=60),
            proposals=max(4, evaluations // 200),
        )
        wall, cpu = time.perf_counter(), time.process_time()
        means = EvolveMeans(proposer=Same(), measure=SyntheticMeasure(), unsafe=True)
        ended = runtime.evolutions.run(asked, means)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        list_s = float("inf")
        for _ in range(3):
            started = time.perf_counter()
            listed = len(runtime.evolutions.evaluations(ended.id, limit=evaluations))
            list_s = min(list_s, time.perf_counter() - started)
    return Cost(
        evaluations=ended.runs,
        cpu_ms=1_000 * cpu / ended.runs,
        wall_ms=1_000 * wall / ended.runs,
        listed=listed,
        list_s=list_s,
    )

"""The JSON shapes of benchmarks and their runs: documented, stable, the same on each surface. More fields may come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ratchet.evolving.bench.benchmark import Benchmark, BenchTask, Evaluation
from ratchet.evolving.bench.book import Compared
from ratchet.evolving.bench.figures import MDE, Figures, Interval, Paired, TaskFigures
from ratchet.evolving.bench.rows import BenchRun
from ratchet.records import Json

Shape = dict[str, Json]


def listed(found: Benchmark) -> Shape:
    """What `ratchet bench list --json` prints of each."""
    kinds: Counter[str] = Counter(each.kind for each in found.tasks)
    splits: Counter[str] = Counter(each.split for each in found.tasks)
    return {
        "name": found.name,
        "title": found.title,
        "hash": found.hash,
        "tasks": len(found.tasks),
        "kinds": dict(sorted(kinds.items())),
        "splits": dict(sorted(splits.items())),
        "smoke": sum(each.smoke for each in found.tasks),
    }


def benchmark(found: Benchmark) -> Shape:
    """What `ratchet bench show --json` prints: never graders, references, or what a scorer knows."""
    return {**listed(found), "task_list": [task(each) for each in found.tasks]}


def task(each: BenchTask) -> Shape:
    return {
        "id": each.id,
        "title": each.title,
        "kind": each.kind,
        "split": each.split,
        "scorer": each.scorer,
        "smoke": each.smoke,
        "wall_s": each.wall_s,
        "files": [*sorted(each.files)],
        "instruction": each.instruction,
    }


def run(held: BenchRun) -> Shape:
    return {
        "id": held.id,
        "benchmark": held.name,
        "hash": held.benchmark,
        "agent": held.agent_name,
        "folder": held.agent.folder,
        "version": held.version,
        "state": held.state,
        "reason": held.reason,
        "split": held.split or "",
        "tasks": [*held.tasks],
        "planned": held.planned,
        "repeats": held.repeats,
        "seed": held.seed,
        "parallel": held.parallel,
        "executor": held.executor,
        "aa": held.aa,
        "unsafe": held.unsafe,
        "source": held.source,
        "tampered": [*held.tampered],
        "started_at": held.started_at,
        "ended_at": held.ended_at,
        "duration_s": round(held.duration_s, 3),
        "cost_usd": round(held.cost_usd, 6),
        "runs": held.runs,
        "unmeasured": held.unmeasured,
    }


def past(held: BenchRun) -> Shape:
    """What `ratchet bench history --json` prints of each: its score, as it was written when the run ended."""
    measured = held.runs - held.unmeasured
    score = Interval(mean=held.mean, low=held.low, high=held.high, n=measured)
    return {**run(held), "score": interval(score) if measured else None}


def measured(held: BenchRun, found: Figures, noise: Paired | None = None) -> Shape:
    """What `ratchet bench run --json` and `show RUN --json` print."""
    return {
        **run(held),
        "score": interval(found.score),
        "runs": found.runs,
        "unmeasured": found.unmeasured,
        "agents_s": round(found.wall_s, 3),
        "cost_usd": round(found.cost_usd, 6),
        "tokens": found.tokens,
        "runs_tampered": found.tampered,
        "by_task": [_task_figures(each) for each in found.tasks],
        "noise": None if noise is None else pairs(noise),
    }


def evaluation(each: Evaluation) -> Shape:
    return {
        "task": each.task,
        "seed": each.seed,
        "candidate": each.candidate,
        "result": each.result,
        "score": round(each.score, 6),
        "reason": each.reason,
        "kind": each.kind,
        "signature": each.signature,
        "wall_s": round(each.wall_s, 3),
        "cost_usd": round(each.cost_usd, 6),
        "tokens": each.tokens,
        "killed": each.killed,
        "isolation": each.isolation,
        "tampered": [*each.tampered],
        "at": each.at,
        "output": each.output,
    }


def evaluations(found: Sequence[Evaluation]) -> list[Json]:
    return [evaluation(each) for each in found]


def compared(found: Compared) -> Shape:
    """What `ratchet bench compare --json` prints. Gains are in points of score: 0.05 is five points."""
    return {
        "first": run(found.first),
        "second": run(found.second),
        **pairs(found.paired),
        "noise_floor": None if found.noise_floor is None else round(found.noise_floor, 6),
        "noise_run": found.noise_run,
    }


def pairs(found: Paired) -> Shape:
    return {
        "gain": interval(found.gain),
        "pairs": found.gain.n,
        "paired_tasks": found.tasks,
        "better": found.better,
        "worse": found.worse,
        "left_out": found.left_out,
        "left_out_first": found.left_out_first,
        "left_out_second": found.left_out_second,
        "unpaired": found.unpaired,
        "worst_gain": round(found.worst, 6),
        "spread": round(found.spread, 6),
        "effect": MDE,
        "needed_pairs": found.needed(),
        "resolves": found.gain.n >= found.needed(),
    }


def interval(found: Interval) -> Shape:
    return {"mean": round(found.mean, 6), "low": round(found.low, 6), "high": round(found.high, 6), "n": found.n}


def _task_figures(each: TaskFigures) -> Shape:
    return {
        "task": each.task,
        "score": interval(each.score),
        "unmeasured": each.unmeasured,
        "wall_s": round(each.wall_s, 3),
        "cost_usd": round(each.cost_usd, 6),
        "tokens": each.tokens,
        "tampered": each.tampered,
        "reason": each.reason,
    }

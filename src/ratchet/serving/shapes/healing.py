"""The JSON shapes of healing: documented, stable, the same on each surface. More fields may come."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

from ratchet.healing.comparison import ARMS, Compared, median_effort
from ratchet.healing.episode import Attempt, Episode
from ratchet.records import Json
from ratchet.sandbox.command import Ran

Shape = dict[str, Json]


def ran(found: Ran) -> Shape:
    """What `ratchet sandbox exec --json` prints."""
    return {
        "exit_code": found.exit_code,
        "signal": found.signal,
        "killed": found.killed,
        "truncated": found.truncated,
        "stdout": found.stdout.decode("utf-8", "replace"),
        "stderr": found.stderr.decode("utf-8", "replace"),
        "wall_s": round(found.wall_s, 3),
        "cpu_s": round(found.cpu_s, 3),
        "max_mem_mb": round(found.max_memory_mb, 1),
        "isolation": found.isolation,
    }


def episode(held: Episode) -> Shape:
    """What `ratchet run --json` prints."""
    return {
        "id": held.id,
        "status": held.status,
        "reason": held.reason,
        "attempts": [attempt(each) for each in held.attempts],
        "candidates": held.candidates,
        "diff": held.diff,
        "cost_usd": round(float(held.cost_usd), 6),
        "duration_s": round(float(held.duration_s), 3),
        "lessons_used": [each.id for each in held.lessons],
        "lessons_learnt": [*held.learnt],
        "task": held.task.id,
        "folder": held.task.folder,
        "check": [*held.task.check],
        "solver": held.solver,
        "applied": held.applied,
    }


def attempt(held: Attempt) -> Shape:
    return {
        "n": held.n,
        "status": held.status,
        "signature": held.signature,
        "kind": held.kind,
        "cause": held.cause,
        "fix": held.fix,
        "candidates": held.candidates,
        "alternatives": held.alternatives,
        "cost_usd": round(float(held.cost_usd), 6),
        "duration_s": round(float(held.duration_s), 3),
        "reason": held.reason,
        "score": round(held.score, 4),
        "isolation": held.isolation,
    }


def detail(held: Episode) -> Shape:
    """What `ratchet episodes show --json` prints: the episode, and each attempt's diff."""
    attempts: list[Json] = [{**attempt(each), "diff": each.diff, "note": each.note} for each in held.attempts]
    return {**episode(held), "attempts": attempts, "started_at": held.started_at, "ended_at": held.ended_at}


def refused(reason: str, held: Episode | None) -> Shape:
    """The same for what could not be carried out: the episode as far as it came, if there is one."""
    if held is None:
        return {
            "id": "",
            "status": "refused",
            "reason": reason,
            "attempts": [],
            "candidates": 0,
            "diff": "",
            "cost_usd": 0.0,
            "duration_s": 0.0,
            "lessons_used": [],
        }
    # One that passed did pass, even where its result could not be taken to where it was wanted.
    return {**episode(held), "status": "passed" if held.status == "passed" else "refused", "reason": reason}


def compared(found: Compared) -> Shape:
    """What `ratchet ab --json` prints."""
    arms: Shape = {}
    for arm in ARMS:
        runs = found.of(arm)
        arms[arm] = {
            "runs": len(runs),
            "passed": sum(each.status == "passed" for each in runs),
            "total_effort": sum(each.effort for each in runs),
            "median_effort": median_effort(runs),
            "attempts": sum(each.attempts for each in runs),
            "same_mistakes": sum(each.same_mistakes for each in runs),
            "cost_usd": round(sum(each.cost_usd for each in runs), 6),
            "duration_s": round(sum(each.duration_s for each in runs), 3),
        }
    return {
        "tasks": found.tasks,
        "seeds": found.seeds,
        "arms": arms,
        "ratios": [cast("Shape", asdict(each)) for each in found.ratios],
        "runs": [cast("Shape", asdict(each)) for each in found.runs],
    }

"""Runs gepa on proposals of known worth, by its own criterion or by the gate; prints what it kept, and what of it is
no better, as JSON. `python gepa_run.py own|gated SEED FOLDER`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from random import Random

import gepa
from gepa.core.adapter import EvaluationBatch

from ratchet.integrations.gepa import ProvenAcceptance

EXAMPLES = list(range(30))
GAINS = {3: 0.25, 9: 0.2}
"""Proposal -> what it adds to the share of examples solved; all others add nothing, or take away a little."""
PROPOSALS = 12
chance = Random(int(sys.argv[2]))
ran = {"examples": 0}


def solves(candidate: Mapping[str, str]) -> float:
    applied = [int(each) for each in candidate["applied"].split()]
    return min(0.95, max(0.05, 0.4 + sum(GAINS.get(each, -0.03 * (each % 2)) for each in applied)))


def run(candidate: Mapping[str, str]) -> dict[str, float]:
    ran["examples"] += len(EXAMPLES)
    return {str(each): float(chance.random() < solves(candidate)) for each in EXAMPLES}


class Adapter:
    propose_new_texts = None

    def evaluate(self, batch: list[int], candidate: dict[str, str], capture_traces: bool = False) -> EvaluationBatch:
        ran["examples"] += len(batch)
        scores = [float(chance.random() < solves(candidate)) for _ in batch]
        return EvaluationBatch(outputs=batch, scores=scores, trajectories=batch if capture_traces else None)

    def make_reflective_dataset(self, *_: object) -> dict[str, list[dict[str, str]]]:
        return {"applied": [{}]}


class Quiet:
    def log(self, message: str) -> None:
        """Nobody reads it."""


handed = iter(range(PROPOSALS))
state = {"handed": 0}


def propose(candidate: dict[str, str], *_: object, **__: object) -> dict[str, str]:
    state["handed"] += 1
    return {"applied": f"{candidate['applied']} {next(handed)}".strip()}


result = gepa.optimize(
    {"applied": ""},
    trainset=EXAMPLES,
    valset=EXAMPLES,
    adapter=Adapter(),
    custom_candidate_proposer=propose,
    candidate_selection_strategy="current_best",
    skip_perfect_score=False,
    stop_callbacks=lambda _state: state["handed"] >= PROPOSALS,
    acceptance_criterion=ProvenAcceptance(run) if sys.argv[1] == "gated" else "strict_improvement",
    logger=Quiet(),
    seed=int(sys.argv[2]),
)
kept = [int(each["applied"].split()[-1]) for each in result.candidates if each["applied"]]
best = solves(result.best_candidate)
print(
    json.dumps(
        {
            "kept": kept,
            "false": [each for each in kept if each not in GAINS],
            "truth": round(best, 2),
            "runs": ran["examples"] // len(EXAMPLES),
        }
    )
)

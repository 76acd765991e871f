"""Lets OpenEvolve rank programs by what is proven, not by what scored higher once.

    # evaluator.py
    from ratchet.integrations.openevolve import ProvenEvaluator

    evaluate = ProvenEvaluator(score, "scores.jsonl")

`score(program_path)` makes one fresh run of a program and returns its score in [0, 1], or that of each task by name.
OpenEvolve evaluates each program once and keeps the number; here that number is a step: 0 for the first program, one
more for each that is proven better than the one that stood. Its worker processes share the file of scores.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from ratchet.evolving.shared_scores import Scored, SharedScores, VersionFiles
from ratchet.gate import ScoreGate


class ProvenEvaluator:
    """An evaluator of OpenEvolve: a function of the program's path that returns metrics.

    `gate` makes the gate, the same in every worker (`ScoreGate(noise="bounded")`, unless given). `combined_score` is
    the number of proven steps; a program that is not proven lies below the one that it was compared with. `gain` is how
    much more it scored than that, and `runs` what was paid for it.
    """

    def __init__(
        self,
        score: Callable[[str], Scored],
        table: str | os.PathLike[str],
        *,
        gate: Callable[[], ScoreGate] = lambda: ScoreGate(noise="bounded"),
    ) -> None:
        self._score = score
        self._scores = SharedScores(table, gate())
        self._programs = VersionFiles(table)

    def __call__(self, program_path: str) -> dict[str, float]:
        source = Path(program_path)
        version = self._programs.add(source.read_bytes(), source.suffix)
        answer = self._scores.decide(version, self._run)
        if answer is None:
            return {"combined_score": 0.0, "gain": 0.0, "runs": 1.0}
        replaced = {each.version: each.incumbent for each in self._scores.gate.answers() if each.decision == "keep"}
        gain = answer.gain or 0.0
        combined = (
            _steps(version, replaced) if version in replaced else _steps(answer.incumbent, replaced) - _below(gain)
        )
        return {"combined_score": combined, "gain": gain, "runs": float(answer.runs)}

    def _run(self, version: str) -> Scored:
        return self._score(str(self._programs.path(version)))


def _steps(version: str, replaced: Mapping[str, str]) -> float:
    """The number of proven steps that lead to a version."""
    count = 0.0
    while version in replaced:
        version, count = replaced[version], count + 1
    return count


def _below(gain: float) -> float:
    """The rank of a program that is not proven, below what stands: less than a step, the less the more it scored."""
    return 0.5 - 0.25 * max(-1.0, min(1.0, gain))

"""Runs OpenEvolve on proposals of known worth, by its own ranking or by the gate, its workers in processes; prints what
its best program holds, and how good that truly is, as JSON. `python openevolve_run.py own|gated SEED FOLDER`."""

from __future__ import annotations

import fcntl
import json
import logging
import re
import sys
from pathlib import Path
from random import Random

from openevolve.api import run_evolution
from openevolve.config import Config, LLMModelConfig
from openevolve.llm.base import LLMInterface

from ratchet.integrations.openevolve import ProvenEvaluator

TASKS = 30
GAINS = {3: 0.25, 9: 0.2}
"""Proposal -> what it adds to the share of tasks solved; all others add nothing, or take away a little."""
PROPOSALS = 12
HOW, SEED, FOLDER = sys.argv[1], sys.argv[2], Path(sys.argv[3])


def counted(name: str) -> int:
    """The next number, whichever process asks."""
    with (FOLDER / name).open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        number = len(file.read())
        file.write("x")
    return number


def applied(program: str) -> list[int]:
    return [int(each) for each in re.findall(r"APPLIED = \[(.*)\]", program)[-1].split(",") if each.strip()]


def solves(program: str) -> float:
    return min(0.95, max(0.05, 0.4 + sum(GAINS.get(each, -0.03 * (each % 2)) for each in set(applied(program)))))


def score(program_path: str) -> dict[str, float]:
    """One fresh run."""
    chance = Random(f"{SEED} {counted('runs')}")
    odds = solves(Path(program_path).read_text())
    return {str(task): float(chance.random() < odds) for task in range(TASKS)}


def once(program_path: str) -> dict[str, float]:
    scores = score(program_path)
    return {"combined_score": sum(scores.values()) / len(scores)}


evaluate = ProvenEvaluator(score, FOLDER / "scores.jsonl") if HOW == "gated" else once


class Scripted(LLMInterface):
    """A model that adds the next proposal to the program that it is shown."""

    async def generate(self, prompt: str, **_: object) -> str:
        parent = re.findall(r"APPLIED = \[.*\]", prompt)[-1]
        made = [*applied(parent), counted("proposals")]
        return f"```python\n# EVOLVE-BLOCK-START\nAPPLIED = {made}\n# EVOLVE-BLOCK-END\n```"

    async def generate_with_context(self, system_message: str, messages: list[dict[str, str]], **_: object) -> str:
        return await self.generate(messages[-1]["content"])


def scripted(_config: LLMModelConfig) -> Scripted:
    return Scripted()


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    config = Config()
    config.max_iterations = PROPOSALS
    config.diff_based_evolution = False
    config.random_seed = int(SEED)
    config.llm.models = [LLMModelConfig(name="scripted", init_client=scripted)]
    config.database.num_islands = 1
    config.evaluator.parallel_evaluations = 2
    config.evaluator.cascade_evaluation = False
    config.evaluator.timeout = 120
    result = run_evolution(
        "# EVOLVE-BLOCK-START\nAPPLIED = []\n# EVOLVE-BLOCK-END\n",
        str(Path(__file__).resolve()),
        config,
        iterations=PROPOSALS,
        output_dir=str(FOLDER / "out"),
        cleanup=False,
    )
    best = result.best_program.code
    runs = (FOLDER / "runs").stat().st_size
    kept = applied(best)
    false = [each for each in kept if each not in GAINS]
    print(
        json.dumps(
            {"kept": kept, "false": false, "truth": round(solves(best), 2), "runs": runs, "said": result.best_score}
        )
    )

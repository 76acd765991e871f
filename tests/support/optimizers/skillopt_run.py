"""Trains a skill with SkillOpt on proposals of known worth, by its own rule or by the gate; prints what its best skill
holds, and what of it is no better, as JSON. `python skillopt_run.py own|gated SEED FOLDER`."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from pathlib import Path
from random import Random

import skillopt.engine.trainer as trainer
import skillopt.gradient.aggregate as aggregate
from skillopt.envs.base import EnvAdapter

from ratchet.integrations.skillopt import ProvenSkillGate

ITEMS = 30
GAINS = {3: 0.25, 9: 0.2}
"""Proposal -> what its rule adds to the share of items solved; all others add nothing, or take away a little."""
PROPOSALS = 12
HOW, SEED, FOLDER = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
chance = Random(SEED)
ran = {"items": 0}


def applied(skill: str) -> list[int]:
    return [int(each) for each in re.findall(r"Rule (\d+)\.", skill)]


def solves(skill: str) -> float:
    return min(0.95, max(0.05, 0.4 + sum(GAINS.get(each, -0.03 * (each % 2)) for each in applied(skill))))


def run(skill: str) -> dict[str, float]:
    """One fresh run of all items."""
    ran["items"] += ITEMS
    return {str(item): float(chance.random() < solves(skill)) for item in range(ITEMS)}


class Scripted(EnvAdapter):
    """An environment whose truth is known; its reflection hands out the next rule."""

    handed = 0

    def build_train_env(self, batch_size: int, seed: int, **_: object) -> list[int]:
        return list(range(batch_size))

    def build_eval_env(self, env_num: int, split: str, seed: int, **_: object) -> list[int]:
        return list(range(ITEMS))

    def rollout(self, env_manager: list[int], skill_content: str, out_dir: str, **_: object) -> list[dict[str, object]]:
        return [{"id": item, "hard": int(score), "soft": score} for item, score in run(skill_content).items()]

    def reflect(self, *_: object, **__: object) -> list[dict[str, object]]:
        edit = {"op": "append", "content": f"Rule {self.handed}."}
        self.handed += 1
        return [{"patch": {"edits": [edit]}, "source_type": "failure"}]

    def get_task_types(self) -> list[str]:
        return ["scripted"]


def no_prompt(*_: object, **__: object) -> str:
    """The wheel of 0.2.0 comes without its prompt files; a single patch is merged without a model, so none is used."""
    return ""


aggregate.load_prompt = no_prompt
if HOW == "gated":
    trainer.evaluate_gate = ProvenSkillGate(run, FOLDER / "scores.jsonl")
config = {
    "out_root": str(FOLDER / "out"),
    "skill_init": str(FOLDER / "skill.md"),
    "optimizer_model": "scripted",
    "target_model": "scripted",
    "batch_size": 4,
    "train_size": 4,
    "num_epochs": PROPOSALS,
    "accumulation": 1,
    "seed": SEED,
    "merge_batch_size": 4,
    "edit_budget": 4,
    "analyst_workers": 1,
    "sel_env_num": ITEMS,
    "test_env_num": ITEMS,
    "eval_test": False,
    "use_slow_update": False,
}
(FOLDER / "skill.md").write_text("# A skill\n")
with contextlib.redirect_stdout(io.StringIO()):
    trainer.ReflACTTrainer(config, Scripted()).train()
best = (FOLDER / "out" / "best_skill.md").read_text()
kept = applied(best)
print(
    json.dumps(
        {
            "kept": kept,
            "false": [each for each in kept if each not in GAINS],
            "truth": round(solves(best), 2),
            "runs": ran["items"] // ITEMS,
        }
    )
)

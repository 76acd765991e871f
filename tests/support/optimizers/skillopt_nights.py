"""Lets SkillOpt-Sleep live through nights on a scripted model, by its own rule or by the gate; prints what the skill
holds in the end, and what it truly solves, as JSON. `python skillopt_nights.py own|gated SEED FOLDER [NIGHTS]`.

The model answers right by odds that the rules of the skill set: each night proposes one rule, of which most take away
three points, one adds 25 and one adds 20. A night checks on eight tasks, as a day's sessions give.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from random import Random

import skillopt_sleep.cycle as cycle
from skillopt_sleep.backend import Backend
from skillopt_sleep.config import load_config
from skillopt_sleep.replay import replay_one
from skillopt_sleep.types import EditRecord, TaskRecord

from ratchet.integrations.skillopt import ProvenNights

GAINS = {3: 0.25, 9: 0.2}
HOW, SEED, FOLDER = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
NIGHTS = int(sys.argv[4]) if len(sys.argv) > 4 else 50
chance = Random(SEED)
ran = {"tasks": 0}


def applied(skill: str) -> list[int]:
    return [int(each) for each in re.findall(r"Rule (\d+)\.", skill)]


def solves(skill: str) -> float:
    return min(0.95, max(0.05, 0.4 + sum(GAINS.get(each, -0.03) for each in applied(skill))))


class Scripted(Backend):
    """A model of known truth, which proposes one rule a night."""

    night = 0

    def attempt(self, task: TaskRecord, skill: str, memory: str, sample_id: int = 0) -> str:
        ran["tasks"] += 1
        return "right" if chance.random() < solves(skill) else "wrong"

    def judge(self, task: TaskRecord, response: str) -> tuple[float, float, str]:
        right = float(response == "right")
        return right, right, "" if right else "wrong"

    def reflect(self, *_: object, evolve_skill: bool, **__: object) -> list[EditRecord]:
        return [EditRecord("skill", "add", f"Rule {self.night}.")] if evolve_skill else []


def scripted(*_: object, **__: object) -> Scripted:
    return model


def tasks(night: int) -> list[TaskRecord]:
    """Those of a day: other ones each night."""
    split = ["train"] * 4 + ["val"] * 8
    return [
        TaskRecord(f"{night}-{n}", str(FOLDER), "a task", reference_kind="exact", split=s) for n, s in enumerate(split)
    ]


model = Scripted()
cycle.get_backend = scripted
if HOW == "gated":
    cycle.dream_consolidate = ProvenNights(cycle.dream_consolidate, replay_one, FOLDER / "nights.jsonl")
config = load_config(
    invoked_project=str(FOLDER),
    claude_home=str(FOLDER / "claude"),
    auto_adopt=True,
    evolve_memory=False,
    gate_metric="hard",
)
for night in range(NIGHTS):
    model.night = night
    cycle.run_sleep_cycle(config, seed_tasks=tasks(night), clock=1_800_000_000.0 + 86_400 * night)
skill = Path(config.managed_skill_path()).read_text() if Path(config.managed_skill_path()).exists() else ""
kept = applied(skill)
print(
    json.dumps(
        {
            "kept": kept,
            "false": [each for each in kept if each not in GAINS],
            "truth": round(solves(skill), 2),
            "runs": ran["tasks"],
        }
    )
)

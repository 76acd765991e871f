"""Lets SkillOpt keep a skill only when it is proven better than the one that stands.

    import skillopt.engine.trainer as trainer

    trainer.evaluate_gate = ProvenSkillGate(run, "scores.jsonl")

SkillOpt scores a candidate once on its selection set and keeps it if it scored more than the remembered score of what
stands. `run(skill)` makes one fresh run of a skill and returns the score of each item by its name.

The nights of SkillOpt-Sleep, which take their tasks from yesterday's sessions:

    import skillopt_sleep.cycle as cycle
    from skillopt_sleep.replay import replay_one

    cycle.dream_consolidate = ProvenNights(cycle.dream_consolidate, replay_one, "nights.jsonl")
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

from ratchet.errors import UsageError
from ratchet.evolving.shared_scores import Scored, SharedScores, VersionFiles
from ratchet.gate import EvidenceLedger, PairedGate, ScoreGate

_CHECKING = ("val", "holdout")  # SkillOpt-Sleep's names of the split that its own gate scores


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillGateResult:
    """Answer to SkillOpt's trainer, in its own names (`skillopt.evaluation.gate.GateResult`)."""

    action: Literal["accept_new_best", "reject"]
    current_skill: str
    current_score: float
    best_skill: str
    best_score: float
    best_step: int


class ProvenSkillGate:
    """Takes the place of `evaluate_gate` in SkillOpt's trainer. `gate` makes the gate (bounded scores, unless given).

    What stands is always what was proven: a skill that the trainer changed without asking (a slow update that is not
    gated) is replaced by it at the next refusal. The table outlives the process, so that a resumed training goes on
    with the same budget. `gate.answers()` are the decisions so far.
    """

    def __init__(
        self,
        run: Callable[[str], Scored],
        table: str | os.PathLike[str],
        *,
        gate: Callable[[], ScoreGate] = lambda: ScoreGate(noise="bounded"),
    ) -> None:
        self._run_skill = run
        self._scores = SharedScores(table, gate())
        self._skills = VersionFiles(table)

    @property
    def gate(self) -> ScoreGate:
        """The gate, with its decisions."""
        return self._scores.gate

    def __call__(
        self,
        candidate_skill: str,
        cand_hard: float,
        current_skill: str,
        current_score: float,
        best_skill: str,
        best_score: float,
        best_step: int,
        global_step: int,
        **_: object,
    ) -> SkillGateResult:
        """Run the candidate, and what stands, until one of them is proven or the gain is out of reach."""
        del cand_hard, best_skill  # one run tells too little, and the best is what stands
        self._scores.begin(self._skills.add(current_skill.encode()), self._run)
        standing, candidate = self.gate.incumbent, self._skills.add(candidate_skill.encode())
        answer = None if candidate == standing else self._scores.decide(candidate, self._run)
        if answer is not None and answer.decision == "keep" and self.gate.incumbent == candidate:
            score = min(1.0, current_score + (answer.gain or 0.0))
            return _result("accept_new_best", candidate_skill, score, score, global_step)
        return _result("reject", self._text(standing), current_score, best_score, best_step)

    def _text(self, version: str) -> str:
        return self._skills.path(version).read_text(encoding="utf-8")

    def _run(self, version: str) -> Scored:
        return self._run_skill(self._text(version))


def _result(
    action: Literal["accept_new_best", "reject"], skill: str, score: float, best_score: float, step: int
) -> SkillGateResult:
    return SkillGateResult(
        action=action,
        current_skill=skill,
        current_score=score,
        best_skill=skill,
        best_score=best_score,
        best_step=step,
    )


# -- nights ------------------------------------------------------------------------------------------------------------


class _SleepTask(Protocol):
    split: str


class _Replayed(Protocol):
    hard: float
    soft: float


class _Consolidated(Protocol):
    accepted: bool
    new_skill: str
    new_memory: str


_NightResult = TypeVar("_NightResult", bound=_Consolidated)


class ProvenNights(Generic[_NightResult]):
    """Takes the place of `dream_consolidate` in SkillOpt-Sleep: what a night would accept is run again, in pairs with
    what stands, on the night's own checking tasks, and stays only if it is proven better.

    `table` has a line for each night that had something to decide; all of them share the error budget `fdr`. `score`
    is which of SkillOpt's two scores counts. `most_pairs` ends a night that proves nothing.
    """

    def __init__(
        self,
        consolidate: Callable[..., _NightResult],
        replay_one: Callable[..., _Replayed],
        table: str | os.PathLike[str],
        *,
        fdr: float = 0.05,
        score: Literal["hard", "soft"] = "hard",
        most_pairs: int = 1500,
    ) -> None:
        self._consolidate = consolidate
        self._replay_one = replay_one
        self._table = Path(table)
        self._fdr = fdr
        self._score = score
        self._most_pairs = most_pairs

    def __call__(
        self, backend: object, tasks: Sequence[_SleepTask], skill: str, memory: str, **given: object
    ) -> _NightResult:
        """Run SkillOpt's own night, then decide about what it accepted."""
        found = self._consolidate(backend, tasks, skill, memory, **given)
        if not found.accepted:
            return found
        checking = [each for each in tasks if each.split in _CHECKING]
        if not checking:
            raise UsageError("the night has no task to check on: give holdout_fraction, so that a split 'val' is there")
        ledger = self._ledger()
        gate = PairedGate(ledger.level, cap=self._most_pairs)
        n = 0
        while gate.decision == "wait":
            n += 1  # the backend remembers what it answered, unless the sample is another
            gate.update_round(
                [
                    self._tried(backend, task, found.new_skill, found.new_memory, n)
                    - self._tried(backend, task, skill, memory, n)
                    for task in checking
                ]
            )
        kept = gate.decision == "keep"
        self._write(kept, gate)
        if kept:
            return found
        refused = {"accepted": False, "new_skill": skill, "new_memory": memory, "gate_action": "reject"}
        return cast("_NightResult", dataclasses.replace(cast("Any", found), **refused))  # SkillOpt's is a dataclass

    def _tried(self, backend: object, task: _SleepTask, skill: str, memory: str, sample: int) -> float:
        replayed = self._replay_one(backend, task, skill, memory, sample_id=sample)
        return float(replayed.hard if self._score == "hard" else replayed.soft)

    def _ledger(self) -> EvidenceLedger:
        ledger = EvidenceLedger(self._fdr)
        if self._table.exists():
            for n, line in enumerate(self._table.read_text(encoding="utf-8").splitlines(), 1):
                try:
                    ledger.record(json.loads(line)["kept"])
                except (ValueError, KeyError, TypeError) as error:
                    raise UsageError(f"{self._table}, line {n}: no decision of a night: {error}") from error
        return ledger

    def _write(self, kept: bool, gate: PairedGate) -> None:
        row = {"kept": kept, "gain": round(gate.mean, 4), "pairs": gate.pairs}
        with self._table.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

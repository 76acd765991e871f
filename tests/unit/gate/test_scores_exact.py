"""Runs that never differ tell nothing of the noise; scores that are exact need no repeats."""

from __future__ import annotations

import pytest

from ratchet.errors import UsageError
from ratchet.gate.scores import ScoreGate


def fed(gate: ScoreGate, *runs: tuple[str, float]) -> ScoreGate:
    for version, score in runs:
        gate.add(version, score)
    return gate


@pytest.mark.parametrize("copies", [2, 5, 20])
def test_a_row_that_is_copied_proves_nothing(copies: int) -> None:
    runs = [("base", 0.41)] * copies + [("idea", 0.411)] * copies
    answer = fed(ScoreGate(), *runs, ("base", 0.41)).answer()
    assert answer.decision == "again"
    assert "no run differs from its repeat" in answer.reason


def test_scores_that_are_exact_are_decided_by_one_run_of_each() -> None:
    gate = fed(ScoreGate(noise="none"), ("base", 0.41), ("idea", 0.411), ("other", 0.411))
    assert [each.decision for each in gate.answers()] == ["keep", "discard"]
    assert gate.incumbent == "idea"


def test_a_score_that_differs_from_its_repeat_is_not_exact() -> None:
    gate = fed(ScoreGate(noise="none"), ("base", 0.41))
    gate.add("base", 0.42)
    with pytest.raises(UsageError, match="differ"):
        gate.add("idea", 0.5)

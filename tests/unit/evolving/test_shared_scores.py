"""A table of scores that several processes write, and one order of decisions."""

from __future__ import annotations

from multiprocessing import get_context
from pathlib import Path
from random import Random

import pytest

from ratchet.errors import UsageError
from ratchet.evolving.shared_scores import SharedScores
from ratchet.gate import ScoreGate
from ratchet.integrations.openevolve import ProvenEvaluator

TRUTH = {"base": 0.4, "same": 0.4, "good": 0.8, "worse": 0.2}


def run(version: str, seed: int) -> dict[str, float]:
    chance = Random(f"{version} {seed}")
    return {str(task): float(chance.random() < TRUTH[version]) for task in range(20)}


def decided(path: Path, version: str) -> str:
    """What a process of its own decides."""
    scores, made = SharedScores(path, ScoreGate(noise="bounded")), iter(range(10_000))
    answer = scores.decide(version, lambda each: run(each, next(made)))
    return answer.decision if answer else "first"


@pytest.mark.slow
def test_every_process_comes_to_the_same_decisions(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    assert decided(path, "base") == "first"
    with get_context("spawn").Pool(3) as pool:
        found = pool.starmap(decided, [(path, version) for version in ("same", "good", "worse")])
    assert found == ["discard", "keep", "discard"]
    lines = len(path.read_text().splitlines())
    assert [decided(path, version) for version in ("base", "same", "good", "worse")] == ["first", *found]
    assert len(path.read_text().splitlines()) == lines  # what is decided is not run again


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text('{"version": "base", "score": 0.5}\nwhat\n')
    with pytest.raises(UsageError, match="holds a line that is no run"):
        decided(path, "good")


def test_a_line_that_is_being_written_is_read_later(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text('{"version": "base", "score": 0.5}\n{"version": "ba')
    scores = SharedScores(path, ScoreGate(noise="bounded"))
    assert scores.decide("base", lambda _version: 0.5) is None


def test_openevolves_score_counts_proven_steps(tmp_path: Path) -> None:
    made = iter(range(10_000))
    evaluate = ProvenEvaluator(lambda path: run(Path(path).read_text(), next(made)), tmp_path / "scores.jsonl")

    def program(text: str) -> str:
        path = tmp_path / f"{text}.py"
        path.write_text(text)
        return str(path)

    first, same, good, worse, again = (
        evaluate(program(text))["combined_score"] for text in ("base", "same", "good", "worse", "good")
    )
    assert first == 0.0
    assert -1 < same < 0
    assert good == again == 1.0
    assert 0 < worse < 1

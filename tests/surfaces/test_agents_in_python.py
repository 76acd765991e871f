"""An agent measured and bettered in one call from Python."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

import ratchet
from ratchet.errors import Refused, UsageError
from ratchet.evolving.bench.metric import MetricCall, texts_benchmark
from ratchet.evolving.bench.shelf import BenchShelf
from ratchet.evolving.job import ProposalJob
from support.healing import needs_sandbox

TEXTS = {"prompts/system.md": "Answer."}
TASKS = {f"q{n}": f"What is {n}?" for n in range(24)}


def metric(call: MetricCall) -> tuple[float, str, float]:
    odds = 0.9 if "twice" in call.texts["prompts/system.md"] or call.settings.get("tries") == 3 else 0.3
    right = Random(f"{call.texts} {call.settings} {call.task} {call.seed}").random() < odds
    return (1.0, "", 0.001) if right else (0.0, f"5 is no answer to {call.instruction}", 0.001)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    needs_sandbox(tmp_path)
    return tmp_path / "home"


def test_texts_are_measured_by_a_metric(home: Path) -> None:
    found = ratchet.bench(TEXTS, TASKS, metric=metric, repeats=2, parallel=2, home=home)
    assert found.run.state == "ended"
    assert found.figures.runs == 48
    assert found.figures.score.low < 0.3 < found.figures.score.high
    assert found.run.cost_usd == pytest.approx(0.048)
    again = ratchet.bench(TEXTS, TASKS, metric=metric, repeats=2, home=home)
    assert again.score == found.score


def test_a_function_that_proposes_hears_the_feedback_and_what_is_proven_is_kept(home: Path) -> None:
    heard: list[str] = []

    def propose(job: ProposalJob) -> dict[str, str] | None:
        heard.extend(made.reason for weak in job.weakest for made in weak.examples)
        n = len(job.tried)
        return None if n == 1 else {"prompts/system.md": "Answer twice." if n == 2 else f"Answer {n}."}

    found = ratchet.evolve(TEXTS, TASKS, metric=metric, proposer=propose, proposals=3, home=home)
    assert any(reason.startswith("5 is no answer to What is") for reason in heard)
    assert [each.state for each in found.candidates] == ["baseline", "reverted", "screened_out", "kept"]
    assert found.texts == {"prompts/system.md": "Answer twice."}
    assert found.run.report is not None


def test_settings_are_searched_without_a_proposer(home: Path) -> None:
    knobs = {"tries": ratchet.Choice(1, 2, 3)}
    found = ratchet.evolve(TEXTS, TASKS, metric=metric, knobs=knobs, proposals=4, home=home)
    assert found.settings == {"tries": 3}
    assert found.texts == TEXTS


def test_a_metric_that_raises_is_no_score(home: Path) -> None:
    def broken(call: MetricCall) -> float:
        raise ConnectionError(f"no route to the provider for {call.task}")

    found = ratchet.bench(TEXTS, TASKS, metric=broken, home=home)
    assert found.run.state == "failed"
    assert "no route to the provider" in found.run.reason
    assert found.figures.unmeasured == found.figures.runs


def test_a_score_beyond_its_bounds_is_named(home: Path) -> None:
    found = ratchet.bench(TEXTS, TASKS, metric=lambda _call: 17.0, home=home)
    assert "the score is 17.0; use a number from 0 to 1" in found.run.reason


def test_what_makes_no_sense_is_said(home: Path) -> None:
    with pytest.raises(UsageError, match="scored by a metric"):
        ratchet.bench(TEXTS, TASKS, home=home)
    with pytest.raises(UsageError, match="run by a metric"):
        ratchet.bench(TEXTS, home=home)
    with pytest.raises(UsageError, match="2 tasks cannot be split"):
        ratchet.bench(TEXTS, {"a": "", "b": ""}, metric=metric, home=home)
    with pytest.raises(UsageError, match="no name of a file"):
        ratchet.bench({"../out.md": "x"}, TASKS, metric=metric, home=home)


def test_tasks_are_split_by_their_ids_and_frozen_by_their_hash() -> None:
    made = texts_benchmark(TASKS)
    assert [len(made.of(split)) for split in ("dev", "gate", "sealed")] == [5, 12, 7]
    assert made == texts_benchmark(dict(reversed(TASKS.items())))
    assert [len(texts_benchmark({id_: id_ for id_ in "abc"}).of(split)) for split in ("dev", "gate", "sealed")] == [
        1,
        1,
        1,
    ]
    assert made.name != texts_benchmark({**TASKS, "q0": "What else?"}).name


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ({"a\0b": "x"}, "is no name of a file"),
        ({5: "x"}, "5 is no name of a file"),
        ({"\ud800": "x"}, "is no name of a file"),
        ({"a": 5}, "the text of 'a' is no text in UTF-8 but 5"),
        ({"a": "\ud800"}, "the text of 'a' is no text in UTF-8"),
        ({"a" * 300: "x"}, "more than 255 bytes"),
        ({"a": "x", "a/b": "y"}, "'a' is a text, and the folder of 'a/b'"),
        ("\ud800", "names no agent"),
        ("a\0b", "names no agent"),
        (b"agent", "names no agent"),
    ],
)
def test_an_agent_that_is_none_is_refused_in_words(tmp_path: Path, agent: object, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ratchet.bench(agent, TASKS, metric=metric, home=tmp_path / "home")  # type: ignore[arg-type]


def test_a_new_home_is_its_owner_s_alone(tmp_path: Path) -> None:
    held = tmp_path / "shelf"
    BenchShelf(held).keep(texts_benchmark(TASKS))
    assert held.stat().st_mode & 0o777 == 0o700
    texts = tmp_path / "texts"
    with suppress(Refused):  # where no sandbox holds; the home is made before
        ratchet.bench(TEXTS, TASKS, metric=metric, home=texts)
    assert texts.stat().st_mode & 0o777 == 0o700

"""Which version is bettered next, and what a proposer is shown of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ratchet.evolving.bench.benchmark import Evaluation
from ratchet.evolving.candidate import Candidate
from ratchet.evolving.loop import weakest as evidence
from ratchet.evolving.loop.final_report import noise
from ratchet.evolving.loop.parent import parent_of, task_gains
from ratchet.testing.evolving import synthetic_benchmark

BASELINE = Candidate(id="v0", run="r", n=0, state="baseline")


def tried(n: int, mean: float, *, pairs: int = 200, parent: str = "v0", reason: str = "") -> Candidate:
    return Candidate(
        id=f"v{n}",
        run="r",
        n=n,
        state="reverted",
        parent=parent,
        incumbent="v0",
        pairs=pairs,
        mean=mean,
        reason=reason,
    )


def drawn(archive: list[Candidate], times: int = 2_000) -> Counter[str]:
    return Counter(parent_of(archive, BASELINE, explore=True, seed=1, n=n).id for n in range(times))


def test_without_exploring_the_version_that_counts_is_the_parent() -> None:
    kept = replace(tried(2, 0.2), state="kept")
    assert parent_of([BASELINE, tried(1, 0.3), kept], kept, explore=False, seed=1, n=3) is kept


def test_better_versions_are_drawn_more_often_and_none_is_shut_out() -> None:
    found = drawn([BASELINE, tried(1, 0.05), tried(2, -0.05)])
    assert found["v1"] > found["v2"]
    assert set(found) == {"v0", "v1", "v2"}


def test_a_version_with_many_children_is_drawn_less() -> None:
    lonely = drawn([BASELINE, tried(1, 0.0)])
    crowded = drawn([BASELINE, tried(1, 0.0), *(tried(n, -0.5, parent="v1") for n in range(2, 8))])
    assert crowded["v1"] < lonely["v1"] / 2


def test_a_lucky_few_pairs_say_little() -> None:
    found = drawn([BASELINE, tried(1, 0.3, pairs=3), tried(2, 0.15, pairs=400)])
    assert found["v2"] > found["v1"]


def test_what_meddled_or_was_never_measured_is_no_parent() -> None:
    found = drawn([BASELINE, tried(1, 0.9, reason="refused: wrote the score"), tried(2, 0.0, pairs=0)])
    assert set(found) == {"v0"}


def test_the_same_draw_is_the_same_parent() -> None:
    archive = [BASELINE, tried(1, 0.02), tried(2, 0.01)]
    assert [parent_of(archive, BASELINE, explore=True, seed=5, n=n).id for n in range(20)] == [
        parent_of(archive, BASELINE, explore=True, seed=5, n=n).id for n in range(20)
    ]


def test_what_leads_a_few_tasks_is_built_upon_though_it_is_worse_in_the_mean() -> None:
    """Three versions: v1 solves two tasks that nothing else does and loses six, v2 is a little worse everywhere."""
    archive = [BASELINE, tried(1, -0.2), tried(2, -0.1)]
    made = [run(f"t{n}", float(n >= 4), seed, of="v0") for n in range(10) for seed in range(8)]
    made += [run(f"t{n}", float(n < 2), seed, of="v1") for n in range(10) for seed in range(8)]
    made += [run(f"t{n}", float(n >= 4 and seed > 0), seed, of="v2") for n in range(10) for seed in range(8)]
    gained = task_gains(archive, made)
    assert gained["v1"]["t0"] == (8.0, 8)
    assert "v0" not in gained
    blind = drawn(archive)
    found = Counter(parent_of(archive, BASELINE, explore=True, seed=1, n=n, gained=gained).id for n in range(2_000))
    assert blind["v1"] < blind["v2"]
    assert found["v1"] > found["v2"]
    assert set(found) == {"v0", "v1", "v2"}


def run(task: str, score: float, seed: int = 0, signature: str = "", of: str = "v0") -> Evaluation:
    return Evaluation(
        run="r",
        candidate=of,
        task=task,
        seed=seed,
        result="passed" if score == 1 else "failed",
        score=score,
        reason="" if score == 1 else "KeyError: 'x'",
        kind="" if score == 1 else "code_error",
        signature=signature,
    )


def test_the_weakest_tasks_come_first_with_their_worst_runs() -> None:
    tasks = synthetic_benchmark(dev=3).of("dev")
    runs = [run("dev-0", 1.0), run("dev-1", 0.0, 1), run("dev-1", 1.0, 2), run("dev-2", 0.0)]
    runs.append(replace(run("dev-0", 0.0, 9), result="unmeasured"))
    found = evidence.weakest(tasks, runs)
    assert [(each.task.id, each.score, each.runs) for each in found] == [("dev-2", 0.0, 1), ("dev-1", 0.5, 2)]
    assert [each.score for each in found[1].examples] == [0.0, 1.0]


def test_patterns_are_by_signature_and_a_task_counts_as_a_session() -> None:
    runs = [run("dev-0", 0.0, 1, "v1:a"), run("dev-0", 0.0, 2, "v1:a"), run("dev-1", 0.0, 1, "v1:b"), run("dev-2", 1.0)]
    found = evidence.patterns(runs, "me")
    assert [(each.signature, each.count, each.sessions, each.recurring) for each in found] == [
        ("v1:a", 2, 1, True),
        ("v1:b", 1, 1, False),
    ]
    assert "KeyError" in found[0].template


def test_noise_shrinks_with_runs_and_is_unknown_without_repeats() -> None:
    assert noise([[0.0], [1.0]]) is None
    alike = noise([[1.0, 1.0], [0.0, 0.0]])
    few, many = noise([[0.0, 1.0]] * 4), noise([[0.0, 1.0] * 4] * 4)
    assert alike
    assert few
    assert many
    assert many < few / 2 + 0.01

"""The published table in a short, seeded form, and the peer's rule as its package has it."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name == "figures" or name.startswith("guard"):
            del sys.modules[name]


@pytest.mark.usefixtures("benchmarks")
def test_the_restated_rule_is_the_packages() -> None:
    policies = import_module("guard_policies")
    installed = policies.installed_rule()
    if installed is None:
        pytest.skip("self-improving-loop is not installed: pip install -e '.[bench]'")
    chance = random.Random(1)

    def metrics() -> dict[str, Any]:
        return {
            "success_rate": chance.choice([0.0, 0.5, 0.6, 0.7, 0.8, 1.0, chance.random()]),
            "avg_duration_sec": chance.choice([0.0, 1.0, 1.2, 1.3, chance.random()]),
            "consecutive_failures": chance.randrange(8),
        }

    for _ in range(2_000):
        before, after = metrics(), metrics()
        assert policies.fixed_rule(before, after)[0] == installed(before, after)[0]


@pytest.mark.usefixtures("benchmarks")
def test_a_job_gives_the_same_result_again() -> None:
    runs, worlds = import_module("guard_runs"), import_module("guard_worlds")
    job = runs.Job(world=worlds.World(old=0.8, new=0.6, background="drift"), units=500, seeds=3)
    assert runs.tried(job) == runs.tried(job)


@pytest.mark.usefixtures("benchmarks")
def test_the_gate_reverts_harm_and_leaves_the_rest_while_the_fixed_rule_does_not() -> None:
    runs, worlds, policies = (import_module(name) for name in ("guard_runs", "guard_worlds", "guard_policies"))
    for background in worlds.BACKGROUNDS:
        idle = worlds.World(old=0.8, new=0.8, background=background, with_latency=True)
        harmful = worlds.World(old=0.8, new=0.4, background=background)
        gate = [runs.tried(runs.Job(world=world, units=1_000, seeds=12)) for world in (idle, harmful)]
        rule = runs.tried(runs.Job(world=idle, units=1_000, seeds=12, policy=policies.FixedRule))
        assert gate[0].reverted <= 0.25  # 3 of 12
        assert gate[1].reverted == 1.0
        assert rule.reverted >= 0.75


@pytest.mark.usefixtures("benchmarks")
def test_a_drift_and_an_outage_hit_both_arms() -> None:
    worlds = import_module("guard_worlds")
    for background in worlds.BACKGROUNDS:
        stream = worlds.World(old=0.9, new=0.9, background=background).units(random.Random(4), share=0.5)
        units = [next(stream) for _ in range(20_000)]
        success = [
            sum(u.ok for u in units if u.new_arm is arm) / sum(u.new_arm is arm for u in units) for arm in (False, True)
        ]
        assert abs(success[0] - success[1]) < 0.02
        assert success[0] < 0.91


@pytest.mark.usefixtures("benchmarks")
def test_the_showcase_is_kept_by_the_gate_and_reverted_by_the_fixed_rule() -> None:
    runs, policies = import_module("guard_runs"), import_module("guard_policies")
    assert runs.backoff(runs.Backoff(seeds=20))[:2] == (20, 0)
    assert runs.backoff(runs.Backoff(seeds=5, policy=policies.FixedRule))[:2] == (0, 5)


@pytest.mark.usefixtures("benchmarks")
def test_a_search_keeps_few_false_proposals_where_greedy_keeps_many() -> None:
    search = import_module("guard_search")
    rival, one, eight = (
        search.mean_of(each) for each in zip(*(search.searched((s, "")) for s in range(2)), strict=True)
    )
    assert rival.false_share > 0.3
    assert max(one.false_share, eight.false_share) <= 0.2
    assert min(one.gain, eight.gain) > 0.7 * rival.gain
    assert eight.runs < one.runs


@pytest.mark.slow
@pytest.mark.usefixtures("benchmarks")
def test_the_table_in_short_holds_its_goals() -> None:
    guard = import_module("guard")
    figures = guard.measured(guard.InProcess(), 30, (guard.showcase, guard.in_flight))
    assert len(figures) == 2
    assert all(figure.holds and figure.baseline for figure in figures)


@pytest.mark.usefixtures("benchmarks")
def test_a_catastrophe_is_over_within_a_few_units() -> None:
    runs, worlds = import_module("guard_runs"), import_module("guard_worlds")
    for ramp, most in ((False, 7.0), (True, 5.0)):
        job = runs.Job(world=worlds.World(old=0.9, new=0.05), units=1_000, seeds=100, history=10, ramp=ramp)
        assert runs.tried(job).mean_new_units <= most


@pytest.mark.soak
@pytest.mark.usefixtures("benchmarks")
def test_the_whole_table_holds_its_goals() -> None:
    guard = import_module("guard")
    figures = guard.measured(guard.InProcess(), 100)
    assert {figure.name for figure in figures if figure.holds is False} == set()

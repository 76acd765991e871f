"""The published table of evolving in a short, seeded form."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import pytest

from support.healing import needs_sandbox

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
WORLDS = 20


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    yield import_module("evolve")
    for name in set(sys.modules) - before:
        if name == "figures" or name.startswith(("guard", "evolve")):
            del sys.modules[name]


@pytest.mark.parametrize(("at_once", "most", "least"), [(1, 36_000, 0.88), (8, 26_000, 0.86)])
def test_few_false_keeps_at_little_cost_and_true_claims(
    benchmark: Any, at_once: int, most: float, least: float
) -> None:
    worlds = [benchmark.bench(seed) for seed in range(WORLDS)]
    ran = [benchmark.raced(each, at_once=at_once) for each in worlds]
    greedy = [benchmark.greedy(each) for each in worlds]
    assert sum(each.false / each.kept if each.kept else 0.0 for each in ran) / WORLDS <= 0.10
    assert sum(each.runs for each in ran) / WORLDS <= most
    assert sum(each.gain for each in ran) >= least * sum(each.gain for each in greedy)
    assert abs(sum(each.claimed - each.truth for each in ran) / WORLDS) <= 0.01
    assert sum(each.false / each.kept for each in greedy) / WORLDS > 0.4


def test_where_nothing_helps_hardly_any_run_keeps_anything(benchmark: Any) -> None:
    ran = [benchmark.raced(benchmark.bench(seed, "idle"), at_once=8) for seed in range(WORLDS)]
    assert sum(each.kept > 0 for each in ran) <= 0.10 * WORLDS


def test_identical_proposals_are_hardly_ever_kept(benchmark: Any) -> None:
    assert sum(benchmark.against_itself(seed) for seed in range(40)) <= 4


def test_a_world_through_the_whole_loop_ends_as_the_races_alone_would(benchmark: Any) -> None:
    ran, ended = import_module("evolve_loop").looped(3, at_once=8, proposals=48)
    alone = benchmark.raced(benchmark.shortened(benchmark.bench(3), 48), at_once=8)
    assert ended.state == "ended"
    assert ran.false <= 1
    assert ran.gain >= 0.7 * alone.gain
    assert 0.6 * alone.runs <= ran.runs <= 1.6 * alone.runs


@pytest.mark.soak
def test_the_table_holds_over_two_hundred_worlds(benchmark: Any) -> None:
    with ThreadPool(1) as pool:
        figures = benchmark.measured(pool, 200, 2, 200)
    assert [each.name for each in figures if each.holds is False] == []


@pytest.mark.soak
def test_a_night_in_which_nobody_looks_accepts_what_is_better_and_breaks_nothing(
    benchmark: Any, tmp_path: Path
) -> None:
    needs_sandbox(tmp_path)
    del benchmark  # whose folder holds this one, too
    figures = import_module("unattended").apart("quick")
    assert [each.name for each in figures if each.holds is False] == []

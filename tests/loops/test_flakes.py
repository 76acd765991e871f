"""Flaky tests are told from broken ones before anything is edited, and a healed run that lost a test is refused."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from ratchet.healing.episode import RunnerCounts, Verdict
from ratchet.healing.flakes import WHOLE, told_apart, without
from support.healing import Bench

PYTEST = ("python", "-m", "pytest", "-q")
KINDS = {
    "chance": "    assert random.random() < 0.5\n",
    "hash": "    assert next(iter({'a', 'b', 'c', 'd'})) in 'ab'\n",
    "clock": "    assert time.time_ns() // 1000 % 2\n",
    "race": "    seen = []\n    threading.Timer(random.random() / 50, seen.append, [1]).start()\n"
            "    time.sleep(0.01)\n    assert seen\n",
    "order": "    assert not STARTED\n",  # another test of the file starts something, and this one comes before it
}  # fmt: skip


def verdict(failed: Sequence[str], passed: Sequence[str]) -> Verdict:
    counts = RunnerCounts(passed=len(passed), failed=len(failed), failed_ids=tuple(failed), passed_ids=tuple(passed))
    return Verdict(passed=not failed, score=0.5, tests=counts)


def test_each_test_that_fails_at_random_is_told_and_none_that_always_fails() -> None:
    draw = random.Random(1)
    flaky = {f"t.py::flaky_{n}" for n in range(20)}
    broken = {f"t.py::broken_{n}" for n in range(3)}
    steady = [f"t.py::steady_{n}" for n in range(180)]

    def run(selected: Sequence[str] = ()) -> Verdict:
        asked = [*selected] or [*flaky, *broken, *steady]
        bad = [name for name in asked if name in broken or (name in flaky and draw.random() < 0.4)]
        return verdict(bad, [name for name in asked if name not in bad])

    found = told_apart(run(), run, lambda: True)
    assert {each.test for each in found} == flaky
    assert all(0 < each.failed < each.runs for each in found)


def test_tests_that_are_only_broken_are_repeated_three_times() -> None:
    asked: list[Sequence[str]] = []

    def run(selected: Sequence[str]) -> Verdict:
        asked.append(selected)
        return verdict(["t.py::a"], [] if selected == ["t.py::a"] else ["t.py::b"])

    assert told_apart(verdict(["t.py::a"], ["t.py::b"]), run, lambda: True) == ()
    assert asked == [["t.py::a"], [], ["t.py::a", "t.py::b"]]


def test_nothing_is_repeated_without_time() -> None:
    def never(_selected: Sequence[str]) -> Verdict:
        raise AssertionError

    assert told_apart(verdict(["t.py::a"], []), never, lambda: False) == ()


def test_a_check_that_names_no_tests_is_flaky_where_it_passes_once() -> None:
    said = iter([Verdict(passed=False, score=0.0), Verdict(passed=True, score=1.0)])
    (found,) = told_apart(Verdict(passed=False, score=0.0), lambda _selected: next(said), lambda: True)
    assert (found.test, found.failed, found.runs) == (WHOLE, 2, 3)
    assert without(Verdict(passed=False, score=0.0), [WHOLE]).passed


def planted(project: Path, kinds: Sequence[str], size: int) -> set[str]:
    """Lay out tests of these kinds, four of each flaky; return the ids of those."""
    for kind in kinds:
        tests = [f"\n\ndef test_{kind}_{n}():\n{KINDS[kind]}" for n in range(4)]
        tests += [f"\n\ndef test_{kind}_{n}():\n    STARTED.append({n})\n" for n in range(4, size)]
        (project / f"test_{kind}.py").write_text("import random, threading, time\n\nSTARTED = []\n" + "".join(tests))
    return {f"test_{kind}.py::test_{kind}_{n}" for kind in kinds for n in range(4)}


def test_twenty_flaky_tests_of_five_kinds_are_told_and_nothing_is_edited(bench: Bench) -> None:
    flaky = planted(bench.project, [*KINDS], 10)
    ended = bench.heal({"calc.py": "broken\n"}, check=PYTEST)
    assert ended.status == "flaky", ended.reason
    assert {each.test for each in ended.flakes} == flaky
    assert bench.solver.jobs == []


def test_a_broken_test_among_flaky_ones_is_healed_and_those_count_for_nothing(bench: Bench) -> None:
    flaky = planted(bench.project, ["chance"], 8)
    (bench.project / "test_calc.py").write_text("import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n")
    ended = bench.heal({"calc.py": "def add(a, b):\n    return a + b\n"}, check=PYTEST)
    assert ended.status == "passed", ended.attempts
    assert {each.test for each in ended.flakes} == flaky
    assert set(bench.solver.jobs[0].failure.tests.failed_ids) == {"test_calc.py::test_add"}  # type: ignore[union-attr]


def test_the_rest_of_the_suite_is_held_against_a_change_though_nobody_named_it(bench: Bench) -> None:
    (bench.project / "calc.py").write_text("def add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n")
    (bench.project / "test_add.py").write_text("import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n")
    others = (
        "import calc\n\n\ndef test_sub():\n    assert calc.sub(3, 1) == 2\n\n\ndef test_red():\n    assert calc.no\n"
    )
    (bench.project / "test_sub.py").write_text(others)
    right = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n"
    ended = bench.heal(
        {"calc.py": right.replace("a - b", "a + b")}, {"calc.py": right}, check=(*PYTEST, "test_add.py::test_add")
    )
    assert [each.status for each in ended.attempts] == ["failed", "passed"]
    assert "a test beside the check passed before and not with it: test_sub.py::test_sub" in ended.attempts[0].reason

"""Tests of other languages are counted and named as their own runners print them (the first four were run for this)."""

from __future__ import annotations

import pytest

from ratchet.healing.episode import RunnerCounts, Verdict
from ratchet.healing.flakes import WHOLE, told_apart
from ratchet.healing.judges.command import asks_for_less
from ratchet.healing.judges.verdicts import counted

JEST = """FAIL ./total.test.js
  ✕ adds prices (3 ms)
  ✓ empty
  ● adds prices

    expect(received).toBe(expected) // Object.is equality

  ● group › one

    expect(received).toBe(expected) // Object.is equality

Test Suites: 1 failed, 1 total
Tests:       2 failed, 1 skipped, 1 passed, 4 total
"""
VITEST = """ ❯ total.test.js (4 tests | 2 failed | 1 skipped) 32ms
 FAIL  total.test.js > adds prices
AssertionError: expected -3 to be 3 // Object.is equality
 FAIL  total.test.js > group > one
AssertionError: expected -5 to be 5 // Object.is equality

 Test Files  1 failed (1)
      Tests  2 failed | 1 passed | 1 skipped (4)
"""
NODE = """TAP version 13
# Subtest: adds prices
not ok 1 - adds prices
# Subtest: empty
ok 2 - empty
# Subtest: later
ok 3 - later # SKIP
# Subtest: group
    # Subtest: one
    not ok 1 - one
    1..1
not ok 4 - group
1..4
# tests 4
# pass 1
# fail 2
# cancelled 0
# skipped 1
# todo 0
"""
NODE_MARKS = """✖ adds prices (1.2ms)
✔ empty (0.1ms)
﹣ later (0.1ms) # SKIP
▶ group
  ✖ one (0.3ms)
▶ group (0.5ms)
ℹ tests 4
ℹ pass 1
ℹ fail 2
ℹ skipped 1

✖ failing tests:

✖ adds prices (1.2ms)
"""
CARGO = """running 3 tests
test tests::empty ... ok
test tests::later ... ignored
test tests::adds ... FAILED

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.73s
"""
GO = """--- FAIL: TestTotal (0.00s)
    --- FAIL: TestTotal/prices (0.00s)
        total_test.go:9: got -3, want 3
FAIL
FAIL\texample.com/shop\t0.002s
ok  \texample.com/shop/cart\t0.003s
?   \texample.com/shop/doc\t[no test files]
FAIL
"""
GO_ALL = """=== RUN   TestEmpty
--- PASS: TestEmpty (0.00s)
=== RUN   TestTotal
--- FAIL: TestTotal (0.00s)
--- SKIP: TestLater (0.00s)
FAIL
FAIL\texample.com/shop\t0.002s
"""
RSPEC = """Finished in 0.00215 seconds (files took 0.05 seconds to load)
4 examples, 2 failures, 1 pending

Failed examples:

rspec ./spec/shop_spec.rb:3 # Shop adds prices
rspec ./spec/shop_spec.rb:9 # Shop takes one price
"""
GRADLE = """ShopTest > addsPrices() FAILED
    org.opentest4j.AssertionFailedError at ShopTest.java:9

4 tests completed, 1 failed, 1 skipped

BUILD FAILED in 3s
"""


@pytest.mark.parametrize(
    ("said", "numbers", "failed"),
    [
        (JEST, (1, 2, 1), ("adds prices", "group › one")),
        (VITEST, (1, 2, 1), ("total.test.js > adds prices", "total.test.js > group > one")),
        (NODE, (1, 2, 1), ("adds prices", "group > one")),
        (NODE_MARKS, (1, 2, 1), ("adds prices", "group > one")),
        (CARGO, (1, 1, 1), ("tests::adds",)),
        (GO, (1, 1, 0), ("TestTotal/prices",)),
        (GO_ALL, (1, 1, 1), ("TestTotal",)),
        (RSPEC, (1, 2, 1), ("Shop adds prices", "Shop takes one price")),
        (GRADLE, (0, 0, 0), ("ShopTest > addsPrices()",)),
    ],
)
def test_what_failed_is_counted_and_named(said: str, numbers: tuple[int, int, int], failed: tuple[str, ...]) -> None:
    found = counted(said)
    assert found is not None
    assert (found.passed, found.failed, found.skipped) == numbers
    assert found.failed_ids == failed


def verdict(said: str) -> Verdict:
    return Verdict(passed=False, score=0.0, tests=counted(said))


def test_a_go_package_that_passes_now_is_as_many_as_before() -> None:
    healed = "ok  \texample.com/shop\t0.002s\nok  \texample.com/shop/cart\t(cached)\n"
    assert asks_for_less(healed, counted(healed), verdict(GO)) == ""
    assert "1 tests were run, 2 before" in asks_for_less(healed[:29], counted(healed[:29]), verdict(GO))


def test_gradle_says_nothing_of_what_passes_and_nothing_is_held_against_it() -> None:
    healed = "\nBUILD SUCCESSFUL in 2s\n3 actionable tasks: 2 executed\n"
    assert asks_for_less(healed, counted(healed), verdict(GRADLE)) == ""


def test_a_test_that_is_gone_is_named_though_another_came() -> None:
    healed = CARGO.replace("test tests::empty ... ok\n", "test tests::other ... ok\n").replace("FAILED", "ok")
    healed = healed.replace("1 passed; 1 failed", "2 passed; 0 failed")
    assert asks_for_less(healed, counted(healed), verdict(CARGO)) == "1 tests are gone, tests::empty among them"


def test_a_check_that_names_only_what_failed_is_flaky_as_a_whole() -> None:
    passing = Verdict(passed=True, score=1.0)
    found = told_apart(verdict(JEST), lambda _names: passing, lambda: True)
    assert [each.test for each in found] == [WHOLE]


def test_a_suite_of_jest_that_cannot_run_is_an_error() -> None:
    said = (
        "FAIL ./a.test.js\n  ● Test suite failed to run\n\n    Cannot find module\n\nTests:       3 passed, 3 total\n"
    )
    assert counted(said) == RunnerCounts(passed=3, errors=1)

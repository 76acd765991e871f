"""Graders speak many ways; none of them is a success by mistake."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.evolving.scorers.printed import read

GO = [("A", "pass"), ("B", "fail"), ("C", "skip"), ("", "fail")]
GO_EVENTS = "\n".join(json.dumps({"Action": ended, "Package": "p", **({"Test": t} if t else {})}) for t, ended in GO)
TWO_FILES = '{\n    "combined_score": 0.8,\n    "public": {"n": 1}\n}{"correct": %s, "error": null}'


@pytest.mark.parametrize(
    ("text", "score"),
    [
        # OpenEvolve and ShinkaEvolve
        ('{"combined_score": 0.2}', 0.2),
        ('{"runs_successfully": 1.0, "combined_score": 0.2}', 0.2),
        ('{"metrics": {"combined_score": 0.5}, "artifacts": {"stderr": "1.0"}}', 0.5),
        ('{"error": 0.0, "timeout": true}', 0.0),
        ('{"combined_score": 0.9, "timeout": true}', 0.0),
        ('{"metrics": {"combined_score": 0.9}, "artifacts": {"timeout": true}}', 0.0),
        ('{"combined_score": 0.9, "error": "TimeoutError: evaluation timed out after 30 s"}', 0.0),
        ('{"combined_score": 0.4, "timeout": 30}', 0.4),
        (TWO_FILES % "true", 0.8),
        (TWO_FILES % "false", 0.0),
        ('{"correct": false, "error": "no output"}\n{"combined_score": 1.0}', 0.0),
        # runners of tests
        ('{"created": 1.5, "exitcode": 1, "summary": {"passed": 2, "failed": 1, "total": 3, "collected": 3}}', 2 / 3),
        ('{"exitcode": 0, "summary": {"passed": 2, "skipped": 1, "total": 3}, "tests": []}', 1.0),
        ('{"exitcode": 2, "summary": {"passed": 2, "total": 2}}', 0.0),
        ('{"report": {"summary": {"passed": 1, "num_tests": 4, "failed": 3}}}', 0.25),
        ('{"numPassedTests": 3, "numFailedTests": 1, "numTotalTests": 4, "success": false}', 0.75),
        ('{"numPassedTests": 4, "numTotalTests": 4, "numRuntimeErrorTestSuites": 1, "success": false}', 0.8),
        ('{"stats": {"tests": 4, "passes": 3, "failures": 1}}', 0.75),
        ('{"summary": {"example_count": 4, "failure_count": 1, "pending_count": 0}}', 0.75),
        (GO_EVENTS, 0.5),
        ('{"Action":"output","Package":"p"}\n{"Action":"fail","Package":"p"}', 0.0),
        ('{"tests": 3, "failures": 1, "errors": 0}', 2 / 3),
        ('<testsuite tests="4" failures="1" errors="0"/>', 0.75),
        ('<testsuites tests="4" failures="1"><testsuite tests="4" failures="1"></testsuite></testsuites>', 0.75),
        ('<testsuites><testsuite tests="2" errors="1"/><testsuite tests="2"/></testsuites>', 0.75),
        (
            '<testsuite tests="2"><testcase name="a"><failure>x</failure></testcase><testcase name="b"/></testsuite>',
            0.5,
        ),
        ('<testsuite tests="1"><testcase name="a"><error/></testcase></testsuite>', 0.0),
        ("=== 3 passed, 1 failed in 0.12s ===", 0.75),
        ("Ran 4 tests in 0.001s\n\nOK", 1.0),
        ("Ran 4 tests in 0.001s\n\nFAILED (failures=1)", 0.75),
        ("ok  \texample.org/a\t0.003s\nFAIL\texample.org/b\t0.010s\nFAIL", 0.5),
        ("ok  \texample.org/a\t(cached)", 1.0),
        ("  3 passing (5ms)\n  1 failing\n", 0.75),
        ("running 3 tests\n" + "test a ... ok\n" * 20 + "\ntest result: FAILED. 2 passed; 1 failed; 0 ignored", 2 / 3),
        ("3 passed in 0.1s\nFAIL: coverage", 0.0),
        # a file of tests that did not run is one that failed, as in jest's own JSON
        ("Test Suites: 1 failed, 1 passed, 2 total\nTests:       4 passed, 4 total", 0.8),
        (" Test Files  1 failed | 1 passed (2)\n      Tests  3 passed (3)\n", 0.75),
        (" Test Files  1 passed (1)\n      Tests  3 passed (3)\n     Errors  1 error\n", 0.75),
        ("Test Suites: 1 failed, 1 total\nTests:       1 failed, 3 passed, 4 total", 0.75),
        # TAP
        ("1..2\nok 1 - a\nok 2 - b", 1.0),
        ("TAP version 14\n1..4\nok 1\nnot ok 2 - b\nnot ok 3 # TODO later\nok 4 # SKIP no net", 0.5),
        ("ok 1\nnot ok 2\n1..2", 0.5),
        ("1..4\nok 1", 0.25),
        ("1..1\nok 1\nok 2", 2 / 3),
        ("1..2\nok 1\nBail out! no database", 0.0),
        ("1..1\n    ok 1 - inner\n    1..1\nnot ok 1 - outer", 0.0),
        ("1..1\nok 1 - keeps \\# TODO", 1.0),
        # shares, words, lines
        ("0/10 passed", 0.0),
        ("7/10", 0.7),
        ("Passed: 7 of 10 tests", 0.7),
        ("3/10 failed", 0.7),
        ("Score: 85%", 0.85),
        ('"0.3"', 0.3),
        ("reward: 0.1", 0.1),
        ('{"Score": 0.1}', 0.1),
        ('{"score": 1, "max_score": 10}', 0.1),
        ('{"score": 7, "total": 10}', 0.7),
        ("\x1b[31mFAIL\x1b[0m", 0.0),
        ("❌ 2 checks", 0.0),
        ("✅ PASS", 1.0),
        ("Result: failed", 0.0),
        ("passed: 3\nfailed: 7", 0.3),
        ("passed=3 failed=7", 0.3),
        ("3 passed, 7 failed", 0.3),
        ("timed out", 0.0),
        ("All 12 tests passed", 1.0),
        ('{"passed": false}', 0.0),
        ('{"success": false}', 0.0),
        ('{"passed": true, "timed_out": true}', 0.0),
        ('{"status": "failed"}', 0.0),
        ('{"passed": 3, "failed": 7}', 0.3),
        ('{"i": 1, "passed": true}\n{"i": 2, "passed": false}', 0.5),
        ('[{"outcome": "passed"}, {"outcome": "failed"}]', 0.5),
        ('{"score": 1.0, "passed": false}', 0.0),
        ('{"score": 1.0, "error": "it crashed"}', 0.0),
        ('{"num_passed": 4, "num_total": 10}', 0.4),
        ('{"n_passed": 4, "n_failed": 6}', 0.4),
        ('{"score": {"value": 0.3}}', 0.3),
        ('{"reward": {"value": 1, "max": 4}}', 0.25),
        ('{"points": 3, "max_points": 4}', 0.75),
        ('{"aggregate": {"score": 0.4}}', 0.4),
        ('{"score": false}', 0.0),
        ('{"score": true}', 1.0),
        ('{"summary": {"error": 1, "total": 1, "collected": 1}, "exitcode": 1}', 0.0),
        ("Correct: 3, Wrong: 7", 0.3),
        ('{"step": 1}\n{"step": 2, "score": 0.4}', 0.4),
        ('[1, 2]\n{"score": 0.4}', 0.4),
        ("false", 0.0),
    ],
)
def test_the_usual_spellings_are_read(text: str, score: float) -> None:
    said = read(text)
    assert said is not None
    assert said.score == pytest.approx(score)
    assert said.reason or score == 1.0 or not said.judged


@pytest.mark.parametrize(
    "text",
    [
        "null",
        "{}",
        "[]",
        '{"scores": {"speed": 1.0, "taste": 0.2}}',
        '{"metrics": {"accuracy": 1.0, "speed": 0.2}}',
        '{"error_score": 1.0}',
        '{"hallucination_score": 1.0}',
        '{"baseline_score": 1.0, "note": "crashed"}',
        "loss_score: 1.0",
        "penalty score: 1",
        "ok  \texample.org/a\t0.002s [no tests to run]",
        "?   \texample.org/a\t[no test files]",
        "5 tests, 0 failures, 5 excluded",
        "\uff11",
        "score: \uff11.0",
        '{"score": 0.2, "score": 1.0}',
        'score: {"score": 0.2, "score": 1.0}',
        '{"Score": 0.2, "score": 1.0}',
        "1_0 of 1_0",
        '{"error": "boom"}',
        '{"error": 1.0}',
        '{"score": null, "reason": "it was not run"}',
        '{"status": "ok"}',
        '{"status": "completed"}',
        '{"passed": 1}',
        '{"solved": 1, "attempts": 10}',
        '{"score": 1, "total": 10}',
        '{"failed": 0}',
        '{"exit_code": 0}',
        '{"summary": {"total": 0, "passed": 0}}',
        "collected 0 items\n\nno tests ran in 0.01s",
        "1..0 # SKIP no compiler",
        "TAP version 13\nok 1",
        "ok 1 - fine",
        "done",
        "Step 3/3",
        "Tests 10/10",
        "progress: 100%",
        "exit code: 0",
        "1.0 and more",
        "best score: Alice",
        "Score: A+",
        "[1, 1, 1]",
        '{"a": 1.0',
        "passed, but not by much",
    ],
)
def test_what_is_said_without_a_score_is_no_score_and_says_why(text: str) -> None:
    said = read(text)
    assert said is not None
    assert said.score is None
    assert said.reason


@pytest.mark.parametrize("text", ["", "\n \n", "\x1b[0m\n"])
def test_silence_is_silence(text: str) -> None:
    assert read(text) is None


SPELLED = (
    *("score", "reward", "fitness", "accuracy", "passrate", "successrate", "pass", "success", "succeed", "correct"),
    *("solved", "resolved", "passing", "passes", "ok", "total", "tests", "count", "numpassedtests"),
    *("result", "verdict", "outcome", "conclusion"),
)
NAMES = st.sampled_from(
    ["status", "error", "timeout", "metrics", "summary", "data", "exit_code", "n", "value", "failed", "errors", "loss"]
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(0, 1)
    | st.floats(0, 1)
    | st.sampled_from(["", "a", "yes", "ok", "1", "PASS"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | NAMES, inner, max_size=4),
    max_leaves=12,
)


def says_success(value: object) -> bool:
    """Whether a known spelling of success is anywhere in a value."""
    if isinstance(value, dict):
        plain = {"".join(c for c in str(name).lower() if c.isalnum()): inner for name, inner in value.items()}
        spelled = any(name.startswith(SPELLED) or name.endswith(SPELLED) for name in plain)
        return spelled or plain.get("status") == "PASS" or any(says_success(inner) for inner in value.values())
    return isinstance(value, list) and any(map(says_success, value))


@given(st.dictionaries(st.text(max_size=6) | NAMES, JSON, max_size=6))
def test_no_object_is_a_success_without_a_known_spelling_of_it(held: dict[str, object]) -> None:
    for text in (json.dumps(held), json.dumps(held, indent=2), f"log\n{json.dumps(held)}"):
        said = read(text)
        assert said is not None
        if not says_success(held) and not _results(held):
            assert said.score is None or said.score < 1.0


def _results(held: dict[str, object]) -> bool:
    """Lists of results under a name for them: [true, "PASS"] says that all passed."""
    return any(isinstance(held.get(name), list) for name in ("metrics", "summary", "data")) or any(
        _results(cast("dict[str, object]", inner)) for inner in held.values() if isinstance(inner, dict)
    )


@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from(["ok", "not ok", "1..2", "FAIL", "{", "}", "0", ":", "#"])).map(" ".join)
)
def test_nothing_that_is_printed_breaks_the_reader(text: str) -> None:
    said = read(text)
    assert said is None or said.score is None or 0 <= said.score <= 1

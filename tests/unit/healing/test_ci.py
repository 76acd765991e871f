"""In CI: which tests failed is read from JUnit, skips are counted, and a report says what was done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ratchet.cli import show_heal
from ratchet.errors import UsageError
from ratchet.healing.episode import Attempt, Budget, Episode, Flake, Task, Verdict
from ratchet.healing.judges.verdicts import counted
from ratchet.healing.junit import failed_in
from ratchet.healing.report import markdown
from ratchet.healing.solvers.faults import rival_of

JUNIT = """<?xml version="1.0"?><testsuites><testsuite name="pytest">
<testcase classname="tests.test_shop.TestTotal" name="test_sum[1-2]"><failure message="x">no</failure></testcase>
<testcase classname="tests.test_shop" name="test_none"/>
<testcase classname="tests.test_shop" name="test_cost"><error>no</error></testcase>
</testsuite></testsuites>"""


def test_the_failing_tests_of_a_junit_file_are_named_as_pytest_names_them(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_shop.py").write_text("")
    (tmp_path / "junit.xml").write_text(JUNIT)
    found = failed_in(tmp_path / "junit.xml", tmp_path)
    assert found == ("tests/test_shop.py::TestTotal::test_sum[1-2]", "tests/test_shop.py::test_cost")


def test_all_tests_are_run_where_a_failing_one_has_no_file_here(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text(JUNIT)
    assert failed_in(tmp_path / "junit.xml", tmp_path) == ()


@pytest.mark.parametrize("text", ["no xml", "<!DOCTYPE x [<!ENTITY a 'b'>]><testsuites>&a;</testsuites>"])
def test_what_is_no_junit_file_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "junit.xml").write_text(text)
    with pytest.raises(UsageError, match=r"junit\.xml"):
        failed_in(tmp_path / "junit.xml", tmp_path)


@pytest.mark.parametrize(
    ("said", "skipped"),
    [
        ("Ran 5 tests in 0.1s\n\nOK (skipped=2)\n", 2),
        ("Ran 5 tests in 0.1s\n\nFAILED (failures=1, skipped=2)\n", 2),
        ("running 5 tests\ntest result: ok. 3 passed; 0 failed; 2 ignored; 0 measured\n", 2),
        ("Tests:       1 skipped, 4 passed, 5 total\n", 1),
        ("      Tests  4 passed | 1 skipped (5)\n", 1),
        ("\u2139 tests 5\n\u2139 pass 4\n\u2139 fail 0\n\u2139 skipped 1\n", 1),
    ],
)
def test_tests_that_a_runner_left_out_are_counted(said: str, skipped: int) -> None:
    found = counted(said)
    assert found is not None
    assert (found.skipped, found.total) == (skipped, 5)


def test_a_report_holds_the_diff_between_fences_that_it_cannot_close() -> None:
    task = Task(id="t", check=("pytest", "-q"))
    last = Attempt(
        episode="e1",
        n=1,
        status="passed",
        solver="repair",
        fix="`a` became `b`",
        standing="sure",
        evidence="3 tests",
        diff="+```\n+# x",
    )
    held = Episode(
        id="e1", task=task, number=1, status="passed", budget=Budget(), attempts=(last,),
        flakes=(Flake(test="t.py::x", failed=1, runs=4),),
        first=Verdict(passed=False, score=0.0, python="3.12.1 in .venv"),
    )  # fmt: skip
    said = markdown(held)
    assert "# Healed" in said
    assert "Check: `pytest -q`, run under Python `3.12.1 in .venv`" in said
    assert "- by: `repair`" in said
    assert "**sure**: `3 tests`" in said
    evidence = "one test (write another);\n1 test failed and now passes\nrival a.py:1\n-a\n+c"
    doubtful = markdown(replace(held, attempts=(replace(last, standing="doubtful", evidence=evidence),)))
    assert "- **doubtful**: `one test (write another)`\n- grounds: `1 test failed and now passes`\n" in doubtful
    assert "# Healed, but doubtful" in doubtful
    assert "- perhaps: " in doubtful
    assert "- fix: " not in doubtful
    assert "may do so by chance: read the change" in doubtful
    assert "by chance" not in said
    assert "Take it" not in said
    for where, command in (("patch out/heal.patch", "git apply out/heal.patch"), ("branch heal/x", "git merge heal/x")):
        assert f"Take it: `{command}`" in markdown(replace(held, applied=where))
    assert "`t.py::x` failed in 1 of 4 runs" in said
    assert "\n````\n+```\n+# x\n````" in said


def test_the_last_headline_says_that_a_change_is_doubtful_and_who_made_it(capsys: pytest.CaptureFixture[str]) -> None:
    last = Attempt(
        episode="e1", n=1, status="passed", solver="repair", standing="doubtful", evidence="only 1 test can tell"
    )
    held = Episode(
        id="e1", task=Task(id="t", check=("pytest", "-q")), number=1, status="passed", budget=Budget(), solver="auto",
        attempts=(last,),
    )  # fmt: skip
    show_heal.episode(held)
    said = capsys.readouterr().out
    assert "passed, but doubtful, after 1 attempt" in said
    assert "(repair, 0.00 USD" in said
    assert "may do so by chance: read the change before you take it" in said
    assert "Is it right? ratchet run --resume e1 --apply" in said
    assert 'ratchet run --resume e1 "NAME(1, 2) should be 3"' in said
    show_heal.episode(replace(held, attempts=(replace(last, standing="sure"),)))
    said = capsys.readouterr().out
    assert "\npassed after 1 attempt" in said
    assert "Nothing in your project changed. Next: ratchet run --resume e1 --apply" in said
    long = replace(held, budget=Budget(seconds=1924.93), attempts=(replace(last, duration_s=1924.93),))
    show_heal.episode(long)
    said = capsys.readouterr().out
    assert "1924" not in said
    assert "32 min" in said


def test_a_doubtful_answer_shows_the_other_patches_that_pass(capsys: pytest.CaptureFixture[str]) -> None:
    rival = rival_of(
        "limits.py", b"def f(n, limit=5):\n    return n < limit\n", b"def f(n, limit=6):\n    return n < limit\n"
    )
    last = Attempt(
        episode="e1", n=1, status="passed", solver="repair", standing="doubtful",
        evidence=f"another patch passes;\n1 test failed and now passes\n{rival}",
    )  # fmt: skip
    held = Episode(
        id="e1", task=Task(id="t", check=("pytest", "-q")), number=1, status="passed", budget=Budget(),
        attempts=(last,), applied="patch fix.patch",
    )  # fmt: skip
    shown = ["rival limits.py:1", "-def f(n, limit=5):", "+def f(n, limit=6):"]
    show_heal.ended(held)
    said = capsys.readouterr().out
    assert [line.strip() for line in said.splitlines() if line.startswith("     ")] == shown
    assert "grounds: 1 test failed and now passes\n" in said
    assert "result: patch fix.patch\n  It passes its check, and may do so by chance" in said
    assert "\n".join(shown) in markdown(held)


def test_what_heals_nothing_says_that_nothing_was_written_and_each_reason_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reason = "repair found nothing: 1,294 small edits were tried without success"
    last = Attempt(episode="e1", n=2, status="failed", solver="repair", reason=reason, candidates=1294)
    held = Episode(
        id="e1", task=Task(id="t", check=("pytest", "-q")), number=1, status="no_progress", budget=Budget(),
        attempts=(last,), reason=f"{reason}; attempt 1 mends a part",
    )  # fmt: skip
    show_heal.episode(held)
    said = capsys.readouterr().out
    assert said.count(reason) == 1
    assert "\n  attempt 1 mends a part\n" in said
    assert "attempt 1 mends a part" in markdown(held)
    assert markdown(held).count(reason) == 1
    assert "Nothing was written: no patch, no branch" in said
    assert "Another run within the same limits would try the same small changes in vain" in said

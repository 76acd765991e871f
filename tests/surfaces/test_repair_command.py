"""`ratchet run --solver repair` and `--solver auto` remember together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ratchet import tasks
from ratchet.errors import Refused
from ratchet.sandbox.choice import Sandboxes


@pytest.fixture
def home(tmp_path: Path) -> Path:
    try:
        Sandboxes(tmp_path / "home").chosen()
    except Refused as error:
        pytest.skip(str(error))
    return tmp_path / "home"


def run(home: Path, project: Path, *given: str) -> dict[str, Any]:
    """What `ratchet run` says in the end."""
    command = (sys.executable, "-m", "ratchet", "run", "--check", "python -m pytest -q", "--solver", "repair", "--json")
    done = subprocess.run(
        [*command, *given],
        cwd=project,
        env={**os.environ, "HOME": str(home.parent), "RATCHET_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def healed(home: Path, project: Path, solver: str) -> dict[str, object]:
    """What `ratchet run` says of its first attempt."""
    said = run(home, project, "--solver", solver)
    assert said["status"] == "passed", said
    assert len(said["attempts"]) == 1
    first: dict[str, object] = said["attempts"][0]
    return first


@pytest.mark.parametrize(("first", "second"), [("repair", "auto"), ("auto", "repair")])
def test_a_failure_that_is_back_is_fixed_at_candidate_1_by_either(
    home: Path, tmp_path: Path, first: str, second: str
) -> None:
    project = tasks.task("counters").lay_out(tmp_path / "project")
    before = healed(home, project, first)
    again = healed(home, project, second)
    assert again["candidates"] == 1 < int(str(before["candidates"]))
    assert again["alternatives"] == 0 < int(str(before["alternatives"]))
    assert again["fix"] == before["fix"]


def test_strict_refuses_an_answer_for_which_one_test_speaks_and_takes_it_with_a_donor(
    home: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "money.py").write_text("def cents(euros):\n    return euros * 10\n")
    (project / "test_money.py").write_text("from money import cents\n\n\ndef test_it():\n    assert cents(2) == 200\n")
    refused = run(home, project, "--strict", "--attempts", "1")
    assert refused["status"] != "passed"
    (first,) = refused["attempts"]
    assert (first["status"], first["standing"]) == ("refused", "doubtful")
    assert "only 1 test, call or example can tell" in first["reason"]
    donor = tmp_path / "theirs.py"
    donor.write_text("def cents(amount):\n    return amount * 100\n")
    (sure,) = run(home, project, "--strict", "--donor", str(donor))["attempts"]
    assert (sure["status"], sure["standing"]) == ("passed", "sure")


def test_what_is_doubtful_is_applied_only_after_a_look_or_where_that_is_asked_for(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    program, wrong = project / "money.py", "def cents(euros):\n    return euros * 10\n"
    program.write_text(wrong)
    (project / "test_money.py").write_text("from money import cents\n\n\ndef test_it():\n    assert cents(2) == 200\n")
    shown = run(home, project, "--apply")
    assert (shown["status"], shown["applied"], shown["attempts"][-1]["standing"]) == ("passed", "", "doubtful")
    assert "not applied" in shown["reason"]
    assert program.read_text() == wrong
    taken = run(home, project, "--resume", shown["id"], "--apply")
    assert (taken["applied"], taken["reason"]) == ("apply", "")
    assert program.read_text() != wrong
    program.write_text(wrong)
    assert run(home, project, "--apply", "--doubtful")["applied"] == "apply"
    assert "--doubtful goes with --apply" in run(home, project, "--doubtful")["reason"]


def test_a_job_leaves_a_patch_and_a_report_for_the_tests_that_its_junit_file_names(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "money.py").write_text("def cents(euros):\n    return euros - 100\n")
    (project / "test_money.py").write_text("from money import cents\n\n\ndef test_it():\n    assert cents(2) == 200\n")
    junit = tmp_path / "junit.xml"
    junit.write_text('<testsuites><testcase classname="test_money" name="test_it"><failure/></testcase></testsuites>')
    said = run(home, project, "--ci", "--junit", str(junit))
    assert said["status"] == "passed", said
    assert said["check"][-1] == "test_money.py::test_it"
    assert "+    return euros * 100" in (project / "ratchet-heal" / "heal.patch").read_text()
    assert "# Healed" in (project / "ratchet-heal" / "report.md").read_text()


def test_the_same_mistake_elsewhere_is_proposed_with_what_the_tests_say_and_nothing_of_it_is_written(
    home: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    ends = "def last(items):\n    return items[len(items)]\n\n\ndef past(rows):\n    return rows[len(rows)]\n"
    (project / "ends.py").write_text(ends)
    (project / "other.py").write_text("class Rows:\n    def last(self, held):\n        return held[len(held)]\n")
    test = "from ends import last, past\nimport pytest\n\n\ndef test_it():\n    assert last([1, 2, 3]) == 3\n"
    also = "\n\ndef test_past():\n    with pytest.raises(IndexError):\n        past([1])\n"
    (project / "test_ends.py").write_text(test + also)
    said = run(home, project, "--check", "python -m pytest -q test_ends.py::test_it", "--siblings")
    assert said["status"] == "passed"
    one, two = said["siblings"]
    assert (one["path"], one["line"], one["function"]) == ("ends.py", 6, "past")
    assert one["broken"] == "a test beside the check passed before and not with it: test_ends.py::test_past"
    assert (two["path"], two["function"], two["broken"], two["kept"]) == ("other.py", "Rows.last", "", 2)
    assert "+        return held[" in two["diff"]
    assert (project / "ends.py").read_text() == ends


def test_a_donor_that_is_no_python_file_is_said_before_anything_runs(home: Path, tmp_path: Path) -> None:
    said = run(home, tmp_path, "--donor", str(tmp_path / "nowhere.py"))
    assert "no Python file can be read there" in str(said["reason"])


def test_what_mends_one_of_two_unrelated_failures_is_found_and_named(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "shop.py").write_text(
        "import os\n\n\ndef total(prices):\n    return sum(prices) + 1\n\n\n"
        "def place():\n    return os.environ['SHOP_PLACE_OF_THE_PERSON']\n"
    )
    (project / "test_shop.py").write_text(
        "from shop import place, total\n\n\n"
        "def test_place():\n    assert place() == open('/the/place/of/the/person').read()\n\n\n"
        "def test_total():\n    assert total([2, 3]) == 5\n    assert total([]) == 0\n    assert total([1.5]) == 1.5\n"
    )
    said = run(home, project, "--budget-s", "400", "--candidates", "120")
    assert said["status"] == "no_progress"
    first = said["attempts"][0]
    assert first["status"] == "failed"
    assert "in `total` at shop.py:5" in first["cause"]
    assert "it mends 1: test_shop.py::test_total" in first["reason"]
    assert "attempt 1 mends 1 of 2 failing tests" in said["reason"]
    assert f"ratchet episodes diff {said['id']} --attempt 1" in said["reason"]

"""The heal loop: reproduce, recall, attempt, judge, distill; and every way to stop."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ratchet.errors import Conflict, ModelError, NotFound, Refused
from ratchet.healing import rows as episodes
from ratchet.healing.book import HealMeans, HealRequest
from ratchet.healing.episode import Standing, Verdict
from ratchet.healing.job import Solved, SolveJob
from ratchet.healing.landing.destination import Landing
from ratchet.healing.solvers.prompting import Material, prompt
from ratchet.healing.solvers.singly import solved
from ratchet.lessons import lessons
from ratchet.runtime import Runtime
from ratchet.sandbox import copyin
from ratchet.sandbox.command import Command
from ratchet.store.timeline import events
from support.healing import CHECK, RIGHT, WRONG, Bench, needs_sandbox

WORSE = WRONG.replace("a - b", "0")
OTHER = WRONG.replace("a - b", "a * b")


def test_red_red_green_and_nothing_in_the_project_changed(bench: Bench) -> None:
    ended = bench.heal({"calc.py": WORSE}, {"calc.py": OTHER}, {"calc.py": RIGHT})
    assert ended.status == "passed"
    assert [each.status for each in ended.attempts] == ["failed", "failed", "passed"]
    assert ended.attempts[0].kind
    assert ended.attempts[2].signature == ""
    assert "+    return a + b" in ended.diff
    assert bench.files() == {"calc.py": WRONG.encode()}
    assert [each.what for each in bench.moments] == [
        *("started", "reproduced", "attempting", "attempted", "attempting", "attempted", "attempting", "attempted"),
        "ended",
    ]


def test_a_check_that_passes_says_so_and_nobody_is_asked(bench: Bench) -> None:
    (bench.project / "calc.py").write_text(RIGHT)
    ended = bench.heal({"calc.py": WRONG})
    assert ended.status == "already_passing"
    assert bench.solver.jobs == []


def test_a_solver_is_told_the_failure_and_what_was_tried(bench: Bench) -> None:
    bench.heal({"calc.py": WORSE}, {"calc.py": RIGHT}, instruction="adding is broken")
    first, second = bench.solver.jobs
    assert "AssertionError: -1" in first.failure.output
    assert first.failure.signature
    assert first.task.instruction == "adding is broken"
    assert first.tried == ()
    assert second.tried[0].diff.count("+    return 0") == 1
    assert second.tried[0].reason


def test_an_attempt_that_nobody_answered_is_not_told_as_a_try(bench: Bench) -> None:
    def unreachable(job: SolveJob) -> Solved:
        raise ModelError("nobody listens there", retryable=True)

    bench.heal(unreachable, {"calc.py": WORSE}, {"calc.py": RIGHT})
    second, third = bench.solver.jobs[1:]
    assert [each.answered for each in third.tried] == [False, True]
    assert "What was tried" not in prompt(Material(job=second, files=(), room=24_000))
    told = prompt(Material(job=third, files=(), room=24_000))
    assert "## Attempt 2" in told
    assert "nobody listens" not in told


def test_what_passed_is_remembered_and_handed_back_for_the_same_failure_elsewhere(bench: Bench) -> None:
    healed = bench.heal({"calc.py": RIGHT})
    (lesson,) = (lessons.show(bench.store, each) for each in healed.learnt)
    assert (lesson.state, lesson.tried, lesson.worked) == ("candidate", 1, 1)
    assert "+    return a + b" in lesson.example
    assert lesson.signature == healed.first.signature  # type: ignore[union-attr]
    again = bench.heal({"calc.py": RIGHT}, instruction="the same trouble in another task")
    (job,) = bench.solver.jobs
    assert [each.id for each in job.lessons] == [lesson.id]
    assert [each.note for each in job.memos] == [{"files": ["calc.py"]}]
    assert job.memos[0].signature == job.failure.signature
    assert [each.id for each in again.lessons] == [lesson.id]
    held = lessons.show(bench.store, lesson.id)
    assert (held.state, held.tried) == ("candidate", 1), "it is the same bug, whatever is asked for"
    bench.project = bench.project.with_name("elsewhere")
    bench.project.mkdir()
    (bench.project / "calc.py").write_text(WRONG)
    assert bench.heal({"calc.py": RIGHT}).learnt == (lesson.id,)
    held = lessons.show(bench.store, lesson.id)
    assert again.attempts[-1].standing == "doubtful"
    assert (held.state, held.tried) == ("candidate", 1), "a change in doubt proves nothing, in any project"


def test_a_patch_of_any_solver_is_weighed_and_the_next_one_is_told_what_it_changed(bench: Bench) -> None:
    program = "def one(n):\n    return n - 1\n\n\ndef two(n):\n    return n - 2\n"
    tests = (
        "from calc import one, two\n\n\ndef test_one():\n    assert one(1) == 2\n\n\n"
        "def test_two():\n    assert two(1) == 3\n"
    )
    (bench.project / "calc.py").write_text(program)
    (bench.project / "test_calc.py").write_text(tests)
    half = program.replace("n - 1", "n + 1")
    ended = bench.heal(
        {"calc.py": half}, {"calc.py": half.replace("n - 2", "n + 2")}, check=("python", "-m", "pytest", "-q")
    )
    assert ended.status == "passed"
    assert "it mends 1: test_calc.py::test_one" in ended.attempts[0].reason
    assert ended.attempts[1].standing == "doubtful"
    assert "other forms of these lines pass as well (write a test" in ended.attempts[1].evidence


def test_unrelated_lessons_are_not_handed_out(bench: Bench) -> None:
    lessons.add(bench.store, when="fatal: refusing to merge unrelated histories", do="Say --allow.", state="active")
    bench.heal({"calc.py": RIGHT})
    assert bench.solver.jobs[0].lessons == ()


def test_a_task_that_failed_leaves_what_was_tried_in_vain(bench: Bench) -> None:
    ended = bench.heal({"calc.py": WORSE}, {"calc.py": OTHER}, attempts=2)
    assert (ended.status, len(ended.attempts)) == ("failed", 2)
    (lesson,) = (lessons.show(bench.store, each) for each in ended.learnt)
    assert "without success" in lesson.text
    assert lesson.worked == 0


def test_attempts_are_never_more_than_asked(bench: Bench) -> None:
    scripts = [{"calc.py": WRONG.replace("a - b", f"{n}0")} for n in range(9)]
    ended = bench.heal(*scripts, attempts=4)
    assert (ended.status, len(bench.solver.jobs)) == ("failed", 4)


def test_the_breaker_opens_when_only_a_process_number_differs(bench: Bench) -> None:
    check = ("python", "-c", "import os; raise RuntimeError('worker %d lost its shard' % os.getpid())")
    ended = bench.heal({}, check=check, attempts=9)
    assert (ended.status, len(ended.attempts)) == ("breaker", 3)


def test_a_solver_with_nothing_more_to_try_ends_it(bench: Bench) -> None:
    ended = bench.heal(lambda _job: Solved(status="gave_up", reason="no idea left", candidates=7))
    assert (ended.status, ended.reason, ended.candidates) == ("no_progress", "no idea left", 7)


def test_a_solver_that_cannot_work_on_it_refuses(bench: Bench) -> None:
    ended = bench.heal(lambda _job: Solved(status="refused", reason="no Python here: use --solver model"))
    assert (ended.status, ended.reason) == ("refused", "no Python here: use --solver model")


def test_a_solver_that_breaks_costs_the_attempt_only(bench: Bench) -> None:
    def breaks(_job: SolveJob) -> Solved:
        raise ZeroDivisionError("oops")

    ended = bench.heal(breaks, {"calc.py": RIGHT})
    assert ended.status == "passed"
    assert "ZeroDivisionError" in ended.attempts[0].reason


def test_money_is_never_exceeded_by_one_call(bench: Bench) -> None:
    paid: list[float] = []

    def pays(job: SolveJob) -> Solved:
        reservation = job.purse.reserve(0.4)
        job.purse.settle(reservation, 0.4, tokens=100)
        paid.append(0.4)
        job.workspace.write("calc.py", WRONG.replace("a - b", f"{len(paid)}0").encode())
        return Solved(status="proposed")

    ended = bench.heal(pays, usd=1.0, attempts=9)
    assert (ended.status, len(paid)) == ("budget", 2)
    assert ended.cost_usd == pytest.approx(0.8)
    assert ended.attempts[0].tokens == 100


def test_a_check_that_loops_for_ever_ends_with_the_budget(bench: Bench) -> None:
    began = time.monotonic()
    ended = bench.heal({"calc.py": RIGHT}, check=("python", "-c", "while True: pass"), seconds=4)
    assert ended.status == "budget"
    assert time.monotonic() - began < 34


def test_a_program_that_loops_for_ever_leaves_enough_of_a_short_budget_to_mend_it_in(bench: Bench) -> None:
    (bench.project / "calc.py").write_text("def add(a, b):\n    while True:\n        pass\n")
    ended = bench.heal({"calc.py": RIGHT}, seconds=20)
    assert ended.status == "passed"
    assert ended.first is not None
    assert ended.first.killed == "wall"


def test_a_change_that_loops_for_ever_is_a_failed_attempt(bench: Bench) -> None:
    ended = bench.heal({"calc.py": "while True: pass\n"}, {"calc.py": RIGHT}, check_s=4)
    assert [each.status for each in ended.attempts] == ["failed", "passed"]
    assert ended.attempts[0].kind == "timeout"


def test_cancel_ends_in_order_and_resume_makes_the_attempt_again(bench: Bench) -> None:
    stop = False

    def cancels(_job: SolveJob) -> Solved:
        nonlocal stop
        stop = True
        return Solved(status="gave_up", reason="cancelled")

    ended = bench.heal({"calc.py": WORSE}, cancels, cancelled=lambda: stop)
    assert ended.status == "cancelled"
    assert f"--resume {ended.id}`" in ended.reason
    bench.solver.script = [{"calc.py": RIGHT}]
    again = bench.book.resume(ended.id, bench.means())
    assert again.status == "passed"
    assert [each.status for each in again.attempts] == ["failed", "cancelled", "passed"]


def test_changes_of_tests_are_refused_with_the_reason_and_it_goes_on(bench: Bench) -> None:
    (bench.project / "test_calc.py").write_text("assert False\n")
    ended = bench.heal({"test_calc.py": "", "calc.py": RIGHT}, {"calc.py": RIGHT})
    assert [each.status for each in ended.attempts] == ["refused", "passed"]
    assert "test_calc.py: it is a test" in ended.attempts[0].reason


class Unmoved:
    """A judge that says no, whatever it is shown."""

    name = "unmoved"

    def judge(self, *_: object, **__: object) -> Verdict:
        return Verdict(passed=False, score=0.0, reason="not good enough")


def test_a_judge_that_says_the_same_of_every_patch_ends_the_search(bench: Bench) -> None:
    code = "def f(a):\n    if a > 1 and a > 1 and a > 1:\n        return a - 1\n    return 0\n"
    (bench.project / "calc.py").write_text(code)
    (bench.project / "test_calc.py").write_text("from calc import f\n\n\ndef test_f():\n    assert f(2) == 2\n")
    asked = HealRequest(check=("python", "-m", "pytest", "-q"), folder=bench.project, solver="repair")
    ended = bench.book.run(asked, HealMeans(judge=Unmoved()))
    assert ended.status == "no_progress"
    assert "(not good enough); the judge says the same of each as of the untouched project" in ended.reason
    assert ended.attempts[0].candidates < asked.budget.candidates


def test_protected_files_are_refused(bench: Bench) -> None:
    ended = bench.heal({"calc.py": RIGHT}, protected=("calc.*",), attempts=1)
    assert (ended.status, ended.attempts[0].status) == ("failed", "refused")
    assert "--protect" in ended.attempts[0].reason
    assert ended.learnt == (), "what was refused was never tried"


def test_a_held_check_decides_and_its_output_stays_held(bench: Bench) -> None:
    special = "def add(a, b):\n    return 3\n"
    held = ("python", "-c", "import sys; sys.path.insert(0, '.'); import calc; assert calc.add(5, 5) == 10, 'SECRET'")
    ended = bench.heal({"calc.py": special}, {"calc.py": RIGHT}, held_check=held)
    assert [each.status for each in ended.attempts] == ["failed", "passed"]
    assert "held-back" in ended.attempts[0].reason
    assert "SECRET" not in str(bench.solver.jobs[1])


def test_an_exit_of_zero_at_import_is_refused(bench: Bench) -> None:
    ended = bench.heal({"calc.py": "import os\nos._exit(0)\n"}, attempts=1)
    assert (ended.status, ended.attempts[0].status) == ("failed", "refused")


def test_what_tools_leave_behind_is_no_part_of_the_answer(bench: Bench) -> None:
    def works_messily(job: SolveJob) -> Solved:
        script = (
            "mkdir -p __pycache__ .pytest_cache && echo x > __pycache__/calc.cpython-311.pyc && echo > .pytest_cache/v"
        )
        job.sandbox.run(Command(argv=("sh", "-c", script), view=job.workspace.view()))
        job.workspace.write("calc.py", RIGHT.encode())
        return Solved(status="proposed")

    ended = bench.heal(works_messily)
    assert ended.status == "passed"
    assert ended.diff.count("diff --git") == 1


def test_files_that_a_solver_removes_are_removed_in_the_result(bench: Bench) -> None:
    (bench.project / "shadow.py").write_text("x = 1\n")
    check = ("python", "-c", "import os, sys; sys.exit('still there' if os.path.exists('shadow.py') else 0)")

    def removes(job: SolveJob) -> Solved:
        job.sandbox.run(Command(argv=("rm", "shadow.py"), view=job.workspace.view()))
        return Solved(status="proposed")

    ended = bench.heal(removes, check=check, landing=Landing(to="apply"))
    assert ended.status == "passed"
    assert not (bench.project / "shadow.py").exists()


def test_the_next_attempt_starts_from_the_best_one_so_far(bench: Bench) -> None:
    (bench.project / "calc.py").write_text("def one():\n    return 0\n\n\ndef two():\n    return 0\n")
    (bench.project / "test_calc.py").write_text(
        "import calc\n\ndef test_one():\n    assert calc.one() == 1\n\ndef test_two():\n    assert calc.two() == 2\n"
    )

    def mends(old: str, new: str):  # type: ignore[no-untyped-def]
        def play(job: SolveJob) -> Solved:
            text = job.workspace.read("calc.py").decode()
            job.workspace.write("calc.py", text.replace(old, new).encode())
            return Solved(status="proposed")

        return play

    one, two = "def one():\n    return ", "def two():\n    return "
    ended = bench.heal(mends(one + "0", one + "1"), mends(two + "0", two + "2"), check=("pytest", "-q"))
    assert ended.status == "passed"
    assert [each.base for each in ended.attempts] == [0, 1]
    assert ended.attempts[0].score == pytest.approx(0.5)


THREE = "".join(f"def f{n}():\n    return 0\n\n\n" for n in (1, 2, 3))
TESTS = "import calc\n\n" + "".join(f"def test_{n}():\n    assert calc.f{n}() == {n}\n\n" for n in (1, 2, 3))


def _mended(job: SolveJob, n: int) -> Solved:
    text = job.workspace.read("calc.py").decode()
    job.workspace.write("calc.py", text.replace(f"f{n}():\n    return 0", f"f{n}():\n    return {n}").encode())
    return Solved(status="proposed", standing="sure")


def test_what_fails_for_different_reasons_is_tried_one_by_one_and_the_part_that_holds_can_be_taken(
    bench: Bench,
) -> None:
    (bench.project / "calc.py").write_text(THREE)
    (bench.project / "test_calc.py").write_text(TESTS)
    asked: list[tuple[bool, tuple[str, ...]]] = []

    def solve(job: SolveJob, jointly: bool) -> Solved:
        assert job.failure.tests is not None
        asked.append((jointly, tuple(each.partition("::")[2] for each in job.failure.tests.failed_ids)))
        return _mended(job, 3) if asked[-1][1] == ("test_3",) else Solved(status="gave_up", reason="nothing fits")

    ended = bench.heal(*[lambda job: solved(job, solve)] * 2, check=("pytest", "-q"))
    assert asked == [
        (True, ("test_1", "test_2", "test_3")), (False, ("test_1",)), (False, ("test_2",)), (False, ("test_3",))
    ]  # fmt: skip
    assert [each.status for each in ended.attempts] == ["failed", "gave_up"]
    assert [each.status for each in ended.attempts] == ["failed", "gave_up"]
    assert ended.attempts[1].reason == "nothing more was tried: attempt 1 found no change for the tests that still fail"
    take = f"ratchet episodes diff {ended.id} --attempt 1 | git -C {bench.project} apply -p1"
    part = "attempt 1 mends 1 of 3 failing tests (sure): test_calc.py::test_3"
    assert ended.reason.endswith(f"{part}; to take that part: {take}")


def test_what_mends_each_test_is_told_once_and_remembered_as_one(bench: Bench) -> None:
    (bench.project / "calc.py").write_text(THREE)
    (bench.project / "test_calc.py").write_text(TESTS)

    def solve(job: SolveJob, jointly: bool) -> Solved:
        assert job.failure.tests is not None
        if jointly:
            return Solved(status="gave_up")
        n = int(job.failure.tests.failed_ids[0][-1])
        doubt = "" if n == 3 else "few tests can tell;\n"
        standing: Standing = "doubtful" if doubt else "sure"
        said = f"{doubt}1 test failed and now passes"
        return replace(_mended(job, n), standing=standing, evidence=said, memo={"marks": [{"text": n}]})

    ended = bench.heal(lambda job: solved(job, solve), check=("pytest", "-q"))
    one, two, three = (f"test_calc.py::test_{n}" for n in (1, 2, 3))
    assert ended.attempts[0].grounds.split("\n") == [
        f"{one}, {two}: few tests can tell;",
        f"{one}, {two}, {three}: 1 test failed and now passes",
    ]
    [row] = bench.store.find("attempts", {"episode": ended.id}).rows
    assert row["memo"] == {"marks": [{"text": 1}, {"text": 2}, {"text": 3}], "alone": []}


def test_only_a_test_that_was_not_reached_is_tried_by_the_next_attempt(bench: Bench) -> None:
    (bench.project / "calc.py").write_text(THREE)
    (bench.project / "test_calc.py").write_text(TESTS)
    asked: list[tuple[str, ...]] = []

    def first(job: SolveJob) -> Solved:
        return replace(_mended(job, 1), memo={"alone": ["test_calc.py::test_2"]})

    def solve(job: SolveJob, jointly: bool) -> Solved:
        assert job.failure.tests is not None
        assert not jointly
        asked.append(job.failure.tests.failed_ids)
        return _mended(job, 3)

    ended = bench.heal(first, *[lambda job: solved(job, solve)] * 2, check=("pytest", "-q"))
    assert asked == [("test_calc.py::test_3",)]
    assert [each.status for each in ended.attempts] == ["failed", "failed", "gave_up"]


def test_apply_keeps_what_was_edited_meanwhile_and_refuses_the_same_lines(bench: Bench) -> None:
    def edited_meanwhile(job: SolveJob) -> Solved:
        (bench.project / "calc.py").write_text(WRONG + "\n\nMINE = 1\n")
        job.workspace.write("calc.py", RIGHT.encode())
        return Solved(status="proposed")

    ended = bench.heal(edited_meanwhile, landing=Landing(to="apply", doubtful=True))
    assert (ended.status, ended.applied) == ("passed", "apply")
    assert (bench.project / "calc.py").read_text() == RIGHT + "\n\nMINE = 1\n"
    (bench.project / "calc.py").write_text(WRONG.replace("a - b", "mine(a, b)"))
    with pytest.raises(Conflict):
        bench.book.resume(ended.id, landing=Landing(to="apply"))
    assert "mine(a, b)" in (bench.project / "calc.py").read_text()


def test_rewind_drops_what_came_later_and_goes_on_from_there(bench: Bench) -> None:
    ended = bench.heal({"calc.py": WORSE}, {"calc.py": OTHER}, attempts=2)
    back = bench.book.rewind(ended.id, to=1)
    assert (back.status, [each.n for each in back.attempts]) == ("running", [1])
    seen: list[str] = []

    def looks(job: SolveJob) -> Solved:
        seen.append(job.workspace.read("calc.py").decode())
        job.workspace.write("calc.py", RIGHT.encode())
        return Solved(status="proposed")

    bench.solver.script = [looks]
    again = bench.book.resume(ended.id, bench.means())
    assert again.status == "passed"
    assert seen == [WORSE]
    assert [each.n for each in again.attempts] == [1, 3]
    dropped = episodes.attempts(bench.store, ended.id, dropped=True)
    assert [each.status for each in dropped] == ["failed", "dropped", "passed"]


def test_an_episode_that_ended_is_not_resumed_and_an_unknown_one_not_found(bench: Bench) -> None:
    ended = bench.heal({"calc.py": WORSE}, attempts=1)
    with pytest.raises(Refused, match="rewind"):
        bench.book.resume(ended.id)
    with pytest.raises(NotFound):
        bench.book.show("none")
    with pytest.raises(NotFound):
        bench.book.diff(ended.id)
    assert "+    return 0" in bench.book.diff(ended.id, attempt=1)


def test_everything_is_an_event_as_it_happens(bench: Bench) -> None:
    ended = bench.heal({"calc.py": WORSE}, {"calc.py": RIGHT}, landing=Landing(to="apply", doubtful=True))
    verbs = [row["verb"] for row in events(bench.store, ended.id)]
    assert verbs == ["started", "copied", "reproduced", "ended", "landed"]
    assert [row["verb"] for row in events(bench.store, f"{ended.id}/2")] == ["started", "passed"]


def test_the_same_task_again_is_the_next_episode_of_it(bench: Bench) -> None:
    first, second = bench.heal({"calc.py": WORSE}, attempts=1), bench.heal({"calc.py": WORSE}, attempts=1)
    assert first.task.id == second.task.id
    assert (first.number, second.number) == (1, 2)
    assert [each.id for each in bench.book.list(folder=bench.project)] == [second.id, first.id]


def test_secrets_in_the_output_of_a_check_are_not_stored(bench: Bench) -> None:
    key = "sk-ant-api03-" + "a1B2" * 20
    check = ("python", "-c", f"raise RuntimeError('bad key {key}')")
    ended = bench.heal({}, check=check, attempts=1)
    row = bench.store.get("episodes", ended.id)
    assert key not in str({name: value for name, value in (row or {}).items() if name != "work"})
    assert check != CHECK


def test_a_file_may_take_the_place_of_a_folder_and_a_link_is_refused(bench: Bench) -> None:
    (bench.project / "calc.py").unlink()
    (bench.project / "calc").mkdir()
    (bench.project / "calc" / "__init__.py").write_text(WRONG)

    def links(job: SolveJob) -> Solved:
        job.sandbox.run(Command(argv=("ln", "-s", "/etc/passwd", "x"), view=job.workspace.view()))
        return Solved(status="proposed")

    def restructures(job: SolveJob) -> Solved:
        job.sandbox.run(Command(argv=("sh", "-c", "rm -r calc && echo > calc"), view=job.workspace.view()))
        job.workspace.write("calc.py", RIGHT.encode())
        return Solved(status="proposed")

    ended = bench.heal(links, restructures)
    assert [each.status for each in ended.attempts] == ["refused", "passed"]
    assert "links" in ended.attempts[0].reason
    # A file of the project is never put where a person's folder is.
    with pytest.raises(Refused, match="not a plain file"):
        bench.book.resume(ended.id, landing=Landing(to="apply"))
    assert (bench.project / "calc" / "__init__.py").exists()


def test_workspaces_that_nobody_came_back_to_are_cleared_away(bench: Bench) -> None:
    ended = bench.heal({"calc.py": WORSE}, attempts=1)
    place = bench.home / "workspaces" / ended.id
    assert place.is_dir()
    os.utime(place, (0, 0))
    bench.heal({"calc.py": RIGHT})
    assert not place.exists()
    bench.book.rewind(ended.id, to=0)
    bench.solver.script = [{"calc.py": RIGHT}]
    assert bench.book.resume(ended.id, bench.means()).status == "passed"


def test_a_folder_that_is_no_project_is_refused_for_good_and_leaves_nothing_on_the_disk(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copyin, "_MOST_FILES", 0)
    with pytest.raises(Refused, match="too large"):
        bench.heal({"calc.py": RIGHT})
    (held,) = episodes.listed(bench.store)
    assert (held.status, held.ended_at > 0) == ("refused", True)
    assert "too large" in held.reason
    assert not list((bench.home / "workspaces").iterdir())


def test_a_home_within_the_project_is_not_worked_on(tmp_path: Path) -> None:
    needs_sandbox(tmp_path)
    bench = Bench(tmp_path)
    bench.runtime.close()
    with Runtime.open(home=bench.project / "kept") as bench.runtime:
        ended = bench.heal({"calc.py": RIGHT}, check=("python", "-c", "import os; assert not os.path.exists('kept')"))
    assert ended.status == "already_passing"

"""`ratchet.heal`: every kind of patch, every form of function, every way to land; and nothing that costs a caller its
own exception."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import ratchet
from ratchet.healing.job import Solved, SolveJob
from support import incode_files, incode_matrix
from support.incode_matrix import FORMS, LINE, MEAN, PATCHES, RIGHT, SCRIPT, Case, loaded, row, seen

IN_PAGE = incode_matrix.PAGE.read_text(encoding="utf-8").splitlines()
ANEW = "write the page anew: PYTHONPATH=tests python -m loops.incode_matrix"
FILED = MEAN.replace("value == 0.0)", 'value == 0.0, mode="{}")')


@pytest.mark.parametrize("case", [*PATCHES, *FORMS], ids=lambda case: case.what)
def test_a_patch_that_holds_heals_and_any_other_leaves_the_caller_its_exception(case: Case, tmp_path: Path) -> None:
    found = seen(tmp_path / "case", case)
    if case.why:
        assert found.raised is not None
        assert len(found.told) == 1
        assert case.why in found.told[0]
    else:
        assert found.raised is None
        assert found.value == case.value
        assert found.told == []
    assert row(case, found) in IN_PAGE, ANEW


@pytest.mark.parametrize(
    ("what", "scene", "wanted"), incode_files.SCENES, ids=[what for what, _, _ in incode_files.SCENES]
)
def test_a_file_that_others_write_to_keeps_what_they_wrote(
    what: str, scene: Callable[[Path], str], wanted: str, tmp_path: Path
) -> None:
    assert scene(tmp_path / "case") == wanted
    assert incode_files.row(what, wanted) in IN_PAGE, ANEW


def test_the_page_has_no_row_that_no_test_produces() -> None:
    start, end = IN_PAGE.index(incode_matrix.BEGIN), IN_PAGE.index(incode_matrix.END)
    rows = [line for line in IN_PAGE[start:end] if line.startswith("| ")]
    heads = 3
    assert len(rows) - heads == len(PATCHES) + len(FORMS) + len(incode_files.SCENES)


# -- landing -----------------------------------------------------------------------------------------------------------


def test_an_applied_patch_keeps_comments_docstring_and_windows_line_ends(tmp_path: Path) -> None:
    bare = "return sum(values) / len(values) if values else 0.0"
    rewritten = 'def mean(values, token="sk-0123456789abcdef"):\n    ' + bare
    old = FILED.format("apply")
    function = old[old.index("def mean") : old.index("\n\n\ndef other")]
    case = Case(what="", module=old, old=function, new=rewritten)
    folder = tmp_path / "case"
    with loaded(folder, case) as module:
        file = folder / "subject.py"
        content = b"\xef\xbb\xbf" + old.replace("\n", "\r\n").encode()
        file.write_bytes(content)
        module.solver_of_script()._answers[0] = (
            "subject.py",
            "",
            content.decode("utf-8-sig").replace("\r\n", "\n").replace(function, rewritten),
        )
        assert module.mean([]) == 0.0
        wanted = content.replace(f"{LINE}  # the mean".encode(), f"{bare}  # the mean".encode())
        assert file.read_bytes() == wanted
        assert module.mean.__doc__ == "The mean; 0.0 of nothing."


def test_a_patch_for_people_applies_with_git_and_changes_nothing_that_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "case"
    with loaded(folder, Case(what="", module=FILED.format("patch"))) as module:
        with pytest.raises(ZeroDivisionError):
            module.mean([])
        with pytest.raises(ZeroDivisionError):
            module.mean([])
        assert (folder / "subject.py").read_text() == FILED.format("patch")
    (patch,) = (folder / ".ratchet" / "patches").iterdir()
    assert str(patch) in caplog.text
    subprocess.run(["git", "apply", "-p1", str(patch)], cwd=folder, check=True)
    assert (folder / "subject.py").read_text() == FILED.format("patch").replace(LINE, RIGHT)


def test_healing_in_memory_keeps_the_state_of_the_module(tmp_path: Path) -> None:
    with loaded(tmp_path / "case", Case(what="")) as module:
        state = vars(module)
        state["kept"] = kept = object()
        before = module.other
        assert module.mean([]) == 0.0
        assert (module.other, state["kept"]) == (before, kept)
        assert module.mean([1, 2]) == 1.5
        assert (tmp_path / "case" / "subject.py").read_text() == MEAN


# -- once, and within its budget ---------------------------------------------------------------------------------------


def test_a_failure_that_cannot_be_healed_is_asked_about_and_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with loaded(tmp_path / "case", Case(what="", new=f"{LINE} if values else -1.0")) as module:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                module.mean([])
        assert len(module.solver_of_script().jobs) == 2  # its one answer, and that it has no more
    assert caplog.text.count("is not healed") == 1


def test_a_failure_that_was_healed_and_comes_again_is_raised(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    module_text = MEAN.replace("lambda value: value == 0.0", "lambda value: True")
    case = Case(what="", module=module_text, new="return sum(values) / len(values) if values != [] else 0.0")
    with loaded(tmp_path / "case", case) as module:
        assert module.mean([]) == 0.0
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                module.mean(())
        assert len(module.solver_of_script().jobs) == 1
    assert caplog.text.count("it fails as it did before it was healed") == 1


def test_a_healed_function_is_mended_once_more_when_it_fails_in_another_way(tmp_path: Path) -> None:
    module_text = MEAN.replace("lambda value: value == 0.0", "lambda value: value in (0.0, 3.0)")
    with loaded(tmp_path / "case", Case(what="", module=module_text)) as module:
        module.solver_of_script()._answers.append(("subject.py", "sum(values)", "sum(map(int, values))"))
        assert module.mean([]) == 0.0
        assert module.mean(["3"]) == 3.0
        assert module.mean([]) == 0.0


def test_another_process_does_not_pay_again_for_what_is_known(tmp_path: Path) -> None:
    folder = tmp_path / "case"
    home = str(tmp_path / "home")
    (folder).mkdir()
    (folder / "script.py").write_text(SCRIPT.format(answers=[("subject.py", LINE, RIGHT)], home=home))
    (folder / "subject.py").write_text(MEAN)
    call = "import script, subject; print(subject.mean([]), len(script.solver.jobs))"
    said = [_run(call, folder).stdout for _ in range(2)]
    assert said == ["0.0 1\n", "0.0 0\n"]


def test_another_process_does_not_pay_again_for_what_was_tried_in_vain(tmp_path: Path) -> None:
    folder = tmp_path / "case"
    home = str(tmp_path / "home")
    folder.mkdir()
    answers = [("subject.py", LINE, f"{LINE} if values else -1.0")]
    (folder / "script.py").write_text(SCRIPT.format(answers=answers, home=home))
    (folder / "subject.py").write_text(MEAN)
    call = "import script, subject\ntry: subject.mean([])\nexcept ZeroDivisionError: print(len(script.solver.jobs))"
    first, second = (_run(call, folder) for _ in range(2))
    assert (first.stdout, second.stdout) == ("2\n", "0\n")
    assert "it was tried before, in vain" in second.stderr


def test_attempts_and_money_are_bounded(tmp_path: Path, home: Path) -> None:
    for options, jobs in (({"attempts": 2}, 2), ({"budget_usd": 0.25}, 3)):
        wrong = [("subject.py", LINE, f"{LINE} if values else -{n}.0") for n in range(1, 9)]
        module_text = MEAN.replace("value == 0.0)", f"value == 0.0, **{options!r})")
        with loaded(tmp_path / f"case{jobs}", Case(what="", module=module_text)) as module:
            solver = module.solver_of_script()
            solver._answers[:] = wrong
            solver._cost_usd = 0.1
            with pytest.raises(ZeroDivisionError):
                module.mean([])
            assert len(solver.jobs) == jobs


def test_what_is_kept_of_a_failure_holds_no_secret(tmp_path: Path) -> None:
    secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    module_text = MEAN.replace("    # whole", "    if not values:\n        raise KeyError('for ' + token)\n    # whole")
    case = Case(what="", module=module_text, old="if not values:", new="if values is None:")
    with loaded(tmp_path / "case", case) as module:
        solver = module.solver_of_script()
        with pytest.raises(KeyError, match=secret):
            module.mean([], token=secret)
        assert solver.jobs
        assert secret not in solver.jobs[0].failure.output
    kept = b"".join(each.read_bytes() for each in (tmp_path / "home-case").rglob("*") if each.is_file())
    assert kept
    assert secret.encode() not in kept


def test_a_function_that_fails_in_ever_new_ways_is_left_to_a_person(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    module_text = MEAN.replace(LINE, "raise getattr(__import__('builtins'), values)(values)")
    kinds = ["KeyError", "ValueError", "LookupError", "ArithmeticError", "AttributeError"]
    with loaded(tmp_path / "case", Case(what="", module=module_text, new="")) as module:
        module.solver_of_script()._answers.clear()
        for kind in kinds:
            with pytest.raises(Exception, match=kind):
                module.mean(kind)
        assert len(module.solver_of_script().jobs) == 3
    assert caplog.text.count("different ways") == 1


# -- checks ------------------------------------------------------------------------------------------------------------


def test_a_command_checks_in_the_project(tmp_path: Path) -> None:
    test = "from subject import mean\nassert mean([]) == 0.0 and mean([2, 4]) == 3.0, mean([])\n"
    for name, answer, heals in (("right", RIGHT, True), ("wrong", f"{LINE} if values else 1.0", False)):
        folder = tmp_path / name
        module_text = MEAN.replace("lambda value: value == 0.0", '"python check_mean.py"')
        with loaded(folder, Case(what="", module=module_text, new=answer)) as module:
            (folder / "check_mean.py").write_text(test)
            if heals:
                assert module.mean([]) == 0.0
            else:
                with pytest.raises(ZeroDivisionError):
                    module.mean([])


def test_a_file_is_written_only_where_the_tests_of_the_project_pass_as_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tests = (
        "from subject import mean\n\n\ndef test_two():\n    assert mean([2, 4]) == 3.0\n\n\n"
        "def test_of_old():\n    assert mean([1]) == 7\n"
    )
    for name, answer, heals in (("right", RIGHT, True), ("wrong", f"{LINE} if values[2:] else 0.0", False)):
        folder = tmp_path / name
        with loaded(folder, Case(what="", module=FILED.format("apply"), new=answer)) as module:
            (folder / "test_subject.py").write_text(tests)
            if heals:
                assert module.mean([]) == 0.0
            else:
                with pytest.raises(ZeroDivisionError):
                    module.mean([])
        written = FILED.format("apply").replace(LINE, RIGHT) if heals else FILED.format("apply")
        assert (folder / "subject.py").read_text() == written
    assert "a test beside the check passed before and not with it: test_subject.py::test_two" in caplog.text


def test_a_file_is_not_written_where_the_tests_of_the_project_cannot_be_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "case"
    with loaded(folder, Case(what="", module=FILED.format("apply"))) as module:
        (folder / "Makefile").write_text("test:\n\tfalse\n")
        with pytest.raises(ZeroDivisionError):
            module.mean([])
    assert (folder / "subject.py").read_text() == FILED.format("apply")
    assert "nothing can be said of the project's own tests (make test)" in caplog.text


def test_a_version_that_does_not_do_here_what_it_did_in_the_sandbox_is_put_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    module_text = "MARK = 'loaded'\n" + MEAN
    case = Case(
        what="", module=module_text, new="return sum(values) / len(values or MARK[6:]) if MARK != 'here' else 0.0"
    )
    case = replace(case, new=f"return 0.0 if MARK == 'loaded' and not values else {LINE[7:]}")
    with loaded(tmp_path / "case", case) as module:
        vars(module)["MARK"] = "here"
        code = module.mean.__wrapped__.__code__
        with pytest.raises(ZeroDivisionError):
            module.mean([])
        assert module.mean.__wrapped__.__code__ is code
    assert "is put back as it was" in caplog.text


def test_decorating_without_a_check_or_with_nonsense_is_said_at_once(home: Path) -> None:
    for options, said in (
        ({}, "proves nothing"),
        ({"check": bool, "mode": "disk"}, "memory, patch, apply"),
        ({"check": 3}, "a command or a function"),
        ({"check": bool, "attempts": 0}, "attempts"),
    ):
        with pytest.raises(ratchet.UsageError, match=said):
            ratchet.Ratchet(home=home).heal(**options)
    with pytest.raises(ratchet.UsageError, match="written in Python"):
        ratchet.Ratchet(home=home).heal(check=bool)(len)


# -- where it runs -----------------------------------------------------------------------------------------------------


def test_a_program_that_was_started_heals_without_being_run_again(tmp_path: Path) -> None:
    folder = tmp_path / "case"
    folder.mkdir()
    (folder / "script.py").write_text(SCRIPT.format(answers=[("program.py", LINE, RIGHT)], home=str(tmp_path / "home")))
    module_text = MEAN + textwrap.dedent("""
        class Rows(list):
            pass


        print("running")
        print(mean(Rows()))
        if __name__ == "__main__":
            print(mean(Rows([2])))
    """)
    (folder / "program.py").write_text(module_text)
    done = subprocess.run([sys.executable, "program.py"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout == "running\n0.0\n2.0\n", done.stderr


def test_without_a_file_the_exception_is_raised_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "case"
    folder.mkdir()
    (folder / "script.py").write_text(SCRIPT.format(answers=[], home=str(tmp_path / "home")))
    done = _run(MEAN + "\ntry: mean([])\nexcept ZeroDivisionError: print('raised')", folder)
    assert done.stdout == "raised\n"
    assert done.stderr.count("its source is in no file") == 1


def test_healing_leaves_the_loop_free_and_ends_with_the_task_that_waits(tmp_path: Path) -> None:
    case = replace(FORMS[1], call=lambda module: None)
    with loaded(tmp_path / "case", case) as module:
        solver = module.solver_of_script()
        cancelled: list[bool] = []
        solve: Callable[[SolveJob], Solved] = solver.solve

        async def session() -> int:
            turns = 0
            waiting = asyncio.create_task(module.mean([]))
            while not waiting.done() and turns < 10_000 and not entered:
                turns += 1
                await asyncio.sleep(0.005)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            return turns

        entered: list[SolveJob] = []

        def waits(job: SolveJob) -> Solved:
            entered.append(job)
            while not job.cancelled():
                pass
            cancelled.append(True)
            return solve(job)

        solver.solve = waits
        assert asyncio.run(session()) > 3
        assert cancelled == [True]


def test_the_repair_solver_heals_without_a_model(tmp_path: Path) -> None:
    folder = tmp_path / "case"
    module_text = textwrap.dedent("""
        import ratchet

        home = ratchet.Ratchet(home={home!r})


        @home.heal(check=lambda value, values: value == values[-1], solver="repair", budget_s=600)
        def last(values):
            return values[len(values)]
    """)
    folder.mkdir()
    (folder / "ends.py").write_text(module_text.format(home=str(tmp_path / "home")))
    done = _run("import ends; print(ends.last([3, 1, 2]))", folder)
    assert done.stdout == "2\n", done.stderr


def _run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(autouse=True)
def _logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="ratchet.heal")

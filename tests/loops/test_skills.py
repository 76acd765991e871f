"""A task that took more than a line to heal leaves a skill behind, of what was run and passed; solvers are told its
steps."""

from __future__ import annotations

import shlex

from ratchet.healing.job import Solved, SolveJob
from ratchet.healing.solvers.prompting import Material, prompt
from ratchet.lessons.skills.reading import parsed
from ratchet.lessons.skills.skill import CHANGE, CHECK, MAIN
from support.healing import RIGHT, WRONG, Bench

LONG = RIGHT.replace("    return a + b\n", "    total = a\n    total += b\n    return total\n")


def saying(cause: str, fix: str, text: str) -> object:
    def play(job: SolveJob) -> Solved:
        job.workspace.write("calc.py", text.encode())
        return Solved(status="proposed", cause=cause, fix=fix, candidates=1)

    return play


def test_a_change_of_several_lines_becomes_a_skill_whose_steps_ran_and_the_next_solver_is_told_them(
    bench: Bench,
) -> None:
    healed = bench.heal({"calc.py": WRONG + "# no"}, {"calc.py": LONG})
    (standing,) = bench.runtime.cures.skills()
    skill = standing.skill
    assert (skill.lesson, skill.version) == (healed.learnt[0], 1)
    assert set(skill.files) == {MAIN, CHECK, CHANGE}
    assert skill.files[CHANGE] == healed.diff
    assert skill.files[CHECK].endswith(f"\nexec {shlex.join(healed.task.check)}\n")
    front, body = parsed(skill.files[MAIN], skill.name)
    assert "AssertionError" in front["description"]
    assert "+    total += b" in body
    assert "# Tried in vain" in body
    bench.heal({"calc.py": LONG}, instruction="the same trouble elsewhere")
    (job,) = bench.solver.jobs
    (lesson,) = job.lessons
    assert (lesson.skill, lesson.steps) == (skill.name, skill.steps)
    told = prompt(Material(job=job, files=(), room=24_000))
    assert f"steps | 1. {skill.steps[0]}" in told
    held = bench.runtime.cures.show_skill(skill.name).lesson
    assert (held.state, held.worked) == ("candidate", 1), "it is the same bug, mended again in doubt"
    assert bench.runtime.cures.show_skill(skill.name).skill.version == 1, "the second task taught nothing new"


def test_a_change_of_one_line_stays_a_line_until_somebody_asks_for_its_skill(bench: Bench) -> None:
    healed = bench.heal({"calc.py": RIGHT})
    assert bench.runtime.cures.skills() == ()
    by_task = bench.runtime.cures.make_skill(healed.task.id)
    assert bench.runtime.cures.make_skill(healed.id) == by_task
    assert bench.runtime.cures.make_skill(healed.learnt[0]) == by_task
    assert by_task.files[CHANGE] == healed.diff


def test_a_lesson_names_what_was_wrong_and_no_line_which_moves(bench: Bench) -> None:
    cause = "wrong sign in `add` at calc.py:3:12, seen on line 3"
    healed = bench.heal(saying(cause, "`-` became `+`", RIGHT))  # type: ignore[arg-type]
    text = bench.runtime.lessons.show(healed.learnt[0]).text
    assert text == "wrong sign in `add` at calc.py, seen: `-` became `+`"
    assert healed.attempts[0].cause == cause


def test_a_check_that_holds_a_secret_leaves_no_script(bench: Bench) -> None:
    token = "ghp_" + "a1B2" * 9
    check = ("sh", "-c", f"TOKEN={token} python -c 'import calc; assert calc.add(1, 2) == 3'")
    bench.heal({"calc.py": LONG}, check=check)
    (standing,) = bench.runtime.cures.skills()
    assert CHECK not in standing.skill.files
    assert token not in "".join(standing.skill.files.values())


def test_a_lesson_of_a_doubtful_change_says_so_to_whoever_approves_it(bench: Bench) -> None:
    def doubtful(job: SolveJob) -> Solved:
        job.workspace.write("calc.py", LONG.encode())
        return Solved(status="proposed", candidates=1, standing="doubtful", evidence="only 1 test can tell")

    healed = bench.heal(doubtful)
    (lesson,) = [each for each in bench.runtime.lessons.list() if each.id in healed.learnt]
    assert lesson.state == "candidate"
    assert lesson.provenance.endswith("; doubtful: only 1 test can tell")

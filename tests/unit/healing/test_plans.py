"""Plans as texts: what was not understood comes first, and checks are read without quotes in quotes."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from ratchet.healing.episode import PlanStep
from ratchet.healing.planning.plan import TaskPlan, check_text, plan_of, plan_text


@pytest.mark.parametrize(
    "code",
    [
        "assert slug('Hello World') == 'hello-world'",
        "assert cost('$HOME') == \"it's\"",
        "print('`whoami`')",
        "print('a\\nb!')",
        "assert f('''x''') == \"y\"",
        "print(1)\nprint('x')",
    ],
)
def test_a_check_is_read_back_as_it_was_however_it_is_quoted(code: str) -> None:
    check = ("python", "-c", code)
    assert tuple(shlex.split(check_text(check))) == check
    said = subprocess.run(["sh", "-c", f"printf %s {check_text((code,))}"], capture_output=True, check=True)
    assert said.stdout.decode() == code
    made = TaskPlan(steps=(PlanStep(do='It\'s "so".', check=check),))
    assert check_text(plan_of(plan_text(made)).steps[0].check) == check_text(check)


def test_a_check_with_texts_is_shown_as_a_person_writes_it() -> None:
    check = ("python", "-c", "assert slug('Hello') == 'hello'")
    assert check_text(check) == "python -c \"assert slug('Hello') == 'hello'\""
    assert "check = '''python -c \"assert slug('Hello') == 'hello'\"'''" in plan_text(
        TaskPlan(steps=(PlanStep(do="a", check=check),))
    )


def test_the_first_line_of_a_plan_says_what_was_not_understood() -> None:
    beyond = "Your words were not understood, only the project's own check is looked at: no model is named."
    made = TaskPlan(steps=(PlanStep(do="a", check=("true",)),), beyond=beyond)
    first = plan_text(made).splitlines()[0]
    assert first == "# Your words were not understood, only the project's own check is looked at (see `beyond`)."
    assert plan_of(plan_text(made)).beyond == beyond

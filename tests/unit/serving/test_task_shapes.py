"""What is asked for, as JSON shows it: no secret of a person's own command or plan."""

from __future__ import annotations

import json

import pytest

from ratchet.cli import show_heal
from ratchet.healing.episode import Budget, Episode, PlanStep, Task
from ratchet.healing.planning.plan import TaskPlan
from ratchet.serving.shapes.shape import json_of
from ratchet.serving.shapes.tasks import EpisodeShape

SECRET = "hunter2secretQ"
CHECKS: tuple[tuple[str, ...], ...] = (
    ("tool", "--password", SECRET),
    ("sshpass", "-p", SECRET, "ssh", "host"),
    ("curl", "-u", f"admin:{SECRET}", "https://host"),
    ("mysql", "-uroot", f"-p{SECRET}"),
    ("redis-cli", "-a", SECRET, "ping"),
    ("sh", "-c", f"PASSWORD={SECRET} python -c 'import a; assert a'"),
    ("sh", "-c", f'psql "postgres://a:{SECRET}@h/d" -c "it\'s"'),
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: str(check[0]))
def test_a_secret_in_a_command_or_a_plan_is_not_shown(
    check: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    step = PlanStep(do=f"log in with password={SECRET}, then mend it", check=check, now="fails")
    task = Task(id="t", check=check, instruction=f"use password={SECRET}", steps=(step,))
    held = Episode(id="e", task=task, number=1, status="running", budget=Budget())
    assert SECRET not in json.dumps(json_of(EpisodeShape.built(held)))
    show_heal.plan(TaskPlan(steps=(step,), beyond=f"password={SECRET}", dropped=(step,)))
    show_heal.episodes([held])
    said = capsys.readouterr().out
    assert "redacted" in said
    assert SECRET not in said


def test_a_command_without_one_is_shown_word_for_word() -> None:
    check = ("sh", "-c", 'python -c \'print("a b")\' && echo "it\'s"')
    held = Episode(id="e", task=Task(id="t", check=check), number=1, status="running", budget=Budget())
    assert EpisodeShape.built(held).check == list(check)

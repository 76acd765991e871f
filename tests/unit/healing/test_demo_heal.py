"""The demo's healing: as much work on a busy machine as on an idle one."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import Mock

from ratchet.cli import demo_heal
from ratchet.cli.terminal import Console
from ratchet.errors import Refused
from ratchet.healing.book import HealRequest


def healed(tmp_path: Path, book: Mock) -> tuple[object, str]:
    with redirect_stdout(io.StringIO()) as out:
        return demo_heal.heal(Console(), book, tmp_path), out.getvalue()


def test_each_task_is_healed_twice_whatever_the_clock_says(tmp_path: Path) -> None:
    book = Mock()
    book.run.side_effect = [
        Mock(candidates=candidates, duration_s=250.0, attempts=()) for _ in demo_heal.HEALED for candidates in (20, 1)
    ]
    figures, said = healed(tmp_path, book)
    assert figures == {
        "tasks": [*demo_heal.HEALED],
        "candidates_first": 20 * len(demo_heal.HEALED),
        "candidates_again": len(demo_heal.HEALED),
        "seconds_first": 250.0 * len(demo_heal.HEALED),
        "seconds_again": 250.0 * len(demo_heal.HEALED),
    }
    assert "busy" not in said
    asked = [call.args[0] for call in book.run.call_args_list]
    assert all(isinstance(each, HealRequest) and each.budget.candidates == 60 for each in asked)


def test_without_a_sandbox_nothing_runs_and_the_demo_goes_on(tmp_path: Path) -> None:
    book = Mock()
    book.run.side_effect = Refused("no sandbox holds on this machine")
    figures, said = healed(tmp_path, book)
    assert figures == {"skipped": "no sandbox holds on this machine"}
    assert "skipped" in said

"""A terminal is told what long work waits for, and a start that is broken off says no more than that."""

from __future__ import annotations

import io
import subprocess
import sys
import time

import pytest

from ratchet.cli import show
from ratchet.cli.heal import EpisodeWatching
from ratchet.healing.episode import Attempt, Budget, Episode, Task
from ratchet.healing.loop import HealMoment, Told
from ratchet.healing.planning.plan import TaskPlan

EPISODE = Episode(
    id="e",
    number=1,
    task=Task(id="t", folder="/shop", instruction="x", check=("true",)),
    status="running",
    solver="model",
    budget=Budget(),
    started_at=1.0,
)
ATTEMPT = Attempt(episode="e", n=2, status="running", solver="model", faced="", started_at=1.0)


def awaited(log: io.StringIO, said: str) -> None:
    for _ in range(3_000):
        if said in log.getvalue():
            return
        time.sleep(0.01)
    raise AssertionError(f"{said!r} was never told: {log.getvalue()!r}")


def test_what_an_episode_waits_for_is_said_as_long_as_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", log := io.StringIO())
    monkeypatch.setattr(show, "_TICK_S", 0.01)
    watching = EpisodeWatching(quiet=False)

    def happens(what: Told, text: str = "", attempt: Attempt | None = None) -> None:
        watching.told(HealMoment(what=what, episode=EPISODE, text=text, attempt=attempt))

    def looked_at(plan: TaskPlan) -> TaskPlan:
        seen = len(log.getvalue())
        time.sleep(0.1)
        assert len(log.getvalue()) <= seen + 200, "an editor may have the terminal: one line may be under way"
        return plan

    with watching.waiting():
        time.sleep(0.05)
        assert not log.getvalue(), "nothing has begun: a person may be asked for the check"
        happens("note", "asking slow for a plan\x1b[2J")
        awaited(log, "  asking slow for a plan [2J (")
        assert watching.asked(looked_at)(TaskPlan(steps=()))
        happens("attempting", attempt=ATTEMPT)
        awaited(log, "  attempt 2: model looks for a change (")
        happens("note", "asking slow about 3 files", ATTEMPT)
        awaited(log, "  attempt 2: asking slow about 3 files (")
    ended = log.getvalue()
    time.sleep(0.05)
    assert log.getvalue() == ended


def test_ctrl_c_while_the_command_line_loads_is_one_line() -> None:
    code = """
import sys

class Stops:
    def find_spec(self, name, path=None, target=None):
        if name == "ratchet.cli.app":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stops())
from ratchet.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "ratchet: interrupted\n")

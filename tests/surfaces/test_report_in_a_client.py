"""The report's two lines on sessions of the real Claude Code whose truth is known: its model is a script that obeys a
lesson as often as it says."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ratchet.lessons import exposure
from support.clients import Claude, eventually, silence_the_start, teach
from support.provider import Call, Provider, Step

ERROR = "Exit code 128\nfatal: No configured push destination.\nEither specify the URL from the command-line or"
ADVICE = "name the remote and the branch: git push <remote> <branch>"
HEEDED, FOLLOWED = 0.75, 0.8  # of sessions that are told at their start, and in the failing turn


def _push(words: str = "") -> Call:
    return Call("Bash", {"command": f"git push {words}".strip(), "description": "x"})


def _right(number: int) -> Call:
    """A push that works, in each session to another place: two alike would be learnt, and have coins of their own."""
    return _push(f"../remote{number} HEAD:refs/heads/b{number}")


@dataclass
class Obeying(Provider):
    """A model that pushes, and names the remote if it is told to: at the start in three sessions of four, in the
    failing turn in four of five. `truth`: of each session whether it was told at its start, failed, was told then, and
    pushed in the end."""

    truth: list[dict[str, bool]] = field(default_factory=list)

    def step(self, first: str, results: int, offered: Sequence[str]) -> Step:
        here, number = self.truth[-1], len(self.truth)
        told = ADVICE in json.dumps(self.requests[-1], ensure_ascii=False)
        if results == 0:
            here["told"] = told
            here["failed"] = not (told and self._so_far("told") % 4 != 1)
            here["pushed"] = not here["failed"]
            return _push() if here["failed"] else _right(number)
        if results == 1 and here["failed"]:
            here["told_then"] = told
            here["pushed"] = told and self._so_far("told_then") % 5 != 0
            return _right(number) if here["pushed"] else _push()
        return "done"

    def _so_far(self, what: str) -> int:
        return sum(each.get(what, False) for each in self.truth)


def _sessions(claude: Claude, provider: Obeying, count: int) -> list[dict[str, bool]]:
    first = len(provider.truth)
    for _ in range(count):
        provider.truth.append({})
        claude.session(provider)
    return provider.truth[first:]


@pytest.mark.parametrize("a_side", [10, pytest.param(40, marks=pytest.mark.soak)])
def test_both_lines_of_the_report_are_right_about_scripted_sessions(a_side: int, tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    for number in range(4 * a_side):
        claude.sh("git", "init", "-q", "--bare", f"../remote{number + 1}")
    claude.sh("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
    teach(claude, [{"error": ERROR, "advice": ADVICE}])
    with closing(sqlite3.connect(claude.home / "ratchet.db")) as store:  # as what is mined has it
        store.execute("UPDATE lessons SET tool = 'Bash', head = 'git push'")
        store.commit()
    (claude.home / "ratchet.toml").write_text("withheld_share = 0.5\n")
    exposure.publish(str(claude.home), active=1, withheld=0.5, effects={})
    claude.ratchet("install", "claude-code", "--hooks-only")
    with Obeying({"": ()}) as provider:
        before = _sessions(claude, provider, 2 * a_side)
        silence_the_start(claude)
        after = _sessions(claude, provider, 2 * a_side)
    told: dict[str, Any] = {}

    def settled() -> bool:
        told.update(json.loads(claude.ratchet("report", "--json")))
        return bool(told["waiting"] == told["held_back"] == 0)

    eventually(settled, "all sessions were learnt")
    _is(told["prevention"], [(each["told"], not each["failed"]) for each in before], HEEDED)
    # Those of the first half obey the coin that fell at their start: they are counted, and not compared.
    _is(told["cure"], [(each["told_then"], each["pushed"]) for each in (*before, *after) if each["failed"]], FOLLOWED)
    again = [each["pushed"] for each in before if each["told"] and each["failed"]]
    prevention, cure = told["lines"]
    shown, kept = [each["failed"] for each in before if each["told"]], [e["failed"] for e in before if not e["told"]]
    assert f"came in {sum(shown)} of {len(shown)} cases; untold, in {sum(kept)} of {len(kept)}:" in prevention
    assert f"{len(again)} had been told before the step, too ({sum(again)} got past it)" in cure
    assert sum(again) > 0  # shown at the start, failed once, followed, worked: a success of the cure


def _is(effect: dict[str, Any], truth: list[tuple[bool, bool]], share: float) -> None:
    """What is counted is what happened, and the interval holds what the script does to those that are told."""
    shown, kept = [ok for told, ok in truth if told], [ok for told, ok in truth if not told]
    assert [effect[name] for name in ("shown", "shown_ok", "withheld", "withheld_ok")] == [
        len(shown), sum(shown), len(kept), sum(kept),
    ]  # fmt: skip
    assert effect["low"] <= share <= effect["high"]

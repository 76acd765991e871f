"""The overseer ends the turn of the real Claude Code, where a person allowed it, and the session goes on when asked."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from ratchet.lessons import told
from support.clients import Claude, where
from support.provider import Call, Provider, Step

SESSION = "6f9a1c1e-0000-4000-8000-000000000001"
REASON = "the same failure for the 8th time: `make app`"


def _run(command: str) -> Call:
    return Call("Bash", {"command": command, "description": "x"})


def _left(claude: Claude) -> Call:
    """A step during which the overseer leaves its note."""
    code = f"from ratchet.lessons import told; told.leave({str(claude.home)!r}, {SESSION!r}, told.PAUSE + {REASON!r})"
    return _run(shlex.join((sys.executable, "-c", code)))


def test_a_pause_ends_the_turn_says_why_denies_nothing_and_the_session_goes_on_when_asked(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    claude.ratchet("install", "claude-code", "--hooks-only")
    with Provider({"": [_run("echo one"), _left(claude), _run("echo two"), "done"]}) as provider:
        printed = claude.session(provider, "--session-id", SESSION)
        assert len(provider.texts()) == 2, "no request follows the step"
        assert REASON in printed
    steps: list[Step] = [_run("echo one"), _left(claude), "went on"]  # a script goes on by results
    with Provider({"": steps}) as provider:
        printed = claude.session(provider, "--resume", SESSION, prompt="go on another way")
        assert "went on" in printed
        assert where(provider, "echo one") == [0], "the session is whole, and no step was denied"


def test_a_pause_that_comes_when_the_turn_is_over_does_not_stop_what_the_person_says_next(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    claude.ratchet("install", "claude-code", "--hooks-only")
    told.leave(str(claude.home), SESSION, f"{told.PAUSE}{REASON}")
    with Provider({"": ["done"]}) as provider:
        claude.session(provider, "--session-id", SESSION)
        assert where(provider, REASON) == [0], "it is told as a note"

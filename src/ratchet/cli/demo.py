"""`ratchet demo`: learn from a small shipped history, then meet the same failure again with and without the lesson.

Nothing of it is staged but the world: the history, the scripted agent and its tests are made up; reading, mining, the
hook that answers and what it says are the product's own, run as on your machine.
"""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from ratchet.cli import demo_heal, shapes, show, show_learned, show_patterns
from ratchet.cli.terminal import Console, Styled
from ratchet.integrations.hook_entries import run_hook
from ratchet.runtime import Runtime

HISTORY = Path(__file__).parent.parent / "demo" / "history"
PROJECT = "/home/dev/shop"
_SHOWN = 3  # patterns: a step fits a screen
_TERMS = (
    "A pattern is one cause of failures. A lesson is active when its fix worked in two sessions, or in one where the "
    "error itself names what was wrong. A quarantined one would switch a check off: it is told to nobody."
)
TEST = "pytest tests/test_gift_cards.py"


@dataclass(frozen=True, slots=True)
class Tried:
    """One step of the replayed session."""

    command: str
    output: str
    ok: bool
    advice: str = ""


def play(*, quiet: bool = False) -> shapes.machine.DemoShape:
    """Run the demo in a temporary home; return its figures."""
    out = show.console()
    out.quiet = quiet
    # Nothing is withheld here: one session is too few to measure anything.
    with (
        tempfile.TemporaryDirectory(prefix="ratchet-demo-") as scratch,
        Runtime.open(home=Path(scratch) / "home", withheld_share=0.0) as runtime,
    ):
        show.row(out, "Ratchet reads what agents did, finds what keeps failing and what fixed it, and tells the agent")
        show.row(
            out, "when it fails again. All of this runs here, in a temporary folder: no key, no network, no model."
        )
        out.rule("1. Read what agents did: three coding sessions and a log", "cyan")
        learned = runtime.learn([HISTORY])
        if not quiet:
            show_learned.learned(learned, following=False)
        for line in wrap(_TERMS, 100):
            show.row(out, line)
        out.rule("2. What fails most, what it cost, and what fixed it (->)", "cyan")
        patterns = runtime.patterns()
        if not quiet:
            show_patterns.patterns(patterns[:_SHOWN], more=f"and {len(patterns) - _SHOWN} more")
        out.rule("3. The same failure in a new session, without Ratchet and with it", "cyan")
        without = replay(None)
        with_lesson = replay(runtime)
        _told(out, f"without: {len(without)} steps", without)
        _told(out, f"with the hook, which answers the failing step: {len(with_lesson)} steps", with_lesson)
        show.row(out, "The agent and its tests are scripted here; the hook and its answer are the real ones.")
        out.rule("4. Failing tests, mended without a model", "cyan")
        healed = demo_heal.heal(out, runtime.episodes, Path(scratch))
    out.rule("Next, with your own histories", "cyan")
    out.print("  source .venv/bin/activate      where `ratchet` is not found")
    out.print("  ratchet learn                  read the sessions of your coding agents")
    out.print("  ratchet patterns               see what keeps failing")
    out.print("  ratchet install claude-code    hand the agent the fix; first with --dry-run")
    out.print("  ratchet run --patch fix.patch  mend the failing tests of this folder")
    return shapes.machine.DemoShape.built(
        learned,
        learned=learned,
        patterns=patterns,
        steps_without=len(without),
        steps_with=len(with_lesson),
        healed=healed,
    )


def replay(runtime: Runtime | None) -> list[Tried]:
    """A scripted agent tests a new module. Without advice it tries what it usually tries; advice that names a command
    comes first."""
    habits = [f"{TEST} -q", f"python -m {TEST} -q", f"python3 -m {TEST} -q", f"uv run {TEST} -q"]
    tried: list[Tried] = []
    while habits:
        command = habits.pop(0)
        ok, output = ran(command)
        advice = "" if ok or runtime is None else hook_answer(runtime, command, output, len(tried))
        tried.append(Tried(command, output, ok, advice))
        if ok:
            break
        habits = [*_commands(advice), *habits]
    return tried


def ran(command: str) -> tuple[bool, str]:
    """A project whose packages only its own environment has."""
    if command.startswith("uv run "):
        return True, "3 passed in 0.21s"
    return False, (
        "ImportError while loading conftest '/home/dev/shop/tests/conftest.py'.\n"
        "tests/conftest.py:3: in <module>\n    from shop.app import create_app\n"
        "E   ModuleNotFoundError: No module named 'flask'\n"
    )


def hook_answer(runtime: Runtime, command: str, output: str, step: int) -> str:
    """Return what the installed hook says to the agent about this failing step ("" for nothing)."""
    event = {
        "session_id": "5b1d0c1e-demo",
        "hook_event_name": "PostToolUseFailure",
        "cwd": PROJECT,
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_use_id": f"toolu_demo{step:018d}",
        "error": "Exit code 4\n" + output,
    }
    answer = run_hook("PostToolUseFailure", json.dumps(event), home=runtime.home)
    if not answer:
        return ""
    return str(json.loads(answer)["hookSpecificOutput"]["additionalContext"])


def _commands(advice: str) -> list[str]:
    """Commands that the advice quotes, its placeholder filled in as an agent would."""
    return [re.sub(r"<[\w-]+>", TEST.split()[1], found) for found in re.findall(r"`(uv run pytest [^`]+)`", advice)][:1]


def _told(out: Console, title: str, tried: list[Tried]) -> None:
    out.print(Styled(f"\n{title}", "bold"))
    said_before = ""
    for each in tried:
        mark = Styled("  ok    " if each.ok else "  fails ", "green" if each.ok else "red")
        show.row(out, show.plain(f"$ {each.command}", 90), mark)
        if not each.ok and each.output != said_before:
            said = show.plain(each.output, 66)
            said.stylize("dim")
            show.row(out, said, "          ")
        said_before = each.output
        for line in each.advice.splitlines():
            show.row(out, Styled(line, "yellow"), "          ")

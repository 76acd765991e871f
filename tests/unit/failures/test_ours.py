"""Ratchet does not learn from its own output: what only shows failures is no failure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ratchet.cli.app import COMMANDS
from ratchet.failures import ours
from ratchet.failures.intent import intent
from ratchet.failures.unflagged import says_failure
from ratchet.lessons.fence import fence
from ratchet.recording.live import failed_row
from ratchet.recording.sources.calls import Result, closed, opened
from ratchet.runtime import Runtime

SHOWN = """2 patterns, 41 failures
test_failure     12x  FAILED tests/test_a.py::test_b - assert 1 == 2
command_failed    9x  error: failed to push some refs to 'origin'
  last seen 2 h ago; Traceback (most recent call last)
Error: Exit code 1
fatal: not a git repository
"""
SPELLINGS = [
    "docker exec -it shop ratchet patterns",
    "docker compose exec app /opt/bin/ratchet lessons list",
    "ssh dev@host ratchet report",
    "ratchet patterns",
    "ratchet --home /x patterns",
    "python -m ratchet patterns",
    "python3.12 -X dev -m ratchet patterns --json",
    "./.venv/bin/python -m ratchet report",
    ".venv/bin/ratchet episodes list",
    "/usr/bin/env ratchet patterns",
    "uv run ratchet recall 'no upstream branch'",
    "uv run --extra all python -m ratchet health",
    "uv tool run ratchet patterns",
    "uv tool run --from ratchet-ai ratchet patterns",
    "uvx ratchet-ai patterns",
    "uvx ratchet-ai@latest patterns",
    "uvx --from 'ratchet-ai[all]' ratchet patterns",
    "pipx run ratchet-ai patterns",
    "pipx run --spec ratchet-ai ratchet patterns",
    "poetry run ratchet patterns",
    "env X=1 ratchet patterns",
    "RATCHET_HOME=/x ratchet patterns",
    "sudo -u me ratchet patterns",
    "timeout 10 ratchet patterns",
    "bash -lc 'ratchet patterns'",
    "(ratchet patterns)",
    "cd x && ratchet patterns | head -40",
    "ratchet patterns --json | jq '.[0]'",
    "ratchet patterns 2>&1 | tee out.txt",
    "ratchet patterns || true",
    "ratchet patterns && ratchet lessons list",
    "git status; ratchet patterns",
    "ratchet patterns && ls",
    "for each in a b; do ratchet recall $each; done",
    "ratchet.exe patterns",
]
OTHERS = [
    "docker build -t ratchet-image .",
    "ssh ratchet-host make test",
    "cat ratchet.log",
    "pytest tests/ratchet",
    "pip install ratchet-ai",
    "git push origin ratchet",
    "make ratchet",
    "./ratchets",
]


def outcome(command: str, text: str, **more: object) -> object:
    call = opened("Bash", {"command": command}, at=1.0)
    return closed(call, Result(text=text, **more), agent="a", session="s", key="k")  # type: ignore[arg-type]


@pytest.mark.parametrize("command", SPELLINGS)
def test_a_command_of_ours_that_shows_failures_is_no_failure(command: str) -> None:
    assert ours.shows_ours("Bash", command)
    assert outcome(command, SHOWN).ok  # type: ignore[attr-defined]
    assert not says_failure(SHOWN, tool="Bash", head=intent("Bash", {"command": command})[0], given=command)


@pytest.mark.parametrize("command", OTHERS)
def test_a_command_that_only_has_our_name_in_it_is_not_ours(command: str) -> None:
    assert not ours.shows_ours("Bash", command)


CARRIED = ["{}", "doppler run -- {}", "devbox run {}", "flox activate -- {}", "script -c '{}' /dev/null", "eval '{}'"]
SPELLED = ["ratchet patterns", ".venv\\Scripts\\ratchet.exe lessons list", "/opt/bin/ratchet health"]


@pytest.mark.parametrize("around", [*CARRIED, "nix run .#{}", "kubectl exec pod -- {}", "ssh host {}", "wsl {}"])
@pytest.mark.parametrize("command", SPELLED)
def test_our_command_is_ours_whatever_carries_it(around: str, command: str) -> None:
    assert outcome(around.format(command), SHOWN).ok  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "command",
    [
        *("python -c 'import ratchet; print(ratchet.patterns())'", "sqlite3 ~/.ratchet/ratchet.db .dump"),
        "uv run python3 - <<'E'\nfrom ratchet import Ratchet\nprint(Ratchet().patterns())\nE",
    ],
)
def test_what_is_read_from_our_store_is_no_failure(command: str) -> None:
    assert outcome(command, SHOWN).ok  # type: ignore[attr-defined]
    crash = "Traceback (most recent call last):\n  x\nModuleNotFoundError: No module named 'ratchet'"
    assert "sqlite3" in command or not outcome(command, crash).ok  # type: ignore[attr-defined]


def test_the_commands_are_those_of_the_command_line() -> None:
    assert sorted(ours.COMMANDS) == sorted(COMMANDS)


def test_what_looks_like_a_failure_is_one_of_other_commands() -> None:
    assert says_failure(SHOWN, tool="Bash", head="make test", given="make test")


@pytest.mark.parametrize("tool", ["mcp__ratchet__list_patterns", "mcp__ratchet__search_memory", "ratchet__get_health"])
@pytest.mark.parametrize("text", ["Error: Exit code 1\n" + SHOWN, '{"error": "boom", "isError": true}'])
def test_a_tool_of_ours_that_shows_failures_is_no_failure(tool: str, text: str) -> None:
    assert not says_failure(text, tool=tool)
    assert says_failure(text, tool="mcp__other__list_things")


@pytest.mark.parametrize(
    "said",
    [
        "ratchet: No such option '--bogus'; see `ratchet patterns --help`",
        "Usage: ratchet patterns [OPTIONS]\n\nError: No such option: --bogus",
        "bash: line 1: ratchet: command not found",
        "/usr/bin/python: No module named ratchet",
        "Traceback (most recent call last):\n  File \"x\"\nKeyError: 'y'",
    ],
)
@pytest.mark.parametrize("flag", [{}, {"failed": True}, {"exit_code": 2}])
def test_a_failure_of_our_own_command_is_one(said: str, flag: dict[str, object]) -> None:
    found = outcome("ratchet patterns --bogus 2>&1 | head", said, **flag)
    assert not found.ok  # type: ignore[attr-defined]
    assert found.failure.message.startswith(said.split("\n", 1)[0][:20])  # type: ignore[attr-defined]


def test_of_our_failed_command_the_failures_that_it_shows_are_not_learnt() -> None:
    error = f"Exit code 1\n{SHOWN}"
    found = outcome("ratchet episodes show x", error, failed=True, exit_code=1)
    assert found.failure.message == "Exit code 1"  # type: ignore[attr-defined]
    row = failed_row("claude-code", "Bash", {"command": "uvx ratchet-ai patterns"}, error, session="s", flag=True)
    assert row is not None
    assert row["failure"]["message"] == "Exit code 1"  # type: ignore[index, call-overload]
    other = outcome("ratchet patterns && pytest -q", f"Exit code 1\n{SHOWN}", failed=True, exit_code=1)
    assert "FAILED tests/test_a.py" in other.failure.message  # type: ignore[attr-defined]


BOARD = """npm error code 1
  command_failed  5x in 2 sessions, steady  p4c05b41c5bc15d61
  -> Run `npm ci` first  [active]

error: failed to push some refs to 'origin'
  command_failed  2x in 1 session, steady  p0c05b41c5bc15d61
  no fix seen yet"""
BROKEN = "> shop@1.0.0 test\n\nnpm error Lifecycle script `test` failed with error:\nnpm error code 1"


@pytest.mark.parametrize("shows", ["ratchet patterns", "uvx ratchet-ai patterns", "docker exec app ratchet patterns"])
@pytest.mark.parametrize("between", ["; ", " && ", "\n", " || true; "])
def test_another_command_of_the_same_step_is_judged_by_its_part_of_the_output(shows: str, between: str) -> None:
    for command, other in (("npm test", BROKEN), ("npm test 2>&1 | tail -5", BROKEN)):
        for line, said in (
            (f"{shows}{between}{command}", f"{BOARD}\n\n{other}"),
            (f"{command}{between}{shows}", f"{other}\n\n{BOARD}"),
            (f"ratchet health{between}{command}", f"0.89 overall\n\n{other}"),
        ):
            found = outcome(line, said)
            assert not found.ok, line  # type: ignore[attr-defined]
            assert "refs to" not in found.failure.message  # type: ignore[attr-defined]
    for line, said in (
        (f"{shows}{between}npm test", f"{BOARD}\n\nTests: 3 passed"),
        (f"npm test{between}{shows}", f"Tests: 3 passed\n\n{BOARD}"),
        (f"{shows}{between}git add .", BOARD),
        (f"git add .{between}{shows}", BOARD),
        (f"{shows} | python3 count.py", f"{BOARD}\n\n{BROKEN}"),
    ):
        assert outcome(line, said).ok, line  # type: ignore[attr-defined]


LESSON = {
    "id": "L1",
    "text": "git push -u origin HEAD",
    "when_text": "Error: Exit code 1\nfatal: no upstream branch",
    "tried": 3,
    "worked": 3,
}


def test_text_between_our_tags_is_no_failure_and_no_part_of_one() -> None:
    advice = fence([LESSON], 1000)  # type: ignore[list-item]
    assert ours.without(advice) == ""
    for text in (advice, f"all is well\n{advice}", advice[:-30]):
        assert not says_failure(text, tool="Bash", head="make", given="make help")
        assert not says_failure(text, tool="SomeTool")
    failed = outcome("make test", f"make: *** [test] Error 2\n{advice}", failed=True)
    assert failed.failure.message == "make: *** [test] Error 2"  # type: ignore[attr-defined]
    assert not outcome("make test", f"make: *** [test] Error 2\n{advice}").ok  # type: ignore[attr-defined]


def test_an_agent_that_looks_at_its_patterns_teaches_nothing(tmp_path: Path) -> None:
    lines = []
    for n, command in enumerate(SPELLINGS):
        use = {"type": "tool_use", "id": f"toolu_{n:024d}", "name": "Bash", "input": {"command": command}}
        made = {"type": "tool_result", "tool_use_id": f"toolu_{n:024d}", "content": SHOWN}
        about = {
            "sessionId": f"s{n % 4}",
            "cwd": "/p",
            "timestamp": f"2026-01-02T03:{n:02d}:05.000Z",
            "version": "2.0.1",
        }
        lines += [
            {**about, "type": "assistant", "uuid": f"a{n}", "message": {"role": "assistant", "content": [use]}},
            {**about, "type": "user", "uuid": f"u{n}", "message": {"role": "user", "content": [made]}},
        ]
    path = tmp_path / "history.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    with Runtime.open(home=tmp_path / "home") as runtime:
        runtime.learn([path])
        assert [each.ok for each in runtime.outcomes()] == [True] * len(SPELLINGS)
        assert list(runtime.lessons.list()) == []


@pytest.mark.parametrize(
    "command",
    [
        "cat ~/.ratchet/journal/x.jsonl", "tail -f ~/.ratchet/server.log", "less .ratchet/lessons.jsonl",
        "grep -r error ~/.ratchet", "rg boom /home/dev/.ratchet", "jq . $HOME/.ratchet/x.json",
        "cd /w && head -3 .ratchet/a",
        "sqlite3 ~/.ratchet/ratchet.db 'select 1'", "awk 1 ~/.ratchet/a | sort",
    ],
)  # fmt: skip
def test_what_shows_a_file_of_our_home_shows_ours(command: str) -> None:
    assert ours.shows_ours("Bash", command)


@pytest.mark.parametrize(
    "command",
    ["cat ~/.ratchetrc", "grep -rn ratchet src", "cat src/ratchet/a.py", "ls ~/.ratchet-old", "make .ratchet"],
)
def test_what_is_called_alike_does_not(command: str) -> None:
    assert not ours.shows_ours("Bash", command)

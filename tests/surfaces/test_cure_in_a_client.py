"""A check that a lesson was compiled to, in the real Claude Code: it denies the step, until it is undone."""

from __future__ import annotations

import json
from pathlib import Path

from ratchet.records import Json
from support.clients import Claude
from support.provider import Call, Provider

SESSIONS = 5
REFUSED = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"
FORCED = Call("Bash", {"command": "git push --force origin main", "description": "push"})
PLAIN = Call("Bash", {"command": "git push origin main", "description": "push"})


def _history(claude: Claude) -> Path:
    """A session in which a person refused a forced push, and many steps were fine."""
    lines: list[Json] = []

    def add(kind: str, content: Json) -> None:
        at = len(lines)
        lines.append(
            {
                "type": kind, "sessionId": "11111111-2222-4333-8444-555555555555", "uuid": f"u{at}",
                "timestamp": f"2026-01-05T10:{at // 60:02}:{at % 60:02}Z", "cwd": str(claude.project),
                "message": {"role": kind, "id": f"m{at}", "content": content},
            }
        )  # fmt: skip

    def call(command: str, said: str, *, failed: bool = False) -> None:
        name = f"toolu_{len(lines):024d}"
        add("assistant", [{"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}}])
        add("user", [{"type": "tool_result", "tool_use_id": name, "content": said, "is_error": failed}])

    call("git push --force", f"{REFUSED}no, never force a push here", failed=True)
    for _ in range(20):
        call("git push", "Everything up-to-date")
    path = claude.root / "history.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_denied_step_runs_in_no_session_and_the_file_is_as_it_was_when_the_check_is_undone(tmp_path: Path) -> None:
    claude = Claude(tmp_path)
    claude.sh("git", "init", "-q", "--bare", str(tmp_path / "bare.git"))
    claude.sh("git", "remote", "add", "origin", str(tmp_path / "bare.git"))
    claude.sh("git", "-c", "user.name=n", "-c", "user.email=n@example.com", "commit", "-q", "--allow-empty", "-m", "x")
    claude.sh("git", "branch", "-M", "main")
    claude.ratchet("learn", str(_history(claude)))
    (words,) = json.loads(claude.ratchet("lessons", "words", "--json"))
    lesson = str(words["lesson"])
    claude.ratchet("lessons", "approve", lesson, "--do", "Do not force a push.")
    settings = claude.project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n    "env": {"SHOP": "1"}\n}\n')
    before = settings.read_bytes()
    assert "changed: check" in claude.ratchet("lessons", "cure", lesson, "--as", "check")
    for _ in range(SESSIONS):
        with Provider({"": [FORCED, PLAIN, "done"]}) as provider:
            printed = claude.session(provider)
        assert printed.count("Do not force a push.") >= 1
        assert f"ratchet lessons cure {lesson} --undo" in printed
        assert "forced update" not in printed
        assert "new branch" in printed or "up-to-date" in printed  # the plain push
    assert "taken out" in claude.ratchet("lessons", "cure", lesson, "--undo")
    assert settings.read_bytes() == before
    with Provider({"": [FORCED, "done"]}) as provider:
        assert "Do not force a push." not in claude.session(provider)

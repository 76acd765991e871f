"""A check denies the step that its lesson speaks against, says how it goes, and denies nothing when it is broken."""

from __future__ import annotations

import json

import pytest

from ratchet.lessons.checks import answered, violates
from ratchet.records import Json, Row


def _bash(command: str) -> Json:
    return {"command": command}


@pytest.mark.parametrize(
    ("check", "tool", "given", "stops"),
    [
        ({"head": "git push", "part": "--force"}, "Bash", _bash("cd x && git push --force origin"), True),
        ({"head": "git push", "part": "--force"}, "Bash", _bash("git push --force-with-lease"), False),
        ({"head": "git push", "part": "--force"}, "Bash", _bash("echo 'git push --force'"), False),
        ({"head": "git push", "part": "--force"}, "Bash", _bash("bash -c 'git push --force'"), True),
        ({"head": "make", "part": "-j=8"}, "Bash", _bash("make -j=8"), True),
        ({"head": "git reset", "part": "--hard origin/main"}, "Bash", _bash("git reset --hard origin/main"), True),
        ({"head": "git reset", "part": "--hard origin/main"}, "Bash", _bash("git reset --hard HEAD"), False),
        ({"head": "golangci-lint run", "without": "mise exec"}, "Bash", _bash("golangci-lint run"), True),
        ({"head": "golangci-lint run", "without": "mise exec"}, "Bash", _bash("mise exec -- golangci-lint run"), False),
        ({"head": "npm", "part": ""}, "Bash", _bash("npm install"), True),
        ({"path": "docs/plans"}, "Write", {"file_path": "/w/docs/plans/a.md", "content": "x"}, True),
        ({"path": "docs/plans"}, "Write", {"file_path": "/w/docs/plans2/a.md", "content": "x"}, False),
        ({"text": "cpID"}, "Edit", {"file_path": "a.go", "new_string": "cpID := 1"}, True),
        ({"text": "cpID"}, "Bash", _bash("grep cpID"), False),
        ({"head": "git push"}, "Edit", {"file_path": "git push"}, False),
    ],
)
def test_what_a_check_stops(check: Row, tool: str, given: Json, stops: bool) -> None:
    assert violates(check, tool, given) is stops


def test_a_denial_says_why_and_how_the_check_goes() -> None:
    check = {"head": "git push", "part": "--force", "lesson": "l1", "say": "Do not force a push."}
    event = {"tool_name": "Bash", "tool_input": {"command": "git push --force"}}
    told = json.loads(answered(json.dumps(check), json.dumps(event).encode()))["hookSpecificOutput"]
    assert told["permissionDecision"] == "deny"
    assert "Do not force a push." in told["permissionDecisionReason"]
    assert "ratchet lessons cure l1 --undo" in told["permissionDecisionReason"]
    assert answered(json.dumps(check), b'{"tool_name": "Bash", "tool_input": {"command": "git push"}}') == ""

"""What rsi-loop's newest source adds: a look before the call, an approval by risk, sessions for training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ratchet import Ratchet
from ratchet.compat.rsi_loop.doom_loop_detector import (
    ToolCallRecord,
    check_before_tool_call,
    jaccard,
    reset_session_counter,
)
from ratchet.compat.rsi_loop.risk_policy import Approval, RiskClass, RiskPolicy, risk_class
from ratchet.compat.rsi_loop.training import export_sessions
from ratchet.records import Json

READ: dict[str, Json] = {"path": "/tmp/a"}
SECRET = "sk-ant-api03-" + "Ab3dEf6hIj" * 9


def calls(times: int, *, errored: bool = False, tool: str = "read", **args: Json) -> list[ToolCallRecord]:
    return [ToolCallRecord(tool, {**READ, **args}, errored) for _ in range(times)]


@pytest.fixture(autouse=True)
def begin() -> None:
    reset_session_counter("s")


def test_the_same_call_again_and_again_is_a_loop() -> None:
    assert check_before_tool_call("s", "read", READ, calls(2))["detected"] is False
    found = check_before_tool_call("s", "read", READ, calls(3))
    assert (found["pattern"], found["should_abort"]) == ("loop", True)
    assert "`read` was called 3 times" in str(found["corrective_message"])


def test_errors_of_one_tool_in_a_row_are_flailing_and_a_success_ends_the_row() -> None:
    assert check_before_tool_call("s", "read", {"path": "b"}, calls(3, errored=True))["pattern"] == "flailing"
    mixed = [*calls(2, errored=True), *calls(1, x=1), *calls(1, errored=True)]
    assert check_before_tool_call("s", "read", {"path": "b"}, mixed)["detected"] is False


def test_a_context_that_runs_out_while_all_fails_is_an_emergency() -> None:
    failing = [ToolCallRecord(f"t{number}", {}, True) for number in range(5)]
    asked = {"context_used_tokens": 90, "context_total_tokens": 100}
    assert check_before_tool_call("s", "read", READ, failing, **asked)["pattern"] == "emergency_abort"  # type: ignore[arg-type]
    asked["context_used_tokens"] = 50
    assert check_before_tool_call("s", "read", READ, failing, **asked)["detected"] is False  # type: ignore[arg-type]


def test_a_soft_loop_warns_once_and_stops_the_second_time_in_a_row() -> None:
    wide: dict[str, Json] = {str(number): number for number in range(20)}
    near = [ToolCallRecord("read", {**wide, "0": "other"}) for _ in range(4)]
    assert check_before_tool_call("s", "read", wide, near)["severity"] == "warning"
    assert check_before_tool_call("s", "read", wide, near)["severity"] == "abort"
    assert check_before_tool_call("s", "write", wide, near)["detected"] is False
    assert check_before_tool_call("s", "read", wide, near)["severity"] == "warning"  # no longer in a row


def test_arguments_are_alike_by_what_they_share() -> None:
    assert jaccard({"a": 1, "b": 2}, {"a": 1, "c": 3}) == pytest.approx(1 / 3)
    assert jaccard({}, {}) == 1.0


def test_without_a_history_the_session_in_the_store_is_looked_at(home: Path) -> None:
    with Ratchet(home) as r:
        for _ in range(3):
            r.failed("shop", tool="fetch", input={"city": "Oslo"}, error="HTTP 429", session="s")
        found = check_before_tool_call("s", "fetch", {"city": "Rome"}, ratchet=r)
        assert found["pattern"] == "flailing"
        assert check_before_tool_call("another", "fetch", {"city": "Rome"}, ratchet=r)["detected"] is False


CLASSES: list[tuple[str, Json, RiskClass, Approval]] = [
    ("Read", {"file_path": "a"}, "read", "ALLOW"),
    ("Bash", {"command": "git status 2>&1 | head -3"}, "read", "ALLOW"),
    ("Bash", {"command": "ls && pip install x"}, "mutate", "PROMPT"),
    ("Bash", {"command": "cat $(rm x)"}, "mutate", "PROMPT"),
    ("Bash", {"command": "cat a > b"}, "mutate", "PROMPT"),
    ("Edit", {"file_path": "a"}, "mutate", "PROMPT"),
    ("Bash", {"command": "rm -rf build"}, "destructive", "CONFIRM"),
    ("exec", {"command": "git push --force origin main"}, "destructive", "CONFIRM"),
    ("mcp__db__drop_table", {}, "destructive", "CONFIRM"),
    ("Bash", {"command": "git push"}, "external_write", "CONFIRM"),
    ("send_message", {}, "external_write", "CONFIRM"),
    ("place_order", {}, "financial", "CONFIRM"),
    ("sendPayment", {}, "financial", "CONFIRM"),
    ("address_book", {}, "unknown", "PROMPT"),
]


@pytest.mark.parametrize(("tool", "given", "found", "approval"), CLASSES)
def test_a_call_has_the_class_of_what_it_does(tool: str, given: Json, found: RiskClass, approval: Approval) -> None:
    assert risk_class(tool, given) == found
    assert RiskPolicy().approval(tool, given) == approval


def test_a_policy_may_be_relaxed_but_not_for_what_destroys() -> None:
    policy = RiskPolicy(main_agent=True, overrides={"external_write": "PROMPT", "destructive": "ALLOW"})
    assert policy.approval("Edit") == "ALLOW"
    assert policy.approval("send_message") == "PROMPT"
    assert policy.approval("Bash", {"command": "rm -rf /"}) == "CONFIRM"
    assert policy.approval("place_order", amount_usd=499.0) == "ALLOW"
    assert policy.approval("place_order", amount_usd=500.0) == "CONFIRM"


def test_sessions_are_written_for_training_in_order_and_without_secrets(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "sessions.jsonl"
    with Ratchet(home) as r:
        r.failed("shop", tool="fetch", input={"key": SECRET}, error="HTTP 429", session="mended", call="1")
        r.succeeded("shop", tool="fetch", input={"city": "Rome"}, output="sunny", session="mended", call="2")
        r.succeeded("shop", tool="fetch", input={"city": "Oslo"}, output="rain", session="smooth", call="3")
        assert export_sessions(file, ratchet=r) == 2
        assert export_sessions(file, ratchet=r, only_mended=True) == 1
    [told] = [json.loads(line) for line in file.read_text().splitlines()]
    assert (told["session"], told["agent"], told["ok"]) == ("mended", "shop", True)
    assert [(step["ok"], step["kind"]) for step in told["steps"]] == [(False, "rate_limit"), (True, "")]
    assert SECRET not in file.read_text()

"""Conversations with tool calls, in the shapes of many agents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ratchet.recording.sources import source_for
from ratchet.recording.sources.lines import peek
from ratchet.recording.sources.messages import Messages
from ratchet.records import Json, Row
from support.histories import Taught, lines, read, stamp

SOURCE = Messages()
KEY = "call_AbCdEfGhIjKlMnOpQrStUvWx"
OTHER = "call_ZyXwVuTsRqPoNmLkJiHgFeDc"


def document(path: Path, held: Json, indent: int | None = 1) -> Taught:
    path.write_text(json.dumps(held, indent=indent))
    assert SOURCE.claims(peek(str(path)))
    assert source_for(str(path)).name == "messages"
    return read(SOURCE, path)


def openai(said: str = "Error: user not found", key: str = KEY) -> list[Json]:
    function: Json = {"name": "get_user", "arguments": '{"user_id": "u1"}'}
    return [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": key, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": key, "name": "get_user", "content": said},
        {"role": "assistant", "content": "sorry"},
    ]


@pytest.mark.parametrize("wrap", ["list", "messages", "lines", "whole lines"])
def test_openai_messages_are_read_however_they_are_kept(tmp_path: Path, wrap: str) -> None:
    path = tmp_path / "talk.json"
    if wrap == "lines":
        taught = read(SOURCE, lines(path, openai()))
    elif wrap == "whole lines":
        taught = read(SOURCE, lines(path, [{"messages": openai()}, {"messages": openai("ok", OTHER)}]))
        assert taught.outcomes[1].ok
        assert taught.outcomes[0].session != taught.outcomes[1].session
    else:
        taught = document(path, openai() if wrap == "list" else {"messages": openai(), "model": "m"})
    found = taught.outcomes[0]
    assert found.failure is not None
    assert not found.failure.flagged
    assert (found.task, found.failure.message) == ("get_user", "Error: user not found")
    assert found.step is not None
    assert found.step.input == '{"user_id":"u1"}'
    assert found.session


def test_anthropic_blocks_are_read(tmp_path: Path) -> None:
    messages: Json = [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": KEY, "name": "bash", "input": {"command": "make"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": KEY, "content": "boom", "is_error": True}]},
    ]
    found = document(tmp_path / "api_conversation_history.json", messages).only
    assert (found.task, found.ok) == ("bash", False)


def test_pi_sessions_are_read(tmp_path: Path) -> None:
    tool: Json = {"type": "toolCall", "id": KEY, "name": "bash", "arguments": {"command": "npm test"}}
    usage: Json = {"input": 10, "output": 2, "totalTokens": 12}
    said: Row = {
        "role": "toolResult",
        "toolCallId": KEY,
        "toolName": "bash",
        "content": [{"type": "text", "text": "boom"}],
        "isError": True,
    }
    path = lines(
        tmp_path / "pi.jsonl",
        [
            {"type": "session", "version": 3, "id": "pi-1", "timestamp": stamp(0), "cwd": "/w"},
            {"type": "model_change", "id": "x", "modelId": "m"},
            {
                "type": "message",
                "id": "a",
                "timestamp": stamp(1),
                "message": {"role": "assistant", "content": [tool], "model": "m", "usage": usage},
            },
            {"type": "message", "id": "b", "parentId": "a", "timestamp": stamp(3), "message": said},
        ],
    )
    assert source_for(str(path)).name == "messages"
    found = read(SOURCE, path).only
    assert (found.agent, found.session, found.project, found.model) == ("pi", "pi-1", "/w", "m")
    assert (found.ok, found.duration_s, found.tokens) == (False, 2.0, 12)


def test_openclaw_writes_sessions_of_pi_under_its_own_name(tmp_path: Path) -> None:
    tool: Json = {"type": "toolCall", "id": KEY, "name": "exec", "arguments": {"command": "npm test"}}
    said: Row = {"role": "toolResult", "toolCallId": KEY, "toolName": "exec", "content": "boom", "isError": True}
    path = lines(
        tmp_path / "s.jsonl",
        [
            {"type": "session", "version": 3, "id": "claw-1", "timestamp": stamp(0), "cwd": "/w"},
            {"type": "custom", "customType": "model-snapshot", "data": {"modelId": "m"}, "timestamp": stamp(0)},
            {"type": "message", "timestamp": stamp(1), "message": {"role": "assistant", "content": [tool]}},
            {"type": "message", "timestamp": stamp(3), "message": said},
        ],
    )
    found = read(SOURCE, path).only
    assert (found.agent, found.session, found.project, found.ok) == ("openclaw", "claw-1", "/w", False)


def gemini_call(status: str, answer: Row, key: str = "run_shell_command-1") -> Row:
    response: Json = [{"functionResponse": {"id": key, "name": "run_shell_command", "response": answer}}]
    return {
        "id": key,
        "name": "run_shell_command",
        "args": {"command": "make"},
        "status": status,
        "result": response,
        "timestamp": stamp(2),
    }


def test_gemini_sessions_are_read_as_a_document_and_as_lines(tmp_path: Path) -> None:
    tools: Json = [
        gemini_call("error", {"error": "boom"}),
        gemini_call("success", {"output": "fine"}, "run_shell_command-2"),
    ]
    message: Json = {
        "id": "g1",
        "type": "gemini",
        "timestamp": stamp(1),
        "content": "",
        "toolCalls": tools,
        "model": "gemini-3",
        "tokens": {"total": 9},
    }
    about: Row = {"sessionId": "g-1", "projectHash": "abc", "startTime": stamp(0)}
    whole = document(tmp_path / "session.json", {**about, "messages": [{"type": "user", "content": "x"}, message]})
    assert [(found.ok, found.session, found.agent) for found in whole.outcomes] == [
        (False, "g-1", "gemini-cli"),
        (True, "g-1", "gemini-cli"),
    ]
    assert whole.outcomes[0].tokens == 9
    by_line = read(SOURCE, lines(tmp_path / "session.jsonl", [about, message]))
    assert by_line.outcomes[0].failure == whole.outcomes[0].failure


def test_openhands_is_read_in_both_shapes(tmp_path: Path) -> None:
    first: Json = [
        {"id": 0, "source": "user", "action": "message", "args": {"content": "fix"}},
        {
            "id": 1,
            "timestamp": stamp(1),
            "source": "agent",
            "action": "run",
            "args": {"command": "pytest", "thought": "hm"},
        },
        {
            "id": 2,
            "timestamp": stamp(3),
            "source": "agent",
            "observation": "run",
            "cause": 1,
            "content": "1 failed",
            "extras": {"metadata": {"exit_code": 1}},
        },
        {"id": 3, "source": "agent", "action": "finish", "args": {}},
    ]
    pairs: Json = [
        [
            {"action": "run", "args": {"command": "ls"}},
            {"observation": "run", "content": "a", "extras": {"exit_code": 0}},
        ]
    ]
    second: Json = [
        {
            "id": "a",
            "kind": "ActionEvent",
            "source": "agent",
            "timestamp": stamp(1),
            "tool_name": "terminal",
            "tool_call_id": KEY,
            "action": {"kind": "T", "command": "ls /x"},
        },
        {
            "id": "b",
            "kind": "ObservationEvent",
            "source": "environment",
            "timestamp": stamp(2),
            "tool_name": "terminal",
            "tool_call_id": KEY,
            "observation": {"content": [{"type": "text", "text": "no such file"}], "is_error": True},
        },
        {
            "id": "c",
            "kind": "AgentErrorEvent",
            "source": "agent",
            "tool_name": "terminal",
            "tool_call_id": OTHER,
            "error": "Error validating args",
        },
    ]
    found = document(tmp_path / "a.json", {"history": first, "instance_id": "i-1"}).only
    assert (found.agent, found.task, found.session[:4], found.ok, found.duration_s) == (
        "openhands",
        "bash",
        "i-1-",
        False,
        2.0,
    )
    assert found.step is not None
    assert found.step.input == "pytest"
    assert document(tmp_path / "b.json", {"history": pairs}).only.ok
    assert [each.ok for each in document(tmp_path / "c.json", second).outcomes] == [False, False]
    assert [each.ok for each in read(SOURCE, lines(tmp_path / "d.jsonl", second)).outcomes] == [False, False]  # type: ignore[arg-type]


def test_swe_agent_is_read_with_its_steps_or_with_history_only(tmp_path: Path) -> None:
    steps: Json = [
        {
            "action": "python a.py\n",
            "observation": 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nNameError: x',
            "thought": "t",
            "execution_time": 0.5,
        }
    ]
    both = document(
        tmp_path / "a.traj",
        {"trajectory": steps, "history": [{"role": "user", "content": "x"}], "info": {}, "environment": "swe_main"},
    )
    assert (both.only.agent, both.only.ok, both.only.duration_s) == ("swe-agent", False, 0.5)
    history: Json = [
        {"role": "system", "content": "s", "agent": "main"},
        {"role": "user", "content": "the task", "agent": "main"},
        {
            "role": "assistant",
            "content": "Let me look.\n```\nls nowhere\n```",
            "action": "ls nowhere\n",
            "agent": "main",
        },
        {
            "role": "user",
            "content": "ls: cannot access 'nowhere': No such file or directory\n(Open file: n/a)\nbash-$",
            "agent": "main",
        },
    ]
    only = document(tmp_path / "b.traj", {"history": history, "info": {"exit_status": "submitted"}}).only
    assert only.step is not None
    assert (only.agent, only.step.input) == ("swe-agent", "ls nowhere")
    mini: Json = [
        {"role": "user", "content": "the task"},
        {"role": "assistant", "content": "THOUGHT\n```bash\nmake\n```"},
        {"role": "user", "content": "<returncode>2</returncode>\n<output>\nboom\n</output>"},
    ]
    small = document(tmp_path / "c.traj", {"messages": mini, "info": {}, "trajectory_format": "mini-swe-agent-1"}).only
    assert small.failure is not None
    assert small.failure.exit_code == 2


@pytest.mark.parametrize("named", [{"environment": "swe_main"}, {"instance_id": "django-1"}])
def test_two_tries_at_one_task_are_two_sessions_and_a_copy_is_none(tmp_path: Path, named: Row) -> None:
    def attempt(name: str, command: str) -> Taught:
        look: Json = {"action": "ls", "observation": "a.py", "response": "x"}
        run: Json = {"action": command, "observation": "done", "response": "y"}
        return document(tmp_path / name, {"trajectory": [look, run], "history": [], "info": {}, **named})

    one, other = attempt("one.traj", "python a.py"), attempt("other.traj", "python b.py")
    assert {step.session for step in one.outcomes}.isdisjoint(step.session for step in other.outcomes)
    assert not set(one.ids) & set(other.ids)
    (tmp_path / "copy").mkdir()
    assert attempt("copy/one.traj", "python a.py").ids == one.ids


def test_gemini_tells_how_a_command_ended_in_its_report(tmp_path: Path) -> None:
    report = (
        "Command: {}\nDirectory: (root)\nOutput: {}\nError: (none)\nExit Code: {}\nSignal: 0\nProcess Group PGID: 7"
    )

    def ran(command: str, said: str, code: int | str) -> Json:
        response: Json = {"functionResponse": {"response": {"output": report.format(command, said, code)}}}
        call: dict[str, Json] = {
            "id": f"run_shell_command-{str(code)[:9]}-abcdef0123456789",
            "name": "run_shell_command",
        }
        return {**call, "args": {"command": command}, "result": [response], "status": "success"}

    calls: Json = [ran("make", "boom", 2), ran("ls", "a.py", 0), *(ran("ls", "a.py", odd) for odd in ("--7", "²"))]
    failed, fine, *odd = document(
        tmp_path / "g.json",
        {"sessionId": "s", "projectHash": "p", "messages": [{"type": "gemini", "content": "", "toolCalls": calls}]},
    ).outcomes
    assert fine.ok
    assert failed.failure is not None
    assert (failed.failure.exit_code, failed.failure.message) == (2, "boom")
    assert all(each.failure is None or each.failure.exit_code is None for each in odd)
    assert len(odd) == 2


def test_an_exit_code_behind_an_output_counts(tmp_path: Path) -> None:
    failed = document(tmp_path / "a.json", openai("sh: 1: vitest: not found\n[exit code: 127]")).only
    assert failed.failure is not None
    assert failed.failure.exit_code == 127
    assert document(tmp_path / "b.json", openai("12 passed\n[Command finished with exit code 0]", OTHER)).only.ok


def test_tau_bench_errors_are_plain_strings(tmp_path: Path) -> None:
    runs: Json = [
        {"task_id": 3, "trial": trial, "reward": 0.0, "info": {}, "traj": openai(key=f"{KEY}{trial}")}
        for trial in (0, 1)
    ]
    taught = document(tmp_path / "results.json", runs)
    assert [(found.agent, found.session[:2], found.session[-2:], found.ok) for found in taught.outcomes] == [
        ("tau-bench", "3-", "-0", False),
        ("tau-bench", "3-", "-1", False),
    ]
    second: Json = {
        "simulations": [
            {
                "id": "s1",
                "task_id": "4",
                "messages": [
                    {"role": "assistant", "tool_calls": [{"id": KEY, "name": "book", "arguments": {"x": 1}}]},
                    {"role": "tool", "id": KEY, "content": "Error: no seat", "error": True},
                ],
            }
        ]
    }
    assert not document(tmp_path / "tau2.json", second).only.ok


def test_opencode_parts_are_read(tmp_path: Path) -> None:
    state: Json = {
        "status": "completed",
        "input": {"command": "make"},
        "output": "boom",
        "metadata": {"exit": 2},
        "time": {"start": 1769940000000, "end": 1769940002000},
    }
    message: Json = {
        "info": {"role": "assistant", "id": "m", "sessionID": "s"},
        "parts": [{"type": "text", "text": "x"}, {"type": "tool", "callID": KEY, "tool": "bash", "state": state}],
    }
    described: Json = {"id": "ses_1", "directory": "/p/shop"}
    found = document(tmp_path / "export.json", {"info": described, "messages": [message]}).only
    assert (found.task, found.ok, found.duration_s) == ("bash", False, 2.0)
    assert (found.session, found.project) == ("ses_1", "/p/shop")


def test_a_copied_conversation_counts_once_and_a_rewritten_document_adds_what_is_new(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    first = document(path, {"messages": openai()})
    second = [*openai(), *openai("fine", OTHER)[2:]]
    path.write_text(json.dumps({"messages": second}, indent=1))
    then = read(SOURCE, path, first.offset, first.carry)
    assert then.ids[0] == first.ids[0]
    assert len(then.ids) == 2


def test_odd_documents_break_nothing(tmp_path: Path) -> None:
    odd: Json = [
        5,
        None,
        {"role": "tool"},
        {"role": "assistant", "tool_calls": [5, {"id": 7, "function": "x"}]},
        {"role": "tool", "tool_call_id": 7, "content": {"a": 1}},
    ]
    assert document(tmp_path / "a.json", {"messages": odd}).outcomes
    torn = tmp_path / "b.json"
    torn.write_text('{\n "messages": [\n  {"role": "assistant", "content"')
    assert "not a whole JSON document" in read(SOURCE, torn).bad[0].reason
    plain = read(SOURCE, lines(tmp_path / "c.jsonl", [{"role": "user", "content": "hi"}]))
    assert "none of them a finished step" in plain.note


def test_rows_of_runs_and_settings_are_not_taken_for_conversations() -> None:
    assert not SOURCE.claims(b'{"action": "deploy", "args": [], "success": false}\n')
    assert not SOURCE.claims(b'{"events": 5, "ok": true}\n')
    assert not SOURCE.claims(b'{"task": "x", "ok": true, "events": [{"at": 1}]}\n')
    assert not SOURCE.claims(b'{\n  "name": "shop",\n  "version": "1.0"\n}\n')


def test_an_id_that_a_model_used_twice_names_two_calls(tmp_path: Path) -> None:
    twice = [*openai("ok"), *openai("Error: no seat")[2:]]
    path = tmp_path / "a.json"
    taught = document(path, twice)
    assert [found.ok for found in taught.outcomes] == [True, False]
    assert len(set(taught.ids)) == 2


def test_a_message_written_again_counts_once_with_its_tokens(tmp_path: Path) -> None:
    message: Row = {"id": "g1", "type": "gemini", "timestamp": stamp(1), "tokens": {"total": 9}}
    ended: Row = {**message, "toolCalls": [gemini_call("success", {"output": "fine"})]}
    about: Row = {"sessionId": "g-1", "projectHash": "abc"}
    failed: Row = {"id": "e1", "type": "error", "content": "[API Error: quota exceeded]", "timestamp": stamp(5)}
    taught = read(SOURCE, lines(tmp_path / "a.jsonl", [about, message, ended, ended, failed]))
    assert len(set(taught.ids)) == 2
    assert taught.outcomes[0].tokens == 9
    assert (taught.outcomes[-1].task, taught.outcomes[-1].ok) == ("model", False)


def test_a_worked_example_is_no_step(tmp_path: Path) -> None:
    shown: list[Json] = [{**record, "is_demo": True} for record in openai() if isinstance(record, dict)]
    assert len(document(tmp_path / "a.json", {"history": [*shown, *openai("fine", OTHER)]}).outcomes) == 1


def test_copilot_events_are_read(tmp_path: Path) -> None:
    asked: Json = [{"toolCallId": "call_1", "name": "bash", "arguments": {"command": "make"}}]
    path = lines(
        tmp_path / "events.jsonl",
        [
            {"type": "session.start", "data": {"sessionId": "c-1"}, "timestamp": stamp(0)},
            {"type": "assistant.message", "data": {"content": "", "toolRequests": asked}, "timestamp": stamp(1)},
            {
                "type": "tool.execution_complete",
                "data": {"toolCallId": "call_1", "success": False, "error": {"message": "boom"}},
                "timestamp": stamp(2),
            },
        ],
    )
    assert source_for(str(path)).name == "messages"
    found = read(SOURCE, path).only
    assert (found.agent, found.session, found.task, found.ok) == ("copilot-cli", "c-1", "bash", False)


def test_qwen_frames_around_geminis_parts_are_not_taken_for_claudes(tmp_path: Path) -> None:
    call: Json = {"functionCall": {"id": KEY, "name": "run_shell_command", "args": {"command": "make"}}}
    answer: Json = {"functionResponse": {"id": KEY, "name": "run_shell_command", "response": {"error": "boom"}}}
    frame: Row = {"sessionId": "q-1", "cwd": "/w", "timestamp": stamp(1)}
    path = lines(
        tmp_path / "q.jsonl",
        [
            {**frame, "type": "assistant", "message": {"role": "model", "parts": [call]}},
            {**frame, "type": "tool_result", "message": {"role": "user", "parts": [answer]}},
        ],
    )
    assert source_for(str(path)).name == "messages"
    found = read(SOURCE, path).only
    assert (found.agent, found.session, found.project, found.ok) == ("qwen-code", "q-1", "/w", False)


@pytest.mark.parametrize(
    ("output", "ok"),
    [
        ({"type": "error-text", "value": "boom"}, False),
        ({"type": "error-json", "value": {"code": 1}}, False),
        ({"type": "text", "value": "fine"}, True),
        ({"type": "json", "value": {"a": 1}}, True),
    ],
)
def test_the_ai_sdk_tells_a_failure_by_the_type_of_its_output(tmp_path: Path, output: Json, ok: bool) -> None:
    called: Row = {"toolCallId": KEY, "toolName": "get_user"}
    messages: list[Json] = [
        {"role": "assistant", "content": [{"type": "tool-call", "input": {}, **called}]},
        {"role": "tool", "content": [{"type": "tool-result", "output": output, **called}]},
    ]
    (found,) = document(tmp_path / "talk.json", messages).outcomes
    assert found.ok is ok

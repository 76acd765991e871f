"""Every client that is known keeps the contract of the port, on events as the real ones send them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ratchet import registry
from ratchet.testing import clients
from ratchet.testing.clients import Sample

SESSION = "0192f0c1-aaaa-4bbb-8ccc-0123456789ab"
ABOUT = {"session_id": SESSION, "transcript_path": "/nowhere/s.jsonl", "cwd": "/p/shop"}
FATAL = "fatal: The current branch fix-login has no upstream branch."


def event(name: str, *, fails: bool = False, **told: object) -> Sample:
    text = json.dumps({**ABOUT, "hook_event_name": name, **told}, separators=(",", ":"))
    return Sample(name, text.encode(), fails=fails)


def batch(*results: tuple[str, str], fails: bool = False) -> Sample:
    calls = [
        {"tool_name": tool, "tool_input": {"command": "git push"}, "tool_use_id": f"toolu_{len(said):024}",
         "tool_response": said}
        for tool, said in results
    ]  # fmt: skip
    return event("PostToolBatch", tool_calls=calls, fails=fails)


def bash(name: str, key: str, **told: object) -> Sample:
    fails = bool(told.pop("fails", False))
    return event(name, tool_name="Bash", tool_input={"command": "git push"}, tool_use_id=key, fails=fails, **told)


ENDS = "\nError: (none)\nExit Code: 128\nSignal: (none)\nProcess Group PGID: (none)"
"""How Qwen Code reports the end of a command."""


def gemini(result: dict[str, object], *, fails: bool = False) -> Sample:
    return event(
        "AfterTool",
        tool_name="run_shell_command",
        tool_input={"command": "git push"},
        tool_response=result,
        fails=fails,
    )


def copilot(name: str, *, fails: bool = False, **told: object) -> Sample:
    about = {"sessionId": SESSION, "cwd": "/p/shop", "toolName": "bash", "toolArgs": {"command": "git push"}}
    return Sample(name, json.dumps({**about, **told}, separators=(",", ":")).encode(), fails=fails)


def cline(part: dict[str, object], *, fails: bool = False) -> Sample:
    about = {"workspaceRoots": ["/p/shop"], "sessionContext": {"rootSessionId": SESSION}}
    call = {"id": f"call_{part['query']}", "name": "run_commands", "input": {"commands": ["x"]}, "output": [part]}
    return Sample(
        "PostToolUse", json.dumps({**about, "tool_result": call}, separators=(",", ":")).encode(), fails=fails
    )


def cursor(name: str, *, fails: bool = False, **told: object) -> Sample:
    about = {"conversation_id": SESSION, "workspace_roots": ["/p/shop"], "tool_name": "Shell",
             "tool_input": {"command": "git push"}}  # fmt: skip
    return Sample(name, json.dumps({**about, **told}, separators=(",", ":")).encode(), fails=fails)


def bridged(call: dict[str, object], *, fails: bool = False) -> Sample:
    about = {"session_id": SESSION, "cwd": "/p/shop", "tool_calls": [call]}
    return Sample("PostToolBatch", json.dumps(about, separators=(",", ":")).encode(), fails=fails)


BRIDGED = [
    bridged(
        {
            "tool_name": "bash",
            "tool_use_id": "call_1",
            "tool_input": {"command": "git push"},
            "exit_code": 128,
            "tool_response": FATAL,
        },
        fails=True,
    ),
    bridged(
        {
            "tool_name": "read",
            "tool_use_id": "call_2",
            "tool_input": {"filePath": "/p/a"},
            "is_error": True,
            "tool_response": "File not found: /p/a",
        },
        fails=True,
    ),
    bridged({"tool_name": "bash", "tool_use_id": "call_3", "tool_input": {"command": "ls"}, "tool_response": "a.txt"}),
]


SAMPLES = {
    "claude-code": [
        bash("PostToolUseFailure", "toolu_1", error=f"Exit code 128\n{FATAL}", is_interrupt=False, fails=True),
        batch(("Edit", "<tool_use_error>File has not been read yet. Read it first.</tool_use_error>"), fails=True),
        batch(("Read", "x = 1\n"), ("Bash", f"{FATAL}\nTo push the current branch, use"), fails=True),
        batch(("Bash", "On branch main\nnothing to commit"), ("Read", "error = 1\n" * 100)),
        batch(("Grep", "Found 3 files\nsrc/errors.py\nsrc/failed.py")),
        event("UserPromptSubmit", prompt="why does the error come back? it says fatal"),
    ],
    "codex": [
        bash("PostToolUse", "call_1", tool_response=f"{FATAL}\nTo push the current branch, use", fails=True),
        bash("PostToolUse", "call_2", tool_response="done\n"),
    ],
    "cline": [
        cline(
            {
                "query": "git push",
                "result": f"[Command exited with code 128]\n\n[stderr]\n{FATAL}\n",
                "success": False,
                "error": "Command exited with code 128",
            },
            fails=True,
        ),
        cline(
            {"query": "a.txt", "result": "", "error": "Error reading file: ENOENT: no such file", "success": False},
            fails=True,
        ),
        cline({"query": "ls", "result": "a.txt\n", "success": True}),
    ],
    "cursor": [
        cursor("postToolUse", tool_output=json.dumps({"output": FATAL, "exitCode": 128}), tool_use_id="1", fails=True),
        cursor("postToolUseFailure", error_message="File not found: /p/a.txt", tool_use_id="2", fails=True),
        cursor("postToolUse", tool_output=json.dumps({"output": "a.txt", "exitCode": 0}), tool_use_id="3"),
    ],
    "gemini": [
        gemini(
            {
                "llmContent": f"<untrusted_context>\nOutput: {FATAL}\nExit Code: 128\n</untrusted_context>",
                "returnDisplay": FATAL,
            },
            fails=True,
        ),
        gemini(
            {"llmContent": "Could not read.", "error": {"message": "File not found: /p/a.txt", "type": "x"}}, fails=True
        ),
        gemini({"llmContent": "<untrusted_context>\nOutput: fine\nProcess Group PGID: 2\n</untrusted_context>"}),
    ],
    "qwen": [
        bash(
            "PostToolUseFailure",
            "toolu_1",
            tool_call_id="call_1",
            error=f"Command: git push\nDirectory: (root)\nOutput: {FATAL}{ENDS}",
            fails=True,
        ),
        bash(
            "PostToolUse",
            "toolu_2",
            tool_call_id="call_2",
            tool_response={
                "llmContent": f"Command: git push | cat\nDirectory: (root)\nOutput: {FATAL}{ENDS.replace('128', '0')}"
            },
            fails=True,
        ),
        bash(
            "PostToolUse",
            "toolu_3",
            tool_call_id="call_3",
            tool_response={"llmContent": f"Command: ls\nDirectory: (root)\nOutput: a.txt{ENDS.replace('128', '0')}"},
        ),
    ],
    "copilot": [
        copilot(
            "postToolUse",
            toolResult={
                "resultType": "success",
                "textResultForLlm": f"{FATAL}\n<shellId: 0 completed with exit code 128>",
            },
            fails=True,
        ),
        copilot("postToolUseFailure", error="Path does not exist", fails=True),
        copilot(
            "postToolUse",
            toolResult={"resultType": "success", "textResultForLlm": "fine\n<shellId: 1 completed with exit code 0>"},
        ),
    ],
    "pi": BRIDGED,
    "opencode": BRIDGED,
    "aider": [],  # it has no events
    "openclaw": [],  # nor has it
}


@pytest.mark.parametrize("name", registry.names(registry.CLIENTS))
def test_a_client_keeps_the_contract(name: str, tmp_path: Path) -> None:
    clients.check(registry.client(name), SAMPLES[name], tmp_path)


def test_the_main_agent_of_cline_is_no_thread_as_in_its_histories() -> None:
    first = json.loads(SAMPLES["cline"][0].data)
    for parent, thread in ((None, ""), ("agent_1", "agent_2")):
        data = {**first, "agent_id": "agent_2", "parent_agent_id": parent}
        assert registry.client("cline").event("finished", data).thread == thread


def test_codex_tells_a_command_that_fails_without_a_word_by_its_rollout(tmp_path: Path) -> None:
    rollout = tmp_path / "rollout.jsonl"
    item = {"type": "CommandExecution", "id": "call_3", "command": ["false"], "exit_code": 1, "status": "failed"}
    rollout.write_text(json.dumps({"payload": {"item": item}}, separators=(",", ":")) + "\n")
    codex = registry.client("codex")
    silent = bash("PostToolUse", "call_3", tool_response="", transcript_path=str(rollout))
    assert [row["failure"] for row in clients.failures(codex, silent)] == [{"exit_code": 1, "flagged": True}]
    other = bash("PostToolUse", "call_4", tool_response="", transcript_path=str(rollout))
    assert clients.failures(codex, other) == []


def test_a_background_command_of_claude_code_is_looked_up_in_its_transcript(tmp_path: Path) -> None:
    transcript, printed = tmp_path / "s.jsonl", tmp_path / SESSION / "tasks" / "b.output"
    printed.parent.mkdir(parents=True)
    call = {"type": "tool_use", "id": "toolu_9", "name": "Bash", "input": {"command": "make serve"}}
    lines = [{"message": {"content": [call]}}, *({"message": {"content": "x" * 1000}} for _ in range(2000))]
    transcript.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    printed.write_text("fatal: the port is taken\n")
    notice = (
        f"<task-notification>\n<tool-use-id>toolu_9</tool-use-id>\n<output-file>{printed}</output-file>\n"
        '<status>failed</status>\n<summary>Background command "x" failed with exit code 2</summary>\n'
        "</task-notification>"
    )
    sample = event("UserPromptSubmit", prompt=notice, transcript_path=str(transcript), fails=True)
    secret = tmp_path / "secret.output"
    secret.write_text("nobody's business")
    elsewhere = event(
        "UserPromptSubmit", prompt=notice.replace(str(printed), str(secret)), transcript_path=str(transcript)
    )
    (row,) = clients.failures(registry.client("claude-code"), elsewhere)
    assert "business" not in str(row)
    (row,) = clients.failures(registry.client("claude-code"), sample)
    assert row["failure"] == {"message": "Exit code 2\nfatal: the port is taken", "exit_code": 2, "flagged": True}
    assert row["step"] == {"tool": "Bash", "head": "make serve", "input": "make serve"}

"""The same failure has the same signature, whichever client ran the tool and however that wraps and words it."""

from __future__ import annotations

import pytest

from ratchet.failures.kinds.kind import kind_of
from ratchet.failures.signature import sign, template_of
from ratchet.failures.unwrapped import answers, unwrapped
from ratchet.failures.verdict import failure_row

FATAL = "fatal: No configured push destination."
PUSHES = {
    "claude-code": f"Exit code 128\n{FATAL}",
    "codex": FATAL,
    "gemini": f"<untrusted_context>\nOutput: {FATAL}\nExit Code: 128\nProcess Group PGID: 7\n</untrusted_context>\n\n"
    "<hook_context>name the remote</hook_context>",
    "qwen": f"Command: git push\nDirectory: (root)\nOutput: {FATAL}\nError: (none)\nExit Code: 128\nSignal: (none)\n"
    "Process Group PGID: (none)",
    "copilot": f'{FATAL}\n<shellId: 0 completed with exit code 128>\n\nTool "bash" succeeded. Additional guidance from '
    "postToolUse hooks:\nname the remote",
    "cline": f"[Command exited with code 128]\n\n[stderr]\n{FATAL}\n",
}
ABSENT = (
    "String to replace not found in file.",
    "Could not find an exact match for 'old_string' in '/p/a.txt'. If previous edits modified the file",
    "Could not find oldString in the file. It must match exactly, including whitespace.",
    "Editor operation failed: No replacement performed: text not found in /p/a.txt.",
    "Could not find the exact text in /p/a.txt. The old text must match exactly including all whitespace.",
    "No match found",
)
UNREAD = (
    "File has not been read yet. Read it first before writing to it.",
    "File /p/a.txt has not been read in this session. Use the read_file tool first to load the current content",
    "You must read file /p/a.txt before overwriting it.",
)
MISSING = (
    "File does not exist.",
    "File not found: /p/nowhere.txt",
    "Path does not exist",
    "Error reading file: ENOENT: no such file or directory, statx '/p/nowhere.txt'",
    "ENOENT: no such file or directory, access '/p/nowhere.txt'",
)


def signature(said: str, tool: str) -> str:
    text, code = unwrapped(said)
    row = failure_row(text, flag=True, tool=tool, head="", given="", exit_code=code)
    assert row is not None
    message = str(row["message"])
    return sign(kind_of(message), template_of(message))


def test_a_failed_command_has_one_signature_in_all_clients() -> None:
    assert len({signature(said, "Bash") for said in PUSHES.values()}) == 1


@pytest.mark.parametrize("wordings", [ABSENT, UNREAD, MISSING])
def test_an_error_of_a_clients_own_tool_has_one_signature_in_all_clients(wordings: tuple[str, ...]) -> None:
    assert len({signature(said, "edit") for said in wordings}) == 1


@pytest.mark.parametrize("said", ["No match found", "File not found: a.txt"])
def test_a_commands_words_stay_its_own(said: str) -> None:
    row = failure_row(said, flag=True, tool="Bash", head="", given="")
    assert row is not None
    assert row["message"] == said


def test_words_of_a_report_inside_a_text_are_no_report() -> None:
    text = "Output: of the build\nExit Code: is told below"
    assert unwrapped(f"{text}\nand more") == (f"{text}\nand more", None)


def test_answers_of_clines_tools_say_themselves_whether_all_went_well() -> None:
    assert answers([{"query": "ls", "result": "a.txt", "success": True}]) == ("a.txt", False)
    assert answers('{"query":"edit:a","result":"","error":"text not found","success":false}') == (
        "text not found",
        True,
    )
    assert answers([{"query": "ls", "result": "x", "success": True}, "more"]) is None
    assert answers("plain") is None

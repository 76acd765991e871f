"""A lesson names a tool as the client that asks does, and no other word changes."""

from __future__ import annotations

import pytest

from ratchet import registry
from ratchet.failures.programs import role_of
from ratchet.lessons.tool_names import in_words_of, worded
from ratchet.records import Row

ROLES = {"shell", "read", "edit", "write", "search"}
CLIENTS = [name for name in registry.names(registry.CLIENTS) if registry.client(name).tools]  # aider calls none


def told(client: str, text: str, own: str = "") -> str:
    return worded(registry.client(client).tools, text, own)


@pytest.mark.parametrize("name", CLIENTS)
def test_a_clients_own_names_are_known_by_their_roles(name: str) -> None:
    tools = dict(registry.client(name).tools)
    form = tools.pop("mcp", "{server}{tool}")
    assert form.format(server="s", tool="t")
    assert "shell" in tools
    for role, tool in tools.items():
        assert role in ROLES
        assert role_of(tool) == role or tools[role_of(tool)] == tool  # one tool may edit and write


@pytest.mark.parametrize(
    ("client", "said"),
    [
        ("claude-code", "Use the Read tool first, then Edit the file."),
        ("gemini", "Use the read_file tool first, then Edit the file."),
        ("copilot", "Use the view tool first, then Edit the file."),
        ("cline", "Use the read_files tool first, then Edit the file."),
        ("codex", "Use the Read tool first, then Edit the file."),  # it reads by commands
    ],
)
def test_a_tool_is_named_as_the_asking_client_does(client: str, said: str) -> None:
    assert told(client, "Use the Read tool first, then Edit the file.") == said


def test_the_forms_in_which_lessons_name_a_tool_are_known() -> None:
    assert told("gemini", "Call Edit with `all` as `mode`; there is no `every`.", "Edit").startswith(
        "Call replace with"
    )
    assert told("claude-code", "Call run_shell_command with `x`.", "run_shell_command") == "Call Bash with `x`."
    assert told("opencode", "There is no ref called `x` here: do not call Read for it.", "Read").endswith(
        "read for it."
    )
    assert told("qwen", "Do not call `Bash`: it has not worked here once.", "Bash") == (
        "Do not call `run_shell_command`: it has not worked here once."
    )
    assert told("copilot", "the read_file tool before the apply_patch tool") == "the view tool before the edit tool"
    assert told("claude-code", "the grep_search tool") == "the Grep tool"


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    "text",
    [
        "`grep` has no `-P`: leave it out.",
        "This shell does not take a `\\` at a line's end: write the command on one line.",
        "Read the file first. Write it with `case`, `switch`.",
        "Run `bash deploy.sh`, not `sh`; use `os.open` and `Path.read` in their place.",
        "Open a terminal, and call write() or read-file.",
        "Call the insert API with `x`.",
        "Use fs.promises.readFile, then run: npm test -- -t run_command",
        "Call run_command with `check=True`, then call `read_file` for each.",
        "import read_file from utils.io; CREATE TABLE run_command; rename create_file, and `Write` for `io::Write`",
        "/tools/read_file.py and read_file() are not tools here.",
    ],
)
def test_commands_code_and_plain_words_stay(client: str, text: str) -> None:
    assert told(client, text) == text


def test_a_tool_of_an_mcp_server_is_named_as_the_asking_client_does() -> None:
    text = "Call mcp__linear-server__create_issue with a `parentId` like `4ce8`, not one like `ENT-53`."
    assert told("claude-code", text) == told("codex", text) == told("cline", text) == text
    assert told("gemini", text) == text.replace("mcp__linear-server__create_issue", "mcp_linear-server_create_issue")
    assert told("opencode", text) == text.replace("mcp__linear-server__create_issue", "linear-server_create_issue")
    assert told("copilot", text) == text.replace("mcp__linear-server__create_issue", "linear-server-create_issue")


def test_the_advice_and_the_steps_of_a_lesson_change_and_its_example_stays() -> None:
    lesson: Row = {"id": "l", "text": "the Read tool", "steps": ["the Edit tool"], "example": "the Read tool"}
    (said,) = in_words_of(registry.client("gemini").tools, [lesson])
    assert said == {"id": "l", "text": "the read_file tool", "steps": ["the replace tool"], "example": "the Read tool"}
    assert in_words_of({}, [lesson]) == [lesson]

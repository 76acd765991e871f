"""The MCP server, driven by the SDK's own client: every tool is listed, called, and answers as its schema says."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ratchet.runtime import Runtime
from support.healing import needs_sandbox

pytest.importorskip("mcp")

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult, Implementation, TextContent

T = TypeVar("T")
PUSH = "fatal: The current branch topic has no upstream branch."


def with_client(home: Path, what: Callable[[Client], Awaitable[T]], asks: Implementation | None = None) -> T:
    """Start `ratchet mcp` as an agent does, and ask it."""
    server = StdioServerParameters(
        command=sys.executable, args=["-I", "-m", "ratchet", "--home", str(home), "mcp"], env={"HOME": str(home.parent)}
    )

    async def asked() -> T:
        async with Client(server, client_info=asks) as client:
            return await what(client)

    return asyncio.run(asyncio.wait_for(asked(), 120))


def called(home: Path, tool: str, **given: object) -> CallToolResult:
    async def ask(client: Client) -> CallToolResult:
        result = await client.call_tool(tool, dict(given))
        assert isinstance(result, CallToolResult)
        return result

    return with_client(home, ask)


def data(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, prose(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def prose(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.fixture
def learnt(home: Path) -> Path:
    """A home that knows a lesson."""
    with Runtime.open(home=home) as runtime:
        runtime.lessons.add(when=PUSH, do="git push --set-upstream origin topic", scope="global", state="active")
        for number in range(3):
            runtime.record("coder", task="Bash", error=PUSH, session=f"s{number}")
    return home


def test_every_tool_is_listed_with_schemas_of_what_it_takes_and_answers(home: Path) -> None:
    async def ask(client: Client) -> list[Any]:
        return list((await client.list_tools()).tools)

    tools = {each.name: each for each in with_client(home, ask)}
    assert set(tools) >= {
        *("search_memory", "get_lesson", "record_outcome", "list_patterns", "get_health", "run_sandboxed"),
        *("project_facts", "predict_failures", "get_report"),
        *("run_task", "task_status", "checkpoints", "restore"),
    }
    for tool in tools.values():
        assert tool.description, tool.name
        assert tool.output_schema, tool.name
        assert tool.input_schema["type"] == "object", tool.name


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_while_its_agent_still_listens(home: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-I", "-m", "ratchet", "--home", str(home), "mcp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        who = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        server.stdin.write(json.dumps(asked).encode() + b"\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["result"]["capabilities"].keys() >= {"tools", "prompts"}
        server.send_signal(number)
        assert server.wait(60) == 130


def test_an_error_finds_the_lesson_and_the_lesson_is_told_whole(learnt: Path) -> None:
    found = called(learnt, "search_memory", query=PUSH)
    (lesson,) = data(found)["lessons"]
    assert "\ngit push --set-upstream origin topic\n" in lesson["text"]
    assert "git push --set-upstream origin topic" in prose(found)
    whole = data(called(learnt, "get_lesson", id=lesson["id"]))
    assert whole["id"] == lesson["id"]


@pytest.mark.parametrize(
    ("asks", "tool"),
    [
        ("claude-code", "Read"), ("gemini-cli-mcp-client", "read_file"), ("@cline/core", "read_files"),
        ("copilot-cli", "view"), ("opencode", "read"), ("somebody-else", "Read"),
    ],
)  # fmt: skip
def test_a_lesson_names_a_tool_as_the_client_that_asks_does(home: Path, asks: str, tool: str) -> None:
    said = "Use the Read tool with `all` as `mode`."
    with Runtime.open(home=home) as runtime:
        added = runtime.lessons.add(when=PUSH, do=said, scope="global", state="active")

    async def ask(client: Client) -> list[Any]:
        found = await client.call_tool("search_memory", {"query": PUSH})
        one = await client.call_tool("get_lesson", {"id": added.id})
        prompt = await client.get_prompt("before_i_start", {})
        return [found, one, prompt]

    found, one, prompt = with_client(home, ask, Implementation(name=asks, version="1"))
    for told in (prose(found), str(data(found)), prose(one), str(data(one)), prompt.messages[0].content.text):
        assert f"Use the {tool} tool with `all` as `mode`." in told


def test_what_nobody_has_seen_is_not_guessed(learnt: Path) -> None:
    found = data(called(learnt, "search_memory", query="segmentation fault in the flux capacitor"))
    assert (found["lessons"], found["abstained"]) == ([], True)


def test_an_empty_home_answers_that_it_knows_nothing(home: Path) -> None:
    assert data(called(home, "search_memory", query=PUSH))["searched"] == 0
    assert data(called(home, "get_health"))["score"] is None
    assert data(called(home, "list_patterns"))["patterns"] == []


def test_what_is_recorded_is_classified_and_counts_once(home: Path) -> None:
    for _ in range(2):
        recorded = data(
            called(home, "record_outcome", agent="coder", task="fetch", error="429 Too Many Requests", id="k1")
        )
    assert (recorded["ok"], recorded["kind"]) == (False, "rate_limit")
    with Runtime.open(home=home) as runtime:
        assert [each.id for each in runtime.outcomes()] == [recorded["id"]]
        assert next(iter(runtime.outcomes())).source == "mcp"


def test_patterns_and_health_are_those_of_the_command_line(learnt: Path) -> None:
    (pattern,) = data(called(learnt, "list_patterns"))["patterns"]
    assert pattern["count"] == 3
    assert data(called(learnt, "get_health"))["agents"]["coder"] < 0.5


def test_a_call_that_makes_no_sense_is_told_what_is_wrong(home: Path) -> None:
    for tool, given, why in (
        ("get_lesson", {"id": "l-nowhere"}, "l-nowhere"),
        ("record_outcome", {"agent": ""}, "agent"),
        ("search_memory", {"query": PUSH, "limit": 0}, "limit"),
        ("run_sandboxed", {"argv": []}, "argv"),
        ("run_sandboxed", {"argv": ["true"], "folder": "somewhere"}, "absolute"),
    ):
        result = called(home, tool, **given)
        assert result.is_error, tool
        assert why in prose(result)
        assert "Traceback" not in prose(result)


def test_what_is_wrong_with_a_call_is_told_without_the_secrets_in_it(home: Path) -> None:
    key = "sk-ant-api03-" + "Ab1" * 20 + "-AA"
    for tool, given in (
        ("get_lesson", {"id": key}),
        ("record_outcome", {"agent": [key]}),
        ("search_memory", {"query": key, "limit": key}),
        ("run_sandboxed", {"command": f"echo {key}"}),
    ):
        result = called(home, tool, **given)
        assert result.is_error, tool
        assert key[:20] not in prose(result)
        assert key[-8:] not in prose(result)


def test_wrong_arguments_are_told_in_one_line_of_plain_words(home: Path) -> None:
    assert prose(called(home, "predict_failures", command="make")) == "Wrong arguments: project is missing."
    assert prose(called(home, "get_session", session="abc")) == (
        "Wrong arguments: id is missing; session is unknown; it takes id, at, limit, cursor."
    )


def test_half_a_letter_in_a_call_costs_that_letter_and_not_the_answer(home: Path) -> None:
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    call = {"name": "record_outcome", "arguments": {"agent": "a", "error": "cut \ud83d", "ok": False}}
    lines: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": begin},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ]
    argv = [sys.executable, "-I", "-m", "ratchet", "--home", str(home), "mcp"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for each in lines:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **each}) + "\n")
            server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
        assert server.wait(30) == 0
    assert [each["id"] for each in answers] == [1, 2]
    assert answers[1]["result"]["structuredContent"]["ok"] is False


def test_a_command_runs_in_the_sandbox_and_reaches_nothing_but_its_folder(home: Path, tmp_path: Path) -> None:
    needs_sandbox(home)
    work = tmp_path / "work"
    work.mkdir()
    code = "import pathlib; pathlib.Path('made').write_text('x'); print(pathlib.Path('/root/.ssh').exists())"
    ran = data(called(home, "run_sandboxed", argv=["python", "-c", code], folder=str(work)))
    assert (ran["exit_code"], "False\n" in ran["stdout"]) == (0, True)
    assert (work / "made").read_text() == "x"
    assert data(called(home, "run_sandboxed", argv=["sleep", "30"], wall_s=0.5))["killed"] == "wall"


@pytest.mark.parametrize("by", ["notice", "leaving"])
def test_a_command_ends_when_its_caller_takes_the_call_back_or_leaves(home: Path, tmp_path: Path, by: str) -> None:
    needs_sandbox(home)
    work = tmp_path / "work"
    work.mkdir()
    command = [sys.executable, "-I", "-m", "ratchet", "--home", str(home), "mcp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def send(method: str, number: int | None = None, **params: object) -> None:
            said = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": number} if number else {})
            server.stdin.write(json.dumps(said).encode() + b"\n")  # type: ignore[union-attr]
            server.stdin.flush()  # type: ignore[union-attr]

        who = {"name": "test", "version": "1"}
        send("initialize", 1, protocolVersion="2025-06-18", capabilities={}, clientInfo=who)
        server.stdout.readline()
        send("notifications/initialized")
        code = "touch begun; sleep 600"
        argv = {"argv": ["sh", "-c", code], "folder": str(work), "wall_s": 600}
        send("tools/call", 2, name="run_sandboxed", arguments=argv)
        while not (work / "begun").exists():
            time.sleep(0.05)
        if by == "notice":
            send("notifications/cancelled", requestId=2)
        server.stdin.close()
        assert server.wait(120) == 0  # else it would wait for the command


def test_no_command_gets_to_work_where_ratchet_keeps_what_it_knows(learnt: Path) -> None:
    beneath = learnt / "bench"
    beneath.mkdir(exist_ok=True)
    for folder in (learnt, learnt.parent, beneath):
        result = called(learnt, "run_sandboxed", argv=["true"], folder=str(folder))
        assert result.is_error
        assert "keeps what it knows" in prose(result)


def test_a_task_is_run_and_asked_about_until_it_has_ended(home: Path, tmp_path: Path) -> None:
    needs_sandbox(home)
    project = tmp_path / "project"
    project.mkdir()
    (project / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    test = "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n    assert calc.add(5, 0) == 5\n"
    (project / "test_calc.py").write_text(test)

    async def ask(client: Client) -> list[CallToolResult]:
        queued = await client.call_tool("run_task", {"dir": str(project), "solver": "repair", "budget_s": 120})
        task = data(queued)["id"]
        for _ in range(600):
            found = await client.call_tool("task_status", {"id": task})
            if data(found)["status"] not in ("queued", "running"):
                break
            await asyncio.sleep(0.2)
        ways = await client.call_tool("checkpoints", {"id": task})
        back = await client.call_tool("restore", {"id": task, "checkpoint": 0})
        wrong = await client.call_tool("run_task", {"dir": "nowhere"})
        return [found, ways, back, wrong]

    found, ways, back, wrong = with_client(home, ask)
    assert data(found)["status"] == "passed"
    assert "+    return a + b" in data(found)["result"]["diff"]
    assert "+    return a + b" in prose(found)
    assert [each["id"] for each in data(ways)["checkpoints"]] == ["0", "1"]
    assert data(back)["result"]["attempts"] == []
    assert (wrong.is_error, "absolute" in prose(wrong)) == (True, True)
    assert "a - b" in (project / "calc.py").read_text()


def test_lessons_and_patterns_are_resources_and_a_prompt_tells_what_to_know(learnt: Path) -> None:
    async def ask(client: Client) -> tuple[str, list[str], list[str], str]:
        lessons = await client.read_resource("ratchet://lessons")
        listed = [str(each.uri) for each in (await client.list_resources()).resources]
        templates = [each.uri_template for each in (await client.list_resource_templates()).resource_templates]
        prompt = await client.get_prompt("before_i_start", {})
        content = prompt.messages[0].content
        assert isinstance(content, TextContent)
        return lessons.contents[0].text, listed, templates, content.text  # type: ignore[union-attr]

    lessons, listed, templates, prompt = with_client(learnt, ask)
    assert "git push --set-upstream origin topic" in json.loads(lessons)[0]["text"]
    assert {"ratchet://lessons", "ratchet://patterns"} <= set(listed)
    assert {"ratchet://lessons/{lesson_id}", "ratchet://patterns/{pattern_id}"} <= set(templates)
    assert "git push --set-upstream origin topic" in prompt
    assert "upstream branch" in prompt


# -- over HTTP -------------------------------------------------------------------------------------------------------


@contextmanager
def served(home: Path, *roots: Path) -> Iterator[tuple[str, Runtime]]:
    """The address of the MCP server of a running app, and the runtime behind it."""
    uvicorn = pytest.importorskip("uvicorn")
    from ratchet.serving.api.app import create
    from ratchet.serving.api.serving import Serving

    serving = Serving(roots=roots)
    with Runtime.open(home=home) as runtime, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(
            uvicorn.Config(create(runtime, serving), log_level="warning", timeout_graceful_shutdown=5)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.02)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", runtime
        finally:
            server.should_exit = True
            thread.join(30)


def over_http(address: str, secret: str, *calls: tuple[str, dict[str, object]]) -> list[CallToolResult]:
    """What the tools answer to somebody with this token."""
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    async def asked() -> list[CallToolResult]:
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        async with (
            create_mcp_http_client(headers=headers) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            return [await client.call_tool(name, given) for name, given in calls]

    return asyncio.run(asyncio.wait_for(asked(), 60))


def test_the_same_tools_are_served_over_http_and_ask_for_the_scope_that_each_needs(learnt: Path) -> None:
    with served(learnt) as (address, runtime):
        (open_,) = over_http(address, "", ("search_memory", {"query": PUSH}))
        assert data(open_)["lessons"]
        reads, writes = (runtime.tokens.add(name, [name]) for name in ("read", "write"))
        calls: tuple[tuple[str, dict[str, object]], ...] = (
            ("search_memory", {"query": PUSH}),
            ("record_outcome", {"agent": "coder", "ok": True}),
            ("run_sandboxed", {"argv": ["true"]}),
        )
        assert [each.is_error for each in over_http(address, reads, *calls)] == [False, True, True]
        found, recorded, ran = over_http(address, writes, *calls)
        assert ("scope read" in prose(found), recorded.is_error) == (True, False)
        assert "scope run" in prose(ran)


def test_nobody_reaches_the_tools_without_a_token_where_there_is_one(learnt: Path) -> None:
    httpx = pytest.importorskip("httpx")
    with served(learnt) as (address, runtime):
        runtime.tokens.add("one", ["read"])
        assert httpx.post(address, json={}).status_code == 401
        assert httpx.post(address, json={}, headers={"Origin": "http://evil.example"}).status_code in (401, 403)
        assert httpx.post(address, json={}, headers={"Host": "evil.example"}).status_code == 421


def test_a_server_with_roots_lets_nothing_run_elsewhere(home: Path, tmp_path: Path) -> None:
    needs_sandbox(home)
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for each in (inside, outside):
        each.mkdir()
    (inside / "way_out").symlink_to(outside)
    with served(home, inside) as (address, _):
        folders = ("", str(inside), str(outside), str(inside / "way_out"), str(inside / ".." / "outside"))
        calls: list[tuple[str, dict[str, object]]] = [
            ("run_sandboxed", {"argv": ["touch", "f"], "folder": each}) for each in folders
        ]
        ran = over_http(address, "", *calls)
    assert [each.is_error for each in ran] == [False, False, True, True, True]
    assert "--root" in prose(ran[2])
    assert (inside / "f").exists()
    assert list(outside.iterdir()) == []

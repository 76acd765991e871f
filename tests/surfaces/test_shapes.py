"""One shape for one thing: documented field by field, and the same JSON from command line, API and MCP."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import click
import pytest
from click.testing import CliRunner
from mcp.client.client import Client
from mcp_types import CallToolResult
from pydantic import RootModel, TypeAdapter, ValidationError
from starlette.testclient import TestClient

from ratchet import Range
from ratchet.cli.app import cli
from ratchet.cli.demo import HISTORY
from ratchet.improving.settings.versions import StoredSettings
from ratchet.runtime import Runtime
from ratchet.serving.mcp.server import create
from ratchet.serving.shapes.shape import Shape
from support.api_client import client, runtime_of

ROOT = Path(__file__).parents[2]
PUSH = "fatal: The current branch topic has no upstream branch."
RUNS_ANEW = ("elapsed_ms",)
"""Fields that are measured each time somebody asks."""


def generator() -> ModuleType:
    spec = spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = generator()
SHAPES = sorted(cast("set[type[Shape]]", GENERATE.shapes()), key=lambda kind: kind.__name__)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, TestClient]]:
    """A home with something of each noun, and a client of its API."""
    home = tmp_path_factory.mktemp("told") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RATCHET_DATABASE_URL", raising=False)
        with client(home, requests_per_s=0.0) as held:
            runtime = runtime_of(held)
            runtime.learn([HISTORY])
            runtime.lessons.add(when=PUSH, do="git push --set-upstream origin topic", scope="global", state="active")
            for number in range(3):
                runtime.record("coder", task="Bash", error=PUSH, session=f"s{number}")
            StoredSettings(runtime.store, "coder", knobs={"timeout_s": Range(1, 60)}).declare()
            runtime.trials.open("settings:coder", {"timeout_s": 40}, reason="why")
            yield home, held


def from_shell(home: Path, *words: str) -> Any:
    done = CliRunner().invoke(cli, ["--home", str(home), *words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def from_tool(home: Path, tool: str, **given: object) -> Any:
    async def ask() -> CallToolResult:
        with Runtime.open(home=home) as runtime:
            async with Client(create(runtime)) as asked:
                result = await asked.call_tool(tool, dict(given))
                assert isinstance(result, CallToolResult)
                return result

    result = asyncio.run(asyncio.wait_for(ask(), 120))
    assert not result.is_error, result.content
    return unfenced(result.structured_content)


def unfenced(value: Any) -> Any:
    """An answer for a model, without the fences around what earlier runs said."""
    if isinstance(value, dict):
        return {name: unfenced(held) for name, held in value.items()}
    if isinstance(value, list):
        return [unfenced(each) for each in value]
    return "\n".join(value.split("\n")[2:-1]) if str(value).startswith("<ratchet-data-") else value


def same(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: same(held) for name, held in value.items() if name not in RUNS_ANEW}
    return [same(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("kind", SHAPES, ids=lambda kind: kind.__name__)
def test_a_shape_and_each_of_its_fields_say_what_they_mean(kind: type[Shape]) -> None:
    assert kind.__name__.endswith("Shape")
    assert kind.__dict__.get("__doc__", "").rstrip().endswith("."), kind
    for field in fields(cast("Any", kind)):
        assert field.metadata["description"].endswith("."), field.name


@pytest.mark.parametrize("kind", SHAPES, ids=lambda kind: kind.__name__)
def test_a_shape_is_a_schema_that_tells_the_meaning_of_each_field(kind: type[Shape]) -> None:
    schema = RootModel[kind].model_json_schema()  # type: ignore[valid-type]
    declared = schema.get("$defs", {}).get(kind.__name__, schema)
    assert [*declared["properties"]] == [field.name for field in fields(cast("Any", kind))]
    assert all(each.get("description") for each in declared["properties"].values())


def test_every_command_with_json_is_in_the_reference() -> None:
    def walk(command: click.Command, ctx: click.Context, path: tuple[str, ...]) -> Iterator[str]:
        if isinstance(command, click.Group):
            for name in command.list_commands(ctx):
                below = command.get_command(ctx, name)
                assert below is not None
                yield from walk(below, click.Context(below, parent=ctx, info_name=name), (*path, name))
        if any(each.name == "as_json" for each in command.params):
            yield " ".join(path)

    listed = {
        " ".join(word for word in asked.split() if word.islower() and word[0] != "-") for asked in GENERATE.COMMANDS
    }
    assert listed == set(walk(cli, click.Context(cli), ()))


def test_command_line_api_and_tools_answer_the_same(told: tuple[Path, TestClient]) -> None:
    home, held = told
    pattern = next(each for each in from_shell(home, "patterns") if "no upstream" in each["template"])
    (lesson,) = [
        each
        for each in from_shell(home, "lessons", "list")
        if each["scope"] == "global" and "no upstream" in each["when"]
    ]
    trial = from_shell(home, "trials", "list")[0]["id"]
    asked: list[tuple[list[str], str, tuple[str, dict[str, object]] | None]] = [
        (["health"], "/v1/health", ("get_health", {})),
        (["report"], "/v1/report", ("get_report", {})),
        (["patterns", "--by", "command"], "/v1/patterns/by/command", ("what_fails", {})),
        (["patterns", "--by", "model", "--range", "all"], "/v1/patterns/by/model", ("what_fails", {"by": "model"})),
        (["patterns", "show", pattern["id"]], f"/v1/patterns/{pattern['id']}", None),
        (["lessons", "show", lesson["id"]], f"/v1/lessons/{lesson['id']}", ("get_lesson", {"id": lesson["id"]})),
        (["trials", "show", trial], f"/v1/trials/{trial}", None),
        (["settings", "show"], "/v1/settings", None),
        (["settings", "history", "coder"], "/v1/settings/coder/history", None),
        (["bench", "list"], "/v1/bench", None),
    ]
    for words, path, tool in asked:
        shell, api = from_shell(home, *words), held.get(path).json()
        assert json.dumps(same(shell)) == json.dumps(same(api)), words
        if tool is not None:
            assert from_tool(home, tool[0], **tool[1]) == api, tool
    listed = from_shell(home, "patterns", "--limit", "1000")
    assert held.get("/v1/patterns?limit=1000").json()["items"] == listed
    assert from_tool(home, "list_patterns", limit=200)["patterns"] == listed[:200]
    project = {"command": "git push", "project": "/w/shop"}
    predicted = from_shell(home, "predict", "--command", "git push", "--project", "/w/shop")
    assert held.post("/v1/memories/predict", json=project).json() == predicted
    assert from_tool(home, "predict_failures", **project) == predicted
    recalled = same(from_shell(home, "recall", PUSH))
    assert recalled["lessons"]
    assert same(held.post("/v1/memories/search", json={"query": PUSH}).json()) == recalled
    assert same(from_tool(home, "search_memory", query=PUSH)) == recalled


@pytest.mark.parametrize(
    "words",
    [
        "learn",
        "classify TEXT",
        "patterns",
        "recall TEXT",
        "lessons list",
        "health",
        "report",
        "trials list",
        "proposals list",
        "pulse list",
        "settings show",
        "bench list",
        "episodes list",
        "evolve list",
        "token list",
        "doctor",
        "version",
        "loop --once",
    ],
)
def test_a_command_prints_the_shape_that_the_reference_says(told: tuple[Path, TestClient], words: str) -> None:
    home, _ = told
    argv = [PUSH if word == "TEXT" else word for word in words.split()] + ([str(HISTORY)] if words == "learn" else [])
    done = CliRunner().invoke(cli, ["--home", str(home), *argv, "--json"])
    found = json.loads(done.output)
    adapter = TypeAdapter(GENERATE.COMMANDS[words])
    adapter.validate_python(found)
    with pytest.raises(ValidationError):
        adapter.validate_python({})


def test_json_of_the_command_line_costs_no_framework(told: tuple[Path, TestClient]) -> None:
    home, _ = told
    script = (
        "import sys\n"
        "from ratchet.cli.app import cli\n"
        f"for words in (['patterns'], ['lessons', 'list'], ['recall', 'x'], ['trials', 'list'], ['bench', 'list']):\n"
        f"    cli(['--home', {str(home)!r}, *words, '--json'], standalone_mode=False)\n"
        "barred = {'pydantic', 'fastapi', 'starlette', 'mcp'} & {*sys.modules}\n"
        "sys.exit(f'loaded: {barred}' if barred else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_one_surface_decides_about_a_pattern_the_others_show(told: tuple[Path, TestClient]) -> None:
    home, held = told
    pattern = next(each for each in from_shell(home, "patterns") if "no upstream" in each["template"])["id"]
    begins = pattern[:9]
    resolved = from_shell(home, "patterns", "resolve", begins, "--note", "pushed with -u")
    assert (resolved["id"], resolved["triage"]["state"]) == (pattern, "resolved")
    assert held.get(f"/v1/patterns/{begins}").json()["triage"] == resolved["triage"]
    assigned = held.post(f"/v1/patterns/{begins}/triage", json={"assigned": "Kim"}).json()
    assert assigned["triage"] == {**resolved["triage"], "assigned": "Kim"}
    muted = from_tool(home, "triage_pattern", id=begins, state="muted", until=4e9)
    assert muted["triage"]["state"] == "muted"
    assert from_shell(home, "patterns", "show", begins)["triage"] == muted["triage"]
    opened = from_shell(home, "patterns", "reopen", begins)
    assert opened["triage"]["state"] == "open"

"""What a command may load before it answers (names, never times), and which commands there are."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

import ratchet
from ratchet.cli.app import COMMANDS, cli
from ratchet.cli.demo import HISTORY
from ratchet.runtime import Runtime

SOURCE = str(Path(ratchet.__file__).parent.parent)
MOST_COMMANDS = 32
TO_COME = {"backtest", "predict", "sessions", "forget", "gate", "models", "services", "compare"}
LISTED = {"cli", "cli.app", "cli.commands", "cli.folders", "errors"}
MOST_FOR_PATTERNS = 83
HEAVY = {
    "asyncio", "concurrent.futures", "email", "fastapi", "http.client", "importlib.metadata", "mcp", "multiprocessing",
    "pydantic", "rich", "socket", "ssl", "subprocess", "tempfile", "urllib.request", "zipfile",
}  # fmt: skip
APART = {"evolving", "gate", "healing", "integrations", "lessons.mining", "recording.sources", "sandbox", "serving"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that has learnt what the demo learns."""
    folder = tmp_path_factory.mktemp("home")
    with Runtime.open(home=folder) as runtime:
        runtime.learn([HISTORY])
    return folder


def loaded(code: str) -> set[str]:
    """Names of the modules that a fresh interpreter has loaded after `code`."""
    told = "names=sorted(sys.modules)\nimport json;print();print(json.dumps(names))"
    script = f"import sys;sys.path.insert(0,{SOURCE!r});{code}\n{told}"
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def loaded_by(*words: str) -> set[str]:
    return loaded(f"sys.argv[1:]={list(words)!r}\nfrom ratchet.cli import main\ntry: main()\nexcept SystemExit: pass")


def ours(names: set[str]) -> set[str]:
    return {name.removeprefix("ratchet.") for name in names if name.startswith("ratchet.")}


def test_version_and_help_load_the_table_of_commands_and_no_command() -> None:
    for words, more in ((["version"], {"cli.keep"}), (["--help"], set())):
        names = loaded_by(*words)
        assert ours(names) == LISTED | more
        assert names & (HEAVY | {"rich", "dataclasses", "json", "logging", "sqlite3"}) == set()


@pytest.mark.sqlite
@pytest.mark.parametrize("words", [["patterns"], ["recall", "no upstream branch"], ["lessons", "list"]], ids=" ".join)
def test_reading_loads_neither_servers_nor_sandboxes_nor_readers_of_histories(home: Path, words: list[str]) -> None:
    names = loaded_by("--home", str(home), *words)
    assert names & HEAVY == set()
    assert {name for name in ours(names) if name.startswith(tuple(APART))} == set()


def test_the_server_of_an_agent_shakes_hands_before_it_loads_its_tools() -> None:
    if importlib.util.find_spec("mcp") is None:
        pytest.skip("needs ratchet-ai[mcp]")
    names = ours(loaded("import ratchet.cli.mcp, ratchet.serving.mcp.server, ratchet.runtime"))
    assert names <= LISTED | {
        *("cli.mcp", "config", "home", "records", "runtime", "serving", "serving.mcp"),
        *("serving.mcp.answers", "serving.mcp.scopes", "serving.mcp.server"),
    }


@pytest.mark.sqlite
def test_patterns_load_few_modules(home: Path) -> None:
    names = ours(loaded(f"from ratchet import Ratchet\nwith Ratchet(home={str(home)!r}) as it: assert it.patterns()"))
    assert len(names) <= MOST_FOR_PATTERNS, sorted(names)


def test_the_table_says_of_each_command_what_the_command_says_itself() -> None:
    ctx = click.Context(cli)
    for name, (_, said) in COMMANDS.items():
        command = cli.get_command(ctx, name)
        assert command is not None, name
        assert not command.hidden, name
        assert command.name == name
        assert command.get_short_help_str(limit=80) == said


def test_the_top_has_few_commands() -> None:
    known = set(COMMANDS) - TO_COME
    assert len(known) <= MOST_COMMANDS, "what serves one noun nests under it"
    assert cli.list_commands(click.Context(cli)) == list(COMMANDS)


def complete(words: str, at: int) -> list[str]:
    script = "from ratchet.cli import main;main()"
    environ = {"_RATCHET_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at), "PYTHONPATH": SOURCE}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environ, text=True, check=False)
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_completion_knows_commands_options_and_what_nests() -> None:
    assert complete("ratchet le", 1) == ["learn", "lessons"]
    assert complete("ratchet --ho", 1) == ["--home"]
    assert complete("ratchet lessons ap", 2) == ["approve"]

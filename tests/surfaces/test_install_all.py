"""Every coding agent of a machine at once: in, not twice, out byte for byte, and an edit made meanwhile stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ratchet import registry
from ratchet.cli.app import cli
from ratchet.errors import NotFound, Refused, UsageError
from ratchet.improving.targets import json_text
from ratchet.integrations.clients.client import InstallPlace

SETTINGS = {
    ".aider.conf.yml": "# mine\nread: [CONVENTIONS.md]\n",
    ".claude/settings.json": '{\n  "model": "opus"\n}\n',
    ".claude.json": '{"numStartups": 3}',
    ".codex/config.toml": 'model = "gpt-5"\n',
    ".copilot/mcp-config.json": '{"mcpServers": {}}',
    ".cursor/hooks.json": '{"version": 1, "hooks": {"stop": [{"command": "say done"}]}}\n',
    ".gemini/settings.json": '{"hooks": {"AfterTool": []}, "theme": "x"}',
    ".config/opencode/opencode.json": '{\n  // mine\n  "model": "m"\n}\n',
    ".qwen/settings.json": "{}",
    ".cline/data/settings/providers.json": "{}",
    ".pi/agent/settings.json": "{}",
    ".openclaw/openclaw.json": '{\n  // mine\n  "mcp": {"servers": {"docs": {"url": "https://example.org"}}},\n}\n',
}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "RATCHET_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, text in SETTINGS.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def ratchet(*words: str) -> Result:
    return CliRunner().invoke(cli, words, catch_exceptions=False)


def held(machine: Path) -> dict[str, bytes]:
    files = (path for path in machine.rglob("*") if path.is_file() and ".ratchet" not in path.parts)
    return {str(path): path.read_bytes() for path in files}


def test_all_agents_of_a_machine_go_in_once_and_out_byte_for_byte(machine: Path) -> None:
    before = held(machine)
    assert "installed in" in ratchet("install", "--all").output
    inside = held(machine)
    for name in registry.names(registry.CLIENTS):
        for entry in registry.client(name).entries(InstallPlace(user=str(machine), project=None, environ={})):
            assert b"ratchet" in inside[entry.path], entry.path
    assert "installed in" not in ratchet("install", "--all").output
    assert held(machine) == inside
    assert "taken out of" in ratchet("uninstall", "--all").output
    assert held(machine) == before
    with pytest.raises(NotFound, match="nothing of Ratchet"):
        ratchet("uninstall", "--all")


def test_a_plan_names_every_event_that_changes_whatever_of_the_persons_own_stands_there(machine: Path) -> None:
    own = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}], "Own": []}, "model": "opus"}
    path = machine / ".claude/settings.json"
    path.write_text(json.dumps(own, indent=4))
    shown = ratchet("install", "claude-code", "--dry-run", "--hooks-only").output
    ratchet("install", "claude-code", "--hooks-only")
    after = json.loads(path.read_text())["hooks"]
    changed = [event for event in after if after[event] != own["hooks"].get(event)]  # type: ignore[attr-defined]
    assert "Stop" in changed
    (named,) = [line.strip() for line in shown.splitlines() if line.startswith("  ")]
    assert sorted(named.split(", ")) == sorted(["hooks", *changed])


@pytest.mark.parametrize("broken", ["{", "[]", "\x00", '{"hooks": 7}'], ids=["torn", "a list", "zero", "a number"])
def test_a_file_that_somebody_broke_is_named_and_keeps_no_other(machine: Path, broken: str) -> None:
    before = held(machine)
    ratchet("install", "--all")
    settings = [
        Path(entry.path)
        for name in registry.names(registry.CLIENTS)
        for entry in registry.client(name).entries(InstallPlace(user=str(machine), project=None, environ={}))
        if entry.path.endswith("json")
    ]
    first, last = settings[0], settings[-1]
    for path in (first, last):
        path.write_text(broken + "ratchet")
    done = CliRunner().invoke(cli, ["uninstall", "--all"])
    assert isinstance(done.exception, Refused)
    for path in (first, last):
        assert str(path) in str(done.exception)
        before[str(path)] = (broken + "ratchet").encode()
    assert held(machine) == before


def test_one_broken_file_of_an_agent_leaves_its_others_as_they_are(machine: Path) -> None:
    ratchet("install", "claude-code")
    (machine / ".claude.json").write_text("{ratchet")
    before = held(machine)
    assert isinstance(CliRunner().invoke(cli, ["uninstall", "claude-code"]).exception, Refused)
    assert held(machine) == before


def test_an_edit_made_meanwhile_stays(machine: Path) -> None:
    ratchet("install", "--all")
    gemini = machine / ".gemini/settings.json"
    settings = json.loads(gemini.read_text())
    gemini.write_text(json.dumps({**settings, "theme": "y"}))
    ratchet("uninstall", "--all")
    assert json.loads(gemini.read_text()) == {"hooks": {"AfterTool": []}, "theme": "y"}


def test_only_the_agents_that_are_there_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    (tmp_path / ".qwen").mkdir()
    shown = ratchet("install", "--all", "--dry-run", "--hooks-only").output
    assert ".qwen/settings.json" in shown
    assert ".gemini" not in shown
    (tmp_path / ".qwen").rmdir()
    with pytest.raises(NotFound, match="no coding agent"):
        ratchet("install", "--all")


def test_what_a_clone_links_to_is_not_taken_out_by_way_of_it(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = machine / "clone"
    (clone / ".claude").mkdir(parents=True)
    monkeypatch.chdir(clone)
    assert CliRunner().invoke(cli, ["install", "claude-code", "--hooks-only"]).exit_code == 0
    mine = machine / ".claude" / "settings.json"
    before = mine.read_text()
    (clone / ".claude" / "settings.json").symlink_to(mine)
    done = CliRunner().invoke(cli, ["uninstall", "--all", "--project"])
    assert isinstance(done.exception, Refused)
    assert mine.read_text() == before


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"agents": {}}\n',
        '{\n  "mcp": {}\n}\n',
        '{"mcp": {"servers": {}}}',
        '{"mcp": {"sessionIdleTtlMs": 1}, "a": 1}',
        '{\n  // mine\n  "mcp": {\n    "servers": {\n      "docs": {"url": "x"} // theirs\n    }\n  }\n}\n',
    ],
)
def test_a_server_within_two_objects_goes_in_and_out_byte_for_byte(machine: Path, text: str) -> None:
    settings = machine / ".openclaw" / "openclaw.json"
    settings.write_text(text)
    ratchet("install", "openclaw")
    inside = settings.read_text()
    assert inside != text
    ratchet("install", "openclaw")
    assert settings.read_text() == inside
    added = ratchet("uninstall", "openclaw")
    assert settings.read_text() == text, added.output
    settings.write_text(inside.replace("{", '{"theirs": 1, ', 1))  # an edit made meanwhile, and no backup to go by
    ratchet("uninstall", "openclaw")
    left = json_text.parsed(settings.read_text())
    assert left["theirs"] == 1
    assert "ratchet" not in json.dumps(left)


def test_openclaw_has_no_settings_of_a_project(machine: Path) -> None:
    done = CliRunner().invoke(cli, ["install", "openclaw", "--project"])
    assert isinstance(done.exception, UsageError)
    assert "leave --project out" in str(done.exception)
    (machine / ".openclaw" / "openclaw.json").write_text('{"mcp": {"servers": []}}')
    done = CliRunner().invoke(cli, ["install", "openclaw"])
    assert isinstance(done.exception, Refused)
    assert '"mcp.servers" is not an object' in str(done.exception)

"""Naming the MCP server in an agent's settings: valid files, nothing else touched, and everything can be taken out."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from ratchet import registry
from ratchet.cli.app import cli
from ratchet.errors import Refused, UsageError
from ratchet.improving.targets import json_text
from ratchet.integrations import install as installing
from ratchet.integrations.clients.client import InstallPlace as Where
from ratchet.integrations.settings_file import Installed
from ratchet.runtime import Runtime

JSON_FILES = [
    None,
    "",
    "{}",
    '{"mcpServers": {}}\n',
    '{\n  "numStartups": 12,\n  "mcpServers": {\n    "db": {"command": "db", "args": []}\n  }\n}\n',
    '\ufeff{"projects":{"/a":{"mcpServers":{}}},"é":"\\u00e4"}',
]
TOML_FILES = [
    None,
    "",
    'model = "gpt-5"\n',
    '# mine\nmodel = "gpt-5"\n\n[mcp_servers.db]\ncommand = "db"\nargs = []\n\n[tui]\nnotifications = true',
    "[mcp_servers]\n",
]
CASES = [
    *(("claude-code", text) for text in JSON_FILES),
    *(("cursor", text) for text in JSON_FILES),
    *(("codex", text) for text in TOML_FILES),
]


class Place:
    def __init__(self, folder: Path, agent: str) -> None:
        self.agent = agent
        self.home, self.project = folder / "user" / "ratchet-home", folder / "project"
        self.client = registry.client(agent)
        where = Where(user=str(folder / "user"), project=None, environ={})
        self.entries = [entry for entry in self.client.entries(where) if entry.part == "mcp"]
        self.path = Path(self.entries[0].path)
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def register(self) -> Installed:
        (done,) = installing.changed(self.client, self.entries, home=self.home)
        return done

    def unregister(self) -> Installed:
        (done,) = installing.removed(self.entries, self.entries, home=self.home)
        return done

    def servers(self) -> dict[str, dict[str, object]]:
        text = self.path.read_text(encoding="utf-8-sig")
        settings = tomllib.loads(text) if self.agent == "codex" else json.loads(text)
        found = settings["mcp_servers" if self.agent == "codex" else "mcpServers"]
        assert isinstance(found, dict)
        return found


@pytest.mark.parametrize(("agent", "text"), CASES)
def test_the_server_is_named_once_and_taken_out_byte_for_byte(agent: str, text: str | None, tmp_path: Path) -> None:
    place = Place(tmp_path, agent)
    if text is not None:
        place.path.write_bytes(text.encode())
    assert place.register().changed
    entry = place.servers()["ratchet"]
    assert entry["args"] == ["-I", "-m", "ratchet", "--home", str(place.home), "mcp"]
    assert os.access(str(entry["command"]), os.X_OK)
    assert not place.register().changed
    assert place.unregister().changed
    assert (place.path.read_bytes().decode() if place.path.exists() else None) == text
    assert not place.unregister().changed


@pytest.mark.parametrize(("agent", "text"), [(agent, text) for agent, text in CASES if text])
def test_what_a_person_changed_meanwhile_stays(agent: str, text: str, tmp_path: Path) -> None:
    place = Place(tmp_path, agent)
    place.path.write_bytes(text.encode())
    place.register()
    mine = "# mine, later\n" if agent == "codex" else ""
    edited = place.path.read_bytes().decode()
    later = mine + edited if mine else edited.replace("{", '{"later": [1],', 1)
    place.path.write_bytes(later.encode())
    place.unregister()
    left = place.path.read_bytes().decode()
    assert "later" in left
    assert "-I" not in left
    if agent != "codex":
        json.loads(left.removeprefix("\ufeff"))


def test_comments_are_kept(tmp_path: Path) -> None:
    place = Place(tmp_path, "cursor")
    place.path.write_text('// mine\n{\n  "mcpServers": {\n    "db": {"command": "db"}, // the old one\n  },\n}\n')
    place.register()
    text = place.path.read_text()
    assert "// mine" in text
    assert "// the old one" in text
    assert json_text.parsed(text)["mcpServers"].keys() == {"db", "ratchet"}  # type: ignore[union-attr]


def test_another_home_changes_our_entry_only(tmp_path: Path) -> None:
    place = Place(tmp_path, "cursor")
    place.path.write_text('{"mcpServers": {"db": {"command": "db"}}}')
    place.register()
    place.home = tmp_path / "other"
    place.register()
    assert place.servers()["db"] == {"command": "db"}
    assert str(tmp_path / "other") in str(place.servers()["ratchet"]["args"])


@pytest.mark.parametrize(
    ("agent", "text"),
    [
        ("cursor", "{"),
        ("cursor", "[]"),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '{"mcpServers": {"ratchet": {"command": "spanner"}}}'),
        ("codex", "= 1"),
        ("codex", "mcp_servers = {}\n"),
        ("codex", "mcp_servers = 3\n"),
        ("codex", '[mcp_servers]\nratchet = {command = "x", args = []}\n'),
    ],
)
def test_a_file_that_cannot_be_edited_safely_is_left_as_it_is(agent: str, text: str, tmp_path: Path) -> None:
    place = Place(tmp_path, agent)
    place.path.write_text(text)
    with pytest.raises(Refused):
        place.register()
    assert place.path.read_text() == text


def test_each_part_can_be_asked_for_alone(home: Path, tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    settings, servers = tmp_path / "user" / ".claude" / "settings.json", tmp_path / "user" / ".claude.json"
    with Runtime.open(home=home) as runtime:
        installing.install(runtime, "claude-code", scope="user", parts="mcp")
        assert (settings.exists(), servers.exists()) == (False, True)
        installing.install(runtime, "claude-code", scope="user")
        assert (settings.exists(), servers.exists()) == (True, True)
        installing.uninstall(runtime, "claude-code", scope="user", parts="hooks")
        assert (settings.exists(), servers.exists()) == (False, True)


def test_all_parts_are_installed_or_none(home: Path, tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    settings, servers = tmp_path / "user" / ".claude" / "settings.json", tmp_path / "user" / ".claude.json"
    servers.parent.mkdir(exist_ok=True)
    servers.write_text("not JSON")
    with Runtime.open(home=home) as runtime:
        with pytest.raises(Refused, match="not valid JSON"):
            installing.install(runtime, "claude-code", scope="user")
        assert not settings.exists()
        installing.install(runtime, "claude-code", scope="user", parts="hooks")
        assert settings.exists()


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_leaving_out_both_parts_is_told_as_a_mistake(command: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, [command, "claude-code", "--hooks-only", "--mcp-only", "--home", str(tmp_path)])
    assert "--hooks-only" in str(done.exception or done.output)
    assert list(tmp_path.iterdir()) == []


def test_without_the_extra_only_hooks_are_installed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "find_spec", lambda _name: None)
    with Runtime.open(home=home) as runtime:
        assert [Path(each.path).name for each in installing.install(runtime, "claude-code", scope="user")] == [
            "settings.json"
        ]
        with pytest.raises(Refused, match="needs the extra"):
            installing.install(runtime, "cursor", scope="user", parts="mcp")


def test_codex_has_no_settings_of_a_project(home: Path) -> None:
    pytest.importorskip("mcp")
    with Runtime.open(home=home) as runtime, pytest.raises(UsageError, match="no MCP servers in settings of a project"):
        installing.install(runtime, "codex", scope="project", parts="mcp")

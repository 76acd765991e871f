"""Installing for agents on settings as other people write them: byte for byte back, also twice, and an edit stays."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from ratchet import registry
from ratchet.errors import Refused
from ratchet.improving.targets import json_text
from ratchet.integrations import entries, plugin
from ratchet.integrations import install as installing
from ratchet.integrations.clients.client import InstallPlace
from ratchet.integrations.script_entries import SCRIPT
from support.triggers import a_trigger, trigger_file

HOOKS = [
    '{\n  "permissions": {"allow": ["Bash(npm run *)"], "deny": []},\n  "model": "opus"\n}\n',
    '{"hooks":{"PostToolUse":[{"matcher":"Edit|Write","hooks":[{"type":"command","command":"prettier --write"}]}]}}',
    '{\n\t"hooks": {\n\t\t"Stop": [{"hooks": [{"command": "say"}]}],\n\t\t"SessionStart": []\n\t}\n}',
    '{\r\n  "env": {"A": "1"},\r\n  "hooks": {\r\n    "PreToolUse": [\r\n    ]\r\n  }\r\n}\r\n',
    "{}",
    "",
    '\ufeff{ "statusLine" : { "type" : "command" , "command" : "echo \\u2603" } }\n\n',
    '{"hooks": {}, "nested": {"hooks": {"Stop": [1, 2.50, 1e3, null]}}}',
    '{\n    "hooks": {"UserPromptSubmit": [{"hooks": [{"command": "a"}, {"command": "b"}]}]},\n  "z": "ü"\n}',
    '{"a": [\n1,\n2\n], "hooks": {"Stop": [{"hooks": []}, {"matcher": "*", "hooks": []}]}}\n',
]
SERVERS = {
    "claude-code": [
        '{"numStartups": 3}',
        '{"mcpServers": {}}',
        '{\n  "mcpServers": {"db": {"command": "db"}}\n}\n',
        "",
    ],
    "gemini": ['{\n  "mcpServers": {"db": {"command": "db"}},\n  "hooks": {"AfterTool": []}\n}\n', "{}", *HOOKS[:4]],
    "copilot": ['{"mcpServers": {}}', ""],
    "opencode": ['// mine\n{"mcp": {"db": {"type": "local", "command": ["db"]}}, "model": "m"}\n', "{}", ""],
    "codex": ['model = "gpt-5"\n', "", "[mcp_servers.db]\ncommand = 'db'\n\n[tui]\n# mine\nx = 1", "# only a comment"],
}
CASES = [(agent, at) for agent in ("claude-code", "codex", "copilot", "gemini", "opencode") for at in range(len(HOOKS))]


def test_an_executable_of_somebody_elses_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "PostToolUse"
    path.write_text("#!/bin/sh\necho mine\n")
    wanted = entries.WantedEntry(form=SCRIPT, entry="#!/bin/sh\n# ratchet: begin\ntrue\n# ratchet: end\n")
    with pytest.raises(Refused, match="somebody else's"):
        entries.install(path, [wanted], home=tmp_path / "home")
    assert path.read_text() == "#!/bin/sh\necho mine\n"


class Person:
    """A person's settings files for an agent, and what is done to them."""

    def __init__(self, root: Path, agent: str, at: int) -> None:
        self.client = registry.client(agent)
        self.entries = self.client.entries(InstallPlace(user=str(root), project=None, environ={}))
        self.home = root / ".ratchet"
        trigger_file(self.home, "/p/shop", [a_trigger()])
        servers = SERVERS[agent]
        self.texts = {
            Path(entry.path): ""
            if entry.form == "script"
            else HOOKS[at]
            if entry.part == "hooks"
            else servers[at % len(servers)]
            for entry in self.entries
        }
        for path, text in self.texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())

    def install(self, *, prevent: bool = False) -> list[bool]:
        return [each.changed for each in installing.changed(self.client, self.entries, home=self.home, prevent=prevent)]

    def uninstall(self) -> list[bool]:
        return [each.changed for each in installing.removed(self.entries, self.entries, home=self.home)]

    def held(self) -> dict[Path, str]:
        return {path: path.read_bytes().decode() for path in self.texts}


@pytest.mark.parametrize(("agent", "at"), CASES)
def test_in_and_out_twice_is_byte_for_byte(agent: str, at: int, tmp_path: Path) -> None:
    person = Person(tmp_path, agent, at)
    for prevent in (False, True):
        assert all(person.install(prevent=prevent))
        assert not any(person.install(prevent=prevent))
        assert all(person.uninstall())
        assert person.held() == person.texts
    assert not any(person.uninstall())


@pytest.mark.parametrize(("agent", "at"), CASES)
def test_an_edit_made_meanwhile_stays_and_nothing_else_does(agent: str, at: int, tmp_path: Path) -> None:
    person = Person(tmp_path, agent, at)
    person.install()
    for path, text in person.held().items():
        edited = (
            f"{text}\n# later\n"
            if path.suffix in (".toml", ".js")
            else json_text.with_item(text, json_text.root(text), ["later"], key="mine")
        )
        path.write_bytes(edited.encode())
    person.install(prevent=True)
    person.uninstall()
    for path, text in person.held().items():
        assert "ratchet" not in text
        if path.suffix in (".toml", ".js"):
            assert "# later" in text
            continue
        now = json_text.parsed(text)
        assert now.pop("mine") == ["later"]
        assert now == json_text.parsed(person.texts[path])


def test_a_person_at_a_terminal_sees_one_change_and_is_asked_once(tmp_path: Path) -> None:
    environ = {**os.environ, "HOME": str(tmp_path), "TERM": "dumb"}
    for answer, installed in ((b"n\n", False), (b"y\n", True)):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "ratchet", "install", "claude-code", "--hooks-only"],
            stdin=theirs, stdout=theirs, stderr=theirs, env=environ,
        )  # fmt: skip
        os.close(theirs)
        said = b""
        while b"[Y/n]" not in said:
            said += os.read(ours, 4096)
        os.write(ours, answer)
        while True:
            try:
                said += os.read(ours, 4096)
            except OSError:
                break
        process.wait()
        os.close(ours)
        assert said.count(b"[Y/n]") == 1
        assert b"+" in said
        assert (tmp_path / ".claude" / "settings.json").exists() == installed


def test_a_plugin_is_written_once_names_no_path_of_this_machine_and_spares_another_one(tmp_path: Path) -> None:
    folder, home = tmp_path / "plugin", tmp_path / ".ratchet"
    assert all(each.changed for each in plugin.build(folder, home=home))
    assert not any(each.changed for each in plugin.build(folder, home=home))
    for path in folder.rglob("*"):
        if path.is_file():
            assert str(Path.home()) not in path.read_text()
            assert sys.executable not in path.read_text()
        if path.suffix == ".json":
            json.loads(path.read_text())
    (folder / ".claude-plugin" / "plugin.json").write_text('{"name": "another"}')
    with pytest.raises(Refused, match="another plugin"):
        plugin.build(folder, home=home)


@pytest.mark.parametrize("note", [None, "/nowhere/python\n/nowhere\n", ""])
def test_the_plugins_hook_harms_nobody_where_ratchet_is_not(note: str | None, tmp_path: Path) -> None:
    plugin.build(tmp_path / "plugin", home=tmp_path / ".ratchet")
    known = tmp_path / ".ratchet" / "hook" / "python"
    known.unlink() if note is None else known.write_text(note)
    done = subprocess.run(
        ["/bin/sh", str(tmp_path / "plugin" / "ratchet.sh"), "hook", "SessionStart"],
        input=b"{}", capture_output=True, check=False, env={"HOME": str(tmp_path), "PATH": "/bin:/usr/bin"},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("name", ["ratchet.sh", "skills", ".claude-plugin", "commands/why.md"])
def test_a_plugin_is_written_through_no_link_that_leads_away(tmp_path: Path, name: str) -> None:
    folder, away = tmp_path / "clone", tmp_path / "away"
    (folder / ".git").mkdir(parents=True)
    away.mkdir()
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(away if "." not in name[1:] else away / "file")
    with pytest.raises(Refused, match="is a link out of"):
        plugin.build(folder, home=tmp_path / ".ratchet")
    assert list(away.iterdir()) == []
    assert not (folder / "hooks").exists()

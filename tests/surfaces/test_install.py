"""Installing hooks into a coding agent's settings: nothing else is touched, and everything can be taken out again."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from ratchet import registry
from ratchet.cli.app import cli
from ratchet.errors import BackendError, Refused, UsageError
from ratchet.improving.targets import json_text
from ratchet.integrations import install as installing
from ratchet.integrations.clients.client import InstallPlace as Where
from ratchet.integrations.clients.client import SettingsEntry
from ratchet.integrations.hook_entries import command
from ratchet.integrations.settings_file import Installed, InstallScope
from support.triggers import a_trigger, trigger_file

SETTINGS = [
    '{\n  "model": "opus",\n  "hooks": {\n    "Stop": [\n      {"hooks": []}\n    ]\n  },\n  "é": "\\u00e4 ä"\n}\n',
    '{\n\t"a": [1, 2.50, 1e3],\n\t"hooks": {\n\t\t"SessionStart": [\n\t\t\t{"hooks": []}\n\t\t]\n\t}\n}',
    '{"a":1,"hooks":{"SessionEnd":[{"hooks":[{"type":"command","command":"bye"}]}]},"b":2}',
    "{}",
    "{}\n",
    '{\r\n    "a": "b",\r\n    "hooks": {}\r\n}\r\n',
    '{\n  "hooks": {\n    "PreToolUse": []\n  }\n}\n',
    '\ufeff{\n  "a": 1\n}\n',
    '{ "a" : 1 ,\n "hooks" : { "PostToolUseFailure" : [ { "matcher" : "Bash" , "hooks" : [ ] } ] } }',
]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


class Place:
    """A user's home with a settings file, and what the two operations do in it."""

    def __init__(self, root: Path) -> None:
        self.user, self.home, self.project = root / "user", root / "user" / ".ratchet", root / "project"
        self.path = self.user / ".claude" / "settings.json"
        self.path.parent.mkdir(parents=True)
        self.environ = {"HOME": str(self.user)}
        self.client = registry.client("claude-code")
        self.proven = [a_trigger(), a_trigger(tool="mcp__db__query", lesson="l-2")]

    def install(self, *, prevent: bool = False, dry_run: bool = False, scope: InstallScope = "user") -> Installed:
        if prevent and not dry_run:
            trigger_file(self.home, "/p/shop", self.proven)
        (done,) = installing.changed(
            self.client, self.hooks(scope), home=self.home, prevent=prevent, dry_run=dry_run, environ=self.environ
        )
        return done

    def uninstall(self, *, dry_run: bool = False, scope: InstallScope = "user") -> Installed:
        ours = self.hooks(scope)
        (done,) = installing.removed(ours, ours, home=self.home, dry_run=dry_run)
        return done

    def hooks(self, scope: InstallScope) -> list[SettingsEntry]:
        project = str(self.project) if scope == "project" else None
        place = Where(user=str(self.user), project=project, environ=self.environ)
        return [entry for entry in self.client.entries(place) if entry.part == "hooks"]

    def events(self) -> list[str]:
        found = installing.installed_hooks("claude-code", scope="user", project=self.project, environ=self.environ)
        return [event for each in found for event in each.events]


@pytest.mark.parametrize("text", SETTINGS)
def test_install_adds_only_its_own_entries_and_uninstall_restores_byte_for_byte(place: Place, text: str) -> None:
    place.path.write_bytes(text.encode())
    done = place.install(prevent=True)
    assert done.changed
    after = place.path.read_bytes().decode()
    assert place.events() == sorted(place.client.events)
    before, now = json.loads(text.removeprefix("\ufeff")), json.loads(after.removeprefix("\ufeff"))
    for event, groups in now["hooks"].items():
        own = [group for group in groups if "ratchet.hookpath" in json.dumps(group)]
        rest = [group for group in groups if group not in own]
        assert rest == before.get("hooks", {}).get(event, [])
        assert len(own) == (event in place.events())
    assert {k: v for k, v in now.items() if k != "hooks"} == {k: v for k, v in before.items() if k != "hooks"}
    place.uninstall()
    assert place.path.read_bytes() == text.encode()


def test_the_hook_before_a_step_names_the_tools_of_proven_lessons_and_is_left_out_without_any(place: Place) -> None:
    place.install(prevent=True)
    (group,) = json.loads(place.path.read_text())["hooks"]["PreToolUse"]
    assert group["matcher"] == "Bash|mcp__db__query"
    place.install(prevent=False)
    assert "PreToolUse" not in place.events()
    place.proven = []
    place.install(prevent=True)
    assert "PreToolUse" not in place.events(), "it would have nothing to say"


def test_proven_lessons_wait_until_a_hook_tells_them_before_their_step(place: Place) -> None:
    def waiting() -> int:
        return installing.waiting(place.home, project=place.project, environ=place.environ)

    assert waiting() == 0, "nothing is proven"
    trigger_file(place.home, "/p/shop", place.proven)
    place.install()
    assert waiting() == 2
    place.install(prevent=True)
    assert waiting() == 0
    trigger_file(place.home, "/p/new", [a_trigger(kind="tool", tool="mcp__new", lesson="l-3")])
    assert waiting() == 1, "of another tool"


@pytest.mark.parametrize("text", SETTINGS)
def test_every_line_of_the_person_keeps_its_bytes(place: Place, text: str) -> None:
    place.path.write_bytes(text.encode())
    place.install()
    after = place.path.read_bytes().decode()
    kept = iter(after)
    assert all(character in kept for character in text.replace("\n", "").replace("\r", "").replace(" ", ""))
    assert ("\r\n" in after) == ("\r\n" in text)


@pytest.mark.parametrize("text", SETTINGS)
def test_uninstall_keeps_what_the_person_changed_since(place: Place, text: str) -> None:
    place.path.write_bytes(text.encode())
    place.install(prevent=True)
    edited = place.path.read_bytes().decode()
    start = json_text.root(edited)
    place.path.write_bytes(json_text.with_item(edited, start, {"mine": [True]}, key="later").encode())
    place.uninstall()
    now = json.loads(place.path.read_bytes().decode().removeprefix("\ufeff"))
    assert now.pop("later") == {"mine": [True]}
    assert place.events() == []
    assert now == json.loads(text.removeprefix("\ufeff"))


@pytest.mark.parametrize("hooks", [{}, {"PreToolUse": []}, {"SessionEnd": [], "Stop": []}])
def test_what_the_person_left_empty_is_still_there_after_an_edit(place: Place, hooks: dict[str, object]) -> None:
    place.path.write_text(json.dumps({"model": "opus", "hooks": hooks}, indent=2))
    place.install(prevent=True)
    for _ in range(2):  # an update after the edit forgets it no more than the first installation
        place.path.write_text(place.path.read_text().replace("opus", "sonnet"))
        place.install()
    place.path.write_text(place.path.read_text().replace("sonnet", "haiku"))
    place.uninstall()
    assert json.loads(place.path.read_text()) == {"model": "haiku", "hooks": hooks}


@pytest.mark.parametrize("text", ["", "\n", "  \r\n", "\ufeff"])
def test_an_empty_file_counts_as_no_settings_and_is_empty_again(place: Place, text: str) -> None:
    place.path.write_bytes(text.encode())
    assert place.uninstall().changed is False
    assert place.install().changed
    assert set(place.events()) == set(place.client.events) - {"PreToolUse"}
    assert place.install().changed is False
    place.install(prevent=True)
    place.uninstall()
    assert place.path.read_bytes() == text.encode()
    place.install()
    edited = json.loads(place.path.read_text())
    place.path.write_text(json.dumps({"model": "opus", **edited}))
    place.uninstall()
    assert json.loads(place.path.read_text()) == {"model": "opus"}


def test_the_last_lines_say_where_nothing_is_told_before_a_step_yet(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(place.user))

    def said(*words: str) -> str:
        done = CliRunner().invoke(cli, ["install", "claude-code", "--hooks-only", "--home", str(place.home), *words])
        assert done.exit_code == 0, done.output
        return " ".join(done.output.split())

    told = "Once `ratchet learn` says that some wait, `ratchet install claude-code` again adds that."
    assert told in said()
    assert told not in said("--no-prevent")
    trigger_file(place.home, "/p/shop", place.proven)
    assert "no lesson is proven" not in said()


def test_installing_again_changes_nothing(place: Place) -> None:
    place.path.write_text(SETTINGS[0])
    place.install()
    first = place.path.read_bytes()
    assert place.install() == Installed(path=str(place.path), changed=False, diff="")
    assert place.path.read_bytes() == first


def test_installing_with_other_options_updates_only_its_own_entries_and_still_restores(place: Place) -> None:
    place.path.write_text(SETTINGS[0])
    place.install()
    place.install(prevent=True)
    assert "PreToolUse" in place.events()
    place.install()
    assert "PreToolUse" not in place.events()
    place.uninstall()
    assert place.path.read_text() == SETTINGS[0]


def test_an_update_after_an_edit_of_the_person_keeps_the_edit_when_uninstalled(place: Place) -> None:
    place.path.write_text(SETTINGS[0])
    place.install()
    place.path.write_text(place.path.read_text().replace('"opus"', '"sonnet"'))
    place.install(prevent=True)
    place.uninstall()
    assert place.path.read_text() == SETTINGS[0].replace('"opus"', '"sonnet"')


def test_a_missing_file_is_created_and_removed_again(place: Place) -> None:
    done = place.install()
    assert done.changed
    assert done.backup == ""
    assert stat.S_IMODE(place.path.stat().st_mode) == 0o600
    place.uninstall()
    assert not place.path.exists()


def test_a_file_that_was_created_keeps_what_the_person_put_there(place: Place) -> None:
    place.install()
    text = place.path.read_text()
    place.path.write_text(json_text.with_item(text, 0, "opus", key="model"))
    place.uninstall()
    assert json.loads(place.path.read_text()) == {"model": "opus"}


def test_a_large_settings_file_costs_no_reading_for_every_hook(tmp_path: Path) -> None:
    def calls(entries: int) -> int:
        """Function calls of an installation into a file with so many settings: their number is the same every time."""
        place = Place(tmp_path / str(entries))
        place.path.write_text(json.dumps({f"a{n}": f"http://{n}" for n in range(entries)}))
        count = [0]

        def counted(_frame: object, event: str, _about: object) -> None:
            count[0] += event.endswith("call")

        sys.setprofile(counted)
        try:
            place.install()
        finally:
            sys.setprofile(None)
        return count[0]

    each = (calls(400) - calls(100)) / 300
    assert each < 250  # 362 where each question reads the file anew


def test_a_dry_run_shows_the_change_and_writes_nothing(place: Place) -> None:
    place.path.write_text(SETTINGS[0])
    done = place.install(dry_run=True)
    assert done.changed
    assert '+        "matcher": "*",' in done.diff
    assert not [line for line in done.diff.splitlines() if line.startswith("-") and not line.startswith(("---", "-  "))]
    assert place.path.read_text() == SETTINGS[0]
    assert not place.home.exists()


@pytest.mark.parametrize(
    "text",
    [
        "{", "nonsense", "[]", '"x"', "null", '{"a": 1,}', '{"hooks": []}', '{"hooks": {"Stop": {}}}',
        '{"hooks": {"Stop": [1]}}', '{"hooks": {"Stop": [{"hooks": "x"}]}}', '{"hooks": null}', "// c\n{}",
        "[" * 100_000,
    ],
)  # fmt: skip
def test_a_file_that_does_not_parse_or_has_odd_hooks_is_refused_and_left_alone(place: Place, text: str) -> None:
    place.path.write_text(text)
    with pytest.raises(Refused, match="left as it is"):
        place.install()
    with pytest.raises(Refused, match="then run this again"):
        place.uninstall()
    assert place.path.read_text() == text
    assert not place.home.exists()


def test_a_symlinked_settings_file_stays_a_link_and_its_target_is_edited(place: Place, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text(SETTINGS[0])
    real.chmod(0o640)
    place.path.symlink_to(real)
    place.install()
    assert place.path.is_symlink()
    assert "ratchet.hookpath" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    place.uninstall()
    assert place.path.is_symlink()
    assert real.read_text() == SETTINGS[0]


def test_the_backup_holds_what_stood_there_and_only_the_owner_reads_it(place: Place) -> None:
    place.path.write_text(SETTINGS[0])
    backup = Path(place.install().backup)
    assert backup.read_text() == SETTINGS[0]
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_uninstall_without_our_hooks_changes_nothing(place: Place) -> None:
    assert not place.uninstall().changed
    place.path.write_text(SETTINGS[0])
    assert not place.uninstall().changed
    assert place.path.read_text() == SETTINGS[0]


def test_uninstall_works_when_the_home_is_gone(place: Place) -> None:
    place.path.write_text(SETTINGS[0])
    place.install()
    for path in sorted(place.home.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    place.uninstall()
    assert place.path.read_text() == SETTINGS[0]


def test_each_install_writes_its_own_file_and_a_config_folder_is_honoured(place: Place, tmp_path: Path) -> None:
    done = place.install(scope="project")
    assert Path(done.path) == place.project / ".claude" / "settings.json"
    assert not place.path.exists()
    place.environ["CLAUDE_CONFIG_DIR"] = str(tmp_path / "elsewhere")
    assert Path(place.install().path) == tmp_path / "elsewhere" / "settings.json"


def test_a_folder_that_may_not_be_written_is_a_clear_error(place: Place) -> None:
    if os.geteuid() == 0:
        place.path.parent.rmdir()
        place.path.parent.write_text("a file where the folder should be")
    else:
        place.path.parent.chmod(0o500)
    with pytest.raises(BackendError, match="settings"):
        place.install()


def test_an_unknown_agent_is_a_usage_error(place: Place) -> None:
    with pytest.raises(UsageError, match="claude-code"):
        registry.client("emacs")


def test_the_command_is_harmless_to_the_shell_however_paths_are_spelled(tmp_path: Path) -> None:
    odd = tmp_path / 'it\'s a "home" $(touch oops) `x`'
    said = command("SessionStart", home=odd, environ={"HOME": str(tmp_path)})
    ran = subprocess.run(["sh", "-c", said], input=b"{}", capture_output=True, check=False, cwd=tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert not (tmp_path / "oops").exists()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200)
@given(
    held=st.dictionaries(st.text(max_size=5), json_values, max_size=4),
    added=json_values,
    indent=st.sampled_from([None, 1, 2, "\t"]),
    position=st.integers(0, 3),
)
def test_adding_and_removing_items_in_place_equals_doing_it_to_the_value(
    held: dict[str, object], added: object, indent: int | str | None, position: int
) -> None:
    text = json.dumps(held, indent=indent)
    grown = json_text.with_item(text, 0, added, key="new one")  # type: ignore[arg-type]
    assert json.loads(grown) == {**held, "new one": added}
    assert list(json.loads(grown))[:-1] == list(held)
    where = min(position, len(held))
    left = json.loads(json_text.without_item(grown, 0, where))
    gone = list(json.loads(grown))[where]
    assert left == {k: v for k, v in json.loads(grown).items() if k != gone}
    assert json_text.without_item(grown, 0, len(held)) == text or indent is None or not held


def test_a_pipe_in_the_place_of_the_settings_is_refused_and_not_waited_for(place: Place) -> None:
    place.path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(place.path)
    with pytest.raises(Refused, match="no regular file"):
        place.install()
    assert place.path.is_fifo()

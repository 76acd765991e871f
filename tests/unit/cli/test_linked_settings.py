"""A settings file that is a link is named with the file that is written."""

from __future__ import annotations

from pathlib import Path

from ratchet.integrations.settings_file import diff


def test_the_diff_names_where_a_link_leads(tmp_path: Path) -> None:
    elsewhere = tmp_path / "dotfiles"
    elsewhere.mkdir()
    (elsewhere / "settings.json").write_text("{}\n")
    (tmp_path / "settings.json").symlink_to(elsewhere / "settings.json")
    (tmp_path / "folder").symlink_to(elsewhere)
    for path in (tmp_path / "settings.json", tmp_path / "folder" / "settings.json"):
        assert f"+++ {path} (a link to {elsewhere.resolve() / 'settings.json'})" in diff(path, "{}", '{"a": 1}')
    plain = elsewhere / "settings.json"
    assert f"+++ {plain}\n" in diff(plain, "{}", '{"a": 1}')

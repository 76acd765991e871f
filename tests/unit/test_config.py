"""The settings: what each place may say, and what a name that nobody knows costs there."""

from __future__ import annotations

import logging
import os
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.cli.doctor import Check, examine
from ratchet.config import FILE_NAME, KEYS, SHARED_KEYS, Config, home_of, load, unknown_environment
from ratchet.errors import UsageError
from ratchet.runtime import Runtime

ALLOWED = {"drain_interval_s": 7.0, "window_days": 3.0, "loop_interval_s": 5.0}
OTHERS = {field.name: field.type for field in fields(Config) if field.name not in ALLOWED}
VALUES = {"str": '"x"', "float": "0.5", "bool": "true", "Path": '"/nowhere"'}


def lines(values: dict[str, object]) -> str:
    return "".join(f"{key} = {value}\n" for key, value in values.items())


def write(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / FILE_NAME).write_text(text, encoding="utf-8")
    return folder


def test_a_folder_may_set_three_numbers_and_nothing_else(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = write(tmp_path / "repo", lines({**ALLOWED, **{key: VALUES[str(kind)] for key, kind in OTHERS.items()}}))
    held = load(environ={}, home=home, cwd=folder)
    plain = load(environ={}, home=home, cwd=tmp_path)
    assert {key: getattr(held, key) for key in ALLOWED} == ALLOWED
    assert all(getattr(held, key) == getattr(plain, key) for key in OTHERS)
    assert set(SHARED_KEYS) == set(ALLOWED)


@given(st.lists(st.from_regex(r"[A-Za-z0-9_-]{1,30}", fullmatch=True).filter(lambda key: key not in KEYS), unique=True))
def test_a_foreign_file_of_any_keys_ends_nothing(tmp_path_factory: pytest.TempPathFactory, keys: list[str]) -> None:
    tmp = tmp_path_factory.mktemp("foreign")
    folder = write(tmp / "repo", "".join(f"{key} = 1\n" for key in keys) + "[tool.other]\nx = [1]\n")
    assert load(environ={}, home=tmp / "home", cwd=folder) == load(environ={}, home=tmp / "home", cwd=tmp)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a = [", "not valid TOML"),
        (b"\xff\xfe", "not valid TOML"),
        (b"a=" + b"[" * 20_000, "not valid TOML"),
        (b'window_days = "x"', "use a number"),
        (b"window_days = nan", "use a number from"),
        (b"loop_interval_s = 1e400", "use a number from"),
    ],
)
def test_a_foreign_file_that_cannot_be_read_or_used_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes, said: str
) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / FILE_NAME).write_bytes(content)
    found = load(environ={}, cwd=folder, home=tmp_path / "home")
    assert found == Config(home=tmp_path / "home")
    assert said in caplog.text
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / FILE_NAME).write_bytes(content)
    with pytest.raises(UsageError, match=said):
        load(environ={}, cwd=tmp_path, home=tmp_path / "home")


def test_all_that_is_not_read_is_one_warning_a_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = write(tmp_path / "repo", 'model = "x:y"\nlint = 1\nother = 2\n[x]\n')
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            load(environ={}, home=tmp_path / "home", cwd=folder)
    (said,) = (each.getMessage() for each in caplog.records)
    assert "model" in said
    assert "lint" in said
    assert str(folder / FILE_NAME) in said
    assert str(tmp_path / "home" / FILE_NAME) in said


def test_a_folders_file_hides_no_setting_of_the_home(tmp_path: Path) -> None:
    home = write(tmp_path / "home", "withheld_share = 0.4\nwindow_days = 2\n")
    folder = write(tmp_path / "repo", "window_days = 9\n")
    held = load(environ={}, home=home, cwd=folder)
    assert (held.withheld_share, held.window_days) == (0.4, 9.0)
    assert load(environ={}, home=home, cwd=home).withheld_share == 0.4


@pytest.mark.parametrize("key", [key for key in KEYS if key != "home"])
def test_a_typing_error_in_what_the_person_wrote_names_the_nearest(tmp_path: Path, key: str) -> None:
    wrong = f"{key}s"
    with pytest.raises(UsageError, match=f"did you mean {key}"):
        load(environ={}, home=write(tmp_path / "home", f"{wrong} = 1\n"))
    with pytest.raises(UsageError, match=f"did you mean {key}"):
        load(environ={}, home=tmp_path, **{wrong: 1})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=f"did you mean RATCHET_{key.upper()}"):
        load(environ={f"RATCHET_{wrong.upper()}": "1"}, home=tmp_path / "none")


def test_a_variable_like_no_setting_is_another_programs(tmp_path: Path) -> None:
    environ = {"RATCHET_SEED": "1", "RATCHET_TASK_FILE": "x"}
    assert load(environ=environ, home=tmp_path).home == tmp_path
    assert unknown_environment(environ) == sorted(environ)


def share(home: Path, environ: dict[str, str]) -> Check:
    return next(
        each for each in examine(load(environ=environ, home=home), environ, home) if each.name == "hooks' share"
    )


@pytest.mark.sqlite
def test_doctor_says_that_hooks_obey_another_share_until_they_are_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert share(home, {}).ok
    write(home, "withheld_share = 0.5\n")
    assert not share(home, {}).ok
    assert "`ratchet report`" in share(home, {}).remedy
    with Runtime.open(home=home) as runtime:
        runtime.report()
    assert share(home, {}).ok
    assert FILE_NAME in share(home, {"RATCHET_WITHHELD_SHARE": "0"}).remedy


def test_a_foreign_home_may_set_three_numbers_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    held = write(tmp_path / "rsi_data", lines({**ALLOWED, "proposers": '"evilmod:go"', "unheard_of": "1"}))
    config = load(environ={"HOME": str(tmp_path / "me")}, cwd=tmp_path, home=held, foreign_home=True)
    assert config == Config(home=held, **ALLOWED)  # type: ignore[arg-type]
    assert "proposers, which no project may set" in caplog.text


def test_a_home_that_the_environment_names_is_never_foreign(tmp_path: Path) -> None:
    home = write(tmp_path / ".ratchet", 'proposers = "mine:go"\n')
    for environ in ({"HOME": str(tmp_path)}, {"RATCHET_HOME": str(home)}):
        assert load(environ=environ, cwd=tmp_path, home=home, foreign_home=True).proposers == "mine:go"


@pytest.mark.parametrize(
    "how", ["the folder is open", "the file is open", "the folder is theirs", "the file is theirs"]
)
def test_what_another_user_may_have_written_names_no_code(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    home = write(tmp_path / ".ratchet", 'proposers = "evilmod:go"\n')
    path = home / FILE_NAME if "file" in how else home
    environ = {"RATCHET_HOME": str(home)}
    assert load(environ=environ, cwd=tmp_path).proposers
    if "open" in how:
        path.chmod(0o777)
    else:
        seen, me = Path.stat, os.geteuid()
        others = os.stat_result((*path.stat()[:4], me + 23, *path.stat()[5:10]))
        monkeypatch.setattr(os, "geteuid", lambda: me or 7)
        monkeypatch.setattr(Path, "stat", lambda self, **kw: others if self == path else seen(self, **kw))
    assert load(environ=environ, cwd=tmp_path).proposers == ""
    assert f"chmod 700 {home}" in caplog.text


@pytest.mark.parametrize("value", ["'x'", "2.0"])
def test_a_value_that_cannot_be_is_told_with_its_file(tmp_path: Path, value: str) -> None:
    (tmp_path / FILE_NAME).write_text(f"withheld_share = {value}\n")
    with pytest.raises(UsageError, match=f"{tmp_path / FILE_NAME}: withheld_share"):
        load(home=tmp_path, environ={})


def test_a_home_has_no_steps_back_in_its_name(tmp_path: Path) -> None:
    assert home_of(tmp_path / "work" / ".." / "home", environ={}) == tmp_path / "home"

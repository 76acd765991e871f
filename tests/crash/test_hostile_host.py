"""What a host does to itself must never come back at it from `record`: odd places, odd values, no means left."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ratchet import Ratchet, UsageError
from ratchet.config import load
from ratchet.recording.journal import segments


def host(code: str, home: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "RATCHET_HOME": str(home), **environ},
        capture_output=True,
        text=True,
        timeout=60,
    )


def recorded(home: Path) -> list[dict[str, object]]:
    return [json.loads(line) for path in segments(str(home)) for line in Path(path).read_text().splitlines()]


GONE = "import os, tempfile; gone = tempfile.mkdtemp(); os.chdir(gone); os.rmdir(gone)\n"


def test_a_host_whose_working_directory_was_deleted_records_as_any_other(tmp_path: Path) -> None:
    done = host(GONE + "import ratchet; ratchet.record('a', error='boom')", tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert [row["agent"] for row in recorded(tmp_path / "home")] == ["a"]


def test_a_relative_home_in_a_deleted_working_directory_does_not_raise(tmp_path: Path) -> None:
    done = host(GONE + "import ratchet; print(ratchet.record('a'))", Path("somewhere"))
    assert done.returncode == 0, done.stderr
    assert "outcomes are being lost" in done.stderr


@pytest.mark.parametrize(
    "home", ["a\0b", "/nowhere/\ud800", "/nowhere/" + "x" * 5000], ids=["nul", "surrogate", "long"]
)
def test_a_home_that_is_no_path_costs_the_records_and_never_raises(home: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), Ratchet(home=home) as ratchet:
        assert ratchet.record("a", error="boom")
        assert ratchet.record("a")
    told = [entry.getMessage() for entry in caplog.records if "outcomes are being lost" in entry.getMessage()]
    assert len(told) == 1
    assert len(told[0]) < 1_000


def test_settings_that_cannot_be_read_do_not_reach_who_records(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, **given: object) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    home.mkdir()
    (home / "ratchet.toml").write_text("")
    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(UsageError, match=r"ratchet\.toml cannot be read"):
        load(home=home)
    with Ratchet(home=home) as ratchet:
        assert ratchet.record("a")


def test_settings_nested_too_deeply_are_called_invalid(home: Path) -> None:
    home.mkdir()
    (home / "ratchet.toml").write_text("x = " + "[" * 100_000)
    with pytest.raises(UsageError, match="not valid TOML"):
        load(home=home)


def test_a_process_that_may_start_no_thread_records_all_the_same(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refuse)
    with Ratchet(home=home) as ratchet:
        ratchet.record("a")
        ratchet.record("a")
        assert len(list(ratchet.outcomes())) == 2


class UntouchableError(Exception):
    def __getattribute__(self, name: str) -> object:
        raise RuntimeError(name)


def test_a_failure_that_cannot_be_looked_at_is_still_a_failure(home: Path) -> None:
    with Ratchet(home=home) as ratchet:
        ratchet.record("a", error=UntouchableError())
        ratchet.record(UntouchableError())  # type: ignore[arg-type]
        assert {(outcome.agent, outcome.ok) for outcome in ratchet.outcomes()} == {("a", False), ("unknown", True)}


def test_a_secret_in_the_name_of_an_argument_stays_off_the_disk_and_out_of_the_log(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "sk-ant-api03-" + "Ab9" * 30
    with Ratchet(home=home) as ratchet:
        ratchet.record("a", **{secret: 1, "x" * 1_000_000: 1})  # type: ignore[arg-type]
    kept = "".join(Path(path).read_text() for path in segments(str(home)))
    assert secret not in kept
    assert secret not in caplog.text
    assert len(kept) < 2_000


def test_a_home_that_is_a_file_holds_no_segments(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert segments(str(tmp_path / "file")) == []

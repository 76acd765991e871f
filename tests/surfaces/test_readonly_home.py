"""A home on a disk that is read-only or full is read as it stands, and what would be written there is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ratchet import Ratchet
from ratchet.cli.app import cli
from ratchet.cli.demo import HISTORY
from ratchet.errors import StoreError, UsageError
from ratchet.store import sqlite_faults
from ratchet.store.sqlite import SqliteStore

FILL = (
    'mount -t tmpfs -o size=16m tmpfs "$1" && cp -a "$0" "$1/home" && dd if=/dev/zero of="$1/fill" bs=1k status=none'
    ' count=$(($(df -k --output=avail "$1" | tail -1) - $2)); shift 2; exec "$@"'
)
EACH = """
import subprocess, sys
for words in sys.argv[1:]:
    done = subprocess.run([sys.executable, "-m", "ratchet", *words.split()], stdout=subprocess.DEVNULL)
    print(words, done.returncode)
"""
FREEZE = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


def frozen(folder: Path, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in a mount namespace of its own, in which the folder is read-only."""
    return subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", FREEZE, str(folder), *command],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "RATCHET_HOME": str(folder)},
    )


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that has learnt, with an outcome in its journal that is not counted yet."""
    home = tmp_path_factory.mktemp("frozen") / "home"
    done = CliRunner().invoke(cli, ["--home", str(home), "learn", str(HISTORY)])
    assert done.exit_code == 0, done.output
    with Ratchet(home=home) as ratchet:
        ratchet.record("late", error="boom")
    if frozen(home, "true").returncode:
        pytest.skip("no namespaces here: unprivileged ones are forbidden, or the system is none that has them")
    return home


def ran(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return frozen(home, sys.executable, "-m", "ratchet", *words)


@pytest.mark.parametrize(
    "words", [["patterns"], ["recall", "boom"], ["sessions", "list"], ["report"], ["trials", "list"]]
)
def test_it_is_read_and_what_is_not_counted_is_said_once(taught: Path, words: list[str]) -> None:
    done = ran(taught, *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert done.stderr.count("is not counted yet") == 1


@pytest.mark.parametrize("words", [["learn"], ["record", "a", "--failed"], ["token", "add", "t", "--scope", "read"]])
def test_what_would_be_written_is_refused_in_a_sentence(taught: Path, tmp_path: Path, words: list[str]) -> None:
    fresh = tmp_path / "fresh.jsonl"
    fresh.write_text('{"agent": "a", "error": "boom"}\n')
    done = ran(taught, *words, *([str(fresh)] if words == ["learn"] else []))
    assert done.returncode == 6, done.stdout + done.stderr
    assert "read-only" in done.stderr.lower()
    assert "Traceback" not in done.stderr
    assert str(fresh) not in done.stdout  # the store is at fault, and not the file


@pytest.mark.parametrize("left_kib", [0, 36], ids="{}-kib-left".format)
def test_on_a_full_disk_it_is_read_too(taught: Path, tmp_path: Path, left_kib: int) -> None:
    """Without any room SQLite opens no file as it wants to; with a little it finds none for what was recorded."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["patterns", "recall boom", "sessions list", "report", "token add t --scope read"]
    disk = ["unshare", "--map-root-user", "--mount", "sh", "-c", FILL, str(taught), str(place), str(left_kib)]
    done = subprocess.run(
        [*disk, sys.executable, "-c", EACH, *words],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "RATCHET_HOME": str(place / "home")},
    )
    codes = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert codes == {**dict.fromkeys(words, "0"), words[-1]: "6"}, done.stderr
    assert done.stderr.count("is not counted yet") == len(words) - 1
    assert "Traceback" not in done.stderr


def test_a_disk_that_has_room_again_is_written_to_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    free = [0]
    monkeypatch.setattr(sqlite_faults, "free_bytes", lambda path: free[0])
    store._held().connection.execute("PRAGMA max_page_count = 1")  # SQLite says so as of a full disk
    with pytest.raises(StoreError, match="disk is full"), store.transaction():
        store.insert_new("meta", [{"name": "a" * 50, "value": "b" * 9_000_000}])
    assert store.readonly
    store._held().connection.execute("PRAGMA max_page_count = 1000000")
    with pytest.raises(StoreError, match="disk is full"), store.transaction():
        pass
    free[0] = sqlite_faults.ROOM_BYTES + 1
    with store.transaction():
        store.insert_new("meta", [{"name": "a"}])
    assert store.get("meta", "a") is not None


def test_a_hook_says_what_it_knows(taught: Path) -> None:
    call = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(taught), "source": "startup"}
    done = frozen(taught, sys.executable, "-m", "ratchet", "hook", "SessionStart", stdin=json.dumps(call))
    assert (done.returncode, done.stderr) == (0, "")


def test_it_is_counted_once_the_disk_can_be_written(taught: Path) -> None:
    done = CliRunner().invoke(cli, ["--home", str(taught), "health", "--json"])
    assert '"late"' in done.output


def test_a_link_to_a_home_that_is_not_there_is_named(tmp_path: Path) -> None:
    link = tmp_path / "home"
    link.symlink_to(tmp_path / "unmounted")
    for words in (["patterns"], ["init"], ["learn", str(HISTORY)]):
        with pytest.raises(UsageError, match="is a link to what is not there"):
            CliRunner().invoke(cli, ["--home", str(link), *words], catch_exceptions=False)
    assert not (tmp_path / "unmounted").exists()


def test_a_journal_that_another_user_made_keeps_nobody_from_reading(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after `sudo ratchet ...`."""
    with Ratchet(home=home) as ratchet:
        ratchet.record("bot", error="boom")
    assert CliRunner().invoke(cli, ["--home", str(home), "patterns"]).exit_code == 0
    listed = os.listdir

    def refused(path: str) -> list[str]:
        if str(path).endswith("journal"):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "listdir", refused)
    done = CliRunner().invoke(cli, ["--home", str(home), "patterns"])
    assert (done.exit_code, "boom" in done.output) == (0, True), done.output

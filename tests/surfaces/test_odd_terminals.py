"""The command line where little works: few characters, no folder, no file, names that command a terminal."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import sqlite3
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from ratchet.cli import show, show_bench
from ratchet.cli.app import cli
from ratchet.cli.stopping import heard
from ratchet.evolving.bench.benchmark import Evaluation
from ratchet.improving.loop.improve import Ticked
from ratchet.runtime import Runtime
from ratchet.store.sqlite_faults import remedy_of


@pytest.fixture
def run(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


class Runner:
    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(self, *words: str, code: int = 0, **environ: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "ratchet", *words],
            cwd=self.home,
            env={**os.environ, "RATCHET_HOME": str(self.home / "r"), "HOME": str(self.home), **environ},
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=60,
        )
        assert done.returncode == code, f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}"
        return done


def test_a_terminal_of_few_characters_gets_all_that_it_can_show(run: Runner) -> None:
    run("record", "agent", "--error", "Fehler: größer als ‹erlaubt›")
    for words in (("health",), ("patterns",), ("classify", "Größe 日本")):
        assert run(*words, PYTHONIOENCODING="ascii").stdout.isascii()
    assert (
        "?" in run("health", PYTHONIOENCODING="ascii").stdout + run("classify", "日本", PYTHONIOENCODING="ascii").stdout
    )


def test_an_export_that_cannot_be_written_is_one_line_and_a_text_of_half_characters_comes_back(
    run: Runner, tmp_path: Path
) -> None:
    run("lessons", "add", "--when", "the frobnicator \udced broke", "--do", "mend it \udcff")
    for target in (tmp_path / "none" / "x", tmp_path / ("x" * 300)):
        said = run("lessons", "export", str(target), code=6).stderr
        assert said.startswith("ratchet: ")
        assert said.count("\n") == 1
    run("lessons", "export", str(tmp_path / "x.jsonl"))
    run("lessons", "import", str(tmp_path / "x.jsonl"))
    run("lessons", "export")
    run("lessons", "list", "--json")


def test_a_message_does_not_command_the_terminal(run: Runner) -> None:
    assert "\x1b" not in run("learn", "/none\x1b[2J", code=2).stderr
    assert "\x1b" not in run("lessons", "show", "l\x1b[2J", code=3).stderr


@pytest.mark.parametrize(
    "words", ["install claude-code --dry-run", "lessons add --when x --do y", "patterns", "doctor"]
)
def test_a_command_in_a_deleted_folder_ends_without_a_traceback(tmp_path: Path, words: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", f'rmdir "$PWD"; exec "$0" -m ratchet {words}', sys.executable],
        cwd=gone,
        env={**os.environ, "RATCHET_HOME": str(tmp_path / "r"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_is_full_is_said_in_one_line(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ratchet", "version"],
            env={**os.environ, "RATCHET_HOME": str(tmp_path / "r")},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 6
    assert done.stderr.startswith("ratchet: ")
    assert done.stderr.count("\n") == 1


def test_a_record_that_was_not_written_is_no_success(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ratchet", "record", "agent", "--error", "boom"],
        env={**os.environ, "RATCHET_HOME": str(tmp_path / "r")},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),  # no file may grow, as on a full disk
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (6, "")
    assert "nothing was recorded" in done.stderr


def test_the_doctor_has_a_remedy_for_each_trouble_of_a_store(run: Runner) -> None:
    assert "move" not in remedy_of(sqlite3.OperationalError("disk I/O error"))
    store = run.home / "r" / "ratchet.db"
    store.parent.mkdir(mode=0o700)
    store.touch(0o600)
    assert f"FAIL store: {store} is empty" in run("doctor", code=1).stdout
    store.write_bytes(b"no database" * 999)
    assert "move it aside" in run("doctor", code=1).stdout
    store.unlink()
    (run.home / "r" / "hook" / "hook.log").mkdir(parents=True)  # as what the system keeps to itself
    said = run("doctor", code=1).stdout
    assert "FAIL hook log: " in said
    assert "models: " in said


@pytest.mark.parametrize("words", ["patterns", "lessons list", "bench list", "report", "health"])
def test_a_reader_that_goes_away_is_no_failure(run: Runner, words: str) -> None:
    run("record", "agent", "--error", "boom")
    run("lessons", "add", "--when", "boom", "--do", "mend it")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "ratchet", *words.split()],
        env={**os.environ, "RATCHET_HOME": str(run.home / "r"), "HOME": str(run.home)},
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_long_work_ends_when_its_reader_goes_away() -> None:
    asked = threading.Event()

    def tell(said: str) -> None:
        if said == "gone":
            raise BrokenPipeError

    told = heard(tell, asked)
    told("here")
    assert not asked.is_set()
    told("gone")
    assert asked.is_set()


def test_a_terminal_of_no_known_width_is_written_to(run: Runner) -> None:
    run("record", "agent", "--error", "boom")
    assert "boom" in run("patterns", COLUMNS="0").stdout


def test_a_round_in_which_a_step_failed_is_no_success(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tick(self: Runtime, **_: object) -> Ticked:
        return Ticked(faults=["tell: the store is read-only"])

    monkeypatch.setattr(Runtime, "tick", tick)
    CliRunner().invoke(cli, ["--home", str(home), "init"])
    done = CliRunner().invoke(cli, ["--home", str(home), "loop", "--once"])
    assert (done.exit_code, done.stdout) == (1, "FAILED tell: the store is read-only\n")


@pytest.mark.parametrize("given", [("--duration-s", "1e300"), ("--cost-usd", "1e300"), ("--duration-s", "1e15")])
def test_what_record_gives_an_id_for_is_stored_whatever_its_numbers(run: Runner, given: tuple[str, str]) -> None:
    run("record", "agent", "--error", "boom", *given)
    assert "agent" in run("health").stdout
    assert "boom" in run("patterns").stdout
    json.loads(run("patterns", "--json").stdout)


def test_numbers_without_an_end_are_no_numbers(run: Runner) -> None:
    for words in (("record", "agent", "--score", "nan"), ("loop", "--interval", "inf")):
        assert "not finite" in run(*words, code=2).stderr
    run("record", "agent", "--ok")
    assert "1970-01-01" in run("compact", "--older-than", "1e300").stdout


def test_an_empty_name_is_not_the_working_folder(run: Runner) -> None:
    run("record", "agent", "--ok", RATCHET_HOME="")
    assert (run.home / ".ratchet" / "journal").is_dir()
    assert not (run.home / "journal").exists()
    for words in (
        ("--home", "", "health"),
        ("health", "--home", ""),
        ("learn", ""),
        ("run", "--in", "", "--check", "true"),
        ("sandbox", "exec", "--workdir", "", "--", "true"),
    ):
        assert "names no path" in run(*words, code=2).stderr


ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\r"


def test_no_line_of_an_answer_commands_the_terminal(run: Runner, tmp_path: Path) -> None:
    folder = tmp_path / "odd\x1b[2J\x07"
    folder.mkdir()
    here = partial(run, RATCHET_HOME=str(folder / "r"), CLAUDE_CONFIG_DIR=str(folder / "claude"))
    shown = [here("init").stdout]
    added = here("lessons", "add", "--when", "the frobnicator broke", "--do", "mend it", "--json")
    lesson_id = json.loads(added.stdout)["id"]
    shown.append(here("lessons", "quarantine", lesson_id, "--reason", f"bad {ESCAPES} advice").stdout)
    bad = {"id": ESCAPES, "when": "x", "do": 5, "state": ESCAPES}
    (tmp_path / "lessons.jsonl").write_text(json.dumps(bad) + "\n{" + ESCAPES + "\n")
    shown.append(here("lessons", "import", str(tmp_path / "lessons.jsonl"), code=2).stderr)
    settings = folder / "claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n  "a": "\x9b31m\x7f"\n}\n')
    for words in (("--dry-run",), ()):
        shown.append(here("install", "claude-code", *words).stdout)
    shown.append(here("doctor").stdout)
    shown.append(here("lessons", "export", str(folder / "out")).stdout)
    shown.append(here("uninstall", "claude-code").stdout)
    for said in shown:
        assert said
        assert all(character.isprintable() or character == "\n" for character in said), said


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "words", ["health --json", "classify x", "sandbox exec --workdir . --unsafe-no-sandbox --stdin -- cat"]
)
def test_a_closed_stream_is_an_empty_one(run: Runner, tmp_path: Path, words: str, closed: str) -> None:
    run("record", "agent", "--error", "it broke")
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m ratchet {words} {closed}"],
        cwd=tmp_path,
        env={**os.environ, "RATCHET_HOME": str(tmp_path / "r"), "HOME": str(tmp_path.parent)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "name", ["\x1b]52;c;cHduZWQ=\x07", "\x9b2J", "\u202emoc", "[bold]a", "[link=x.example]a", "\udcff"]
)
def test_what_is_being_read_commands_no_terminal_by_its_name(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", drawn := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with show.progress(quiet=False) as told:
        told(1, 2, f"/home/kim/{name}")
    bare = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", drawn.getvalue())
    assert "100%" not in bare
    assert "50%" in bare
    assert all(letter.isprintable() or letter in "\r\n" for letter in bare)
    if name.startswith("["):
        assert name[:23] in bare


def test_a_log_is_told_how_far_long_work_is_though_nothing_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", log := io.StringIO())
    monkeypatch.setattr(show, "_TICK_S", 0.01)

    def awaited(said: str) -> None:
        for _ in range(3_000):
            if said in log.getvalue():
                return
            time.sleep(0.01)
        raise AssertionError(f"{said!r} was never told: {log.getvalue()!r}")

    with show.progress(quiet=False) as told:
        awaited("at work")
        told(3, 18, "3 of 18 tasks\x1b[2J checked")
        awaited("17%, 3 of 18 tasks [2J checked")
    with show_bench.progress(quiet=False) as counted:
        counted(Evaluation(run="r", candidate="c", task="t", seed=0, result="passed", cost_usd=0.5), 1, 7)
        awaited("1 of 7 runs, 0.50 USD")
    ended = log.getvalue()
    with show.progress(quiet=True) as told:
        told(1, 2, "quiet")
        time.sleep(0.05)
    assert log.getvalue() == ended

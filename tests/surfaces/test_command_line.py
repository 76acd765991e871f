"""The command line: JSON shapes, exit codes, errors of one line, help that names every command."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ratchet.cli import main
from ratchet.cli.commands import SECTIONS
from ratchet.cli.demo import HISTORY

UPSTREAM = "fatal: The current branch feature-x has no upstream branch."


class Shell:
    """Runs `ratchet` in a home of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def run(self, *words: str, stdin: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "RATCHET_HOME": str(self.home / "ratchet"), "HOME": str(self.home), "COLUMNS": "120"}
        done = subprocess.run(
            [sys.executable, "-m", "ratchet", *words],
            cwd=self.home,
            env=environ,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == code, f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}"
        return done

    def json(self, *words: str, stdin: str = "") -> object:
        return json.loads(self.run(*words, "--json", stdin=stdin).stdout)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


Told = Callable[..., str]


@pytest.fixture
def told(shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    """Runs `ratchet` within this process, for calls that end before any work; gives what it said as it ended so."""

    def run(*words: str, code: int) -> str:
        monkeypatch.chdir(shell.home)
        for name, value in (("RATCHET_HOME", shell.home / "ratchet"), ("HOME", shell.home), ("COLUMNS", 120)):
            monkeypatch.setenv(name, str(value))
        monkeypatch.setattr(sys, "argv", ["ratchet", *words])
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert ended.value.code == code, said
        assert not said.out
        return said.err

    return run


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a home that has learnt, to copy."""
    learning = Shell(tmp_path_factory.mktemp("learnt"))
    learning.run("learn", str(HISTORY), "--json")
    return learning.home


@pytest.fixture
def taught(shell: Shell, request: pytest.FixtureRequest) -> Shell:
    if "RATCHET_DATABASE_URL" in os.environ:  # a database of its own for each test
        shell.run("learn", str(HISTORY), "--json")
    else:
        shutil.copytree(request.getfixturevalue("learnt"), shell.home, dirs_exist_ok=True)
    return shell


def test_learn_counts_what_was_new_and_a_second_run_adds_nothing(shell: Shell) -> None:
    first = shell.json("learn", str(HISTORY))
    assert isinstance(first, dict)
    assert {"files", "sessions", "outcomes", "failures", "cascades", "user_denied", "quarantined", "patterns"} <= set(
        first
    )
    assert first["files"] == 4
    assert first["outcomes"] == 76
    assert first["lessons"]["active"] >= 3
    again = shell.json("learn", str(HISTORY))
    assert isinstance(again, dict)
    assert (again["outcomes"], again["failures"], again["patterns"]) == (0, 0, 0)


def test_patterns_have_the_documented_shape_and_recurring_ones_come_first(taught: Shell) -> None:
    found = taught.json("patterns")
    assert isinstance(found, list)
    wanted = {"id", "signature", "kind", "template", "count", "sessions", "agents", "first_seen", "last_seen", "trend"}
    wanted |= {"recurring", "wasted_s", "impact", "lessons"}
    assert all(wanted <= set(each) for each in found)
    recurring = [each["recurring"] for each in found]
    assert recurring == sorted(recurring, reverse=True)
    lessons = [lesson for each in found for lesson in each["lessons"]]
    assert lessons
    assert all({"id", "text", "state", "tried", "worked"} <= set(lesson) for lesson in lessons)


def test_recall_answers_with_the_literal_command_and_abstains_where_nothing_is_known(taught: Shell) -> None:
    known = taught.json("recall", UPSTREAM)
    assert isinstance(known, dict)
    assert not known["abstained"]
    best = known["lessons"][0]
    assert "git push --set-upstream origin" in best["text"]
    assert {"id", "text", "state", "match", "score", "tried", "worked", "evidence"} <= set(best)
    (project,) = best["learnt_in"]
    assert f"learnt in {project}" in taught.run("recall", UPSTREAM).stdout
    unknown = taught.json("recall", "kernel panic - not syncing: VFS: Unable to mount root fs")
    assert isinstance(unknown, dict)
    assert unknown["abstained"]
    assert unknown["lessons"] == []
    assert unknown["searched"] > 0


def test_recall_of_a_text_that_holds_its_own_fix_says_that_it_is_known(taught: Shell) -> None:
    whole = f"{UPSTREAM}\nTo push the current branch, use\n\n    git push --set-upstream origin main\n"
    known = taught.json("recall", whole)
    assert isinstance(known, dict)
    assert (known["abstained"], known["silent"]) == (True, "itself")
    said = taught.run("recall", whole).stdout
    assert said.startswith("Known, and the text itself says what to do")
    assert known["possibly"][0]["id"] in said


def test_recall_of_a_failure_without_a_fix_says_that_it_came_before(taught: Shell) -> None:
    said = "File has not been read yet. Read it first before writing to it."
    told = taught.run("recall", said).stdout
    assert "It failed so before, 3x in 3 sessions" in told
    pattern = told.split("ratchet patterns show ")[1].split()[0]
    assert said in taught.run("patterns", "show", pattern).stdout
    assert "failed so before" not in taught.run("recall", UPSTREAM).stdout
    assert "failed so before" not in taught.run("recall", "kernel panic - not syncing: VFS").stdout


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("lern",), "no command 'lern': did you mean `ratchet learn`? See `ratchet --help`"),
        (("learn", "--lst"), "No such option '--lst'. Did you mean '--list'? See `ratchet learn --help`"),
        (("forget", "--session", "abc"), "No such option '--session'; see `ratchet forget --help`"),
        (("bench", "run", "quick"), "what it takes stands behind an option: --agent, --bench, "),
        (("migrate", "--to", "sqlite:///x"), "sqlite:// is no known database: give postgresql://..., or the path"),
    ],
)
def test_a_wrong_call_says_what_was_meant_and_names_nothing_else(
    shell: Shell, told: Told, words: tuple[str, ...], meant: str
) -> None:
    assert meant in told(*words, code=2)
    assert not list(shell.home.glob("sqlite*"))


def test_nothing_to_forget_asks_nobody(taught: Shell) -> None:
    done = taught.run("forget", "--before", "2000-01-01")
    assert (done.stdout, done.stderr) == ("Nothing to forget: no session is known of that\n", "")


def test_recall_reads_standard_input(taught: Shell) -> None:
    assert "--set-upstream" in taught.run("recall", "-", stdin=UPSTREAM).stdout
    assert "--set-upstream" in taught.run("recall", stdin=UPSTREAM).stdout


def test_no_store_and_an_empty_store_are_different_answers(shell: Shell) -> None:
    missing = shell.run("recall", UPSTREAM, code=3)
    assert "ratchet learn" in missing.stderr
    shell.run("init")
    empty = shell.json("recall", UPSTREAM)
    assert isinstance(empty, dict)
    assert (empty["abstained"], empty["searched"]) == (True, 0)


def test_lessons_are_listed_added_approved_retired_and_shared(taught: Shell) -> None:
    listed = taught.json("lessons", "list")
    assert isinstance(listed, list)
    wanted = {"id", "text", "state", "scope", "signature", "kind", "tried", "worked", "reason", "evidence"}
    assert all(wanted <= set(each) for each in listed)
    advice = [each["text"] for each in listed if each["state"] in ("active", "candidate")]
    assert not any("--no-verify" in text for text in advice)
    assert any("--no-verify" in each["text"] and each["reason"] for each in listed if each["state"] == "quarantined")

    added = taught.json("lessons", "add", "--when", "EADDRINUSE :::3000", "--do", "Stop the old server first.")
    assert isinstance(added, dict)
    assert added["state"] == "candidate"
    approved = taught.run("lessons", "approve", added["id"]).stdout.splitlines()
    assert approved[0] == f"{added['id']} is active"
    assert approved[1].startswith("Told to agents from now on in ")
    assert approved[2:4] == ["  when EADDRINUSE <ip>", "  do   Stop the old server first."]
    assert approved[-1] == f"To take it back: ratchet lessons undo {added['id']}"
    assert taught.run("lessons", "undo").stdout.splitlines() == [f"{added['id']} is candidate"]
    never = next(each["id"] for each in listed if each["state"] == "quarantined")
    assert "never advice, whoever approves it" in taught.run("lessons", "approve", never, code=5).stderr
    taught.run("lessons", "approve", added["id"])
    taught.run("lessons", "export", "lessons.jsonl")
    other = Shell(taught.home / "other")
    other.home.mkdir()
    imported = other.json("lessons", "import", str(taught.home / "lessons.jsonl"))
    assert isinstance(imported, dict)
    assert imported["imported"] >= 3
    states = other.json("lessons", "list")
    assert isinstance(states, list)
    assert {each["state"] for each in states} == {"candidate"}
    assert "retired" in taught.run("lessons", "retire", added["id"], "--reason", "moved to port 4000").stdout


def test_a_relative_project_is_the_folder_that_it_names(taught: Shell) -> None:
    taught.run("lessons", "add", "--when", "EADDRINUSE :::3000", "--do", "Stop the old server first.", "--active")
    assert "Stop the old server" in taught.run("lessons", "list", "--project", ".").stdout
    assert "Stop the old server" in taught.run("recall", "EADDRINUSE :::3000", "--project", "./").stdout
    assert "Stop the old server" not in taught.run("lessons", "list", "--project", "./elsewhere").stdout


def test_a_report_without_a_case_says_what_to_do_now(shell: Shell) -> None:
    assert "ratchet install claude-code" in shell.run("report").stdout
    shell.run("install", "claude-code", "--hooks-only")
    told = shell.run("report").stdout
    assert "Hooks tell claude-code" in told
    assert "ratchet install" not in told


def test_a_relative_home_is_the_same_folder_for_whatever_is_started(shell: Shell) -> None:
    assert shell.run("init", "--home", "./kept").stdout.count(str(shell.home / "kept"))


def test_learn_ends_with_what_fixed_what_failed(shell: Shell) -> None:
    first = shell.run("learn", str(HISTORY)).stdout
    told = first.partition("What to tell your agents")[2]
    assert "uv run ruff format src" in told
    assert "--set-upstream" not in told, "git's own message says as much"
    assert first.index("fails most: `git push`") < first.index("What to tell your agents")
    assert "ratchet install claude-code" in first
    assert "nothing new" in shell.run("learn", str(HISTORY)).stdout


def test_patterns_of_one_kind_of_spread_follow_the_impact_that_is_shown(taught: Shell) -> None:
    told = taught.run("patterns", "--limit", "100").stdout
    assert "Impact, which orders them with the sessions" in told
    shown = [float(each.replace(",", "")) for each in re.findall(r", impact ([\d,]+)  p", told)]
    listed = json.loads(taught.run("patterns", "--json").stdout)
    assert shown == [pytest.approx(each["impact"], abs=0.5) for each in listed if each["triage"]["state"] == "open"]


def test_what_was_quarantined_never_looks_like_advice(taught: Shell) -> None:
    lines = taught.run("patterns").stdout.splitlines()
    assert all(line.startswith("  no advice: ") for line in lines if "--no-verify" in line)
    listed = taught.run("lessons", "list").stdout
    assert "--no-verify" not in listed
    assert "1 lesson never told: skips the hooks (1)" in listed
    asked = taught.run("lessons", "list", "--state", "quarantined").stdout
    assert "why  skips the hooks: `--no-verify`" in asked.partition("quarantined")[2]


def test_the_limit_is_told_only_where_more_match(taught: Shell) -> None:
    assert "--limit 10 shows more" in taught.run("patterns", "--limit", "2").stdout
    assert "shows more" not in taught.run("patterns", "--kind", "rate_limit", "--limit", "1").stdout
    assert "No failures of this agent or kind" in taught.run("patterns", "--kind", "quota_exhausted").stdout


def test_the_hook_by_hand_reads_the_home_that_is_named(taught: Shell) -> None:
    event = {
        "hook_event_name": "PostToolUseFailure",
        "session_id": "by-hand",
        "cwd": "/home/dev/shop",
        "tool_name": "Bash",
        "tool_use_id": "toolu_1",
        "tool_input": {"command": "git push"},
        "error": "Exit code 128\n" + UPSTREAM,
    }
    (taught.home / "other").mkdir(mode=0o700)
    (taught.home / "other" / "ratchet.toml").write_text("withheld_share = 0\n")
    taught.run("--home", "other", "learn", str(HISTORY))
    said = taught.run("--home", "other", "hook", "PostToolUseFailure", stdin=json.dumps(event)).stdout
    assert "--set-upstream" in said


def test_health_names_its_half_life(taught: Shell) -> None:
    found = taught.json("health")
    assert isinstance(found, dict)
    assert found["half_life_calls"] == 20
    assert 0 <= found["score"] <= 1
    assert set(found["agents"]) == {"claude-code", "summariser"}


def test_record_and_classify(shell: Shell) -> None:
    shell.run("record", "deploy", "--task", "release", "--error", "HTTP 503 Service Unavailable")
    shell.run("record", "deploy", "--task", "release", "--ok")
    health = shell.json("health")
    assert isinstance(health, dict)
    assert 0 < health["agents"]["deploy"] < 1
    found = shell.json("classify", "openai.RateLimitError: Error code: 429 - try again in 2s")
    assert isinstance(found, dict)
    assert (found["kind"], found["transient"], found["retry_safe"]) == ("rate_limit", True, True)
    assert found["signature"].startswith("v1:")


def test_watch_dir_moves_what_it_took_and_says_why_not(shell: Shell) -> None:
    inbox = shell.home / "inbox"
    inbox.mkdir()
    (inbox / "good.json").write_text('{"task": "search", "success": false, "error": "timeout"}')
    (inbox / "bad.json").write_text("{nonsense")
    os.utime(inbox / "bad.json", (1, 1))
    polled = shell.json("watch-dir", str(inbox), "--once")
    assert isinstance(polled, dict)
    assert (polled["processed"], polled["outcomes"], len(polled["rejected"])) == (1, 1, 1)
    assert (inbox / ".processed" / "good.json").exists()
    assert list((inbox / ".rejected").glob("bad*.reason.txt"))


def test_what_was_learnt_stands_in_a_digest_in_the_order_of_its_list(taught: Shell) -> None:
    found = taught.json("report", "--since", "2020-01-01")
    assert isinstance(found, dict)
    listed = json.loads(taught.run("lessons", "list", "--json").stdout)
    known = [each["id"] for each in listed if each["state"] in ("active", "candidate")]
    assert len(known) > 1
    assert [each["id"] for each in found["learnt"]] == known[:5]


def test_report_says_when_there_is_not_enough_data(taught: Shell) -> None:
    found = taught.json("report")
    assert isinstance(found, dict)
    assert found["effect"]["verdict"] == "not enough data yet"


def test_install_shows_a_diff_and_uninstall_restores_byte_for_byte(shell: Shell) -> None:
    settings = shell.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    original = b'{\r\n  "model": "opus",\r\n  "hooks": {}\r\n}'
    settings.write_bytes(original)
    preview = shell.run("install", "claude-code", "--dry-run").stdout
    assert "PostToolUseFailure" in preview
    assert len(preview.splitlines()) < 12
    assert '+    "PostToolUseFailure": [' in shell.run("install", "claude-code", "--dry-run", "--diff").stdout
    assert settings.read_bytes() == original
    shell.run("install", "claude-code")
    assert b"PostToolUseFailure" in settings.read_bytes()
    shell.run("uninstall", "claude-code")
    assert settings.read_bytes() == original


@pytest.mark.parametrize("kept", ["", "notes.md"])
def test_what_install_says_backs_out_of_a_project_and_takes_its_folder_along(shell: Shell, kept: str) -> None:
    folder = shell.home / ".claude"
    said = shell.run("install", "claude-code", "--project").stdout
    back = re.search(r"Back out: ratchet (.+)", said)
    assert back is not None, said
    assert (folder / "settings.json").exists()
    shell.run("install", "claude-code", "--project", "--prevent")
    if kept:
        (folder / kept).write_text("a person's own\n")
    shell.run(*back[1].split())
    left = sorted(
        each.relative_to(shell.home).as_posix() for each in shell.home.rglob("*") if "ratchet" not in each.parts
    )
    assert left == ([".claude", f".claude/{kept}"] if kept else [])


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("learn", "nowhere.jsonl"), 2, "no such file"),
        (("learn",), 3, "ratchet learn PATH"),
        (("lessons", "show", "l404"), 3, "ratchet lessons list"),
        (("patterns", "split", "p404", "v1:0"), 3, "ratchet patterns"),
        (("classify", "  "), 2, "empty"),
        (("record",), 2, "name the agent"),
        (("watch-dir", "nowhere", "--once"), 2, "no such folder"),
        (("recal", "x"), 2, "did you mean `ratchet recall`?"),
        (("session", "list"), 2, "did you mean `ratchet sessions`?"),
        (("heal",), 2, "did you mean `ratchet run`"),
        (("cost",), 2, "did you mean `ratchet sessions cost`?"),
        (("heal",), 2, "did you mean `ratchet run`?"),
        (("sessions", "serch", "x"), 2, "did you mean `ratchet sessions search`?"),
        (("gate", "runs.tsv"), 2, "for a file: `ratchet gate keep runs.tsv`"),
        (("patterns", "--kind", "rate-limit"), 2, "did you mean rate_limit?"),
        (("learn", "."), 3, "name a history"),
        (("install",), 2, "claude-code"),
        (("record", "a", "--error"), 2, "see `ratchet record --help`"),
        (("record", "a", "--eror", "x"), 2, "Did you mean '--error'?"),
        (("run", "--patch"), 2, "see `ratchet run --help`"),
        (("sessions", "restore", "x"), 3, "ratchet sessions search"),
    ],
)
def test_a_wrong_call_is_one_line_with_the_remedy_and_its_exit_code(
    told: Told, words: tuple[str, ...], code: int, said: str
) -> None:
    line = told(*words, code=code)
    assert said in line
    assert len(line.splitlines()) == 1


def test_what_taught_nothing_is_named_once_with_its_reason(shell: Shell) -> None:
    (shell.home / "empty.jsonl").touch()
    (shell.home / "dangling").symlink_to("nowhere")
    os.mkfifo(shell.home / "pipe")
    reasons = {"empty.jsonl": "it is empty", "dangling": "a link to what is not there", "pipe": "a pipe or a device"}
    for name, reason in reasons.items():
        done = shell.run("learn", name, code=2)
        assert f"nothing was learnt from {name}: {reason}" in done.stderr
        assert len((done.stdout + done.stderr).splitlines()) == 1


@pytest.mark.parametrize("words", [(), ("sessions",), ("episodes",), ("bench",)])
def test_a_group_alone_shows_whole_what_it_offers(shell: Shell, words: tuple[str, ...]) -> None:
    said = shell.run(*words).stdout
    assert "Usage: ratchet" in said
    assert "..." not in said.partition("Commands:")[2]


def test_a_home_where_nothing_can_be_made_is_told_without_names_of_ours(shell: Shell) -> None:
    said = shell.run("--home", "/proc", "patterns", code=6).stderr
    assert said.startswith("ratchet: /proc/ratchet.db: ")
    assert "choose another home" in said
    assert "/proc/." not in said


def test_a_setting_with_a_wrong_name_names_the_nearest(shell: Shell) -> None:
    (shell.home / "ratchet").mkdir(mode=0o700)
    (shell.home / "ratchet" / "ratchet.toml").write_text("witheld_share = 0.1\n")
    assert "did you mean withheld_share?" in shell.run("health", code=2).stderr


def test_help_groups_every_command_by_what_people_want(shell: Shell) -> None:
    said = shell.run("--help").stdout
    for section, commands in SECTIONS.items():
        assert section in said
        for command in commands:
            assert f"  {command}" in said
    assert "Exit codes" in said


def test_doctor_examines_everything_and_fails_when_something_is_wrong(taught: Shell) -> None:
    checks = taught.json("doctor")
    assert isinstance(checks, list)
    assert {each["check"] for each in checks} >= {"settings", "home", "store", "journal", "hooks", "histories"}
    (taught.home / "ratchet" / "ratchet.db").write_bytes(b"not a database at all" * 400)
    done = taught.run("doctor", code=1)
    assert "move it aside" in done.stdout


@pytest.mark.parametrize("what", ["junk", "pages", "pipe", "folder", "link"])
def test_doctor_looks_at_all_else_where_files_of_the_home_are_damaged(taught: Shell, what: str) -> None:
    home = taught.home / "ratchet"
    held = [home / "ratchet.db", *(each for each in (home / "hook").rglob("*") if each.is_file())]
    assert len(held) > 2
    for each in held:
        content = each.read_bytes()
        each.unlink()
        if what == "junk":
            each.write_bytes(b"\xff\0{" * 1_000)
        elif what == "pages":
            each.write_bytes(content[: len(content) // 2] + bytes(len(content) // 4))
        elif what == "pipe":
            os.mkfifo(each)
        elif what == "folder":
            each.mkdir()
        else:
            each.symlink_to("/dev/zero")
    done = subprocess.run(
        [sys.executable, "-m", "ratchet", "--home", str(home), "doctor", "--json"],
        env={**os.environ, "HOME": str(taught.home)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in done.stderr
    assert {each["check"] for each in json.loads(done.stdout)} >= {"settings", "store", "hooks", "sandbox", "models"}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no lesson\n" * 5_000, "(line 1: not JSON, and 4,999 more lines)"),
        (b"", "(it is empty)"),
        (b"\0\xff", "line 1"),
    ],
)
def test_a_file_without_a_lesson_is_refused_in_one_line(shell: Shell, told: Told, content: bytes, why: str) -> None:
    (shell.home / "notes.txt").write_bytes(content)
    assert why in told("lessons", "import", "notes.txt", code=2)


def test_a_diff_that_is_binary_is_refused_with_the_reason(shell: Shell, told: Told) -> None:
    (shell.home / "blob").write_bytes(b"\0\1\2diff")
    assert "blob is binary, no text" in told("predict", "--diff", "blob", code=2)


def test_a_project_that_is_not_there_is_said_to_be_missing(told: Told) -> None:
    assert "there is no folder " in told("run", "--in", "absent", code=2)


def test_a_link_to_itself_is_no_project_and_costs_no_history(shell: Shell) -> None:
    (shell.home / "round").symlink_to("round")
    assert "there is no folder " in shell.run("run", "--in", "round", code=2).stderr
    histories = shell.home / "histories"
    histories.mkdir()
    (histories / "good.jsonl").write_text('{"agent": "a", "error": "no"}\n', encoding="utf-8")
    (histories / "round.jsonl").symlink_to("round.jsonl")
    learned = shell.json("learn", "histories")
    assert isinstance(learned, dict)
    assert (learned["files"], learned["outcomes"], len(learned["quarantined"])) == (1, 1, 1)
    shell.run("episodes", "list", "--in", "round")


def test_a_line_that_was_cut_off_is_told_in_one_sentence(shell: Shell) -> None:
    (shell.home / "torn.jsonl").write_text('{"agent": "a", "ok": true}\n{"agent": "b', encoding="utf-8")
    assert "Unterminated string starting at character" in shell.run("learn", "torn.jsonl").stdout


def test_demo_shows_fewer_steps_with_the_lesson(shell: Shell) -> None:
    said = shell.run("demo").stdout
    steps = {name: int(count) for name, count in re.findall(r"^(with|without)\b.*: (\d+) steps$", said, re.MULTILINE)}
    assert steps["with"] < steps["without"]
    assert "edits tried the first time" in said
    assert not (shell.home / "ratchet").exists(), "the demo touches nothing of the person's"


def test_a_reader_that_goes_away_is_no_fault(taught: Shell) -> None:
    environ = {**os.environ, "RATCHET_HOME": str(taught.home / "ratchet")}
    done = subprocess.run(
        f"'{sys.executable}' -m ratchet patterns --json | head -c 10",
        shell=True,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""

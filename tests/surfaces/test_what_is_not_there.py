"""A file, a kind or a time that is not there is said to be none, and nothing else is answered in its place."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from click.testing import CliRunner

import ratchet
from ratchet import hookpath, registry
from ratchet.cli.app import cli
from ratchet.cli.demo import HISTORY
from ratchet.errors import NotFound, RatchetError, UsageError


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("taught") / "home"
    done = CliRunner().invoke(cli, ["--home", str(home), "learn", str(HISTORY), "--json"])
    assert done.exit_code == 0, done.output
    return home


def ran(home: Path, *words: str, stdin: str = "") -> tuple[str, RatchetError | None]:
    done = CliRunner().invoke(cli, ["--home", str(home), *words], input=stdin)
    assert done.exception is None or isinstance(done.exception, RatchetError), done.exception
    return done.output, done.exception if isinstance(done.exception, RatchetError) else None


@pytest.mark.parametrize("asked", [("predict", "--diff"), ("predict", "--plan"), ("recall",)])
@pytest.mark.parametrize("name", ["/nope", "nofile.log", "logs/today"])
def test_a_file_that_is_not_there_is_no_text(taught: Path, asked: tuple[str, ...], name: str) -> None:
    told, error = ran(taught, *asked, name)
    assert (told, isinstance(error, UsageError)) == ("", True)
    assert str(error).startswith(f"no such file: {name}; ")


@pytest.mark.parametrize("text", ["EADDRINUSE", "requests.exceptions.ConnectionError", "no such file: a.log"])
def test_an_error_of_one_word_is_no_file(taught: Path, text: str) -> None:
    assert ran(taught, "recall", text)[1] is None


def test_a_kind_that_is_none_names_those_that_are(taught: Path) -> None:
    assert "did you mean rate_limit" in str(ran(taught, "sessions", "search", "git", "--kind", "rate_limits")[1])
    assert "there are " in str(ran(taught, "sessions", "search", "git", "--kind", "nonsense")[1])


def test_a_way_to_call_nothing_is_asked_for(taught: Path) -> None:
    assert str(ran(taught, "sessions", "how", "")[1]).startswith("name a tool")


def test_a_replay_of_nothing_says_why(taught: Path, tmp_path: Path) -> None:
    empty = tmp_path / "e.jsonl"
    empty.touch()
    said = str(ran(taught, "backtest", str(empty))[1])
    assert f"no finished step to replay in {empty}" in said
    assert "is empty" in said
    told, error = ran(taught, "backtest", "--since", "2027-01-01")
    assert error is None
    assert "no session with a failure began on 2027-01-01 or later" in told
    assert "ratchet learn" not in told


@pytest.mark.parametrize("content", [b"", b"\0\xff\0\1" * 40, b"{{{ garbage\n"])
def test_a_file_that_taught_nothing_brings_no_news_of_the_home(taught: Path, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "e.jsonl"
    file.write_bytes(content)
    told, error = ran(taught, "learn", str(file))
    assert error is not None
    assert "Had Ratchet been here" not in told
    assert "What to tell your agents" not in told


def test_a_file_of_another_project_brings_its_own_news(taught: Path, tmp_path: Path) -> None:
    log = tmp_path / "py.log"
    log.write_text(
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\npool.PoolError: exhausted\n'
    )
    told, error = ran(taught, "learn", str(log))
    assert error is None
    assert "1 new step, 1 failed" in told
    assert "What to tell your agents" not in told


def test_true_and_false_are_one_and_zero_in_any_table(taught: Path, tmp_path: Path) -> None:
    rows = "".join(f"a\t{n % 2}\nb\t1\n" for n in range(60))
    numbers, words = tmp_path / "n.tsv", tmp_path / "w.tsv"
    numbers.write_text(f"version\tpassed\n{rows}")
    words.write_text(f"version\tpassed\n{rows}".replace("\t1", "\tTrue").replace("\t0", "\tfalse"))
    said, meant = (
        CliRunner().invoke(cli, ["gate", "keep", str(each), "--score", "passed"]).output for each in (words, numbers)
    )
    assert said == meant
    assert "keep b" in said


QUESTIONS = ("patterns", "health", "report", "predict ls", "sessions list", "trials list", "token list", "bench list")
CHANGES = ("loop --once", "settings set coder retries 2", "migrate --to other.db", "compact", "proposals list")


@pytest.mark.parametrize("asked", [*QUESTIONS, *CHANGES])
def test_a_question_makes_no_home_where_none_is(tmp_path: Path, asked: str) -> None:
    told, error = ran(tmp_path / "mistyped", *asked.split())
    assert (told, isinstance(error, NotFound)) == ("", True)
    assert f"there is no home at {tmp_path / 'mistyped'}" in str(error)
    assert [*tmp_path.iterdir()] == []


def test_what_begins_something_makes_the_home_that_is_named(tmp_path: Path) -> None:
    assert ran(tmp_path / "new", "lessons", "add", "--when", "boom", "--do", "make clean")[1] is None
    assert "make clean" in ran(tmp_path / "new", "lessons", "list")[0]


@pytest.mark.parametrize("words", ["install claude-code --dry-run", "uninstall claude-code", "doctor", "hook X"])
def test_a_mistyped_home_is_told_and_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "mistyped"
    told = CliRunner().invoke(cli, ["--home", str(home), *words.split()]).output
    assert f"{home} does not exist yet" in told or f"there is no home at {home}" in told
    assert f"ratchet --home {home} learn" in told
    assert not home.exists()


def test_a_file_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for words in ("learn", "patterns", "serve"):
        assert f"{tmp_path / 'file'} is a file and no home" in str(ran(tmp_path / "file", words)[1])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("predict",), "TEXT, or one of --command, --file, --diff and --plan"),
        (("predict", "--file", "a", "--command", "b"), "TEXT, or one of --command"),
        (("predict", "--diff", "empty"), "empty holds no text; name another file"),
    ],
)
def test_a_prediction_of_nothing_names_the_options(
    taught: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").touch()
    assert said in str(ran(taught, *words)[1])


def test_bytes_that_are_no_text_are_not_echoed(taught: Path, tmp_path: Path) -> None:
    (tmp_path / "a.out").write_bytes(b"\x7fELF\0\0\1")
    told, error = ran(taught, "recall", str(tmp_path / "a.out"))
    assert told == ""
    assert "a.out is binary, no text" in str(error)


def test_a_part_of_an_id_that_is_too_short_says_so(taught: Path) -> None:
    assert "lq is too short for an id" not in str(ran(taught, "lessons", "show", "lq")[1])
    said = str(ran(taught, "lessons", "show", "l")[1])
    assert said.startswith("l is too short for an id: give 3 characters at least, as of l")


def test_a_range_without_an_aspect_is_no_answer(taught: Path) -> None:
    assert "--range goes with --by" in str(ran(taught, "patterns", "--range", "7d")[1])


def test_a_coding_agent_that_is_none_names_the_one_that_is_meant(taught: Path) -> None:
    assert "did you mean claude-code? known: aider" in str(ran(taught, "install", "claude-cod", "--dry-run")[1])


def test_the_help_of_install_names_every_coding_agent(taught: Path) -> None:
    said = ran(taught, "install", "--help")[0]
    assert [name for name in registry.names(registry.CLIENTS) if name not in said] == []


def test_a_hook_of_no_event_says_so_by_hand_and_ends_well(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("{}"))
    hookpath.main(["Nope", "--home", str(tmp_path), hookpath.BY_HAND])
    assert capfd.readouterr().err.startswith("ratchet: no event Nope of claude-code; known: ")
    hookpath.main(["Nope", "--home", str(tmp_path)])
    assert capfd.readouterr().err == ""


def test_advice_that_is_refused_is_told_to_who_writes_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with ratchet.Ratchet(tmp_path) as r:
        kept = r.lessons.add(when="no space left on device", do="docker system prune -f", state="active")
    assert (kept.state, bool(kept.reason)) == ("quarantined", True)
    assert f"lesson {kept.id} is quarantined, and no agent is handed it: {kept.reason}" in caplog.text

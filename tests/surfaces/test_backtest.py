"""The replay of one's own sessions on every surface: command, API, tool, page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from ratchet.cli import show, show_backtest
from ratchet.cli.app import cli
from ratchet.errors import RatchetError
from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons.backtest.backtest import BacktestOffer
from ratchet.lessons.backtest.telling import failed_of
from ratchet.lessons.mined import mine_session
from ratchet.runtime import Runtime
from support.histories import claude, lines, result, use
from support.sessions import call, session, shell

pytest.importorskip("fastapi")

from support.api_client import client, runtime_of

START = 1_700_000_000.0
UNWRAPPED = "error returned from external package is unwrapped: sig: func os.Open"
SAID = f"cmd/cart.go:{{0}}:9: {UNWRAPPED} (wrapcheck)\n\treturn err"


def taught(runtime: Runtime) -> None:
    """Three sessions that end one finding in one way."""
    for number, line in enumerate((3, 40, 88)):
        edit = {
            "file_path": "/w/shop/cmd/cart.go",
            "old_string": "\treturn err",
            "new_string": f'\treturn fmt.Errorf("<b>{line}</b>: %w", err)',
        }
        calls = [shell("golangci-lint run", SAID.format(line)), call("Edit", {**edit}), shell("golangci-lint run")]
        ingest(runtime.store, session(calls, f"s{number}", start=START + 3_600 * number))
        mine_session(runtime.store, f"s{number}")


def ratchet(*words: str) -> str:
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    return done.output


def refused(*words: str) -> RatchetError:
    error = CliRunner().invoke(cli, words).exception
    assert isinstance(error, RatchetError), error
    return error


def test_the_command_shows_counts_and_writes_a_page(home: Path, tmp_path: Path) -> None:
    with Runtime.open(home=home) as runtime:
        taught(runtime)
    shown = ratchet("--home", str(home), "backtest", "--html", str(tmp_path / "page.html"))
    assert "1 of 3 failed calls prevented" in shown
    assert "Right lessons, what saved most first" in shown
    assert "failed with wrapcheck (session s" in shown
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "1 of 3 failed calls prevented" in page
    assert "<b>" not in page
    found = json.loads(ratchet("--home", str(home), "backtest", "--json"))
    assert (found["right"], found["wrong"], found["saved_before"]["turns"]) == (1, 0, 1)
    later = json.loads(ratchet("--home", str(home), "backtest", "--since", "2023-11-15", "--json"))
    assert later["failures"] < found["failures"]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("e:(eval)<>: no such file or directory: <>", "(eval)…: no such file or directory: …"),
        ("gosec:G104", "gosec:G104"),
        ("wrapcheck", "wrapcheck"),
        ("py:NameError <>", "NameError …"),
    ],
)
def test_what_failed_is_told_in_words(key: str, said: str) -> None:
    offer = BacktestOffer(
        lesson="l", session="s", outcome="o", at=0.0, step="go test", key=key, text="do", verdict="right", turns=1
    )
    assert failed_of(offer) == said


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        (3, 1, "3 right, 1 wrong in all, so it stays"),
        (1, 2, "1 right, 2 wrong in all: ratchet lessons retire l1 --reason WHY"),
    ],
)
def test_only_a_lesson_that_is_wrong_more_often_than_right_is_to_be_retired(
    right: int, wrong: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = BacktestOffer(
        lesson="l1", session="s", outcome="o", at=0.0, step="go test", key="e:no", text="do", verdict="wrong", turns=0
    )
    show_backtest.offers(show.console(), "Worst", [replace(told, right=right, wrong=wrong)])
    assert said in capsys.readouterr().out


def test_a_lesson_shows_the_steps_that_it_rests_on_as_they_ran(home: Path) -> None:
    with Runtime.open(home=home) as runtime:
        taught(runtime)
        (lesson,) = [each for each in runtime.lessons.list() if each.state == "active"]
        steps = [runtime.sessions.outcome(each) for each in lesson.evidence]
    shown = ratchet("--home", str(home), "lessons", "show", lesson.id)
    for each in steps:
        assert each.step is not None
        assert f"{'worked' if each.ok else 'failed'}  {each.step.input}" in shown


def test_what_cannot_be_done_is_said(home: Path, tmp_path: Path) -> None:
    nothing = refused("--home", str(home), "backtest")
    assert (nothing.exit_code, "run `ratchet learn`" in str(nothing)) == (3, True)
    with Runtime.open(home=home) as runtime:
        taught(runtime)
    undated = refused("--home", str(home), "backtest", "--since", "March")
    assert (undated.exit_code, "write it as 2026-03-01" in str(undated)) == (2, True)
    unwritten = refused("--home", str(home), "backtest", "--html", str(tmp_path / "none" / "page.html"))
    assert (unwritten.exit_code, "name another file" in str(unwritten)) == (6, True)


def test_histories_of_a_path_leave_the_home_untouched(home: Path, tmp_path: Path) -> None:
    failing = [
        claude("user", 0, message={"role": "user", "content": "push it"}),
        use("toolu_1", "Bash", {"command": "git push"}, 1),
        result("toolu_1", "Exit code 128\nfatal: no upstream branch", 2, is_error=True),
    ]
    history = lines(tmp_path / "one.jsonl", failing)
    found = json.loads(ratchet("--home", str(home), "backtest", str(history), "--json"))
    assert found["failures"] == 1
    with Runtime.open(home=home) as runtime:
        assert not list(runtime.outcomes())
        assert runtime.lessons.replayed() is None


def test_a_killed_replay_of_a_path_goes_on_where_it_was_and_leaves_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = lines(tmp_path / "one.jsonl", [use("toolu_1", "Bash", {"command": "ls"}, 1), result("toolu_1", "a", 2)])
    asked = ("--home", str(home), "backtest", str(history))
    with monkeypatch.context() as killed:

        def kill(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        killed.setattr("ratchet.lessons.backtest.backtest.backtest", kill)
        assert CliRunner().invoke(cli, asked).exit_code != 0
    (left,) = (home / "backtest").iterdir()
    with Runtime.open(home=left) as runtime:
        assert runtime.learn([history]).outcomes == 0  # it was read
    assert "Nothing to replay" in ratchet(*asked)
    assert not (home / "backtest").exists()


def test_api_and_page_show_the_newest_replay(home: Path) -> None:
    with client(home) as held:
        assert held.get("/v1/backtest").status_code == 404
        assert "ratchet backtest" in held.get("/ui/backtest", headers={"accept": "text/html"}).text
        taught(runtime_of(held))
        made = held.post("/v1/backtest")
        assert made.status_code == 200
        assert held.get("/v1/backtest").json() == made.json()
        page = held.get("/ui/backtest", headers={"accept": "text/html"}).text
        assert "1 of 3 failed calls prevented" in page
        assert "<b>3</b>" not in page
        (lesson,) = [each for each in runtime_of(held).lessons.list() if each.state == "active"]
        told = held.get(f"/v1/lessons/{lesson.id}").json()
        assert (told["right"], told["wrong"], told["unknown"], told["saved_turns"]) == (1, 0, 0, 1)
        said = "old in later sessions: 1 right, 0 wrong; it ends what failed in 1 call"
        assert said in held.get(f"/ui/lessons/{lesson.id}", headers={"accept": "text/html"}).text
        assert said in " ".join(ratchet("--home", str(home), "lessons", "show", lesson.id).split())


def test_the_page_is_written_through_no_link_that_leads_away(home: Path, tmp_path: Path) -> None:
    with Runtime.open(home=home) as runtime:
        taught(runtime)
    folder, away = tmp_path / "clone", tmp_path / "away"
    (folder / ".git").mkdir(parents=True)
    away.write_text("mine")
    (folder / "page.html").symlink_to(away)
    assert "is a link out of" in str(refused("--home", str(home), "backtest", "--html", str(folder / "page.html")))
    assert away.read_text() == "mine"

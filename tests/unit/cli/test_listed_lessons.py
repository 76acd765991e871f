"""What a terminal says of lessons that it lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet.cli import show, show_learned, show_lessons
from ratchet.lessons.learning import Tally
from ratchet.lessons.lessons import add, by_merit, listed
from ratchet.lessons.standing import WAITING
from ratchet.records import Lesson
from ratchet.store.sqlite import SqliteStore


def test_what_is_left_out_is_counted_only_where_something_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    for number in range(7):
        add(store, when=f"error: no part{'abcdefg'[number]}", do="build the parts", project=f"/w/{number}")
        add(store, when=f"error: no wheel{'abcdefg'[number]}", do=f"build wheel {number}", project=f"/w/{number}")
    found = listed(store)
    store.close()
    show_lessons.lessons(found, narrowed=True)
    assert "more candidate" not in capsys.readouterr().out
    show_lessons.lessons(found, limit=4, narrowed=True)
    said = capsys.readouterr().out
    assert "and 10 more lessons: --limit 14 shows all" in said
    assert said.count("  when ") == 4
    show_lessons.lessons(found)
    said = capsys.readouterr().out
    assert "and 9 more candidates of 14: " in said, "eight remedies, five of them shown, one of them for seven errors"
    assert " ".join(WAITING[1:].split()) in " ".join(said.split())


def test_the_list_counts_as_learn_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    for part in "abc":
        add(store, when=f"error: no part{part}", do="build the parts", project="/w/shop", state="active")
    found = listed(store)
    store.close()
    show_lessons.lessons(found)
    assert "and 2 more active lessons of 3, " in capsys.readouterr().out


def test_what_people_said_comes_behind_what_was_mined_as_a_quote(capsys: pytest.CaptureFixture[str]) -> None:
    usual = {"state": "candidate", "scope": "project", "signature": "s", "kind": "user_denied", "tried": 0, "worked": 0}
    said = {"id": "l1", "text": "what are you doing", "quote": "what are you doing", "step": "o7", "sessions": ("s1",)}
    mined = {"id": "l2", "text": "Run `make` first.", "tried": 1, "place": (4, 0, 0, 0.0, 0)}
    found = sorted((Lesson(**usual | said), Lesson(**usual | mined)), key=by_merit)  # type: ignore[arg-type]
    assert [each.id for each in found] == ["l2", "l1"]
    show_lessons.lessons(found, narrowed=True)
    shown = capsys.readouterr().out
    assert '  said "what are you doing"\n  in   session s1, step o7\n  why  a person\'s words, and no rule yet' in shown


def test_a_lesson_is_shown_whole_and_listed_up_to_a_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    do = f"Build the parts, then {'build them once more, ' * 40}and the wheels.\n+ {'part ' * 60}end"
    found = add(store, when="error: no parts", do=do, project="/w/shop")
    store.close()
    show.lesson(found)
    shown = capsys.readouterr().out
    assert "and the wheels." in shown
    assert "part end" in shown
    show_lessons.lessons([found], narrowed=True)
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("  do"))
    assert line.endswith(("build…", "them…", "once…", "more,…"))


def test_learn_relates_what_it_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    for part in "abc":
        add(store, when=f"error: no part{part}", do="build the parts", project="/w/shop", state="active")
    add(store, when="error: no wheel", do="build wheels", project="/w/shop")
    found = listed(store)
    store.close()
    read = Tally(patterns={"p"}).learned(files=1, lessons={}, loops=())
    show_learned.learned(read, lessons=found, withheld=0.2, following=False)
    said = capsys.readouterr().out
    assert "3 active lessons: 1 told when a session starts, 2 where the failure comes." in said
    assert "1 candidate: told to nobody before the fix works in a second session" in said
    assert "Hooks leave each out in 20 % of the sessions" in said

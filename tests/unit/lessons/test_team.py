"""A repository's files of lessons are read whole or not at all, and nothing but its own plain files is read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from ratchet import Ratchet
from ratchet.errors import UsageError
from ratchet.lessons import reviewed, team, trust

WHEN = "fatal: The current branch fix has no upstream branch."
GOOD = "Run `git push -u origin <branch>`."


@pytest.fixture
def ratchet(tmp_path: Path) -> Iterator[Ratchet]:
    with Ratchet(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "shop" / ".ratchet" / "lessons"
    folder.mkdir(parents=True)
    return folder


def line(**more: object) -> str:
    return json.dumps({"ratchet": 1, "when": WHEN, "do": GOOD} | more) + "\n"


def linked(file: Path) -> None:
    outside = file.parents[3] / "outside.jsonl"
    outside.write_text(line())
    file.symlink_to(outside)


@pytest.mark.parametrize(
    ("broken", "at", "reason"),
    [
        (f"<<<<<<< ours\n{line()}=======\n{line(do='make it')}>>>>>>> theirs\n", 1, "marks"),
        (line() + line()[:40], 2, "not JSON"),
        (line() + line(do="git commit --no-verify"), 2, "must not be advice"),
        (line() + line(do=""), 2, "needs `when`"),
        (line() + "\0" * 70_000, 2, "longer than"),
        pytest.param(line() * 4000, 0, "larger than", marks=pytest.mark.slow),
        (lambda file: linked(file), 0, "not read"),
        (lambda file: os.mkfifo(file), 0, "not a plain file"),
        (lambda file: file.mkdir(), 0, "not a plain file"),
        (lambda file: os.link(_made(file.parents[3] / "netrc"), file), 0, "one name"),
    ],
)
def test_a_broken_file_is_refused_whole_with_its_place_and_costs_no_other(
    ratchet: Ratchet, place: Path, broken: str | Callable[[Path], object], at: int, reason: str
) -> None:
    (place / "good.jsonl").write_text(line(do="Run `make good`."))
    bad = place / "bad.jsonl"
    bad.write_text(broken) if isinstance(broken, str) else broken(bad)
    project = place.parents[1]
    for rejected in (ratchet.lessons.trust(project).rejected, ratchet.lessons.load_reviewed(project).rejected):
        ((name, number, why),) = {(each.path, each.line, each.reason) for each in rejected}
        assert (name, number) == (".ratchet/lessons/bad.jsonl", at)
        assert reason in why
    assert [each.text for each in ratchet.lessons.list()] == ["Run `make good`."]


def _made(file: Path) -> Path:
    file.write_text(line())
    return file


@pytest.mark.parametrize("name", [".ratchet", ".ratchet/lessons"])
def test_a_folder_that_is_a_link_is_neither_read_nor_trusted(ratchet: Ratchet, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    (outside / "lessons").mkdir(parents=True)
    (outside / "lessons" / "x.jsonl").write_text(line())
    project = tmp_path / "shop"
    (project / name).parent.mkdir(parents=True)
    (project / name).symlink_to(outside if name == ".ratchet" else outside / "lessons")
    (refused,) = ratchet.lessons.load_reviewed(project).rejected
    assert "link" in refused.reason
    assert trust.contents(tmp_path / "home", project) == {}
    assert ratchet.lessons.list() == []


def test_each_file_is_trusted_by_itself_and_a_new_one_waits(ratchet: Ratchet, place: Path) -> None:
    project = place.parents[1]
    (place / "a.jsonl").write_text(line())
    ratchet.lessons.trust(project)
    (place / "b.jsonl").write_text(line(do="Run `make b`."))
    ratchet.lessons.load_reviewed(project)
    assert {each.text: each.state for each in ratchet.lessons.list()} == {GOOD: "active", "Run `make b`.": "candidate"}
    assert ratchet.lessons.withdraw_trust(project) == 1
    assert {each.state for each in ratchet.lessons.list()} == {"candidate"}
    assert {each.provenance for each in ratchet.lessons.list()} == {
        f"from .ratchet/lessons/{name}.jsonl of the repository" for name in "ab"
    }


def test_one_lesson_in_two_files_and_in_the_old_one_is_one(ratchet: Ratchet, place: Path) -> None:
    for name, tool in (("a", "Bash"), ("b", "shell")):
        (place / f"{name}.jsonl").write_text(line(tool=tool))
    (place.parent / "lessons.jsonl").write_text(line())
    ratchet.lessons.trust(place.parents[1])
    assert [each.text for each in ratchet.lessons.list()] == [GOOD]
    (place / "a.jsonl").unlink()
    (place.parent / "lessons.jsonl").unlink()
    ratchet.lessons.load_reviewed(place.parents[1])
    assert [each.state for each in ratchet.lessons.list()] == ["active"]


def test_one_that_was_put_aside_in_its_file_is_told_to_nobody(ratchet: Ratchet, place: Path) -> None:
    project = place.parents[1]
    (place / "a.jsonl").write_text(line())
    ratchet.lessons.trust(project)
    (place / "a.jsonl").write_text(line(state="retired"))
    ratchet.lessons.load_reviewed(project)
    assert [each.state for each in ratchet.lessons.list()] == ["retired"]


@pytest.mark.parametrize("in_one_file", [False, True])
def test_more_lessons_than_anybody_reads_are_refused(ratchet: Ratchet, place: Path, in_one_file: bool) -> None:
    for number in range(0 if in_one_file else 1001):
        (place / f"{number}.jsonl").touch()
    (place.parent / "lessons.jsonl").write_text(line() * 1001 if in_one_file else "")
    for ask in (ratchet.lessons.load_reviewed, partial(ratchet.lessons.trust, show=True)):
        with pytest.raises(UsageError, match="more than"):
            ask(place.parents[1])
    assert team.is_there(place.parents[1])


def test_a_hook_notices_each_change_of_a_file_and_of_what_is_trusted(tmp_path: Path, place: Path) -> None:
    home, project = str(tmp_path / "home"), str(place.parents[1])

    def settled() -> bool:
        noticed = reviewed.changed(home, project)
        reviewed.note(home, project)
        return noticed and not reviewed.changed(home, project)

    assert settled()
    (place / "a.jsonl").write_text(line())
    assert settled()
    with (place / "a.jsonl").open("r+") as file:  # in place: the folder stays as it was
        file.write("{ ")
    assert settled()
    trust.remember(tmp_path / "home", place.parents[1], {"lessons/a.jsonl": b""}, by="person")
    assert settled()
    (place / "a.jsonl").unlink()
    assert settled()


def test_what_a_trusted_file_puts_aside_is_retired_here_too_until_it_lives_again(ratchet: Ratchet, place: Path) -> None:
    project = place.parents[1]
    own = ratchet.lessons.add(when=WHEN, do=GOOD, state="active", project=str(project))
    (place / "a.jsonl").write_text(line(state="retired"))
    ratchet.lessons.load_reviewed(project)
    assert ratchet.lessons.show(own.id).state == "active"
    assert ratchet.lessons.trust(project, show=True).aside == (GOOD,)
    ratchet.lessons.trust(project)
    assert ratchet.lessons.show(own.id).state == "retired"
    (place / "a.jsonl").write_text(line())
    ratchet.lessons.trust(project)
    assert [each.text for each in ratchet.lessons.list(state="active")] == [GOOD]
    decided = ratchet.lessons.approve(own.id)
    (place / "a.jsonl").write_text(line(state="retired"))
    ratchet.lessons.trust(project)
    assert ratchet.lessons.show(decided.id).state == "active"

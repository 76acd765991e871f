"""A lesson's file is the same on every machine, and sharing neither loses, leaks nor overwrites anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet import Ratchet
from ratchet.cli import show_lessons
from ratchet.errors import Refused, UsageError
from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons.mined import mine_session
from ratchet.lessons.rows import in_any_clone
from ratchet.records import Row
from ratchet.store.sqlite import SqliteStore
from support.sessions import call, session, shell

WHEN = "fatal: The current branch fix has no upstream branch."
GOOD = "Run `git push -u origin <branch>`."
OTHER = "error: the widget is torn in the hall"


@pytest.fixture
def ratchet(tmp_path: Path) -> Iterator[Ratchet]:
    with Ratchet(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return tmp_path / "shop"


def files(project: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (project / ".ratchet" / "lessons").glob("*.jsonl")}


def told(ratchet: Ratchet) -> list[str]:
    return sorted(each.text for each in ratchet.lessons.list(state="active"))


def test_two_machines_write_the_same_bytes_under_the_same_name(ratchet: Ratchet, tmp_path: Path) -> None:
    written = []
    with Ratchet(tmp_path / "other") as other:
        for number, each in enumerate((ratchet, other)):
            clone = tmp_path / f"clone-{number}"
            clone.mkdir()
            each.lessons.add(when=OTHER, do="only here", state="active", project=str(tmp_path / "elsewhere"))
            each.lessons.add(when=WHEN, do=GOOD, state="active", project=str(clone))
            shared = each.lessons.share(clone)
            assert (len(shared.written), each.lessons.share(clone).written) == (1, ())
            written.append(files(clone))
    assert written[0] == written[1]
    ((name, content),) = written[0].items()
    assert name.startswith("fatal-the-current-branch-fix-has-no-upstream-bra-")
    assert sorted(json.loads(content)) == ["do", "kind", "ratchet", "when"]


def test_from_a_folder_below_it_lands_in_the_repository(ratchet: Ratchet, project: Path) -> None:
    (project / "src").mkdir()
    ratchet.lessons.add(when=WHEN, do=GOOD, state="active", project=str(project))
    ratchet.lessons.share(project / "src")
    assert len(files(project)) == 1
    with pytest.raises(UsageError, match="no folder"):
        ratchet.lessons.share(project / "nowhere")


def test_what_was_put_aside_or_reworded_here_is_marked_and_does_not_come_back(ratchet: Ratchet, project: Path) -> None:
    one = ratchet.lessons.add(when=WHEN, do=GOOD, state="active", project=str(project))
    two = ratchet.lessons.add(when=OTHER, do="Run `make widget`.", state="active", project=str(project))
    ratchet.lessons.share(project)
    ratchet.lessons.retire(one.id)
    ratchet.lessons.approve(two.id, do="Run `make widget all`.")
    ratchet.lessons.load_reviewed(project)
    assert told(ratchet) == ["Run `make widget all`."]
    shared = ratchet.lessons.share(project)
    assert (len(shared.written), len(shared.retired)) == (1, 2)
    assert sorted(json.loads(text).get("state", "") for text in files(project).values()) == ["", "retired", "retired"]
    again = ratchet.lessons.share(project)
    assert (again.written, again.retired, again.kept) == ((), (), ())
    assert told(ratchet) == ["Run `make widget all`."]


def test_a_lesson_of_others_that_is_reworded_here_is_two_files_and_one_advice(
    ratchet: Ratchet, project: Path, tmp_path: Path
) -> None:
    with Ratchet(tmp_path / "other") as other:
        other.lessons.add(when=WHEN, do=GOOD, state="active", project=str(project))
        other.lessons.share(project)
    ratchet.lessons.trust(project)
    (lesson,) = ratchet.lessons.list()
    ratchet.lessons.approve(lesson.id, do="Run `git push -u origin HEAD`.")
    assert len(ratchet.lessons.share(project).retired) == 1
    assert told(ratchet) == ["Run `git push -u origin HEAD`."]
    (found,) = ratchet.recall(WHEN, project=str(project)).lessons
    assert found.text == "Run `git push -u origin HEAD`.", "whole: it is this home's own wording"


def test_what_the_repository_put_aside_is_not_written_again(ratchet: Ratchet, project: Path) -> None:
    ratchet.lessons.add(when=WHEN, do=GOOD, state="active", project=str(project))
    (name,) = ratchet.lessons.share(project).written
    file = project / ".ratchet" / name
    file.write_text(json.dumps({**json.loads(file.read_text()), "state": "retired"}) + "\n")
    assert ratchet.lessons.share(project).kept == (name,)
    file.write_text(file.read_text().replace("HEAD", "main"))
    assert ratchet.lessons.share(project).written == ()


def test_a_persons_words_stay_here_unless_they_are_asked_for(ratchet: Ratchet, project: Path) -> None:
    added = ratchet.lessons.add(when=WHEN, do=GOOD, state="active", project=str(project))
    store = ratchet._runtime.store
    held = store.get("lessons", added.id) or {}
    store.swap("lessons", added.id, added.revision, {**held, "quote": GOOD})
    assert ratchet.lessons.share(project).quotes == 1
    assert not (project / ".ratchet").exists()
    assert len(ratchet.lessons.share(project, with_evidence=True).written) == 1


def test_secrets_stay_and_what_does_not_show_is_escaped(ratchet: Ratchet, project: Path) -> None:
    key = "ghp_" + "a1B2c3D4e5" * 4
    ratchet.lessons.add(when=OTHER, do=f"Run `login {key}` \u202eback\u200b", state="active", project=str(project))
    ratchet.lessons.share(project)
    (content,) = files(project).values()
    assert key not in content
    assert "\\u202eback\\u200b" in content
    assert all(character.isprintable() or character == "\n" for character in content)


@pytest.mark.parametrize("trusted", [True, False])
def test_the_old_file_becomes_files_under_the_trust_that_it_had(ratchet: Ratchet, project: Path, trusted: bool) -> None:
    old = project / ".ratchet" / "lessons.jsonl"
    old.parent.mkdir()
    bad = json.dumps({"when": OTHER, "do": "git commit --no-verify"}) + "\n"
    waits = json.dumps({"when": OTHER, "do": "Run `make torn`.", "state": "candidate"}) + "\n"
    old.write_text(json.dumps({"when": WHEN, "do": GOOD, "state": "active"}) + "\n" + bad + waits)
    if trusted:
        ratchet.lessons.trust(project)
    shared = ratchet.lessons.share(project)
    assert (len(shared.written), shared.moved, old.read_text()) == (2, 2 - trusted, bad)
    assert [(each.path, each.line) for each in shared.rejected] == [(".ratchet/lessons.jsonl", 2)]
    states = {each.text: each.state for each in ratchet.lessons.list()}
    assert states == {GOOD: "active" if trusted else "candidate", "Run `make torn`.": "candidate"}
    old.write_text(json.dumps({"when": WHEN, "do": GOOD}) + "\n")
    ratchet.lessons.share(project)
    assert not old.exists()


@pytest.mark.parametrize("name", [".ratchet", ".ratchet/lessons"])
def test_nothing_is_written_through_a_link(ratchet: Ratchet, project: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "keys").mkdir()
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).symlink_to(tmp_path / "keys")
    ratchet.lessons.add(when=WHEN, do=GOOD, state="active", project=str(project))
    with pytest.raises(Refused, match="link"):
        ratchet.lessons.share(project)
    assert [*(tmp_path / "keys").iterdir()] == []


def test_a_link_in_the_place_of_a_file_stays_and_is_named(ratchet: Ratchet, project: Path, tmp_path: Path) -> None:
    ratchet.lessons.add(when=WHEN, do=GOOD, state="active", project=str(project))
    (name,) = ratchet.lessons.share(project).written
    file = project / ".ratchet" / name
    file.unlink()
    file.symlink_to(tmp_path / "bashrc")
    shared = ratchet.lessons.share(project)
    assert [each.path for each in shared.rejected] == [f".ratchet/{name}"]
    assert file.is_symlink()
    assert not (tmp_path / "bashrc").exists()


def test_a_home_is_no_place_for_a_team(tmp_path: Path) -> None:
    with Ratchet(tmp_path / ".ratchet") as opened:
        opened.lessons.add(when=WHEN, do=GOOD, state="active", project=str(tmp_path))
        with pytest.raises(UsageError, match="this home itself"):
            opened.lessons.share(tmp_path)


PATHS = [
    ("as in `{}/bin/shop list --json`", "as in `./bin/shop list --json`"),
    ("`cd {}`, then `make`", "`cd .`, then `make`"),
    ("read {}/.worktrees/tidy/cart.go", "read ./cart.go"),
    ("read {}-next/cart.go, {}.old/a", "read {}-next/cart.go, {}.old/a"),
    ("read /home/ada/notes.md and /Users/ada/dev/other/x.go", "read ~/notes.md and ~/dev/other/x.go"),
    ("read /srv{}/cart.go", "read /srv{}/cart.go"),
]


@pytest.mark.parametrize(("here", "shared"), PATHS)
def test_paths_of_the_project_and_of_a_person_are_shared_as_any_clone_has_them(here: str, shared: str) -> None:
    row = in_any_clone({"text": here.replace("{}", "/w/shop"), "projects": ["/w/shop", "/w/shop/.worktrees/tidy"]})
    assert row["text"] == shared.replace("{}", "/w/shop")
    assert in_any_clone(row) == row


def test_what_sessions_taught_is_exported_shared_and_comes_in_elsewhere(ratchet: Ratchet, project: Path) -> None:
    tool = f"{project}/bin/shop"
    missing = "cart.go:9:2: undefined: id"
    edit: Row = {
        "file_path": f"{project}/cart.go",
        "old_string": "import (",
        "new_string": 'import (\n\t"shop.io/cart/id"',
    }
    told_so = "error: required flag(s) `--json` not set for the cart"
    calls = [
        *(shell("go build ./...", missing), call("Edit", edit), shell("go build ./...")),
        *(shell(f"{tool} list", told_so), shell(f"{tool} list --json")),
    ]
    store = SqliteStore(project.parent / "home" / "ratchet.db")
    for name in ("one", "two", "three"):
        ingest(store, session(calls, name, project=str(project)))
        mine_session(store, name)
    store.close()
    found = {each.text for each in ratchet.lessons.list(state="active")}
    assert any("as in `<project>/bin/shop list --json`" in each for each in found), found
    assert any('Import `"shop.io/cart/id"`' in each for each in found), found
    text = ratchet.lessons.export()
    assert str(project) not in text
    assert ratchet.lessons.take(text.encode(), name="own").imported == 0, "what comes home adds nothing"
    shared = ratchet.lessons.share(project)
    assert (shared.rejected, len(shared.written)) == ((), len(found))
    assert not any(str(project) in each for each in files(project).values())
    assert {each.text for each in ratchet.lessons.list(state="active")} == found, "nor does what is read back"
    assert (ratchet.lessons.share(project).written, ratchet.lessons.share(project).known) == ((), len(found))
    with Ratchet(project.parent / "other") as other:
        taken = other.lessons.take(text.encode(), name="theirs")
        assert (taken.imported, taken.rejected) == (text.count("\n"), ())


def test_where_nothing_is_to_be_shared_or_trusted_that_is_what_is_said(
    ratchet: Ratchet, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said() -> str:
        show_lessons.shared(ratchet.lessons.share(project))
        return capsys.readouterr().out

    assert said().startswith("Nothing to share: no active lesson counts in this project; the projects that have some")
    ratchet.lessons.add(when=WHEN, do=GOOD, state="active", project=str(project))
    assert "1 new lesson" in said()
    assert said().startswith("Nothing new to share, 1 there already: ratchet lessons list --state active --project ")
    show_lessons.trusted(ratchet.lessons.trust(project, show=True))
    assert capsys.readouterr().out == "2 files trusted already.\nNothing waits to be trusted.\n"
    (project / ".ratchet" / "lessons" / "more.jsonl").write_text(
        json.dumps({"when": OTHER, "do": "Run `make widget`."})
    )
    show_lessons.trusted(ratchet.lessons.trust(project, show=True))
    out = capsys.readouterr().out
    assert out.startswith("file  lessons/more.jsonl\n")
    assert "2 files trusted already.\n1 lesson would become active." in out

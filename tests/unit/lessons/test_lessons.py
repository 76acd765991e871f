"""Lessons: how evidence and people make, keep and end them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.errors import NotFound, Refused, UsageError
from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons import lessons
from ratchet.lessons.changes import changes_of
from ratchet.lessons.mined import Mined, mine_session
from ratchet.lessons.recall import recall
from ratchet.ports import Store
from ratchet.records import Lesson, Row
from ratchet.testing.stores import open_store
from support.sessions import call, session, shell

NO_UPSTREAM = "fatal: The current branch {0} has no upstream branch."
PUSH = "Run `git push --set-upstream origin <branch>` instead of `git push`."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path)
    yield opened
    opened.close()


def pushed(branch: str) -> list[Row]:
    return [shell("git push", NO_UPSTREAM.format(branch)), shell(f"git push --set-upstream origin {branch}")]


def pushed_in_vain(branch: str) -> list[Row]:
    error = NO_UPSTREAM.format(branch)
    return [shell("git push", error), shell(f"git push --set-upstream origin {branch}", error)]


def learn(store: Store, calls: list[Row], name: str, **more: str) -> Mined:
    ingest(store, session(calls, name, **more))  # type: ignore[arg-type]
    return mine_session(store, name)


def only(store: Store) -> Lesson:
    (found,) = lessons.listed(store)
    return found


def test_a_remedy_seen_once_is_a_candidate_with_its_evidence_and_one_example(store: Store) -> None:
    mined = learn(store, pushed("fix-cart"), "a")
    found = only(store)
    assert mined.resolutions == 1
    assert mined.changed == {found.id: "candidate"}
    assert (found.text, found.tried, found.worked) == (PUSH, 1, 1)
    assert found.example == "git push --set-upstream origin fix-cart"
    assert found.evidence == ("o-a-0", "o-a-1")
    assert found.projects == ("/w/shop",)
    assert found.scope == "project"
    assert "claude-code" in found.provenance


def test_it_is_active_once_it_worked_in_two_sessions(store: Store) -> None:
    learn(store, pushed("fix-cart"), "a")
    mined = learn(store, pushed("dark-mode"), "b")
    found = only(store)
    assert (found.state, found.tried, found.worked) == ("active", 2, 2)
    assert mined.changed == {found.id: "active"}


def test_evidence_counts_in_the_project_where_it_was_met(store: Store) -> None:
    for name in ("a", "b"):
        learn(store, pushed("fix-cart"), name)
    for name in ("c", "d", "e"):
        learn(store, pushed_in_vain("dark-mode"), name, project="/w/blog")
    learn(store, pushed("fix-cart"), "f", project="/w/blog")
    states = {each.projects: each.state for each in lessons.listed(store)}
    assert states == {("/w/shop",): "active", ("/w/blog",): "retired"}


def test_the_same_remedy_counts_together_however_the_failed_step_was_written(store: Store) -> None:
    learn(store, pushed("fix-cart"), "a")
    failed = shell("git push origin", NO_UPSTREAM.format("dark-mode"))
    learn(store, [failed, shell("git push --set-upstream origin dark-mode")], "b")
    assert (only(store).state, only(store).text) == ("active", PUSH)


def test_twice_in_one_session_is_once(store: Store) -> None:
    learn(store, [*pushed("fix-cart"), *pushed("dark-mode")], "s")
    assert (only(store).state, only(store).worked) == ("candidate", 1)


def test_mining_a_session_again_changes_nothing(store: Store) -> None:
    learn(store, pushed("fix-cart"), "a")
    before = store.get("lessons", only(store).id)
    assert mine_session(store, "a") == Mined()
    assert store.get("lessons", only(store).id) == before


def test_a_session_that_grew_is_mined_on(store: Store) -> None:
    rows = session(
        [*pushed("fix-cart"), shell("python a.py", "zsh: command not found: python"), shell("python3 a.py")], "s"
    )
    ingest(store, rows[:3])
    assert mine_session(store, "s").resolutions == 1
    ingest(store, rows)
    assert mine_session(store, "s").resolutions == 1
    assert len(lessons.listed(store)) == 2


def test_the_same_failure_elsewhere_recalls_the_literal_command(store: Store) -> None:
    learn(store, pushed("fix-cart"), "a")
    once = recall(store, NO_UPSTREAM.format("feature-x"))
    assert (once.silent, once.lessons) == ("unproven", ()), "what one session saw work may be chance"
    assert "git push --set-upstream origin" in once.possibly[0].text
    learn(store, pushed("fix-tax"), "b")
    titled = "git: The current branch x has no upstream branch."  # as lists of patterns print it
    for text in (NO_UPSTREAM.format("feature-x"), titled):
        assert "git push --set-upstream origin" in recall(store, text).lessons[0].text
    assert recall(store, "panic: runtime error: index out of range [3] with length 2").abstained


def test_sessions_in_which_it_did_not_work_are_counted_and_in_the_end_retire_it(store: Store) -> None:
    learn(store, pushed("fix-cart"), "good")
    for number in range(3):
        learn(store, pushed_in_vain("dark-mode"), f"bad{number}")
    found = only(store)
    assert (found.tried, found.worked, found.state) == (4, 1, "retired")
    assert "in vain in 3 of 4 sessions" in found.reason
    assert recall(store, NO_UPSTREAM.format("x")).abstained


def test_a_remedy_that_never_worked_is_no_lesson(store: Store) -> None:
    learn(store, pushed_in_vain("dark-mode"), "bad")
    assert lessons.listed(store) == []


def test_what_switches_a_check_off_is_quarantined_with_its_reason_and_never_recalled(store: Store) -> None:
    failed = "husky - pre-commit hook exited with code 1: eslint found 3 problems"
    for name in ("a", "b", "c"):
        learn(store, [shell('git commit -m "x"', failed), shell('git commit --no-verify -m "x"')], name)
    found = only(store)
    assert found.state == "quarantined"
    assert "--no-verify" in found.reason
    assert recall(store, failed).abstained
    with pytest.raises(Refused, match="never advice"):
        lessons.approve(store, found.id)


def wrapped(line: int) -> list[Row]:
    """A finding of a linter, and the edit that ends it."""
    said = "error returned from external package is unwrapped: sig: func os.Open (wrapcheck)"
    error = f"cmd/cart.go:{line}:9: {said}\n\treturn err"
    edit: Row = {
        "file_path": "/w/shop/cmd/cart.go",
        "old_string": f"a{line}\n\treturn err",
        "new_string": f'a{line}\n\treturn fmt.Errorf("open {line}: %w", err)',
    }
    return [shell("golangci-lint run", error), call("Edit", edit), shell("golangci-lint run")]


def test_a_fix_by_an_edit_is_a_lesson_once_two_sessions_share_it(store: Store) -> None:
    learn(store, wrapped(12), "a")
    assert only(store).state == "candidate"
    learn(store, wrapped(340), "b")
    found = only(store)
    assert (found.state, found.tried, found.worked) == ("active", 2, 2)
    assert found.text == (
        'Use `fmt.Errorf("...: %w", err)` (2 of 2 fixes, 2 sessions), for example:\n'
        '- return err\n+ return fmt.Errorf("open 12: %w", err)'
    )
    assert {each[each.index("session") :] for each in changes_of(store, store.get("lessons", found.id) or {})} == {
        'session a\n- return err\n+ return fmt.Errorf("open 12: %w", err)',
        'session b\n- return err\n+ return fmt.Errorf("open 340: %w", err)',
    }
    other = "src/x.go:7:2: error returned from external package is unwrapped: sig: func sql.Open (wrapcheck)"
    assert [each.id for each in recall(store, other, project="/w/shop").lessons] == [found.id]
    assert recall(store, "src/x.go:7:2: Error return value is not checked (errcheck)", project="/w/shop").abstained


def test_an_edit_that_only_silences_the_linter_is_quarantined_and_never_recalled(store: Store) -> None:
    for name in ("a", "b", "c"):
        error = "shop/cart.py:3:8: F401 `yaml` imported but unused"
        edit: Row = {"file_path": "/w/shop/cart.py", "old_string": "import yaml", "new_string": "import yaml  # noqa"}
        learn(store, [shell("ruff check", error), call("Edit", edit), shell("ruff check")], name)
    assert only(store).state == "quarantined"
    assert "without a reason" in only(store).reason
    assert recall(store, "a.py:1:8: F401 `os` imported but unused").abstained


def silenced(store: Store) -> str:
    """A lesson whose edit throws a result away: nothing in its words is a mark that one could look up."""
    for name in ("a", "b", "c"):
        error = "cmd/cart.go:3:8: Error return value of `f.Close` is not checked (errcheck)"
        edit: Row = {"file_path": "/w/shop/cmd/cart.go", "old_string": "\tf.Close()", "new_string": "\t_ = f.Close()"}
        learn(store, [shell("golangci-lint run", error), call("Edit", edit), shell("golangci-lint run")], name)
    assert only(store).reason == "switches a check off without a reason: `_ =`"
    return only(store).id


def test_what_switches_a_check_off_is_approved_by_nobody(store: Store) -> None:
    lesson_id = silenced(store)
    for do in ("", "Throw the result away."):
        with pytest.raises(Refused, match=r"`_ =`.*never advice, whoever approves it.*ratchet lessons add"):
            lessons.approve(store, lesson_id, do=do)
    lessons.retire(store, lesson_id)
    lessons.quarantine(store, lesson_id, reason="not here")
    with pytest.raises(Refused, match="never advice"):
        lessons.approve(store, lesson_id)
    assert only(store).state == "quarantined"


def test_undo_without_a_name_takes_the_last_decision_back(store: Store) -> None:
    with pytest.raises(UsageError, match="nothing was decided"):
        lessons.undo(store)
    first = lessons.add(store, when="EADDRINUSE :::3000", do="Stop the old server first.", project="/w/shop").id
    second = lessons.add(store, when="ENOSPC: no space left", do="Empty the cache.", project="/w/shop").id
    lessons.approve(store, first)
    lessons.approve(store, second)
    assert [lessons.undo(store).id, lessons.undo(store).id] == [second, first]
    assert {each.state for each in lessons.listed(store)} == {"candidate"}
    with pytest.raises(UsageError, match="nothing was decided"):
        lessons.undo(store)


def test_what_the_message_says_itself_is_not_told_at_the_failure(store: Store) -> None:
    error = NO_UPSTREAM + "\nTo push and set the remote as upstream, use\n\n    git push --set-upstream origin {0}\n"
    for name in ("a", "b"):
        learn(store, [shell("git push", error.format("x1")), shell("git push --set-upstream origin x1")], name)
    assert only(store).state == "active"
    assert recall(store, error.format("x2")).abstained


def test_a_failure_without_words_of_its_own_triggers_no_lesson(store: Store) -> None:
    learn(store, [shell("make deploy", "Exit code 2"), shell("make deploy STAGE=test")], "a")
    assert lessons.listed(store) == []


def test_the_same_advice_for_another_cause_is_another_lesson(store: Store) -> None:
    causes = ("error: config file shop.toml is malformed", "fatal: database schema is three versions behind; migrate")
    for name, error in zip("ab", causes, strict=True):
        learn(store, [shell("shop serve", error), shell("shop serve --reset-state")], name)
    assert [(each.text, each.worked) for each in lessons.listed(store)] == [
        ("Run `shop serve --reset-state` instead of `shop serve`.", 1)
    ] * 2


def test_a_written_lesson_is_kept_word_for_word_and_recalled(store: Store) -> None:
    do = "Run `make  db-up`, then wait for *healthy*.\nThen retry."
    found = lessons.add(store, when="connection refused on port 5432 of the shop database", do=do, project="/w/shop")
    assert (found.text, found.state, found.scope, found.projects) == (do, "candidate", "project", ("/w/shop",))
    assert recall(store, "connection refused on port 6000 of the shop database").lessons[0].text == do
    again = lessons.add(store, when="connection refused on port 1 of the shop database", do=do, state="active")
    assert (again.id, again.state) == (found.id, "active")


def test_a_written_lesson_holds_no_secret(store: Store) -> None:
    key = "sk-ant-api03-" + "A1b2C3d4" * 10
    found = lessons.add(store, when="401 invalid x-api-key for the shop", do=f"export ANTHROPIC_API_KEY={key}")
    assert key not in found.text


@pytest.mark.parametrize(("when", "do"), [("", "x"), ("an error text", " \n"), ("", "")])
def test_a_lesson_without_both_halves_is_refused(store: Store, when: str, do: str) -> None:
    with pytest.raises(UsageError, match="when"):
        lessons.add(store, when=when, do=do)


def test_written_advice_that_switches_a_check_off_is_quarantined_too(store: Store) -> None:
    found = lessons.add(store, when="pre-commit hook failed for the cart", do="git commit --no-verify", state="active")
    assert (found.state, "--no-verify" in found.reason) == ("quarantined", True)


def test_people_decide_and_mining_obeys(store: Store) -> None:
    learn(store, pushed("fix-cart"), "a")
    lesson_id = only(store).id
    assert lessons.approve(store, lesson_id, globally=True).state == "active"
    assert lessons.show(store, lesson_id).scope == "global"
    assert lessons.retire(store, lesson_id, reason="autoSetupRemote is on").reason == "autoSetupRemote is on"
    learn(store, pushed("dark-mode"), "b")
    assert (only(store).state, only(store).worked) == ("retired", 2)
    assert lessons.quarantine(store, lesson_id, reason="wrong").state == "quarantined"
    learn(store, pushed("search"), "c")
    assert only(store).state == "quarantined"
    assert lessons.approve(store, lesson_id).state == "active"


def test_an_approved_lesson_is_not_retired_by_counts(store: Store) -> None:
    learn(store, pushed("fix-cart"), "good")
    lessons.approve(store, only(store).id)
    for number in range(5):
        learn(store, pushed_in_vain("dark-mode"), f"bad{number}")
    assert only(store).state == "active"


def test_every_change_of_state_is_an_event(store: Store) -> None:
    learn(store, pushed("fix-cart"), "a")
    lesson_id = only(store).id
    lessons.approve(store, lesson_id)
    lessons.retire(store, lesson_id)
    events = store.find("events", {"record": lesson_id}, order=("at", "id")).rows
    assert [event["verb"] for event in events] == ["candidate", "approved", "retired"]


def test_a_word_in_the_place_of_an_id_names_the_lessons_that_it_stands_in(store: Store) -> None:
    added = lessons.add(store, when="nilerr: error is not nil", do="Return the error.")
    with pytest.raises(NotFound, match=f"no lesson nilerr; that word stands in {added.id};"):
        lessons.show(store, "nilerr")


def test_an_unknown_lesson_is_not_found(store: Store) -> None:
    for decide in (lessons.show, lessons.approve, lessons.retire):
        with pytest.raises(NotFound, match="lessons list"):
            decide(store, "l0")


def test_lessons_are_listed_by_state_and_merit_and_of_a_project_with_its_folders(store: Store) -> None:
    learn(store, pushed("fix-cart"), "a", project="/w/shop/web")
    lessons.add(store, when="an error about widgets", do="x", project="/w/other", state="active")
    assert [each.state for each in lessons.listed(store)] == ["active", "candidate"]
    assert [each.text for each in lessons.listed(store, project="/w/shop")] == [PUSH]
    assert len(lessons.listed(store, limit=1)) == 1


def test_lessons_are_found_by_the_pattern_they_are_about(store: Store) -> None:
    learn(store, pushed("fix-cart"), "a")
    (pattern,) = {str(row["pattern"]) for row in store.find("signatures").rows}
    assert lessons.by_pattern(store, [pattern]) == {}, "what one session saw work is no advice yet"
    learn(store, pushed("fix-list"), "b")
    assert lessons.by_pattern(store, [pattern]) == {pattern: (only(store),)}
    assert lessons.by_pattern(store, ["p0"]) == {}


def test_the_failed_step_is_kept_for_prevention_and_credit_is_not_lost(store: Store) -> None:
    learn(store, pushed("fix-cart"), "a")
    held = store.get("lessons", only(store).id)
    assert held is not None
    assert held["failed"] == "git push"
    assert store.swap("lessons", str(held["id"]), int(str(held["revision"])), {**held, "uses": 5, "wins": 3})
    learn(store, pushed("dark-mode"), "b")
    held = store.get("lessons", only(store).id)
    assert held is not None
    assert (held["uses"], held["wins"]) == (5, 3)


def test_what_the_failed_step_had_is_known_to_who_adds_and_approves(store: Store) -> None:
    error = "srcc: error: can't read file 'srcc': No such file or directory"
    advice = "Run `mypy --ignore-missing-imports src`."
    assert lessons.add(store, when=error, do=advice, project="/w/blog").state == "quarantined"
    ingest(store, session([shell("mypy --ignore-missing-imports srcc", error)], "a"))
    found = lessons.add(store, when=error, do=f"{advice} It stands below src.", project="/w/shop")
    assert (found.state, found.reason) == ("candidate", "")
    assert lessons.approve(store, found.id, do="Run `mypy --ignore-missing-imports src/app`.").state == "active"
    with pytest.raises(Refused, match="not changed"):
        lessons.approve(store, found.id, do="Run `mypy --ignore-missing-imports src || true`.")

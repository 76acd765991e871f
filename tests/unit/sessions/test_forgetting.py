"""A forgotten session is gone: rows, texts, index and evidence; and it is looked for, not believed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ratchet.errors import NotFound, UsageError
from ratchet.failures.patterns.health import recent
from ratchet.integrations import hook_entries
from ratchet.records import Row
from ratchet.runtime import Runtime, unwatched
from ratchet.store.schema import TABLES
from support.histories import SESSION, lines
from support.shop import HISTORY, SHOP, history, shell, words


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return history(tmp_path / "history.jsonl")


@pytest.fixture
def runtime(tmp_path: Path, path: Path) -> Iterator[Runtime]:
    with Runtime.open(home=tmp_path / "home", keep_steps=True) as opened:
        opened.learn([path])
        yield opened


def other(tmp_path: Path) -> Path:
    """Another session, in which the same failure came once."""
    records = [
        {**record, "sessionId": "other", "uuid": f"{record['uuid']}-other"}
        for record in shell("nine", "make build", "make: *** No rule to make target 'build'.  Stop.", 20, failed=True)
    ]
    return lines(tmp_path / "other.jsonl", [*records])


def test_a_forgotten_session_leaves_nothing(runtime: Runtime, tmp_path: Path) -> None:
    assert runtime.sessions.search("make build").hits
    held = {name: runtime.store.find(name).rows for name in TABLES}
    planned = runtime.sessions.forget(SESSION, dry_run=True)
    assert (planned.done, planned.removed["outcomes"]) == (False, 5)
    assert {name: runtime.store.find(name).rows for name in TABLES} == held
    done = runtime.sessions.forget(SESSION)
    assert replace(done, done=False) == planned
    assert (done.left, done.traces, done.removed["outcomes"]) == ({}, (), 5)
    assert runtime.sessions.list().items == ()
    assert runtime.sessions.search("make").hits == ()
    assert runtime.patterns() == []
    assert runtime.sessions.costs().total.tokens.total == 0
    assert runtime.health().score is None or runtime.store.sum_by("activity", (), ("calls",))[0]["calls"] == 0


@pytest.mark.sqlite
def test_no_word_of_it_is_left_in_the_files(runtime: Runtime, tmp_path: Path) -> None:
    held = b"".join(each.read_bytes() for each in (tmp_path / "home").rglob("*") if each.is_file())
    assert b"connection pool" in held
    assert b"POOL = 5" in held
    runtime.sessions.forget(SESSION)
    held = b"".join(each.read_bytes() for each in (tmp_path / "home").rglob("*") if each.is_file())
    for word in (b"connection pool", b"POOL = 5", b"No rule to make target", b"make all"):
        assert word not in held, word


def test_its_history_is_not_read_again(runtime: Runtime, path: Path, tmp_path: Path) -> None:
    runtime.sessions.forget(SESSION)
    lines(path, [*HISTORY, *shell("six", "make again", "fine", 30)])
    lines(tmp_path / "copy.jsonl", HISTORY)
    runtime.learn([path, tmp_path / "copy.jsonl"])
    runtime.record("claude-code", ok=True, session=SESSION)
    assert runtime.sessions.list().items == ()
    assert not runtime.store.find("message_tokens").rows
    assert not runtime.store.find("sayings").rows


def test_what_another_session_met_stays_with_its_own_count(runtime: Runtime, tmp_path: Path) -> None:
    runtime.learn([other(tmp_path)])
    (before,) = runtime.patterns()
    assert (before.count, before.sessions) == (3, 2)
    done = runtime.sessions.forget(SESSION)
    assert done.patterns == 0
    (after,) = runtime.patterns()
    assert (after.id, after.count, after.sessions) == (before.id, 1, 1)


PUSH = "fatal: The current branch topic has no upstream branch.\nTo push, use git push --set-upstream origin topic"


def pushed(path: Path, session: str) -> Path:
    """A session that is told how to push, and does."""
    calls = [
        *shell(f"p{session}", "git push", PUSH, 40, failed=True),
        *shell(f"q{session}", "git push --set-upstream origin topic", "done", 42),
    ]
    return lines(path, [{**record, "sessionId": session, "uuid": f"{record['uuid']}-{session}"} for record in calls])


def test_a_lesson_goes_with_its_only_evidence(runtime: Runtime, tmp_path: Path) -> None:
    runtime.learn([pushed(tmp_path / "push.jsonl", "push")])
    (lesson,) = runtime.lessons.list()
    assert runtime.sessions.forget("push").lessons == (lesson.id,)
    assert runtime.lessons.list() == []


def test_a_lesson_that_a_person_decided_about_stays_without_its_evidence(runtime: Runtime, tmp_path: Path) -> None:
    runtime.learn([pushed(tmp_path / "push.jsonl", "push")])
    (lesson,) = runtime.lessons.list()
    runtime.lessons.approve(lesson.id)
    done = runtime.sessions.forget("push")
    assert (done.kept_lessons, done.traces) == ((lesson.id,), ())
    kept = runtime.lessons.show(lesson.id)
    assert (kept.text, kept.evidence, kept.example) == (lesson.text, (), "")
    assert kept.proof == "not tried yet", "a count of what is gone is none"


@pytest.mark.parametrize("approved", [False, True])
@pytest.mark.parametrize("changed", [False, True])
def test_a_skill_that_was_made_of_it_goes_with_its_versions_trials_and_folders(
    runtime: Runtime, tmp_path: Path, approved: bool, changed: bool
) -> None:
    sessions = ("push-one", "push-two", "push-three")
    runtime.learn([pushed(tmp_path / f"{each}.jsonl", each) for each in sessions])
    (lesson,) = runtime.lessons.list()
    if approved:
        runtime.lessons.approve(lesson.id)
    runtime.cures.make_skill(lesson.id, name="push-it")
    (tmp_path / "proj" / ".git").mkdir(parents=True)
    runtime.cures.export_skill("push-it", tmp_path / "proj")
    folder = tmp_path / "proj" / ".claude" / "skills" / "push-it"
    if changed:
        (folder / "SKILL.md").write_text("mine now")
    done = [runtime.sessions.forget(each) for each in sessions]
    assert sum(each.removed.get("skills", 0) for each in done) == 1
    assert runtime.store.find("skills").rows == []
    (trial,) = runtime.store.find("trials").rows
    assert (trial["state"], trial["edit"], trial["base"]) == ("undecided", {}, {})
    assert "upstream" not in str(trial)
    assert folder.exists() is changed
    assert [folder for each in done for folder in each.folders] == ([str(folder)] if changed else [])
    assert runtime.cures.skills() == ()
    assert runtime.cures.look() == ()
    if approved:
        assert runtime.lessons.show(lesson.id).skill == ""
        assert runtime.cures.make_skill(lesson.id).version == 1, "of what is left of it"


@pytest.mark.sqlite
def test_no_word_of_a_skill_is_left_in_the_files(runtime: Runtime, tmp_path: Path) -> None:
    path = pushed(tmp_path / "push.jsonl", "push-one")
    path.write_text(path.read_text().replace("origin topic", "origin hush-hush-branch"))
    runtime.learn([path])
    (lesson,) = runtime.lessons.list()
    runtime.lessons.approve(lesson.id, do="Push with -u.")
    runtime.cures.make_skill(lesson.id, name="push-it")
    runtime.cures.export_skill("push-it", tmp_path)
    runtime.sessions.forget("push-one")
    assert b"hush-hush" not in b"".join(p.read_bytes() for p in (tmp_path / "home").rglob("*") if p.is_file())


def test_a_skill_whose_lesson_is_gone_hides_no_other(runtime: Runtime, tmp_path: Path) -> None:
    runtime.learn([pushed(tmp_path / "push.jsonl", "push")])
    (lesson,) = runtime.lessons.list()
    runtime.lessons.approve(lesson.id)
    runtime.cures.make_skill(lesson.id, name="push-it")
    runtime.store.delete("lessons", {"id": lesson.id})
    assert runtime.cures.skills() == ()
    with pytest.raises(NotFound, match="no skill push-it"):
        runtime.cures.show_skill("push-it")


CANARY = "zebrafish"
MISSING = f"ModuleNotFoundError: No module named '{CANARY}'"
REMOTE = f"To github.com:dev/{CANARY}.git\n * [new branch] topic"


def watched(tmp_path: Path, runtime: Runtime) -> tuple[str, ...]:
    """Sessions of one project, with its word in all that a person, a tool or git says; mined, replayed, predicted,
    told to a hook, decided about and asked about."""
    sessions = tuple(f"{CANARY}-session-{number}" for number in range(4))
    folder = f"/home/dev/{CANARY}"
    for number, session in enumerate(sessions):
        calls = [
            words(f"push the {CANARY} branch, never with force", 39),
            *shell(f"p{number}", "pytest -q", MISSING, 40, failed=True),
            *shell(f"q{number}", "uv run pytest -q", f"3 passed of {CANARY}", 42),
            *shell(f"s{number}", f"git push --set-upstream origin {CANARY}", REMOTE, 44),
            *shell(f"r{number}", f"./{CANARY} check", f"{CANARY}: no such rule", 46, failed=True),
        ]
        rows = [{**each, "sessionId": session, "cwd": folder, "uuid": f"{each['uuid']}-{session}"} for each in calls]
        lines(tmp_path / f"{number}.jsonl", [*rows, {"sessionId": session, "type": "odd"}])
    runtime.learn([tmp_path / f"{number}.jsonl" for number in range(4)])
    runtime.lessons.backtest()
    runtime.publish()
    for pattern in runtime.patterns():
        runtime.store.insert_new("triage", [{"pattern": pattern.id, "state": "open", "note": CANARY}])
    environ = {"HOME": str(tmp_path / "user"), "PATH": os.environ["PATH"]}
    for event, more in (
        ("SessionStart", {}),
        ("PostToolUseFailure", {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "error": MISSING}),
    ):
        said = {"session_id": sessions[0], "cwd": folder, "hook_event_name": event, "tool_use_id": "toolu_01", **more}
        command = hook_entries.command(event, home=runtime.home, environ=environ)
        subprocess.run(["sh", "-c", command], input=json.dumps(said).encode(), env=environ, check=True, timeout=60)
    runtime.drain()
    return sessions


def holding(home: Path, word: bytes) -> list[str]:
    return sorted(
        str(each.relative_to(home)) for each in home.rglob("*") if each.is_file() and word in each.read_bytes()
    )


def test_a_session_that_was_told_a_lesson_and_took_no_step_is_forgotten(runtime: Runtime) -> None:
    told: Row = {"trial": "l1", "unit": "by-hand/p1/prevention", "arm": "new", "session": "by-hand", "pattern": "p1"}
    runtime.store.insert_new("exposures", [{**told, "channel": "prevent", "share": 1.0, "at": 1.0, "settled": False}])
    done = runtime.sessions.forget("by-hand")
    assert (done.sessions, done.removed, done.left, done.traces) == (("by-hand",), {"exposures": 1}, {}, ())
    assert runtime.store.find("outcomes").rows, "others stay"


@pytest.mark.sqlite
def test_when_all_is_forgotten_only_where_reading_stands_is_left(tmp_path: Path) -> None:
    """Whatever is new: a table, a row of `meta`, a file of the hooks. What may stay is named here."""
    with Runtime.open(home=tmp_path / "home", keep_steps=True) as runtime:
        sessions = watched(tmp_path, runtime)
        before = {name for name in TABLES if runtime.store.find(name, limit=1).rows}
        assert before >= {"remotes", "facts", "fact_days", "resolutions", "lessons", "exposures", "meta", "triage"}
        assert len(holding(runtime.home, CANARY.encode())) > 1
        planned = runtime.sessions.forget(CANARY, dry_run=True)
        done = runtime.sessions.forget(CANARY)
        assert set(done.sessions) == set(sessions)
        assert (done.left, done.traces, done.quoting) == ({}, (), ())
        assert replace(done, done=False, beside="") == planned
        left = {name: runtime.store.find(name).rows for name in TABLES}
        assert {name for name, rows in left.items() if rows} == {"cursors", "meta"}
        assert {row["name"] for row in left["meta"]} == {"forgotten"}
        assert CANARY not in json.dumps(left)
        assert runtime.lessons.replayed() is None
    assert holding(tmp_path / "home", CANARY.encode()) == []
    files = {each.relative_to(tmp_path / "home").parts for each in (tmp_path / "home").rglob("*") if each.is_file()}
    assert {parts[0] for parts in files} <= {"ratchet.db", "salt", "hook", "journal"}
    assert {name.partition(".")[0] for folder, name in files - {("ratchet.db",), ("salt",)} if folder == "hook"} <= {
        "lessons",
        "expressions",
    }


def test_what_others_share_of_a_project_stays(tmp_path: Path) -> None:
    with Runtime.open(home=tmp_path / "home", keep_steps=True) as runtime:
        first, *_ = watched(tmp_path, runtime)
        done = runtime.sessions.forget(first)
        assert (done.left, done.traces) == ({}, ())
        assert runtime.store.find("remotes").rows
        told = [each.read_text() for each in (runtime.home / "hook" / "facts").iterdir()]
        assert told
        assert all("pytest" in each for each in told)
        assert len(recent(runtime.store.get("recents", "claude-code") or {})) == 12


def test_another_session_that_speaks_of_a_forgotten_one_is_named(runtime: Runtime, tmp_path: Path) -> None:
    calls = shell("nine", f"cat {SESSION}.jsonl", "fine", 20)
    lines(tmp_path / "other.jsonl", [{**each, "sessionId": "the-other-one"} for each in calls])
    runtime.learn([tmp_path / "other.jsonl"])
    done = runtime.sessions.forget(SESSION)
    assert (done.quoting, done.left["outcomes"]) == (("the-other-one",), 1)


def test_a_row_of_any_table_that_names_a_session_is_found(runtime: Runtime) -> None:
    for table in TABLES.values():
        if table.body:
            key = {name: 0 if table.by_name[name].type in ("int", "real") else "x" for name in table.key}
            need = {each.name: 1 if each.type != "text" else "x" for each in table.columns if each.required}
            runtime.store.insert_new(table.name, [{**need, **key, "of_more": [f"see {SESSION}."]}])
    done = runtime.sessions.forget(SESSION)
    made_anew = {"meta", "lessons", "recents"}
    assert {name for name, table in TABLES.items() if table.body} - done.left.keys() <= made_anew


def test_a_project_and_a_time_are_forgotten_whole(runtime: Runtime, tmp_path: Path) -> None:
    runtime.record("bot", ok=True, session="s1", project="/elsewhere", started_at=1e9)
    runtime.record("bot", error="old and alone", started_at=1e9)
    done = runtime.sessions.forget(SHOP)
    assert done.sessions == (SESSION,)
    done = runtime.sessions.forget(before=1.1e9)
    assert (done.sessions, done.removed["outcomes"]) == (("s1",), 2)
    assert runtime.sessions.outcomes().items == ()
    assert runtime.patterns() == []


def test_nothing_named_or_known_is_an_error(runtime: Runtime) -> None:
    with pytest.raises(UsageError, match="name a session"):
        runtime.sessions.forget()
    with pytest.raises(NotFound, match="no session or project nowhere"):
        runtime.sessions.forget("nowhere")


def test_a_store_is_proved_against_its_histories(runtime: Runtime, path: Path) -> None:
    found = runtime.sessions.check(unwatched)
    assert (found.sound, found.files, found.steps, found.answers) == (True, 1, 5, 6)
    lost = runtime.sessions.outcomes().items[0]
    runtime.store.delete("outcomes", {"id": lost.id})
    runtime.store.delete("message_tokens", {"step": lost.id})
    found = runtime.sessions.check(unwatched)
    assert not found.sound
    assert (len(found.missing), len(found.fewer), found.strange) == (1, 1, (SESSION,))
    path.unlink()
    assert runtime.sessions.check(unwatched).gone == (str(path),)


def test_results_of_steps_that_worked_are_kept_where_that_is_asked_for(runtime: Runtime, path: Path) -> None:
    path.unlink()
    steps = runtime.sessions.show(SESSION).steps
    assert [each.place for each in steps] == ["gone", "gone", "kept", "kept", "kept"]
    assert steps[2].result.startswith("built with")
    assert "a1B2" not in steps[2].result


def test_results_are_not_kept_unless_asked_for(tmp_path: Path, path: Path) -> None:
    with Runtime.open(home=tmp_path / "plain") as runtime:
        runtime.learn([path])
        assert not [row for row in runtime.store.find("steps").rows if row.get("result")]

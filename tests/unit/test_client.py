"""The Python surface: what is public stays, recording never hurts a host, reading says what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ratchet
from ratchet.recording.background import Background

PUBLIC = {
    "AsyncRatchet", "BackendError", "Change", "Choice", "Classification", "Conflict", "Exposure", "Failure",
    "FileTarget", "Fix", "FunctionTarget", "Knob", "Lesson", "MappingTarget", "ModelError", "NotFound", "Outcome",
    "Pattern", "Problem", "Proposal", "ProposalJob", "Proposed", "ProposerOptions", "Range", "Ratchet",
    "RatchetError", "Refused", "SandboxError", "SolveJob", "Solved", "SolverOptions", "SpanProcessor", "Step",
    "StoreError", "Trial", "UsageError", "__version__", "bench", "classify", "evolve", "failed",
    "group", "heal", "record", "redact", "retry", "settings", "succeeded", "watch",
}  # fmt: skip
RATCHET = {
    "add_target", "close", "cures", "distillery", "failed", "heal", "health", "learn", "lessons", "outcomes",
    "patterns", "proposals", "pulses", "recall", "record", "report", "retry", "settings", "start_background",
    "stop_background", "succeeded", "tick", "trials", "watch",
}  # fmt: skip
PUBLICLY: Any = ratchet  # for calls that a type checker would not let pass
LESSONS = {
    "add", "approve", "backtest", "effect", "export", "facts", "list", "load", "load_reviewed", "predict", "quarantine",
    "replayed", "retire", "share", "show", "stats", "sync", "take", "told", "trust", "undo", "withdraw_trust", "words",
}  # fmt: skip


def test_the_public_names_are_pinned() -> None:
    assert set(ratchet.__all__) == PUBLIC
    assert all(getattr(ratchet, name) is not None for name in PUBLIC)
    assert {name for name in vars(ratchet.Ratchet) if not name.startswith("_")} == RATCHET


def test_lessons_have_the_documented_operations(home: Path) -> None:
    with ratchet.Ratchet(home=home) as r:
        assert {name for name in dir(r.lessons) if not name.startswith("_")} == LESSONS


def test_what_was_recorded_is_read_back_at_once_newest_first(home: Path) -> None:
    with ratchet.Ratchet(home=home) as r:
        r.record("a", ok=True, started_at=100.0)
        r.record("a", ok=False, error="429 Too Many Requests", started_at=200.0)
        r.record("b", ok=True, started_at=300.0)
        assert [(o.agent, o.ok) for o in r.outcomes()] == [("b", True), ("a", False), ("a", True)]
        assert [o.ok for o in r.outcomes(agent="a", limit=1)] == [False]
        assert [o.agent for o in r.outcomes(ok=True)] == ["b", "a"]
        assert [o.failure.kind for o in r.outcomes(kind="rate_limit") if o.failure] == ["rate_limit"]
        assert [o.started_at for o in r.outcomes(since=150.0)] == [300.0, 200.0]


def test_health_and_patterns_follow_what_was_recorded(home: Path) -> None:
    with ratchet.Ratchet(home=home) as r:
        for _ in range(30):
            r.record("perfect", ok=True)
        for _ in range(3):
            r.record("limited", error="429 Too Many Requests")
        assert r.health().agents == {"limited": 0.0, "perfect": 1.0}
        assert [(p.kind, p.count, p.recurring) for p in r.patterns()] == [("rate_limit", 3, True)]
        assert r.patterns(agent="perfect") == []


def test_a_lesson_written_by_hand_is_recalled_word_for_word(home: Path) -> None:
    with ratchet.Ratchet(home=home) as r:
        lesson = r.lessons.add(
            when="EADDRINUSE: address already in use :::3000", do="Stop  the old `server`.", state="active"
        )
        found = r.recall("EADDRINUSE: address already in use :::8080")
        assert not found.abstained
        assert found.lessons[0].text == "Stop  the old `server`."
        assert r.lessons.approve(lesson.id).state == "active"
        assert r.lessons.retire(lesson.id).state == "retired"
        assert r.recall("EADDRINUSE: address already in use :::8080").abstained


@pytest.mark.sqlite
def test_recall_without_any_store_is_not_found_instead_of_nothing_known(home: Path) -> None:
    with ratchet.Ratchet(home=home) as r, pytest.raises(ratchet.NotFound, match="ratchet learn"):
        r.recall("anything")


def test_a_wrong_setting_is_said_at_once(home: Path) -> None:
    with pytest.raises(ratchet.UsageError, match="withheld_share"):
        ratchet.Ratchet(home=home, withheld_share=1.5)
    with pytest.raises(ratchet.UsageError, match="did you mean"):
        ratchet.Ratchet(home=home, witheld_share=0.1)  # type: ignore[call-arg]


def test_a_wrong_settings_file_does_not_hurt_who_records(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    home.mkdir(exist_ok=True)
    (home / "ratchet.toml").write_text("nonsense = [")
    r = ratchet.Ratchet(home=home)
    assert r.record("a", ok=True)
    assert "settings are wrong" in caplog.text
    with pytest.raises(ratchet.UsageError, match="not valid TOML"):
        list(r.outcomes())
    (home / "ratchet.toml").unlink()
    assert len(list(r.outcomes())) == 1
    r.close()


@pytest.mark.sqlite
def test_the_background_drains_and_ends_with_close(home: Path) -> None:
    r = ratchet.Ratchet(home=home, drain_interval_s=0.05)
    r.record("a", ok=True)
    for _ in range(200):
        if (home / "ratchet.db").exists():
            break
        time.sleep(0.02)
    assert (home / "ratchet.db").exists()
    r.close()
    with ratchet.Ratchet(home=home) as again:
        assert [o.agent for o in again.outcomes()] == ["a"]


def test_a_background_that_fails_goes_on_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    turns = []

    def work() -> None:
        turns.append(1)
        raise OSError("disk on fire")

    background = Background(work, 0.01, name="test")
    for _ in range(300):
        if len(turns) >= 3:
            break
        time.sleep(0.01)
    background.stop()
    assert len(turns) >= 3
    assert not background.alive
    assert "disk on fire" in caplog.text


def test_a_forked_child_records_and_reads_in_its_own_right(home: Path) -> None:
    r = ratchet.Ratchet(home=home)
    r.record("parent", ok=True)
    assert len(list(r.outcomes())) == 1
    child = os.fork()
    if child == 0:
        code = 1
        try:
            r.record("child", ok=True)
            code = 0 if {o.agent for o in r.outcomes()} == {"parent", "child"} else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert {o.agent for o in r.outcomes()} == {"parent", "child"}
    r.close()


def test_module_level_record_and_watch_use_the_home_that_the_environment_names(home: Path) -> None:
    script = """
import ratchet
@ratchet.watch("w")
def f(): return 1
f(); ratchet.record("r", ok=True)
"""
    subprocess.run([sys.executable, "-c", script], env={**os.environ, "RATCHET_HOME": str(home)}, check=True)
    with ratchet.Ratchet(home=home) as r:
        assert {o.agent for o in r.outcomes()} == {"w", "r"}


def test_a_python_agents_steps_teach_lessons_too(home: Path) -> None:
    with ratchet.Ratchet(home=home) as r:
        for number, session in enumerate(("mon", "tue")):
            at = 1_760_000_000.0 + 100_000 * number
            for offset, command, error in (
                (0, "npm test", "sh: 1: vitest: not found"),
                (9, "npm ci", None),
                (20, "npm test", None),
            ):
                step = {"tool": "shell", "input": command}
                r.record("builder", task="shell", session=session, step=step, error=error, started_at=at + offset)
        found = r.recall("sh: 1: vitest: not found")
        assert [(known.lesson.state, known.text) for known in found.lessons] == [
            ("active", "Run `npm ci` first, then `npm test` again.")
        ]


def test_an_export_that_comes_home_adds_nothing(home: Path, tmp_path: Path) -> None:
    with ratchet.Ratchet(home=home) as r:
        r.lessons.add(when="EADDRINUSE: address already in use :::3000", do="Stop the old server.", state="active")
        exported = tmp_path / "project" / ".ratchet" / "lessons.jsonl"
        exported.parent.mkdir(parents=True)
        exported.write_text(r.lessons.export())
        loaded = r.lessons.load(exported)
        assert (loaded.imported, loaded.known, loaded.rejected) == (0, 1, ())
        assert len(r.lessons.list()) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda r: PUBLICLY.redact(5),
        lambda r: PUBLICLY.redact(b"password=x"),
        lambda r: PUBLICLY.redact(None),
        lambda r: PUBLICLY.redact(["a"]),
        lambda r: PUBLICLY.group(5),
        lambda r: PUBLICLY.group([1]),
        lambda r: PUBLICLY.group("one text"),
        lambda r: PUBLICLY.group(["a", None]),
        lambda r: r.recall(None),
        lambda r: r.recall(b"x"),
        lambda r: r.recall("x", limit=-1),
        lambda r: r.recall("x", limit="5"),
        lambda r: r.recall("x", limit=True),
        lambda r: r.recall("x", project=Path("/p")),
        lambda r: r.lessons.add(when=None, do=3),
        lambda r: r.lessons.add(when="x", do=3),
        lambda r: r.lessons.add(when="x", do="y", scope=None),
        lambda r: r.lessons.add(when="x", do="y", state=1),
        lambda r: r.outcomes(limit="x"),
        lambda r: r.outcomes(limit=-1),
        lambda r: r.outcomes(agent=5),
        lambda r: r.outcomes(ok="yes"),
        lambda r: r.outcomes(since="yesterday"),
        lambda r: r.outcomes(since=float("nan")),
        lambda r: r.patterns(limit=1.5),
        lambda r: r.patterns(kind=[]),
    ],
)
def test_a_value_of_another_type_is_a_usage_error_at_the_call(
    home: Path, call: Callable[[ratchet.Ratchet], object]
) -> None:
    with ratchet.Ratchet(home=home) as r, pytest.raises(ratchet.UsageError, match=r"text|whole number|True|seconds"):
        call(r)


def test_what_is_accepted_stays_so(home: Path) -> None:
    with ratchet.Ratchet(home=home) as r:
        r.record("a", ok=True)
        assert ratchet.group(iter(["x 1", "x 2"])) == ratchet.group(("x 1", "x 2"))
        assert len(list(r.outcomes(limit=1, ok=True, since=0, agent="a"))) == 1
        assert list(r.outcomes(limit=0)) == []
        assert r.recall("x", limit=0).lessons == ()

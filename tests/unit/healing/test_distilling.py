"""A model puts evidence into words; replay decides whether anybody sees them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from ratchet.config import Config
from ratchet.errors import Refused
from ratchet.healing.distilling.book import Distillery
from ratchet.healing.distilling.distill import distill, plan
from ratchet.healing.distilling.items import EVIDENCE_BYTES, PLACES, items
from ratchet.healing.distilling.replay import Answer, ContraryAnswer, HunksAnswer, StepsAnswer, WordsAnswer
from ratchet.healing.distilling.speakers import CommandModel
from ratchet.healing.job import Purse
from ratchet.healing.models.choice import ModelChoice
from ratchet.healing.models.question import ModelAnswer, Question, Role
from ratchet.lessons.lessons import show
from ratchet.lessons.mined import mine_session
from ratchet.records import Row
from ratchet.store.sqlite import SqliteStore
from ratchet.testing.purses import PlainPurse

T = TypeVar("T")
PROJECT = "/work/shop"
REFUSED = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"


class _Scripted:
    """A model that gives the same answer to each question, and keeps what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.asked: list[str] = []

    def named(self, role: Role) -> str:
        return f"scripted:{role}"

    def ask(self, question: Question[T], purse: Purse) -> ModelAnswer[T]:
        self.asked.append(question.text)
        purse.settle(purse.reserve(0.01), 0.01)
        value = self._answer if isinstance(self._answer, question.shape) else None
        return ModelAnswer(value=value, model="scripted", calls=1, cost_usd=0.01)


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "distilled.db")


def _row(name: str, session: str, at: float, command: str, head: str, *, failed: str = "", kind: str = "") -> Row:
    row: Row = {
        "id": name,
        "agent": "claude-code",
        "ok": not failed,
        "started_at": at,
        "duration_s": 0.1,
        "session": session,
        "project": PROJECT,
        "task": "Bash",
        "step": {"tool": "Bash", "head": head, "target": "", "input": command},
    }
    if failed:
        row["failure"] = {"message": failed, "kind": kind, "signature": "x", "template": failed}
    return row


def _refused_pushes(store: SqliteStore, *, forced: int, plain: int) -> None:
    """A person refused a forced push; afterwards there were others, and accepted ones."""
    rows = [
        _row("r", "s", 1, "git push --force", "git push", failed=f"{REFUSED}never force a push", kind="user_denied")
    ]
    rows += [
        _row(f"f{at}", "s", 10.0 + at, "git push --force", "git push", failed="rejected", kind="other")
        for at in range(forced)
    ]
    rows += [_row(f"p{at}", "s", 100.0 + at, f"git push origin b{at}", "git push") for at in range(plain)]
    store.insert_new("outcomes", rows)
    mine_session(store, "s", now=1.0)


def _run(store: SqliteStore, answer: Answer) -> tuple[_Scripted, dict[str, int], tuple[str, ...]]:
    model = _Scripted(answer)
    planned = plan(store, "scripted", lambda _sent, _got: 0.0)
    found = distill(store, model, PlainPurse(), planned, now=5.0)
    return model, dict(found.rejected), found.lessons


RULE = WordsAnswer(is_rule=True, scope="project", when="git push", do="Do not force a push.", dont="--force")


def test_a_rule_that_replay_bears_out_is_a_candidate_with_its_quote_beside_it(store: SqliteStore) -> None:
    _refused_pushes(store, forced=2, plain=60)
    _model, rejected, (lesson_id,) = _run(store, RULE)
    found = show(store, lesson_id)
    assert rejected == {}
    assert (found.text, found.state, found.quote) == ("Do not force a push.", "candidate", "never force a push")
    assert not found.is_quote


@pytest.mark.parametrize(
    ("answer", "forced", "reason"),
    [
        (RULE, 0, "no later call would have been prevented"),
        (WordsAnswer(is_rule=True, scope="always", when="git push", do="Do not push."), 2, "it would have stopped 60"),
        (WordsAnswer(is_rule=False, scope="once", when="", do=""), 2, "it is no rule beyond its moment"),
        (WordsAnswer(is_rule=True, scope="always", when="git push", do="Use --no-verify.", dont="--force"), 2, "skips"),
    ],
)
def test_an_answer_that_replay_does_not_bear_out_is_shown_to_nobody(
    store: SqliteStore, answer: Answer, forced: int, reason: str
) -> None:
    _refused_pushes(store, forced=forced, plain=60)
    _model, rejected, lessons = _run(store, answer)
    assert lessons == ()
    assert next(iter(rejected)).startswith(reason)


def test_each_piece_of_evidence_is_asked_about_once(store: SqliteStore) -> None:
    _refused_pushes(store, forced=2, plain=60)
    first, _, _ = _run(store, RULE)
    again, _, _ = _run(store, RULE)
    assert len(first.asked) == 1
    assert again.asked == []
    assert plan(store, "m", lambda _sent, _got: None).asked == 0


def _fix(store: SqliteStore, at: int, key: str, added: str) -> None:
    store.insert_new(
        "resolutions",
        [
            {
                "id": f"{key}{at}", "session": f"s{at}", "project": PROJECT, "failed_id": f"a{at}",
                "worked_id": f"b{at}", "key": key, "keys": [key], "at": float(at), "worked": True, "way": "edit",
                "message": "m", "kind": "other",
                "template": "some error text", "removed": ["x = old()"], "added": [added], "lesson_id": "",
            }
        ],
    )  # fmt: skip


def test_what_hunks_share_must_stand_in_those_that_were_not_shown(store: SqliteStore) -> None:
    for at in range(8):
        _fix(store, at, "rule", f"x = wrapped(new{at})")
        _fix(store, at, "other", f"y = plain({at})")
    token = HunksAnswer(token="wrapped(", do="Wrap it.")
    planned = plan(store, "m", lambda _sent, _got: None, places=("hunks",))
    assert planned.places == {"hunks": 2}
    found = distill(store, _Scripted(token), PlainPurse(), planned, places=("hunks",), now=5.0)
    (lesson_id,) = found.lessons
    lesson = show(store, lesson_id)
    assert lesson.text.startswith("Wrap it. For example:")
    assert lesson.state == "candidate"
    assert list(found.rejected) == ["its token stands in 0% of the fixes that it did not see"]


def _step(store: SqliteStore, at: int, failed: str, do: str) -> None:
    store.insert_new(
        "resolutions",
        [
            {
                "id": f"q{at}", "session": f"s{at}", "project": PROJECT, "failed_id": f"a{at}", "worked_id": f"b{at}",
                "key": "e:boom", "keys": ["e:boom"], "at": float(at), "worked": True, "way": "step", "message": "boom",
                "kind": "other", "template": "boom happened here", "failed_input": failed, "do": do, "lesson_id": "",
            }
        ],
    )  # fmt: skip


@pytest.mark.parametrize(("failing", "kept"), [("db load <file>", 1), ("db <what> <file>", 0)])
def test_templates_must_tell_what_failed_from_what_worked(store: SqliteStore, failing: str, kept: int) -> None:
    for at in range(6):
        _step(store, at, f"db load part{at}.sql", f"db restore part{at}.dump")
    _model, _rejected, lessons = _run(store, StepsAnswer(failing=failing, working="db restore <file>"))
    assert len(lessons) == kept


def test_a_model_may_retire_a_lesson_that_was_wrong_the_last_time_and_no_other(store: SqliteStore) -> None:
    for at in range(3):
        _fix(store, at, "rule", "x = other()")
    base: Row = {
        "scope": "project", "signature": "x", "kind": "other", "text": "do it", "group": "edit rule", "keys": ["rule"],
        "project": PROJECT, "worked": 3, "tried": 4, "state": "active",
    }  # fmt: skip
    store.swap("lessons", "l1", 0, {**base, "id": "l1", "wrong": 1})
    store.swap("lessons", "l2", 0, {**base, "id": "l2", "wrong": 0})
    _model, _rejected, lessons = _run(store, ContraryAnswer(retire=True, why="another way replaced it"))
    assert lessons == ("l1",)
    assert show(store, "l1").state == "retired"
    assert show(store, "l2").state == "active"


def test_no_item_is_longer_than_it_may_be(store: SqliteStore) -> None:
    for at in range(8):
        _fix(store, at, "rule", "é" * 2_000)
    assert all(len(each.text.encode()) <= EVIDENCE_BYTES for each in items(store, PLACES))


def test_a_run_ends_where_the_money_does_and_says_so(store: SqliteStore) -> None:
    _refused_pushes(store, forced=2, plain=60)
    planned = plan(store, "m", lambda _sent, _got: None)
    found = distill(store, _Scripted(RULE), PlainPurse(usd=0.001), planned, now=5.0)
    assert found.answered == 0
    assert "USD" in found.stopped


def _distillery(store: SqliteStore, home: Path, *, consent: bool) -> Distillery:
    config = Config(home=home, model="openai:gpt-5")
    told: Callable[[], object] = lambda: None  # noqa: E731
    return Distillery(reading=lambda: store, models=ModelChoice(config, {}), consent=consent, told=told)


def test_a_configured_model_is_no_consent(store: SqliteStore, tmp_path: Path) -> None:
    _refused_pushes(store, forced=2, plain=60)
    planned = plan(store, "openai:gpt-5", lambda _sent, _got: None)
    with pytest.raises(Refused, match="no consent"):
        _distillery(store, tmp_path, consent=False).run(planned)


def test_a_command_answers_on_its_standard_output(store: SqliteStore, tmp_path: Path) -> None:
    _refused_pushes(store, forced=2, plain=60)
    told = {"is_rule": True, "scope": "project", "when": "git push", "do": "Do not force a push.", "dont": "--force"}
    script = tmp_path / "answer.py"
    script.write_text(f"import sys\nassert 'never force' in sys.stdin.read()\nprint({json.dumps(json.dumps(told))})\n")
    line = f"{sys.executable} {script}"
    distillery = _distillery(store, tmp_path, consent=False)
    planned = distillery.plan(f"command:{line}")
    assert (planned.asked, planned.usd) == (1, None)
    assert CommandModel(line).named("fast").startswith("command:")
    assert distillery.run(planned, f"command:{line}").verified == 1

"""Whether a lesson helped a unit: one question, asked of both arms, settled once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.gate.deadline import aimed_share, withheld_share
from ratchet.gate.effects import LessonCounts
from ratchet.improving.loop import lessons as lesson_trials
from ratchet.improving.report import report
from ratchet.lessons import credit, exposure
from ratchet.lessons import delivery as deliver
from ratchet.lessons.effect import lesson_effect
from ratchet.lessons.mined import mine_session
from ratchet.ports import Store
from ratchet.records import Json, Row
from ratchet.testing.stores import open_store

PUSH = ("Bash", "git push", "")
SESSION = "s-1"
OWN = "v1:own"


def call(number: float, *, ok: bool = True, step: tuple[str, str, str] = PUSH, **more: Json) -> Row:
    tool, head, target = step
    row: Row = {
        "id": f"o-{number}",
        "agent": "claude-code",
        "ok": ok,
        "started_at": float(number),
        "session": SESSION,
        "step": {"tool": tool, "head": head, "target": target},
        **more,
    }
    if not ok:
        row.setdefault("failure", {"message": "x", "signature": OWN})
    return row


def other(number: float, **more: Json) -> Row:
    return {**call(number, step=("Read", "read", f"/f{number}")), **more}


def shown(at: float, *, trigger: str = "", channel: str = "failure", **more: Json) -> Row:
    lesson: Row = {"id": "l-1", "pattern": "p-1"}
    row = exposure.row_of(lesson, SESSION, shown=True, share=0.8, channel=channel, at=at, trigger=trigger)
    return {**row, **more}


def judged(met: Row, *results: Row, steps: tuple[credit.StepKey, ...] = (PUSH,)) -> bool | None:
    def recurs(row: Row) -> bool:
        failure = row.get("failure")
        return isinstance(failure, dict) and failure.get("signature") == OWN

    return credit.judged(met, results, steps=steps, recurs=recurs)


# --- the question ---------------------------------------------------------------------------------------------------


def test_a_step_achieved_soon_after_its_failure_is_a_success() -> None:
    assert judged(shown(1.5, trigger="o-1"), call(1, ok=False), other(2), call(3)) is True


@pytest.mark.parametrize(("between", "succeeded"), [(7, True), (8, False)])
def test_it_must_be_achieved_within_eight_results_of_the_first_attempt(between: int, succeeded: bool) -> None:
    results = [call(1, ok=False), *(other(2 + i) for i in range(between)), call(50)]
    assert judged(shown(1.5, trigger="o-1"), *results) is succeeded


def test_results_of_other_threads_do_not_use_up_the_patience_but_may_achieve_the_step() -> None:
    elsewhere = [other(2 + i, thread="sub") for i in range(20)]
    assert judged(shown(1.5, trigger="o-1"), call(1, ok=False), *elsewhere, call(50)) is True
    assert judged(shown(1.5, trigger="o-1"), call(1, ok=False), *elsewhere, call(50, thread="sub")) is True


def test_a_failure_that_comes_back_is_a_failure_even_when_it_is_mended_later() -> None:
    assert judged(shown(1.5, trigger="o-1"), call(1, ok=False), call(2, ok=False), call(3)) is False


def test_what_was_achieved_may_fail_again_another_time() -> None:
    assert judged(shown(1.5, trigger="o-1"), call(1, ok=False), call(2), call(30, ok=False)) is True


def test_a_step_that_the_lesson_puts_in_its_place_achieves_it() -> None:
    met, other_way = shown(1.5, trigger="o-1"), ("Bash", "gh repo sync", "")
    assert judged(met, call(1, ok=False), call(2, step=other_way), steps=(PUSH, other_way)) is True
    start = shown(0.0, channel="session_start")
    assert judged(start, call(2, step=other_way), steps=(PUSH, other_way)) is True
    assert judged(start, call(2, step=other_way)) is None


def test_prevention_asks_whether_the_failure_came_and_cure_whether_it_was_overcome() -> None:
    followed = [call(1, ok=False), call(2)]
    assert judged(shown(0.0, channel="session_start"), *followed) is False
    assert judged(shown(1.5, trigger="o-1"), *followed) is True


def test_another_failure_on_the_way_is_allowed() -> None:
    stumble = call(2, ok=False, failure={"message": "y", "signature": "v1:other"})
    assert judged(shown(1.5, trigger="o-1"), call(1, ok=False), stumble, call(3)) is True


def test_giving_up_is_a_failure() -> None:
    assert judged(shown(1.5, trigger="o-1"), call(1, ok=False), other(2)) is False
    assert judged(shown(1.5, trigger="o-1"), call(1, ok=False)) is False


def test_another_file_or_command_does_not_achieve_the_step() -> None:
    failed = call(1, ok=False, step=("Edit", "edit", "/a"))
    assert judged(shown(1.5, trigger="o-1"), failed, call(2, step=("Edit", "edit", "/b"))) is False
    assert judged(shown(1.5, trigger="o-1"), failed, call(2, step=("Edit", "edit", "/a"))) is True


def test_from_a_sessions_start_on_the_first_attempt_counts() -> None:
    met = shown(0.0, channel="session_start")
    assert judged(met, other(1), call(2)) is True
    assert judged(met, other(1), call(2, ok=False), call(3)) is False
    assert judged(met, other(1), other(2)) is None
    assert judged(met) is None


def test_a_step_attempted_before_and_not_after_counts_as_failure() -> None:
    assert judged(shown(5.0, channel="recall"), call(1, ok=False), other(6)) is False
    assert judged(shown(5.0, channel="recall"), call(1, ok=False), call(6)) is True


def test_a_lesson_about_one_file_is_attempted_at_that_file_only() -> None:
    step = ("Edit", "edit", "/a")
    met = shown(0.0, channel="session_start")
    assert judged(met, call(1, step=("Edit", "edit", "/b")), steps=(step,)) is None
    assert judged(met, call(1, step=step), steps=(step,)) is True


def test_a_lost_record_of_the_trigger_is_replaced_by_the_last_such_failure() -> None:
    assert judged(shown(1.5, trigger="gone"), call(1, ok=False), call(2)) is True


def test_nothing_known_about_the_step_does_not_count() -> None:
    assert judged(shown(0.0, channel="session_start"), call(1), steps=()) is None


# --- settling -------------------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = open_store(tmp_path / "home")
    made.insert_new("lessons", [lesson("l-1"), lesson("l-2")])
    yield made
    made.close()


def pooled(store: Store) -> dict[float, LessonCounts]:
    return credit.pooled(credit.known(store).units)


def lesson(lesson_id: str) -> Row:
    return {
        "id": lesson_id, "state": "active", "scope": "global", "signature": OWN, "pattern": "p-1", "tool": "Bash",
        "head": "git push", "text": "do", "uses": 0, "wins": 0, "tried": 2, "worked": 2, "revision": 1,
    }  # fmt: skip


def test_an_ended_session_is_settled_once_and_counts_uses_and_wins(store: Store) -> None:
    store.insert_new("exposures", [shown(1.5, trigger="o-1")])
    store.insert_new("outcomes", [call(1, ok=False), call(2)])
    assert credit.settle(store, now=10.0) == credit.Settled()
    assert credit.settle(store, now=10.0, ended={SESSION}) == credit.Settled(counted=1)
    assert credit.settle(store, now=10.0, ended={SESSION}) == credit.Settled()
    row = store.get("lessons", "l-1") or {}
    assert (row["uses"], row["wins"]) == (1, 1)
    assert pooled(store) == {0.8: LessonCounts(1, 0, 0, 0)}


def test_a_session_that_nobody_ended_is_settled_at_its_deadline(store: Store) -> None:
    store.insert_new("exposures", [shown(1.5, trigger="o-1", arm="control")])
    store.insert_new("outcomes", [call(1, ok=False)])
    credit.settle(store, now=86_401.0)
    assert credit.open_units(store) == 1
    credit.settle(store, now=86_402.0)
    assert pooled(store) == {0.8: LessonCounts(0, 0, 0, 1)}
    assert (store.get("lessons", "l-1") or {})["uses"] == 0


def test_a_unit_that_met_two_lessons_counts_once_in_the_pool_and_for_each_lesson(store: Store) -> None:
    first = shown(1.5, trigger="o-1")
    store.insert_new("exposures", [first, {**first, "trial": "l-2", "at": 2.5}])
    store.insert_new("outcomes", [call(1, ok=False), call(2)])
    assert credit.settle(store, now=10.0, ended={SESSION}) == credit.Settled(counted=1)
    assert pooled(store) == {0.8: LessonCounts(1, 0, 0, 0)}
    assert credit.by_lesson(credit.known(store).units) == {
        "l-1": {0.8: LessonCounts(1, 0, 0, 0)},
        "l-2": {0.8: LessonCounts(1, 0, 0, 0)},
    }


def test_what_was_never_attempted_is_settled_and_does_not_count(store: Store) -> None:
    store.insert_new("exposures", [shown(0.5, channel="session_start")])
    store.insert_new("outcomes", [other(1)])
    assert credit.settle(store, now=10.0, ended={SESSION}) == credit.Settled(not_attempted=1)
    assert pooled(store) == {}
    assert credit.not_attempted(store) == 1


def test_a_lesson_in_other_words_is_judged_by_the_step_of_the_failures_that_asked_for_it(store: Store) -> None:
    written: Row = {**lesson("l-3"), "signature": "v1:worded-otherwise", "pattern": "p-3", "tool": "", "head": ""}
    store.insert_new("lessons", [written])
    asked: Row = {"id": "l-3", "pattern": "p-3"}

    failed = exposure.row_of(asked, "s-1", shown=False, share=0.5, channel="failure", at=1.5, trigger="o-1")
    store.insert_new("exposures", [failed])
    store.insert_new("outcomes", [call(1, ok=False, session="s-1")])
    credit.settle(store, now=10.0, ended={"s-1"})
    start = exposure.row_of(asked, "s-2", shown=True, share=0.5, channel="session_start", at=20.0, trigger="")
    store.insert_new("exposures", [start])
    store.insert_new("outcomes", [call(21, session="s-2")])
    assert credit.settle(store, now=30.0, ended={"s-2"}) == credit.Settled(counted=1)  # as a failure would be counted
    assert pooled(store) == {0.5: LessonCounts(1, 0, 0, 1)}


def test_a_merged_signature_is_the_same_failure(store: Store) -> None:
    store.insert_new("signatures", [{"signature": "v1:near", "pattern": "p-1", "revision": 1}])
    store.insert_new("exposures", [shown(1.5, trigger="o-1")])
    near = call(2, ok=False, failure={"message": "z", "signature": "v1:near"})
    store.insert_new("outcomes", [call(1, ok=False), near, call(3)])
    credit.settle(store, now=10.0, ended={SESSION})
    assert pooled(store) == {0.8: LessonCounts(0, 1, 0, 0)}


def test_a_persons_note_without_a_step_is_judged_by_the_steps_that_failed_so(store: Store) -> None:
    note = {**lesson("l-3"), "tool": "", "head": ""}
    store.insert_new("lessons", [note])
    store.insert_new("outcomes", [call(1, ok=False), call(2)])
    store.insert_new("exposures", [shown(1.5, channel="session_start", trial="l-3")])
    credit.settle(store, now=10.0, ended={SESSION})
    assert credit.by_lesson(credit.known(store).units) == {"l-3": {0.8: LessonCounts(1, 0, 0, 0)}}


def test_units_are_counted_in_the_order_of_their_exposure(store: Store) -> None:
    """A unit whose session still runs holds back those after it: quick verdicts must not be counted first."""
    for number, session in enumerate(("a", "b", "c")):
        row = shown(float(number), channel="session_start", session=session, unit=f"{session}/p-1")
        store.insert_new("exposures", [row])
        store.insert_new("outcomes", [call(number + 0.5, session=session)])
    credit.settle(store, now=10.0, ended={"a", "c"})
    assert pooled(store) == {0.8: LessonCounts(1, 0, 0, 0)}
    assert credit.held_back(store) == 1
    credit.settle(store, now=10.0, ended={"b"})
    assert pooled(store) == {0.8: LessonCounts(3, 0, 0, 0)}
    assert credit.held_back(store) == 0


# --- other channels, and the report ---------------------------------------------------------------------------------


def test_every_channel_obeys_the_coin_and_journals_both_arms(store: Store, tmp_path: Path) -> None:
    journal: list[Row] = []

    def keep(row: Row) -> bool:
        journal.append(row)
        return True

    arms = {}
    for number in range(60):
        session = f"session {number}"
        got = deliver.obeyed(
            store, tmp_path / "home", session, ["l-1", "gone", "l-2"], channel="recall", now=1.0, append=keep
        )
        arms[session] = got == ["l-1", "l-2"]
        assert got in (["l-1", "l-2"], [])
        assert exposure.toss(str(tmp_path / "home"), session, "p-1") == (arms[session], 0.8)
    assert 0.6 < sum(arms.values()) / 60 < 1
    assert len(journal) == 120
    assert {row["arm"] for row in journal} == {"new", "control"}


def test_what_cannot_be_journalled_is_not_shown(store: Store, tmp_path: Path) -> None:
    got = [
        deliver.obeyed(
            store, tmp_path / "home", str(number), ["l-1"], channel="recall", now=1.0, append=lambda row: False
        )
        for number in range(20)
    ]
    assert got == [[]] * 20


def test_the_report_shows_the_pool_first_and_says_when_it_knows_too_little(store: Store) -> None:
    empty = report(store, withheld_share=0.2)
    assert empty.pooled.verdict == "not enough data yet"
    assert empty.lessons == ()
    for number in range(10):
        session = f"s{number}"
        arm = "control" if number % 5 == 0 else "new"
        store.insert_new("exposures", [shown(1.0, session=session, unit=f"{session}/p-1", arm=arm, channel="recall")])
        store.insert_new("outcomes", [{**call(2 + number / 100, ok=arm == "new"), "session": session}])
    credit.settle(store, now=10.0, ended={f"s{number}" for number in range(10)})
    found = report(store, withheld_share=0.2)
    assert (found.pooled.shown, found.pooled.withheld) == (8, 2)
    assert found.pooled.verdict == "not enough data yet"
    (one,) = found.lessons
    assert (one.id, one.text, one.counts) == ("l-1", "do", LessonCounts(8, 0, 0, 2))
    assert lesson_effect(store, "l-1") == one
    assert lesson_effect(store, "l-2") is None


def test_publishing_tells_hooks_the_active_lessons_and_the_share(store: Store, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert deliver.publish(store, home, withheld_share=0.3, proven_withheld_share=0.05) == 0.3
    said = exposure.published(str(home))
    assert (said.active, said.withheld) == (2, 0.3)
    for number in range(200):
        session = f"s{number}"
        arm = "control" if number % 5 == 0 else "new"
        store.insert_new("exposures", [shown(1.0, session=session, unit=f"{session}/p-1", arm=arm, channel="recall")])
        store.insert_new("outcomes", [{**call(2 + number / 1000, ok=arm == "new"), "session": session}])
    credit.settle(store, now=10.0, ended={f"s{number}" for number in range(200)})
    assert deliver.publish(store, home, withheld_share=0.3, proven_withheld_share=0.05) == 0.05
    assert exposure.published_effects(str(home))["l-1"] > 0.3


def test_a_home_that_cannot_be_written_costs_the_report_a_warning_only(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "hook").write_text("a file where the folder belongs", encoding="utf-8")
    assert deliver.publish(store, tmp_path, withheld_share=0.3, proven_withheld_share=0.05) == 0.3
    (said,) = caplog.messages
    assert str(tmp_path) in said
    assert "hooks go on" in said


def test_the_share_of_a_session_survives_two_first_tosses_at_once(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    exposure.publish(home, active=1, withheld=0.1, effects={})
    assert exposure.shown_share(home, "s") == 0.9
    exposure.publish(home, active=1, withheld=0.5, effects={})
    assert exposure.shown_share(home, "s") == 0.9
    assert exposure.shown_share(home, "t") == 0.5
    assert exposure.salt_of(home) == exposure.salt_of(home)
    exposure.forget_sessions(home, older_than_s=-1)
    assert exposure.shown_share(home, "s") == 0.5


def settled(store: Store, number: int, *, arm: str, start: bool, results: list[Row], share: float = 0.5) -> None:
    """A session that met the lesson at its start (if `start`) and in its failing turn, and has ended."""
    session = f"s{number}"
    rows = []
    lesson: Row = {"id": "l-1", "pattern": "p-1", "text": "x" * 4000}
    for channel, at, trigger in (("session_start", 0.0, ""), ("failure", 1.5, f"{session}-1")):
        row = exposure.row_of(
            lesson, session, shown=arm == "new", share=share, channel=channel, at=number + at / 10, trigger=trigger
        )
        rows += [row] if channel == "failure" or start else []
    if all(row["ok"] for row in results):
        rows = [row for row in rows if row["channel"] != "failure"]
    store.insert_new("exposures", rows)
    moved = [
        {**row, "id": f"{session}-{i + 1}", "session": session, "started_at": number + (i + 1) / 10}
        for i, row in enumerate(results)
    ]
    store.insert_new("outcomes", moved)
    credit.settle(store, now=1e6, ended={session})


def test_shown_at_the_start_failed_once_followed_and_worked_is_a_success_of_the_cure(store: Store) -> None:
    settled(store, 1, arm="new", start=True, results=[call(1, ok=False), call(2)])
    found = report(store, withheld_share=0.2)
    assert (found.prevention.shown, found.prevention.shown_ok) == (1, 0)
    assert (found.cure.shown, found.cure.shown_ok) == (1, 1)
    assert "1 had been told before the step, too (1 got past it)" in found.lines[1]


def test_a_cure_is_compared_among_units_whose_prevention_arm_was_the_same(store: Store) -> None:
    stuck, mended = [call(1, ok=False), call(2, ok=False)], [call(1, ok=False), call(2)]
    for number in range(40):  # told at the start: those who fail all the same are the hard cases, and stay stuck
        settled(store, number, arm=("new", "control")[number % 2], start=True, results=(stuck, mended)[number % 2])
    misled = report(store, withheld_share=0.2)
    assert (misled.cure.shown, misled.cure.withheld) == (20, 20)
    assert (misled.cure.estimate, misled.cure.evidence) == (None, 1.0)
    assert "nothing to compare yet" in misled.lines[1]
    for number in range(100, 200):  # told nothing before: here the coin compares
        settled(store, number, arm=("new", "control")[number % 2], start=False, results=(mended, stuck)[number % 2])
    found = report(store, withheld_share=0.2)
    assert found.cure.estimate == 1.0
    assert found.cure.verdict == "helps"
    assert "100 points better (95 % interval" in found.lines[1]


def test_exposures_of_before_are_read_as_what_their_channel_did(store: Store) -> None:
    old = shown(0.5, channel="session_start", unit=f"{SESSION}/p-1")
    del old["tokens"]
    store.insert_new("exposures", [{**old, "settled": True, "ok": False}])
    found = report(store, withheld_share=0.2)
    assert (found.prevention.shown, found.cure.shown) == (1, 0)


def test_the_first_sentence_tells_how_often_the_failure_came(store: Store) -> None:
    for number in range(60):
        came = [call(1, ok=False)] if number % 2 and number % 3 else [call(1)]
        settled(store, number, arm=("new", "control")[number % 2], start=True, results=came)
    line = report(store, withheld_share=0.2).lines[0]
    assert line.startswith(
        "Told before the step, the failure came in 0 of 30 cases; untold, in 20 of 30: 67 points better"
    )
    assert line.endswith("valid however often you look); helps.")


def test_what_agents_read_of_a_lesson_is_set_against_what_it_saved(store: Store) -> None:
    store.insert_new("resolutions", [
        {"id": "r", "lesson_id": "l-1", "wasted_tokens": 900, "failed_tokens": 100, "revision": 1}
    ])  # fmt: skip
    mended = [call(1, ok=False), call(2)]
    for number in range(60):  # it helps nobody, and is long
        settled(store, number, arm=("new", "control")[number % 2], start=False, results=mended)
    one = lesson_effect(store, "l-1")
    assert one is not None
    assert one.net is not None
    assert one.net.read == 30 * exposure.tokens_of({"text": "x" * 4000}) * 2  # again at the step after
    assert one.net.saved == pytest.approx(30 * 900 * one.effect.estimate)
    assert lesson_trials.settle(store, now=1e6) == ["l-1"]
    assert "costs more than it saves: agents read 62,400 tokens" in str((store.get("lessons", "l-1") or {})["reason"])


def test_half_go_without_only_while_that_can_answer_a_question() -> None:
    shares = [withheld_share(1.0, tossed, share=0.2, proven_share=0.05) for tossed in (0, 19, 20, 249, 250)]
    assert shares == [0.2, 0.2, 0.5, 0.5, 0.2]
    assert withheld_share(21.0, 100, share=0.2, proven_share=0.05) == 0.05
    assert withheld_share(21.0, 100, share=0.0, proven_share=0.05) == 0.0
    assert [withheld_share(1.0, 100, share=share, proven_share=0.05) for share in (0.0, 0.01, 0.1, 0.6)] == [
        0.0, 0.1, 0.25, 0.6,
    ]  # fmt: skip


def test_a_failure_that_is_only_similar_came_all_the_same(store: Store) -> None:
    other_words = call(1, ok=False, failure={"message": "y", "signature": "v1:similar"})
    settled(store, 1, arm="new", start=True, results=[other_words, call(2)])
    found = report(store, withheld_share=0.2)
    assert (found.prevention.shown, found.prevention.shown_ok) == (1, 0)
    assert (found.cure.shown, found.cure.shown_ok) == (1, 1)


def test_the_coin_is_aimed_where_an_arm_of_a_pattern_is_short_and_a_session_keeps_its_aim(
    store: Store, tmp_path: Path
) -> None:
    home = str(tmp_path / "home")
    stuck = [call(1, ok=False), call(2, ok=False)]
    for number in range(12):
        settled(store, number, arm="new", start=False, results=stuck, share=0.8)
    assert deliver.publish(store, tmp_path / "home", withheld_share=0.2, proven_withheld_share=0.05) == 0.2
    assert exposure.toss(home, "s", "p-1")[1] == 0.5
    assert exposure.toss(home, "s", "p-2")[1] == 0.8
    exposure.publish(home, active=1, withheld=0.2, effects={})
    assert exposure.toss(home, "s", "p-1")[1] == 0.5
    assert exposure.toss(home, "t", "p-1")[1] == 0.8
    exposure.forget_sessions(home, older_than_s=-1)
    assert exposure.toss(home, "s", "p-1")[1] == 0.8


def test_an_arm_is_short_beside_the_other_one() -> None:
    arms = [(9, 0), (10, 0), (12, 7), (30, 9), (30, 10), (0, 12), (7, 12)]
    assert [aimed_share(*each, share=0.2) for each in arms] == [None, 0.5, None, 0.5, None, 0.1, None]
    assert aimed_share(100, 0, share=0.0) is None


# --- what was known before ------------------------------------------------------------------------------------------


def test_failures_before_there_were_lessons_are_counted_by_how_they_ended() -> None:
    again: Row = {"failure": {"message": "y", "signature": "v1:other"}}
    denied: Row = {"failure": {"message": "z", "signature": "v1:denied", "kind": "user_denied"}}
    rows = [
        call(1, ok=False),
        call(2),
        call(3, ok=False),  # the same failure once more: a session tells of it once
        {**call(4, ok=False), **again},
        *(other(number) for number in range(5, 15)),
        {**call(20, ok=False), **denied},
        {**call(21, ok=False, step=("Edit", "edit", "/f")), **again},
    ]
    assert credit.endings(rows) == {"Bash git push": (2, 1)}
    assert credit.endings([call(1)]) == {}


def test_what_is_expected_of_a_failure_is_written_down_with_its_coin(store: Store, tmp_path: Path) -> None:
    home = tmp_path / "home"
    lesson: Row = {"id": "l-1", "pattern": "p-1", "tool": "Bash", "head": "git push"}

    def met(channel: str) -> Row:
        expected = exposure.expected(str(home), lesson)
        return exposure.row_of(
            lesson, "s", shown=True, share=0.5, channel=channel, at=1e5, trigger="", expected=expected
        )

    assert "expected" not in met("failure")
    for number in range(100):  # one in four is overcome
        rows = [call(1, ok=False), call(2, ok=number % 4 == 0)]
        rows = [{**row, "id": f"{number}-{row['id']}", "session": f"s{number}"} for row in rows]
        store.insert_new("outcomes", rows)
        mine_session(store, f"s{number}", now=1.0)
    deliver.publish(store, home, withheld_share=0.2, proven_withheld_share=0.05)
    assert met("failure")["expected"] == pytest.approx(0.25, abs=0.03)
    assert "expected" not in met("session_start")  # of whether it comes at all, their ends tell nothing
    store.insert_new("exposures", [{**met("failure"), "settled": True, "ok": True}])
    (unit,) = credit.known(store).of(exposure.CURE)
    assert unit.expected == met("failure")["expected"]


def test_a_session_that_met_a_coin_says_nothing_of_what_was_before(store: Store) -> None:
    store.insert_new("outcomes", [call(1, ok=False), call(2)])
    mine_session(store, SESSION, now=1.0)
    assert store.sum_by("endings", (), ("met", "overcome")) == [{"met": 1, "overcome": 1}]
    store.insert_new("exposures", [shown(1.5, trigger="o-1")])
    mine_session(store, SESSION, now=2.0)
    assert store.find("endings", {}).rows == []

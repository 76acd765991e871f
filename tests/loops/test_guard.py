"""Trials: opened once for a target, settled by the gate, the same whoever looks and whenever they crash."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ratchet.errors import Refused, UsageError
from ratchet.ids import CALL
from ratchet.improving.trials import homes
from ratchet.improving.trials.arms import FILE, OpenTrials
from ratchet.improving.trials.evidence import evidence
from ratchet.improving.trials.publishing import publish
from ratchet.improving.trials.settle import settle_units
from ratchet.improving.trials.trials import trial, trials
from ratchet.lessons import learning
from ratchet.records import Row, Trial, number_in
from ratchet.serving.shapes.shape import json_of
from ratchet.serving.shapes.trials import EvidenceShape, SettledShape
from ratchet.store.timeline import events
from support.worlds import AGENT, World, rates, verbs


def opened(world: World, **new: object) -> Trial:
    world.run(rates(0.8, 0.8), 150)
    return world.guard.open(world.change(**(new or {"max_retries": 3})), now=world.now)


def test_a_better_change_is_kept_and_put_in_force(world: World) -> None:
    held = opened(world)
    world.run(rates(0.6, 0.96), 3_000, trial_id=held.id)
    done = trial(world.store, held.id)
    assert done.state == "kept"
    assert world.settings(AGENT).current().values == {"max_retries": 3}
    assert verbs(events(world.store, held.id)) == ["planned", "opened", "decided", "kept"]


def test_a_worse_change_is_reverted_and_was_never_in_force_for_all(world: World) -> None:
    held = opened(world)
    world.run(rates(0.9, 0.5), 3_000, trial_id=held.id)
    done = trial(world.store, held.id)
    assert done.state == "reverted"
    assert done.reason.startswith("proven worse")
    assert world.settings(AGENT).current().number == 0


def test_a_decision_tells_the_evidence_and_the_units_with_which_it_was_reached(world: World) -> None:
    """The loop slept while the runs came, and those after the crossing say less than the threshold."""
    world.run(rates(0.8, 0.8), 150)
    held = world.guard.open(world.change(max_retries=3), now=world.now, ramp=False)
    world.run(rates(0.9, 0.1), 60)
    world.run(rates(0.1, 0.9), 100)
    done = world.guard.advance(held.id, now=world.now + held.deadline_s)
    said = world.guard.evidence(held.id, now=world.now + held.deadline_s)
    assert done.state == "reverted"
    assert said.against < said.threshold
    assert said.crossing is not None
    assert said.crossing.e_value >= said.threshold
    assert done.reason == (
        f"proven worse: evidence {said.crossing.e_value:.3g} after {said.crossing.units} units (20 decides)"
    )
    shown = json_of(EvidenceShape.built(said))
    assert shown["crossing"] == {"units": said.crossing.units, "e_value": said.crossing.e_value}
    settled = json_of(SettledShape.built(done))
    assert (settled["decided_units"], settled["decided_evidence"]) == (said.crossing.units, said.crossing.e_value)


def test_a_slower_change_that_declares_the_trade_is_kept(world: World) -> None:
    world.run(rates(0.8, 0.8), 150)
    change = world.change(max_retries=3)
    held = world.guard.open(replace(change, trade={"latency": 3.0}), now=world.now)

    def slow(version: object, draw: float) -> tuple[bool, float]:
        new = bool(getattr(version, "values", None))
        return draw < (0.96 if new else 0.6), 2.5 if new else 1.0

    world.run(slow, 3_000, trial_id=held.id)
    assert trial(world.store, held.id).state == "kept"


def test_what_tells_nothing_ends_undecided_and_the_old_values_stay(world: World) -> None:
    held = opened(world)
    world.run(rates(0.9, 0.9), 300, trial_id=held.id)
    world.now += 15 * 86_400
    done = world.guard.advance(held.id, now=world.now)
    assert done.state == "undecided"
    assert world.settings(AGENT).current().number == 0


def test_a_second_trial_on_a_target_is_refused_with_the_remedy(world: World) -> None:
    held = opened(world)
    with pytest.raises(Refused, match=f"ratchet trials stop {held.id}"):
        world.guard.open(world.change(backoff_s=2.0), now=world.now)
    world.guard.stop(held.id, now=world.now)
    assert world.guard.open(world.change(backoff_s=2.0), now=world.now).state == "open"


def test_a_value_out_of_bounds_opens_nothing(world: World) -> None:
    with pytest.raises(UsageError, match="max_retries"):
        world.guard.open(world.change(max_retries=99), now=world.now)
    assert trials(world.store) == []


def test_an_agent_that_often_fails_goes_on_after_a_pause(world: World) -> None:
    held = opened(world)
    world.run(rates(0.4, 0.4), 800, trial_id=held.id)
    world.run(rates(0.0, 0.0), 60)
    world.now += 700
    world.drain()
    assert world.guard.advance(held.id, now=world.now).state == "paused"
    for number in range(8):
        world.call(rates(1.0, 1.0) if number % 2 == 0 else rates(0.0, 0.0))
    world.drain()
    assert world.guard.advance(held.id, now=world.now).state == "open"


@pytest.mark.parametrize(
    "wrong",
    [
        {"metric": "beauty"},
        {"trade": {"latency": -3.0}},
        {"trade": {"latncy": 3.0}},
        {"trade": {"latency": float("nan")}},
        {"neutral_ok": True, "margin": 0.5},
    ],
    ids=str,
)
def test_what_the_gate_cannot_weigh_opens_nothing(world: World, wrong: dict[str, object]) -> None:
    world.run(rates(0.8, 0.8), 150)
    with pytest.raises((UsageError, Refused)):
        world.guard.open(replace(world.change(max_retries=3), **wrong), now=world.now)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="deadline_s"):
        world.guard.open(world.change(max_retries=3), now=world.now, deadline_s=-1.0)
    assert trials(world.store) == []
    assert world.guard.open(world.change(max_retries=3), now=world.now).state == "open"


def test_one_unit_whose_figures_leave_the_range_of_numbers_does_not_stop_its_trial(world: World) -> None:
    world.run(rates(0.8, 0.8), 150)
    for _ in range(30):
        world.call(rates(0.8, 0.8), cost_usd=0.01)
    world.drain()
    held = world.guard.open(world.change(max_retries=3), now=world.now)
    assert "cost" in held.metrics
    for _ in range(2):
        world.call(rates(1.0, 1.0), unit="customer-17", cost_usd=1.7e308)
    world.drain()
    world.now += 2 * 86_400
    said = evidence(world.store, held, now=world.now)
    assert said.new.units + said.old.units == 1


def test_an_outage_in_both_arms_pauses_the_trial_and_it_goes_on_afterwards(world: World) -> None:
    held = opened(world)
    world.run(rates(0.9, 0.9), 800, trial_id=held.id)
    before = evidence(world.store, held, now=world.now)
    assert before.new.ok
    assert before.old.ok
    world.run(rates(0.0, 0.0), 60)
    world.now += 700
    world.drain()
    paused = world.guard.advance(held.id, now=world.now)
    assert paused.state == "paused"
    assert world.trials.arm_of("settings:" + AGENT, f"{CALL}while-paused") is None
    world.run(rates(1.0, 1.0), 20)
    resumed = world.guard.advance(held.id, now=world.now)
    assert resumed.state == "open"
    assert verbs(events(world.store, held.id))[-2:] == ["paused", "resumed"]


def test_an_outage_that_is_over_pauses_a_trial_once_however_long_its_units_take_to_count(world: World) -> None:
    held = opened(world)
    world.run(rates(0.9, 0.9), 800, trial_id=held.id)
    world.run(rates(0.0, 0.0), 60)
    world.now += 700
    world.drain()
    world.guard.advance(held.id, now=world.now)
    for _ in range(20):
        world.run(rates(1.0, 1.0), 30)
        world.guard.advance(held.id, now=world.now)
    assert verbs(events(world.store, held.id)).count("paused") == 1
    world.run(rates(0.0, 0.0), 60)
    world.now += 700
    world.drain()
    assert world.guard.advance(held.id, now=world.now).state == "paused"  # another outage pauses it again


def test_an_exposure_without_an_outcome_is_a_failure_from_its_deadline_on(world: World) -> None:
    held = opened(world)

    def hangs(version: object, draw: float) -> tuple[bool, float]:
        new = bool(getattr(version, "values", None))
        return draw < 0.95, 1e9 if new else 1.0  # ends long after its deadline

    world.run(hangs, 3_000, trial_id=held.id)
    done = trial(world.store, held.id)
    assert done.state == "reverted"
    assert done.figures["new"] == {"units": done.figures["new"]["units"], "ok": 0}  # type: ignore[index, call-overload]


def test_a_call_counts_once_it_and_all_that_started_before_it_have_ended(world: World) -> None:
    held = opened(world)
    world.run(rates(1.0, 1.0), 50)
    assert counted(world, held) == 49  # the last one ends a second after it started, and that is now
    world.call(lambda version, draw: (True, 300.0))
    world.run(rates(1.0, 1.0), 200)
    assert counted(world, held) == 50
    world.now += 101
    world.drain()
    assert counted(world, held) == 251


def test_a_call_that_never_ends_holds_the_others_up_to_its_deadline_and_has_failed_then(world: World) -> None:
    held = opened(world)
    world.call(lambda version, draw: (True, 1e9))
    world.run(rates(1.0, 1.0), 100)
    assert counted(world, held) == 0
    world.now += held.deadline_s
    world.drain()
    said = evidence(world.store, held, now=world.now)
    assert said.new.units + said.old.units == 101
    assert said.new.ok + said.old.ok == 100


def test_a_prefix_that_was_read_never_changes_whatever_a_drain_finds_late(world: World) -> None:
    held = opened(world)
    world.run(rates(0.7, 0.7), 60)
    before = evidence(world.store, held, now=world.now)
    world.now -= 40  # a clock that was set back, or a call that stood between its clock and its journal
    for _ in range(10):
        world.call(rates(0.0, 0.0))
    world.now += 40
    world.drain()
    after = evidence(world.store, held, now=world.now)
    assert after.curve[: len(before.curve)] == before.curve
    assert after.new.units + after.old.units > before.new.units + before.old.units


def test_a_session_counts_once_it_is_silent_and_what_it_does_later_changes_nothing(world: World) -> None:
    for number in range(150):
        world.call(rates(0.8, 0.8), session=f"earlier-{number}", unit=f"earlier-{number}")
    world.drain()
    held = world.guard.open(world.change(max_retries=3), now=world.now, unit="session")
    assert (held.deadline_s, held.quiet_s) == (86_400.0, 420.0)  # its guarded call may take so long
    for ok in (1.0, 0.0, 1.0):
        world.call(rates(ok, ok), unit="s1")
    world.call(rates(0.0, 0.0), unit="s2")
    world.drain()
    assert counted(world, held) == 0
    world.now += held.quiet_s + 2
    world.drain()
    said = evidence(world.store, held, now=world.now)
    assert said.new.units + said.old.units == 2
    assert said.new.ok + said.old.ok == 1  # s1 has failed in between, and s2 at its last
    world.call(rates(0.0, 0.0), unit="s1")
    world.call(rates(1.0, 1.0), unit="s2")
    world.drain()
    later = evidence(world.store, held, now=world.now)
    assert (later.new, later.old) == (said.new, said.old)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (3, 0, 2, 1)], ids=str)
def test_the_calls_of_a_session_may_reach_the_store_in_any_order(world: World, order: tuple[int, ...]) -> None:
    held = world.guard.open(world.change(max_retries=3), now=world.now, unit="session")
    for spacing_s, ok in ((1.0, 1.0), (300.0, 0.0), (300.0, 1.0), (500.0, 0.0)):
        world.spacing_s = spacing_s
        world.call(rates(ok, ok), unit="s1")
    rows, world.rows = world.rows, []
    world.drain()
    world.rows = [rows[each] for each in order]
    for _ in range(4):
        rest, world.rows = world.rows[1:], world.rows[:1]
        with world.store.transaction():
            learning.take(world.store, world.rows, settle_units)
        world.rows = rest
    row = world.store.get("exposures", (held.id, "s1")) or {}
    assert (row["ok"], row["calls"], row["duration_s"]) == (True, 3, 3.0)


def test_units_are_read_no_further_than_every_home_has_told_and_a_silent_one_until_the_deadline(
    world: World, tmp_path: Path
) -> None:
    held = opened(world)
    other = str(tmp_path / "other")
    publish(world.store, other)
    world.run(rates(0.9, 0.9), 100)
    assert counted(world, held) == 0  # that one may have met it at its first moment
    homes.drained(world.store, other, world.now - 50)
    assert counted(world, held) == 49
    world.now += held.deadline_s + 2
    world.drain()
    assert counted(world, held) == 100
    world.guard.advance(held.id, now=world.now)
    assert homes.known_until(world.store, other) == world.now - held.deadline_s
    late: list[Row] = [{"at": world.now - 900, "due_at": world.now - 300, "channel": "trial"}]
    (placed,) = homes.placed(late, homes.known_until(world.store, other))
    assert number_in(placed, "at") > world.now - held.deadline_s
    assert number_in(placed, "due_at") > world.now


def test_a_home_of_a_shared_store_that_has_no_agent_is_waited_for_by_nobody(world: World, tmp_path: Path) -> None:
    held = opened(world)
    elsewhere = tmp_path / "laptop"
    assert [each.id for each in publish(world.store, str(elsewhere), joins=False)] == [held.id]
    assert not elsewhere.exists()
    world.run(rates(0.9, 0.9), 100)
    assert counted(world, held) == 99


def test_a_change_to_what_is_there_already_is_refused(world: World) -> None:
    world.settings(AGENT).change({"backoff_s": 2.0}, who="person")
    for values in ({"max_retries": 0}, {"backoff_s": 2, "model": "large"}):
        with pytest.raises(Refused, match="already"):
            world.guard.open(world.change(**values), now=world.now)
    assert world.guard.open(world.change(max_retries=0, backoff_s=3.0), now=world.now).state == "open"


def test_a_young_but_busy_agent_ramps_and_one_that_turns_out_to_be_quiet_no_longer(world: World) -> None:
    world.spacing_s = 30.0
    world.run(rates(0.9, 0.9), 30)
    held = world.guard.open(world.change(max_retries=3), now=world.now)
    assert held.share == 0.1
    world.spacing_s = 7_200.0
    world.run(rates(0.9, 0.9), 12, look_every=1, trial_id=held.id)
    assert trial(world.store, held.id).share == 0.5


def counted(world: World, held: Trial) -> int:
    said = evidence(world.store, held, now=world.now)
    return said.new.units + said.old.units


def test_counts_add_up_to_the_exposures_journalled(world: World) -> None:
    held = opened(world)
    world.run(rates(0.9, 0.9), 700)
    said = evidence(world.store, held, now=world.now)
    assert said.exposures == 700
    assert said.new.units + said.old.units + said.waiting == 700
    assert sum(sum(cells) for cells in said.counts.values()) == said.new.units + said.old.units


def test_a_unit_keeps_its_arm_for_life_whatever_the_ramp_does_and_in_every_process(world: World) -> None:
    held = opened(world)
    target = "settings:" + AGENT
    world_trials = world.trials
    row = json.loads((world.home / FILE).read_text())
    row["trials"][0] |= {"unit": "session", "sticky": True}
    (world.home / FILE).write_text(json.dumps(row))
    world.now += 2
    first = {f"s{i}": world_trials.arm_of(target, f"s{i}") for i in range(200)}
    row["trials"][0]["share"] = 0.5
    (world.home / FILE).write_text(json.dumps(row) + " ")
    world.now += 2
    other = OpenTrials(str(world.home), world.append)
    assert held.share == 0.1
    assert {unit: world_trials.arm_of(target, unit) for unit in first} == first
    assert {unit: other.arm_of(target, unit) for unit in first} == first
    new = sum(bool(other.arm_of(target, f"later{i}").values) for i in range(200))  # type: ignore[union-attr]
    assert new > 60


def test_a_session_keeps_its_arm_in_every_process_also_where_most_units_are_calls(world: World) -> None:
    held = opened(world)
    assert (held.unit, held.share) == ("call", 0.1)
    target = "settings:" + AGENT
    world.now += 2
    first = {f"s{i}": world.trials.arm_of(target, f"s{i}") for i in range(200)}
    world.run(rates(0.9, 0.9), 150, trial_id=held.id)
    assert trial(world.store, held.id).share == 0.5
    world.now += 2
    other = OpenTrials(str(world.home), world.append)
    assert {unit: other.arm_of(target, unit) for unit in first} == first


def test_what_the_units_of_a_settled_trial_kept_is_forgotten_even_after_a_crash(world: World) -> None:
    held = opened(world)
    world.now += 2
    world.trials.arm_of("settings:" + AGENT, "s1")
    kept = world.home / "trials"
    assert [each.name for each in kept.iterdir()] == [held.id]
    world.guard.stop(held.id, now=world.now)
    assert list(kept.iterdir()) == []
    (kept / held.id).mkdir()  # a process that had not heard of the end yet
    (kept / held.id / "0123").write_text("0.1")
    world.guard.repair(now=world.now)
    assert list(kept.iterdir()) == []


def test_a_call_under_way_names_its_trial_however_many_units_came_after_it(world: World) -> None:
    held = opened(world)
    target = "settings:" + AGENT
    world.now += 2
    for number in range(4_090):
        world.trials.arm_of(target, f"s{number}")
    world.trials.arm_of(target, f"{CALL}under-way")
    for number in range(50):
        world.trials.arm_of(target, f"more{number}")
    assert world.trials.met_by(AGENT, f"{CALL}under-way", (target,)) == {held.id: f"{CALL}under-way"}


def test_the_exposure_is_journalled_before_the_arm_is_known_and_without_a_journal_there_is_none(world: World) -> None:
    opened(world)
    target = "settings:" + AGENT
    lost: list[Row] = []

    def refuse(row: Row) -> bool:
        lost.append(row)
        return False

    blind = OpenTrials(str(world.home), refuse)
    assert blind.arm_of(target, f"{CALL}1") is None
    assert len(lost) == 1


def test_a_damaged_file_of_open_trials_means_that_none_is_open(world: World) -> None:
    opened(world)
    (world.home / FILE).write_text("{")
    world.now += 2
    assert world.trials.arm_of("settings:" + AGENT, f"{CALL}1") is None
    (world.home / FILE).unlink()
    world.guard.repair(now=world.now)
    world.now += 2
    assert world.trials.arm_of("settings:" + AGENT, f"{CALL}1") is not None


def test_a_key_that_a_person_changes_during_the_trial_is_theirs(world: World) -> None:
    held = opened(world)
    world.settings(AGENT).change({"max_retries": 7}, who="person")
    done = world.guard.advance(held.id, now=world.now)
    assert done.state == "undecided"
    assert "somebody changed the same keys" in done.reason
    assert world.settings(AGENT).current().values == {"max_retries": 7}


def test_another_key_that_a_person_changes_holds_in_both_arms_and_the_trial_goes_on(world: World) -> None:
    held = opened(world)
    world.settings(AGENT).change({"timeout_s": 10.0}, who="person")
    assert world.guard.advance(held.id, now=world.now).state == "open"
    world.now += 2
    other = OpenTrials(str(world.home), lambda row: True)
    got = [other.arm_of("settings:" + AGENT, f"{CALL}{i}") for i in range(100)]
    assert {tuple(sorted(version.values.items())) for version in got if version} == {
        (("timeout_s", 10.0),),
        (("max_retries", 3), ("timeout_s", 10.0)),
    }
    world.run(rates(0.6, 0.97), 3_000, trial_id=held.id)
    assert trial(world.store, held.id).state == "kept"
    assert world.settings(AGENT).current().values == {"timeout_s": 10.0, "max_retries": 3}


def test_what_a_person_sets_beside_a_trial_reaches_units_that_met_it_before(world: World) -> None:
    held = opened(world)
    target = "settings:" + AGENT
    world.now += 2
    before = {f"s{i}": world.trials.arm_of(target, f"s{i}") for i in range(50)}
    world.settings(AGENT).change({"timeout_s": 10.0}, who="person")
    world.guard.advance(held.id, now=world.now)
    world.now += 2
    for unit, version in before.items():
        now = world.trials.arm_of(target, unit)
        assert version is not None
        assert now is not None
        assert now.values == {**version.values, "timeout_s": 10.0}


def test_neutral_changes_are_charged_to_a_budget_of_their_target(world: World) -> None:
    for number, margin in enumerate((0.02, 0.02)):
        change = replace(world.change(backoff_s=2.0 + number), neutral_ok=True, margin=margin)
        held = world.guard.open(change, now=world.now)
        world.guard.stop(held.id, now=world.now, keep=True)
    with pytest.raises(Refused, match=r"1\.0%"):
        world.guard.open(replace(world.change(backoff_s=9.0), neutral_ok=True, margin=0.02), now=world.now)
    world.now += 92 * 86_400
    held = world.guard.open(replace(world.change(backoff_s=9.0), neutral_ok=True, margin=0.02), now=world.now)
    assert held.state == "open"


def test_a_retry_of_a_reverted_change_is_counted_as_another_attempt(world: World) -> None:
    first = world.guard.open(world.change(max_retries=3), now=world.now)
    world.guard.stop(first.id, now=world.now)
    second = world.guard.open(world.change(max_retries=3), now=world.now)
    assert (first.attempt, second.attempt) == (1, 2)


def test_the_same_rows_say_the_same_in_another_process(world: World, tmp_path: Path) -> None:
    held = opened(world)
    world.run(rates(0.8, 0.85), 900)
    other = World(world.home, now=world.now)
    assert evidence(other.store, held, now=world.now) == evidence(world.store, held, now=world.now)
    other.store.close()


def test_deadlines_follow_the_timeouts_that_are_set(world: World) -> None:
    held = world.guard.open(world.change(timeout_s=5.0, max_retries=1), now=world.now)
    assert held.deadline_s == 5.0 * 2 + 300

"""The improve loop: when it looks, what it proposes, what it starts, and that nothing stops it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from ratchet.errors import BackendError, Refused
from ratchet.improving.loop import proposals, suggestions
from ratchet.improving.loop.improve import Improve, Ticked
from ratchet.improving.loop.pulse import BUSY, CRITICAL, QUIET, STEADY, mark, pulse
from ratchet.improving.trials.trials import trials
from ratchet.ports import Fix, Notice, Problem, Proposer
from ratchet.records import Row
from ratchet.store.timeline import events, note
from support.worlds import AGENT, KNOBS, World, rates, verbs

RATE_LIMIT = "429 Too Many Requests"


def loop(world: World, *proposers: Proposer, auto_fix: bool = False, told: list[Notice] | None = None) -> Improve:
    return Improve(
        world.store,
        world.guard,
        observe=world.drain,
        proposers=proposers,
        auto_fix=auto_fix,
        send=None if told is None else told.append,
    )


def tick(world: World, improve: Improve) -> Ticked:
    done = improve.tick(world.now)
    assert done.faults == []
    return done


@pytest.mark.parametrize(
    ("calls", "over_s", "expected"),
    [(150, 600, BUSY), (30, 600, STEADY), (6, 600, QUIET)],
    ids=["busy", "steady", "quiet"],
)
def test_thresholds_follow_the_measured_pulse(world: World, calls: int, over_s: float, expected: object) -> None:
    world.spacing_s = over_s / calls
    world.run(rates(1.0, 1.0), calls)
    assert pulse(world.store, AGENT, now=world.now) == expected


def test_a_name_never_makes_an_agent_critical_but_a_mark_does(world: World) -> None:
    world.agent = "prod-critical-search"
    world.run(rates(1.0, 1.0), 3)
    assert pulse(world.store, world.agent, now=world.now) == QUIET
    mark(world.store, world.agent, critical=True)
    assert pulse(world.store, world.agent, now=world.now) == CRITICAL
    mark(world.store, world.agent, failures=7)
    own = pulse(world.store, world.agent, now=world.now)
    assert (own.failures, own.window_s) == (7, CRITICAL.window_s)


def test_a_look_waits_for_enough_failures_and_for_its_cooldown(world: World) -> None:
    improve = loop(world)
    world.run(rates(1.0, 1.0), 150)
    for _ in range(4):
        world.call(rates(0.0, 0.0))
    assert tick(world, improve).proposed == []
    world.call(rates(0.0, 0.0))
    assert len(tick(world, improve).proposed) == 1
    for _ in range(20):
        world.call(rates(0.0, 0.0), error="TimeoutError: timed out")
    assert tick(world, improve).proposed == []
    world.now += BUSY.cooldown_s
    assert len(tick(world, improve).proposed) == 1


def test_a_clock_that_is_set_back_stops_no_look(world: World) -> None:
    world.run(rates(0.6, 0.6), 200)
    tick(world, loop(world))
    world.now -= 30 * 86_400
    world.agent = AGENT
    for _ in range(20):
        world.call(rates(0.0, 0.0), error="401 Unauthorized: invalid api key")
    assert len(tick(world, loop(world)).proposed) == 1


def test_without_auto_fix_a_fix_is_proposed_and_nothing_changes(world: World) -> None:
    world.run(rates(0.6, 0.6), 200)
    done = tick(world, loop(world))
    (made,) = proposals.proposals(world.store)
    assert done.opened == []
    assert (made.state, made.kind, made.fix) == ("open", "rate_limit", "retry_logic")
    assert made.change is not None
    assert dict(made.change.new) == {"max_retries": 2, "backoff_s": 2.0}
    assert trials(world.store) == []


def test_a_pattern_has_one_proposal_however_often_the_loop_looks(world: World) -> None:
    improve = loop(world)
    for _ in range(4):
        world.run(rates(0.6, 0.6), 120)
        tick(world, improve)
        world.now += 4 * 3600
    assert len(proposals.proposals(world.store)) == 1


def test_with_auto_fix_a_safe_fix_is_tried_and_kept_and_the_proposal_says_so(world: World) -> None:
    improve = loop(world, auto_fix=True)
    world.run(rates(0.6, 0.6), 200)
    done = tick(world, improve)
    assert len(done.opened) == 1
    for _ in range(30):
        world.run(rates(0.6, 0.97), 100)
        if tick(world, improve).settled:
            break
    (made,) = proposals.proposals(world.store)
    assert made.state == "kept"
    assert made.reason.startswith("proven better")
    assert world.settings(AGENT).current().values == {"max_retries": 2, "backoff_s": 2.0}


def shorter(problem: Problem) -> Iterator[Fix]:
    yield Fix(title="give up sooner", fix="threshold_tuning", new={"timeout_s": 1.0})


def test_a_proposer_of_the_user_comes_first_and_its_harmful_idea_is_reverted(world: World) -> None:
    improve = loop(world, shorter, auto_fix=True)
    world.run(rates(0.8, 0.8), 200)
    tick(world, improve)
    for _ in range(30):
        world.run(rates(0.8, 0.3, key="timeout_s"), 100)
        if tick(world, improve).settled:
            break
    newest = proposals.proposals(world.store, states=("reverted",))
    assert [dict(each.change.new) for each in newest if each.change] == [{"timeout_s": 1.0}]
    assert world.settings(AGENT).current().number == 0
    world.now += 4 * 3600
    world.run(rates(0.6, 0.6), 150)
    tick(world, improve)
    again = proposals.proposals(world.store, states=("open", "trial"))
    assert [each.fix for each in again] == ["retry_logic"]


def test_an_unsafe_fix_waits_for_a_person_even_with_auto_fix(world: World) -> None:
    def prompt(problem: Problem) -> Iterator[Fix]:
        yield Fix(title="use the small model", fix="prompt", new={"model": "small"})

    improve = loop(world, prompt, auto_fix=True)
    world.run(rates(0.6, 0.6), 200)
    assert tick(world, improve).opened == []
    (made,) = proposals.proposals(world.store)
    held = proposals.approve(world.store, world.guard, made.id, now=world.now)
    assert held.state == "trial"
    with pytest.raises(Refused, match="ratchet trials show"):
        proposals.approve(world.store, world.guard, made.id, now=world.now)


def test_a_kind_that_no_knob_helps_gets_advice(world: World) -> None:
    for _ in range(20):
        world.call(rates(0.0, 0.0), error="401 Unauthorized: invalid api key")
    tick(world, loop(world, auto_fix=True))
    (made,) = proposals.proposals(world.store)
    assert (made.kind, made.change, made.fix) == ("auth", None, "advice")
    assert proposals.approve(world.store, world.guard, made.id, now=world.now).state == "closed"


def test_what_was_rejected_is_not_proposed_again(world: World) -> None:
    improve = loop(world)
    world.run(rates(0.6, 0.6), 200)
    tick(world, improve)
    (made,) = proposals.proposals(world.store)
    proposals.reject(world.store, made.id, now=world.now)
    world.now += 4 * 3600
    world.run(rates(0.6, 0.6), 200)
    tick(world, improve)
    assert [each.id for each in proposals.proposals(world.store, states=("open",))] != [made.id]
    assert proposals.proposal(world.store, made.id).state == "rejected"


def test_a_proposal_is_closed_when_its_pattern_does_not_come_back(world: World) -> None:
    improve = loop(world)
    world.run(rates(0.6, 0.6), 200)
    tick(world, improve)
    world.now += 49 * 3600
    world.run(rates(1.0, 1.0), 200)
    done = tick(world, improve)
    (made,) = proposals.proposals(world.store)
    assert done.closed == [made.id]
    assert made.state == "closed"
    assert "did not come back" in made.reason


def test_a_proposer_that_fails_costs_itself_and_becomes_an_event(world: World) -> None:
    def broken(problem: Problem) -> Iterator[Fix]:
        raise RuntimeError("model is down")

    world.run(rates(0.6, 0.6), 200)
    done = loop(world, broken).tick(world.now)
    assert len(done.proposed) == 1
    assert "model is down" in done.faults[0]
    assert verbs(events(world.store, "improve")) == ["failed"]


@pytest.mark.parametrize(
    "rubbish",
    [
        {"new": {"max_retries": 99}},
        {"new": {"max_retries": float("nan")}},
        {"new": {"max_retries": ...}},
        {"new": {"max_retries": "many"}},
        {"new": {"no_such_knob": 1}},
        {"new": [1]},
        {"metric": "beauty"},
        {"trade": {"latency": -3.0}},
        {"trade": {"latncy": 3.0}},
        {"trade": "cheap"},
        {"title": None},
        {"title": " "},
        {"fix": None},
        {"target": 5},
    ],
    ids=str,
)
def test_rubbish_of_a_proposer_costs_itself_and_the_rules_are_asked(world: World, rubbish: dict[str, object]) -> None:
    def suggests(problem: Problem) -> Iterator[Fix]:
        said: dict[str, object] = {"title": "an idea", "fix": "retry_logic", "new": {"max_retries": 1}}
        yield Fix(**(said | rubbish))  # type: ignore[arg-type]

    improve = loop(world, suggests, auto_fix=True)
    world.run(rates(0.6, 0.6), 200)
    done = improve.tick(world.now)
    assert len(done.faults) == 1
    assert "suggests" in done.faults[0]
    assert [each.change.fix for each in trials(world.store)] == ["retry_logic"]
    assert [dict(each.change.new) for each in trials(world.store)] == [{"max_retries": 2, "backoff_s": 2.0}]
    world.now += 60
    assert improve.tick(world.now).faults == []


@pytest.mark.parametrize("gives", [lambda problem: 5, lambda problem: ["x"], lambda problem: {"a": 1}, 7, None])
def test_what_is_no_proposer_costs_itself(world: World, gives: Proposer) -> None:
    world.run(rates(0.6, 0.6), 200)
    done = loop(world, gives).tick(world.now)
    assert len(done.faults) == 1
    assert len(done.proposed) == 1


def test_a_proposer_that_hangs_costs_itself(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def thinks(problem: Problem) -> Iterator[Fix]:
        released.wait(10)
        yield Fix(title="too late", fix="retry_logic", new={"max_retries": 1})

    monkeypatch.setattr(suggestions, "LIMIT_S", 0.05)
    world.run(rates(0.6, 0.6), 200)
    done = loop(world, thinks).tick(world.now)
    released.set()
    assert "no answer within 0.05 s" in done.faults[0]
    (made,) = proposals.proposals(world.store)
    assert made.fix == "retry_logic"
    assert made.title != "too late"


def test_what_is_no_setting_never_starts_by_itself_whatever_it_is_called(world: World) -> None:
    def elsewhere(problem: Problem) -> Iterator[Fix]:
        yield Fix(title="an idea", fix="retry_logic", new={"retries": 1}, target="file:/etc/agent.json")

    world.run(rates(0.6, 0.6), 200)
    done = tick(world, loop(world, elsewhere, auto_fix=True))
    assert (len(done.proposed), done.opened) == (1, [])


def test_a_proposal_that_no_knob_takes_any_more_is_closed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.run(rates(0.6, 0.6), 200)
    tick(world, loop(world))
    world.drain()
    monkeypatch.delitem(KNOBS, "max_retries")  # a newer release of the agent declares it no more
    done = tick(world, loop(world, auto_fix=True))
    (made,) = proposals.proposals(world.store)
    assert done.opened == []
    assert (made.state, "cannot be tried" in made.reason) == ("closed", True)


def test_a_fault_of_one_step_leaves_the_others_and_the_next_tick(world: World) -> None:
    def fails() -> None:
        raise BackendError("the disk is gone")

    world.run(rates(0.6, 0.6), 200)
    world.drain()
    improve = Improve(world.store, world.guard, observe=fails)
    done = improve.tick(world.now)
    assert len(done.faults) == 1
    assert len(done.proposed) == 1
    assert loop(world).tick(world.now).faults == []


def test_people_hear_of_each_thing_once(world: World) -> None:
    told: list[Notice] = []
    improve = loop(world, auto_fix=True, told=told)
    tick(world, improve)
    world.run(rates(0.6, 0.6), 200)
    tick(world, improve)
    assert [each.title.partition(":")[0] for each in told] == ["a fix is proposed", "a change is on trial"]
    tick(world, improve)
    tick(world, loop(world, told=told))
    assert len(told) == 2


def test_people_hear_of_what_a_slower_loop_wrote_behind_a_quicker_one(world: World) -> None:
    told: list[Notice] = []
    improve = loop(world, told=told)
    tick(world, improve)
    for behind_s in (0.0, 30.0, 100.0):
        world.now += 60
        with world.store.transaction():
            note(world.store, "trial", f"t{behind_s:g}", "kept", world.now - behind_s)
        tick(world, improve)
        tick(world, improve)
    assert [each.record for each in told] == ["t0", "t30", "t100"]


def test_two_loops_at_once_open_one_trial(world: World) -> None:
    world.run(rates(0.6, 0.6), 200)
    tick(world, loop(world, auto_fix=True))
    tick(world, loop(world, auto_fix=True))
    assert len(trials(world.store)) == 1


def test_a_lesson_that_harms_is_retired_with_its_figures(world: World) -> None:
    from ratchet.lessons import lessons

    made = lessons.add(
        world.store,
        when="no space left on device",
        do="Delete the build folder.",
        scope="global",
        state="active",
        project="",
    )
    rows: list[Row] = []
    for number in range(400):
        new = number % 2 == 0
        rows.append(
            {
                "trial": made.id,
                "unit": f"s{number}/p",
                "arm": "new" if new else "control",
                "share": 0.5,
                "at": world.now - 1_000 + number,
                "session": f"s{number}",
                "channel": "hook",
                "settled": True,
                "ok": number % 10 < (2 if new else 9),
                "settled_at": world.now,
                "revision": 1,
            }
        )
    world.store.insert_new("exposures", rows)
    done = tick(world, loop(world))
    assert done.retired == [made.id]
    held = lessons.show(world.store, made.id)
    assert held.state == "retired"
    assert "proven to harm: shown" in held.reason

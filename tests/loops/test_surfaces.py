"""The loop where people meet it: the command line, and a thread in their own process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ratchet
from ratchet import Fix, Problem, Range, Ratchet, Refused

COMMAND = [sys.executable, "-m", "ratchet"]


@pytest.fixture
def failing(home: Path) -> Ratchet:
    """An agent with live settings that meets rate limits."""
    with Ratchet(home) as host:
        settings = host.settings("support", max_retries=Range(0, 5, default=1))
        settings.stored().declare()
        for number in range(40):
            host.record(
                "support", ok=None if number % 2 else True, error="429 Too Many Requests" if number % 2 else None
            )
    return Ratchet(home)


def said(*arguments: str) -> object:
    done = subprocess.run([*COMMAND, *arguments, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_commands_propose_approve_show_and_stop(failing: Ratchet) -> None:
    made = said("loop", "--once")
    assert isinstance(made, dict)
    (proposal,) = made["proposed"]
    approved = said("proposals", "approve", proposal)
    assert isinstance(approved, dict)
    assert approved["state"] == "trial"
    shown = said("trials", "show", str(approved["trial"]))
    assert isinstance(shown, dict)
    assert (shown["state"], shown["evidence"]["threshold"]) == ("open", 20.0)
    assert [event["verb"] for event in shown["events"]] == ["planned", "opened"]
    stopped = said("trials", "stop", str(approved["trial"]), "--reason", "enough")
    assert isinstance(stopped, dict)
    assert (stopped["state"], stopped["reason"]) == ("undecided", "enough")
    again = subprocess.run(
        [*COMMAND, "trials", "stop", str(approved["trial"])], capture_output=True, text=True, check=False
    )
    assert again.returncode == 5
    missing = subprocess.run([*COMMAND, "trials", "show", "nothing"], capture_output=True, text=True, check=False)
    assert missing.returncode == 3


def test_thresholds_are_shown_set_and_cleared(failing: Ratchet) -> None:
    assert said("pulse", "list") == [
        {"agent": "support", "failures": 3, "window_s": 86400.0, "cooldown_s": 21600.0, "why": "10 to 100 calls a day"}
    ]
    for arguments, expected in (
        (["set", "support", "--critical"], "1 failures in 24 hours"),
        (["set", "support", "--failures", "9", "--cooldown-h", "1"], "9 failures in 24 hours, then not again for 1"),
        (["clear", "support"], "3 failures in 24 hours"),
    ):
        done = subprocess.run([*COMMAND, "pulse", *arguments], capture_output=True, text=True, check=True)
        assert expected in done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_loop_in_the_foreground_ends_after_its_round_on_a_signal(failing: Ratchet, number: signal.Signals) -> None:
    running = subprocess.Popen(
        [*COMMAND, "loop", "--interval", "0.1", "--json"], stdout=subprocess.PIPE, env=dict(os.environ)
    )
    assert running.stdout is not None
    first = json.loads(running.stdout.readline())
    assert len(first["proposed"]) == 1
    running.send_signal(number)
    assert running.wait(20) == 0
    running.stdout.close()


def test_a_second_signal_ends_a_loop_whose_round_hangs(home: Path) -> None:
    script = (
        "import time\n"
        "from ratchet.improving.assembly import Foreground, Rounds\n"
        "def hangs(): print('in', flush=True); time.sleep(60)\n"
        "with Foreground(Rounds(hangs, hangs, 1.0), said=print) as going: going.run()\n"
    )
    running = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert running.stdout is not None
    running.stdout.readline()
    running.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(0.3)
    running.send_signal(signal.SIGTERM)
    assert running.wait(20) == 128 + signal.SIGTERM
    running.stdout.close()


def test_a_thread_of_the_host_runs_the_loop_with_its_own_proposer_and_stops(failing: Ratchet) -> None:
    asked: list[Problem] = []

    def idea(problem: Problem) -> list[Fix]:
        asked.append(problem)
        return [Fix(title="mine", fix="retry_logic", new={"max_retries": 4})]

    with failing as host:
        host.start_background(0.05, auto_fix=True, proposers=(idea,))
        until = time.monotonic() + 20
        while not host.trials.list() and time.monotonic() < until:
            time.sleep(0.05)
        host.stop_background()
        host.stop_background()
        (held,) = host.trials.list()
        assert dict(held.change.new) == {"max_retries": 4}
        assert (asked[0].kind, asked[0].count, asked[0].values) == ("rate_limit", 20, {"max_retries": 1})
        with pytest.raises(Refused, match="ratchet trials stop"):
            host.trials.open("settings:support", {"max_retries": 2})


def test_a_trial_opens_with_all_that_was_recorded_until_then(home: Path) -> None:
    with Ratchet(home, drain_interval_s=0) as host:
        host.settings("support", max_retries=Range(0, 5, default=1)).stored().declare()
        for number in range(150):
            host.record("support", ok=number % 10 != 0, duration_s=1.0)
        held = host.trials.open("settings:support", {"max_retries": 3})
    assert (held.before, held.metrics, held.share) == ((135, 150), ("success", "latency"), 0.1)


def test_a_watched_call_of_an_open_trial_gets_its_arm_and_settles_its_exposure(home: Path) -> None:
    with Ratchet(home) as host:
        settings = host.settings("support", max_retries=Range(0, 5, default=1))
        got: list[int] = []

        @host.watch("support")
        def outer() -> None:
            got.append(settings.current().max_retries)
            inner()
            assert settings.current().max_retries == got[-1]

        @host.watch("support")
        def inner() -> None:
            assert settings.current().max_retries == got[-1]

        outer()
        held = host.trials.open("settings:support", {"max_retries": 3}, deadline_s=0.2)
        time.sleep(1.1)
        for _ in range(60):
            outer()
        time.sleep(0.3)
        shown = host.trials.show(held.id).evidence
        assert (shown.exposures, shown.waiting) == (60, 0)
        assert shown.new.units == got[1:].count(3) > 0
        assert shown.old.units == got[1:].count(1) > 0
        assert shown.new.ok + shown.old.ok == 60


def test_sessions_keep_their_arm_and_fail_with_their_last_call(home: Path) -> None:
    with Ratchet(home) as host:
        settings = host.settings("support", max_retries=Range(0, 5, default=1))

        def call(session: str, ok: bool) -> int:
            with host.watch("support", fields={"session": session}) as run:
                run.note(ok=ok)
                return int(settings.current().max_retries)

        for number in range(20):
            call(f"before-{number}", True)
        list(host.outcomes(limit=1))
        held = host.trials.open("settings:support", {"max_retries": 3})
        assert (held.unit, held.deadline_s) == ("session", 86_400.0)
        time.sleep(1.1)
        arms = {f"s{number}": call(f"s{number}", True) for number in range(40)}
        assert {session: call(session, session != "s7") for session in arms} == arms
        list(host.outcomes(limit=1))
        rows = host._runtime.store.find("exposures", {"trial": held.id}).rows
        assert len(rows) == 40
        assert [row["unit"] for row in rows if not row["ok"]] == ["s7"]
        assert all(row["calls"] == 2 for row in rows)
        assert set(arms.values()) == {1, 3}


def test_the_surface_is_documented() -> None:
    for name in ("trials", "proposals", "pulses", "tick", "start_background", "stop_background", "add_target"):
        assert getattr(ratchet.Ratchet, name).__doc__


def test_an_outcome_that_cannot_be_stored_costs_no_other_units_verdict(home: Path) -> None:
    with Ratchet(home, drain_interval_s=0) as host:
        settings = host.settings("support", max_retries=Range(0, 5, default=1))

        @host.watch("support")
        def watched() -> int:
            return int(settings.current().max_retries)

        watched()
        held = host.trials.open("settings:support", {"max_retries": 3}, deadline_s=30)
        time.sleep(1.1)
        for _ in range(10):
            watched()
        host._recorder.append(
            {"r": "outcome", "id": "o1", "agent": "x", "ok": True, "started_at": 1.0, "tokens": 2**62}
        )
        host._recorder.append(
            {"r": "outcome", "id": "o2", "agent": "x", "ok": True, "started_at": 1.0, "tokens": 2**62}
        )
        list(host.outcomes(limit=1))
        rows = host._runtime.store.find("exposures", {"trial": held.id}).rows
        assert [row["ok"] for row in rows] == [True] * 10

"""When an episode stops."""

from __future__ import annotations

import pytest

from ratchet.failures.signature import sign, template_of
from ratchet.healing.breaker import opened, why_stop
from ratchet.healing.episode import Attempt, AttemptStatus, Budget


def tried(n: int, *, signature: str = "v1:a", state: str = "s0", status: AttemptStatus = "failed") -> Attempt:
    return Attempt(episode="e", n=n, status=status, signature=signature, state=state)


def test_three_attempts_with_one_signature_and_the_same_files_open_it() -> None:
    assert opened([tried(1), tried(2), tried(3)], 3)
    assert not opened([tried(1), tried(2)], 3)


def test_a_process_number_in_the_message_defeats_it_not() -> None:
    said = [f"worker {pid} died: RuntimeError: lost connection to shard" for pid in (4711, 4712, 31337)]
    signatures = [sign("other", template_of(each)) for each in said]
    assert opened([tried(n, signature=each) for n, each in enumerate(signatures)], 3)


def test_new_states_of_the_files_or_another_failure_keep_it_closed() -> None:
    assert not opened([tried(n, state=f"s{n}") for n in range(3)], 3)
    assert not opened([tried(1), tried(2, signature="v1:b"), tried(3)], 3)


def test_going_round_among_known_states_opens_it() -> None:
    states = ("x", "y", "x", "y", "x")
    assert opened([tried(n, state=state) for n, state in enumerate(states)], 3)


def test_stops_come_in_this_order_passed_cancelled_budget_no_progress_breaker_attempts() -> None:
    budget = Budget(attempts=2)
    passed = tried(1, status="passed")
    assert why_stop([passed], budget, spent="money", cancelled="RESUME") == ("passed", "")
    assert why_stop([tried(1)], budget, spent="money", cancelled="RESUME")[0] == "cancelled"  # type: ignore[index]
    assert why_stop([tried(1)], budget, spent="money") == ("budget", "money")
    assert why_stop([tried(1, status="gave_up")], budget)[0] == "no_progress"  # type: ignore[index]
    assert why_stop([tried(1), tried(2, state="s1")], budget)[0] == "failed"  # type: ignore[index]
    assert why_stop([tried(1)], budget) is None


def test_a_solver_that_cannot_work_at_all_ends_it_and_a_refused_patch_does_not() -> None:
    assert why_stop([tried(1, status="refused", state="")], Budget())[0] == "refused"  # type: ignore[index]
    assert why_stop([tried(1, status="refused", state="s1")], Budget()) is None


@pytest.mark.parametrize(("tries", "said"), [(1, "the one attempt did not pass"), (2, "2 attempts did not pass")])
def test_the_end_of_the_attempts_says_how_many_there_were(tries: int, said: str) -> None:
    attempts = [tried(n, state=f"s{n}") for n in range(1, tries + 1)]
    assert why_stop(attempts, Budget(attempts=tries)) == ("failed", said)

"""The coin and the ids: the same for everybody, at any time."""

from __future__ import annotations

import time
import uuid

from hypothesis import given
from hypothesis import strategies as st

from ratchet import ids

texts = st.text(max_size=20)


@given(texts, st.lists(texts, max_size=3), st.floats(0, 1))
def test_the_same_unit_always_falls_to_the_same_arm(salt: str, parts: list[str], share: float) -> None:
    assert ids.toss(salt, *parts, share=share) is ids.toss(salt, *parts, share=share)


@given(texts, texts)
def test_a_share_of_one_is_always_and_of_zero_never(salt: str, unit: str) -> None:
    assert ids.toss(salt, unit, share=1.0)
    assert not ids.toss(salt, unit, share=0.0)


@given(texts, texts, st.floats(0, 1), st.floats(0, 1))
def test_a_larger_share_only_adds_units(salt: str, unit: str, one: float, other: float) -> None:
    small, large = sorted((one, other))
    assert ids.toss(salt, unit, share=large) or not ids.toss(salt, unit, share=small)


def test_the_share_is_met() -> None:
    shown = sum(ids.toss("salt", f"session-{i}", "pattern", share=0.8) for i in range(20_000))
    assert abs(shown / 20_000 - 0.8) < 0.01


def test_units_and_patterns_are_tossed_independently() -> None:
    both = [(ids.toss("s", f"{i}", "a", share=0.5), ids.toss("s", f"{i}", "b", share=0.5)) for i in range(4_000)]
    assert abs(both.count((True, True)) / 4_000 - 0.25) < 0.03


def test_parts_do_not_run_together() -> None:
    assert ids.uniform("s", "ab", "c") != ids.uniform("s", "a", "bc")


def test_a_tool_call_has_one_id_in_every_file_and_session() -> None:
    key = "toolu_01ABCDEFGHIJKLMNOPQRSTUV"
    assert ids.outcome_id("claude-code", "one", key) == ids.outcome_id("claude-code", "two", key)
    assert ids.outcome_id("claude-code", "one", key) != ids.outcome_id("codex", "one", key)


def test_a_counter_counts_within_its_session_only() -> None:
    for key in ("1", "call_1", "toolu_7", "item_0000000000000000", "call_zzzz zzzz zzzz zzzz zzzz"):
        assert ids.outcome_id("codex", "one", key) != ids.outcome_id("codex", "two", key)


def test_an_id_has_its_documented_form() -> None:
    made = ids.outcome_id("claude-code", "\ud800", "x")
    assert made[0] == "o"
    assert len(made) == 25
    assert set(made[1:]) <= set("0123456789abcdef")


def test_a_uuid7_is_valid_new_and_sorted_by_its_time() -> None:
    before = time.time_ns() // 1_000_000
    made = [uuid.UUID(ids.uuid7()) for _ in range(500)]
    after = time.time_ns() // 1_000_000
    assert len(set(made)) == 500
    assert {(each.version, each.variant) for each in made} == {(7, uuid.RFC_4122)}
    assert all(before <= each.int >> 80 <= after for each in made)

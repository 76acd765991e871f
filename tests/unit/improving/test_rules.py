"""Advice for a person where no setting helps."""

from __future__ import annotations

import pytest

from ratchet.failures.classification import classify
from ratchet.improving.loop.rules import NEW_SESSION, propose
from ratchet.ports import Problem

REFUSED = [
    "messages.12: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01",
    "messages.3.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_02",
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'",
    "No tool output found for function call call_abc",
    "messages: roles must alternate between user and assistant",
    "messages.41.content.0: `thinking` blocks in the latest assistant message cannot be modified",
    "Please ensure that function call turn comes immediately after a user turn",
]


def advice(said: str, count: int) -> list[str]:
    found = classify(f"API Error: 400 {said}", status=400)
    problem = Problem(
        agent="a",
        kind=found.kind,
        pattern="p",
        template=found.template,
        count=count,
        calls=count,
        window_s=3600.0,
        values={},
        knobs={},
    )
    return [fix.title for fix in propose(problem)]


@pytest.mark.parametrize("said", REFUSED)
def test_a_history_that_is_refused_three_times_asks_for_a_new_session(said: str) -> None:
    assert NEW_SESSION not in advice(said, 2)
    assert advice(said, 3) == [NEW_SESSION]


@pytest.mark.parametrize("said", ["max_tokens: must be at least 1", "tools.0.name: string does not match the pattern"])
def test_a_request_that_is_wrong_by_itself_is_mended_where_it_is_made(said: str) -> None:
    assert NEW_SESSION not in advice(said, 9)

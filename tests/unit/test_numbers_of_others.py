"""Numbers that others wrote: what no float holds is none, wherever it is read, and raises nowhere."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet import config
from ratchet.arguments import finite
from ratchet.errors import UsageError
from ratchet.evolving.bench.account import account_of
from ratchet.evolving.bench.inspectlog import read_log
from ratchet.evolving.proposers.answers import said_in
from ratchet.evolving.scorers.said_json import of_text
from ratchet.improving.settings.knob import Range
from ratchet.recording.sources import fields
from ratchet.records import number_in, whole_in

BEYOND = 10**400
"""A whole number that JSON may name and no float holds."""
ODD = st.one_of(st.integers(), st.floats(), st.integers(min_value=10**300), st.booleans(), st.text(), st.none())


@given(ODD)
def test_a_number_is_finite_or_none(value: object) -> None:
    found = finite(value)
    assert found is None or math.isfinite(found)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
        assert found == value


@given(ODD)
def test_no_field_of_foreign_json_raises(value: object) -> None:
    row = {"a": value}
    assert math.isfinite(number_in(row, "a"))  # type: ignore[arg-type]
    assert isinstance(whole_in(row, "a"), int)  # type: ignore[arg-type]
    assert fields.number(value) is None or math.isfinite(fields.number(value) or 0.0)


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize(
    "text",
    ['{"score": %s}', '{"combined_score": %s}', "[%s]", '{"result": {"score": %s}}', '[{"score": 1}, {"score": %s}]'],
)
def test_a_grader_that_prints_more_than_a_float_holds_gives_no_point(text: str, sign: str) -> None:
    said = of_text(text % f"{sign}{BEYOND}")
    assert said is None or not said.score


READERS: dict[str, Callable[[int], object]] = {
    "an agent's account": lambda n: account_of({"cost_usd": n, "tokens": n}, "usage.json").cost_usd,
    "a proposer's gain": lambda n: said_in(json.dumps({"hypothesis": "x", "expected": n})).expected,
}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("reader", READERS)
def test_what_a_program_says_beyond_every_float_is_not_believed(reader: str, sign: int) -> None:
    assert READERS[reader](sign * BEYOND) in (0.0, None)


@pytest.mark.parametrize("sign", [1, -1])
def test_who_wrote_it_is_told(sign: int, tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    scored = {"id": 1, "epoch": 1, "scores": {"s": {"value": sign * BEYOND}}}
    log.write_text(json.dumps({"version": 2, "eval": {"task": "t", "model": "m"}, "samples": [scored]}))
    with pytest.raises(UsageError, match="is not between 0 and 1"):
        read_log(log)
    with pytest.raises(UsageError, match="use a number"):
        config.load(environ={}, cwd=tmp_path, withheld_share=sign * BEYOND)
    with pytest.raises(UsageError, match="is no number"):
        Range(0, 5).check(sign * BEYOND)

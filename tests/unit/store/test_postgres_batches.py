"""A batch that travels as text holds the same values as its rows one by one, or does not travel so."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from ratchet.records import Row
from ratchet.store import rows as codec
from ratchet.store.declaring import Table
from ratchet.store.postgres_batches import NULL, UNIT, lines_of, texts_of
from ratchet.store.postgres_values import values_of
from ratchet.store.schema import TABLES

OUTCOMES, ACTIVITY = TABLES["outcomes"], TABLES["activity"]
ODD = st.text(st.sampled_from("ab\\N.\t\n\r\x1e\x1f\0\u00e9"), max_size=4) | st.sampled_from(
    ["\\N", "\\.", NULL, "x" * 300]
)
TEXTS = ODD | st.none() | st.text(max_size=5)
NUMBERS = st.floats() | st.integers(-(2**70), 2**70) | st.booleans() | st.none()
VALUES = TEXTS | NUMBERS
PLAIN = st.text(st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\\"), max_size=5)


def outcome(number: int, **fields: object) -> Row:
    return {"id": f"o{number}", "agent": "a", "ok": True, "started_at": 0.1 + number, **fields}  # type: ignore[dict-item]


def rows_of(number_of: st.SearchStrategy[Row]) -> st.SearchStrategy[list[Row]]:
    return st.lists(number_of, min_size=1, max_size=4)


OUTCOME_ROWS = rows_of(
    st.builds(
        outcome,
        st.integers(0, 9),
        ok=st.booleans() | VALUES,
        started_at=NUMBERS,
        session=TEXTS,
        task=VALUES,
        context=st.dictionaries(ODD, VALUES, max_size=2),
        failure=st.fixed_dictionaries({"kind": TEXTS}) | st.none() | ODD,
    )
)
COUNTS = rows_of(st.fixed_dictionaries({"agent": TEXTS, "hour": NUMBERS, "calls": NUMBERS, "min_at": NUMBERS}))


def expected(table: Table, rows: list[Row]) -> list[list[str | None]]:
    """What one value at a time sends."""
    return [[None if value is None else f"{value}" for value in values_of(table, row)] for row in rows]


def copied(sent: bytes) -> list[list[str | None]]:
    """What COPY reads: fields between tabs, lines, `\\` before a character that is meant as it is."""
    lines = sent.decode().removesuffix("\n").split("\n")
    assert "\r" not in sent.decode()
    fields = [line.split("\t") for line in lines]
    return [[None if field == NULL else field.replace("\\\\", "\\") for field in line] for line in fields]


@given(OUTCOME_ROWS)
def test_lines_say_what_the_values_say(rows: list[Row]) -> None:
    try:
        sent = lines_of(OUTCOMES, rows)
    except UnicodeEncodeError:
        return
    assert sent is None or copied(sent) == expected(OUTCOMES, rows)


@given(COUNTS)
def test_texts_say_what_the_values_say(rows: list[Row]) -> None:
    texts = texts_of(ACTIVITY, rows)
    if texts is None:
        return
    columns = [[None if field == NULL else field for field in text.split(UNIT)] for text in texts]
    assert [list(line) for line in zip(*columns, strict=True)] == expected(ACTIVITY, rows)


@given(st.lists(st.tuples(PLAIN, st.floats(allow_nan=False)), min_size=1, max_size=4))
def test_plain_rows_travel_as_text(said: list[tuple[str, float]]) -> None:
    rows = [
        outcome(number, session=text, started_at=at, context={"\\": "\n"}) for number, (text, at) in enumerate(said)
    ]
    assert lines_of(OUTCOMES, rows) is not None
    counts: list[Row] = [
        {"agent": f"{at}{text}", "hour": at, "duration_s": each} for at, (text, each) in enumerate(said)
    ]
    assert texts_of(ACTIVITY, counts) is not None


def test_what_has_to_be_fitted_travels_by_itself() -> None:
    row = outcome(1)
    for bad in ({"started_at": math.nan}, {"session": "x" * 3_000}, {"ok": 2}, {"task": "a\tb"}, {"task": NULL}):
        assert lines_of(OUTCOMES, [row, {**row, **bad}]) is None, bad
    count: Row = {"agent": "a", "hour": 1, "calls": 1}
    for odd in ({"calls": 2**63}, {"agent": UNIT}, {"agent": "\0"}, {"agent": "\ud83d"}, {"agent": "a"}, {"other": 1}):
        assert texts_of(ACTIVITY, [count, {**count, "hour": 1, **odd}]) is None, odd
    assert codec.column_names(ACTIVITY)[:2] == ("agent", "hour")

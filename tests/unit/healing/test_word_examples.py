"""Examples in words become programs that assert them; an answer that went in circles is read up to there."""

from __future__ import annotations

import ast
import json
import shlex

import pytest

from ratchet.healing.models.prose import until_it_circled
from ratchet.healing.planning.examples import asks_otherwise, examples

MODULES = {
    "shop": ast.parse("def total(prices, discount=0): ...\nclass Cart: ..."),
    "pkg.heat": ast.parse("def to_celsius(degrees): ..."),
}


@pytest.mark.parametrize(
    ("words", "asserted"),
    [
        ("it is added: total([200], 10) should be 180", ["total([200], 10) == 180"]),
        ("total([200], 10) gives 220 instead of 180.", ["total([200], 10) == 180"]),
        ("total([200], 10) should be 180, but is 220.", ["total([200], 10) == 180"]),
        ("total([200], 10) gives 220 but should be 180", ["total([200], 10) == 180"]),
        ("total([200], 10) is to be `180`, not 220", ["total([200], 10) == 180"]),
        ("`total([1])` -> 1; to_celsius(100)==37.78", ["total([1]) == 1", "round(to_celsius(100), 2) == 37.78"]),
        ("total([1]) should be 1 and total([2]) should be 2", ["total([1]) == 1", "total([2]) == 2"]),
        ("Cart([1, 2]).total() must be [1, (2, 3)]", ["Cart([1, 2]).total() == [1, (2, 3)]"]),
        ("shop.total([]) == None. 3 is a number", ["shop.total([]) == None"]),
        ("total('a(b') should return \"x y\"", ["total('a(b') == \"x y\""]),
        ("total(prices) should be 180", []),  # no call that could be made
        ("refund(3) should be 4", []),  # which nobody has
    ],
)
def test_what_a_call_is_to_come_to_stands_behind_it(words: str, asserted: list[str]) -> None:
    found = [each.check[2].partition("assert ")[2] for each in examples(words, MODULES) if each.check]
    assert len(found) == len(asserted)
    assert all(each.startswith(f"{want}, ") for each, want in zip(found, asserted, strict=True))


@pytest.mark.parametrize(
    "words",
    [
        "total([200], 10) is off by 40; it should be 180",
        "total([200], 10) must not be 190, it is to be 180",
        "total([200], 10) is 10 % wrong: want 180",
        "total([200], 10) should never return 0",
        "total([200], 10) should not raise ValueError",
        "total([200], 10) currently fails with TypeError",
        "total([200], 10) returns 220",
        "total([200], 10) should be 180 or 190",
        "total([200], 10) should be 10 %",
        "total([200], 10) should be 1,000",
        "total([200], 10) should be 180?",
        "total([200], 10) should be right",
        "total([200], 10) should be ValueError",
        "total([200], 10) must be 3 when nobody looks",
        "never let it happen that total([200], 10) == 180",
        "nobody said that total([200], 10) should be 180",
        "total(['sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ']) should be 3",
    ],
)
def test_a_sentence_that_leaves_open_what_is_wanted_makes_no_check(words: str) -> None:
    assert [each.check for each in examples(words, MODULES)] == [()]


def test_two_examples_of_one_call_that_want_different_values_contradict_one_another() -> None:
    words = "total([1]) should be 1; total([1]) should be 2; total([3]) should be 3; total([1]) must raise ValueError"
    one, other, more, raises = (shlex.join(each.check) for each in examples(words, MODULES))
    assert asks_otherwise(one, other)
    assert asks_otherwise(one, raises)
    assert not asks_otherwise(one, one)
    assert not asks_otherwise(one, more)
    assert not asks_otherwise("pytest -q", "pytest")


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        ("total([1]) should be 1, and total([2]) should be 2", ""),
        ("refund(3) should be 4", "refund"),
        ("total(prices) should be 180", "prices"),
        ("refund(3) is a word of prose", ""),
    ],
)
def test_a_name_that_nobody_has_is_told_and_no_title_ends_in_an_and(words: str, missing: str) -> None:
    found = examples(words, MODULES)
    assert [each.missing for each in found if each.missing] == ([missing] if missing else [])
    assert not any(each.said.endswith(("and", ",")) for each in found)


def test_an_exception_may_be_what_is_wanted() -> None:
    (found,) = examples("total([1], 101) must raise a ValueError", MODULES)
    assert "except ValueError:" in found.check[2]
    assert found.check[2].startswith("from shop import total\n")


def test_an_answer_in_circles_is_closed_after_its_last_whole_part_and_says_each_thing_once() -> None:
    step = {"do": 'say "x" {', "check": 'python -c "a[1]"'}
    begun = json.dumps({"beyond": "", "steps": [step] * 5})[:-2]
    assert json.loads(until_it_circled(f'Here: {begun}, {{"do": "say \\"x')) == {"beyond": "", "steps": [step]}
    assert until_it_circled("no object") == until_it_circled('{"steps": [') == ""

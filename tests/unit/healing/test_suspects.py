"""What is said of the most suspect places: the function, its lines, who runs them, and what arose there."""

from __future__ import annotations

import ast

import pytest

from ratchet.healing.solvers.repair import SearchResult, hints_of
from ratchet.healing.solvers.repairing.branching import promise
from ratchet.healing.solvers.repairing.localising import told_places
from ratchet.healing.solvers.repairing.server import RunReport
from ratchet.healing.solvers.repairing.server import Test as Ended
from ratchet.healing.solvers.repairing.spectrum import order_of, with_named
from ratchet.healing.solvers.repairing.suspects import told_suspects

TREE = ast.parse("LIMIT = 3\n\n\ndef total(prices):\n    found = sum(prices)\n    return found[0]\n")
REPORT = RunReport(
    tests={
        "t::bad": Ended(passed=False, error="TypeError", frames=(("/p/shop.py", 6),)),
        "t::good": Ended(passed=True),
        "t::other": Ended(passed=True),
    },
    whole=True,
)


def test_a_suspect_is_told_with_its_lines_and_why() -> None:
    ran = {"": {"/p/shop.py": [1, 4]}, "t::bad": {"/p/shop.py": [5, 6]}, "t::good": {"/p/shop.py": [5]}, "t::other": {}}
    places: list[tuple[str, int, float]] = [("shop.py", 6, 1.5), ("shop.py", 5, 0.7), ("shop.py", 1, 0.1)]
    assert told_suspects(places, lambda _path: TREE, ran, REPORT, "/p") == [
        "`total` in shop.py:6, 5 (run by 1 of 1 failing tests and 0 of 2 others; TypeError arose there)"
    ]


def test_what_no_failing_test_was_seen_to_run_is_no_suspect() -> None:
    assert told_suspects([("shop.py", 5, 1.0)], lambda _path: TREE, {"t::good": {}}, REPORT, "/p") == []


def test_what_a_failing_test_calls_by_name_comes_first_and_then_what_was_run_last() -> None:
    tree = ast.parse(
        "def helper(n):\n    return n\n\n\ndef total(prices):\n    found = sum(prices)\n    return helper(found)\n"
    )
    equal = {("/p/shop.py", line): 0.5 for line in (2, 6, 7)}
    found = with_named(equal, {"/p/shop.py": tree}, {"total"})
    last = {("/p/shop.py", 2): 1, ("/p/shop.py", 6): 2, ("/p/shop.py", 7): 0}
    assert [line for _, line in order_of(found, last)] == [7, 6, 2]
    assert [line for _, line in order_of(equal, {("/p/shop.py", 6): 0})] == [6, 2, 7]


def test_a_property_whose_value_a_failing_test_compares_is_suspect_however_many_run_it() -> None:
    source = "class A:\n    @property\n    def port(self):\n        return self.n\n\n    def set(self):\n        pass\n"
    tree = ast.parse(source)
    found = with_named({("/p/a.py", 4): 0.1, ("/p/a.py", 7): 1.0}, {"/p/a.py": tree}, {"set"}, {"port", "set"})
    assert found["/p/a.py", 4] == pytest.approx(0.8)


@pytest.mark.parametrize(("family", "much"), [("comparison", True), ("deletion", False), ("yielding", False)])
def test_what_only_keeps_the_failing_line_from_being_run_is_not_built_on(family: str, much: bool) -> None:
    before, further = (RunReport({"t": Ended(passed=False, line=line)}, whole=True) for line in (3, 4))
    assert bool(promise(before, further, family)) is much
    passes = RunReport({"t": Ended(passed=True)}, whole=True)
    assert promise(before, passes, family) == 1.0, "a test that passes is a test that passes"


def test_where_nothing_was_seen_to_run_what_the_output_names_is_suspect_first() -> None:
    said = 'File "./lib/sums.py", line 4, in total\ndocs/conf.py is read\nshop/prices.py:7: ValueError\n'
    sources = ["/p/docs/conf.py", "/p/lib/sums.py", "/p/other.py", "/p/shop/prices.py"]
    found, _ = told_places(sources, said)
    assert {place for place, much in found.items() if much == max(found.values())} == {(sources[1], 4), (sources[3], 7)}
    order = [sources[each] for each in (1, 2, 0)]
    assert sorted(order, key=lambda path: -found[path, 9]) == order


def test_hints_tell_one_suspect_a_line() -> None:
    found = SearchResult(tried=7, suspects=("`a` in a.py:1 (...)", "`b` in b.py:2 (...)"))
    tried, *suspects = hints_of(found)
    assert tried == "7 small edits were tried without success"
    assert suspects == ["suspect: `a` in a.py:1 (...)", "suspect: `b` in b.py:2 (...)"]

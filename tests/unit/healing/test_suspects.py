"""What is said of the most suspect places: the function, its lines, who runs them, and what arose there."""

from __future__ import annotations

import ast

from ratchet.healing.solvers.repairing.server import RunReport
from ratchet.healing.solvers.repairing.server import Test as Ended
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

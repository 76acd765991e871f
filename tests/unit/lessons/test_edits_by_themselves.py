"""An edit becomes advice by itself where a checker judged it, or where it does what an error asks for and no more."""

from __future__ import annotations

import pytest

from ratchet.lessons.mining.evidence import FixVerdict, Seen, judged
from ratchet.lessons.mining.hunks import Hunk, features
from ratchet.lessons.mining.mining import resolutions
from support.sessions import call, session, shell


def learnt(check: str, error: str, old: str, new: str) -> FixVerdict:
    """What two sessions teach in which an edit of `old` to `new` ended the error."""
    edit = call("Edit", {"file_path": "/w/shop/tests/test_cart.py", "old_string": old, "new_string": new})
    made = resolutions(session([shell(check, error), edit, shell(check)]))
    (found,) = [each for each in made if each.way == "edit"]
    seen = [
        Seen(
            session=f"s{at}", at=at, fixed=True, forms=frozenset(found.forms), removed=found.removed, added=found.added
        )
        for at in range(2)
    ]
    verdict = judged(found.keys[0], seen)
    assert verdict is not None
    return verdict


def raised(error: str, code: str) -> str:
    return f'  File "/w/shop/tests/test_cart.py", line 5, in f\n    {code}\n{error}'


@pytest.mark.parametrize(
    ("error", "old", "new"),
    [
        ("requests.exceptions.SSLError: certificate verify failed", "get(u)", "get(u, verify=False)"),
        ("ssl.SSLError: no certificate; use ssl.unchecked()", "c = ssl.create()", "c = ssl.unchecked()"),
        ("PermissionError: [Errno 1] not permitted", "os.chmod(p, 0o600)", "os.chmod(p, 0o777)"),
        ("ValueError: invalid literal for int()", "x = int(s)", "x = eval(s)"),
        ("AssertionError: assert 3 == 4", "assert total() == 4", "assert total() == sum(items)"),
        ("NameError: name 'itms' is not defined", "get(itms)", "get(items, verify=False)"),
    ],
)
def test_an_edit_that_ended_what_happened_as_the_code_ran_waits_for_a_person(error: str, old: str, new: str) -> None:
    verdict = learnt("python3 tests/test_cart.py", raised(error, old), old, new)
    assert (verdict.state, verdict.worked) == ("candidate", 2)
    assert verdict.reason.startswith("it ended what happened as the code ran")


def test_another_name_for_the_one_that_an_error_misses_needs_nobody() -> None:
    old, new = "return sum(i.price for i in itms)", "return sum(i.price for i in items)"
    error = raised("NameError: name 'itms' is not defined", old)
    assert learnt("python3 tests/test_cart.py", error, old, new).state == "active"


def test_an_edit_that_a_checker_judged_needs_nobody() -> None:
    finding = "tests/test_cart.py:5:3: S113 Call without a timeout"
    assert learnt("ruff check", finding, "get(u)", "get(u, timeout=9)").state == "active"


@pytest.mark.parametrize(("old", "new"), [("if got != 13 {", "if got != 15 {"), ("sleep(2)", "sleep(30)")])
def test_another_number_in_a_numbers_place_is_of_that_place_alone(old: str, new: str) -> None:
    assert features(Hunk("total_test.go", 5, (old,), (new,)), "TotalCommitted = 15, want 13") == frozenset()

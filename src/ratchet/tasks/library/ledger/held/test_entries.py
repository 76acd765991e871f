from entries import balanced, by_account
from ledger import Ledger


def test_sums():
    assert by_account([("a", 1), ("b", -3), ("a", 2)]) == {"a": 3, "b": -3}
    assert balanced([("a", 3), ("b", -3)])


def test_three_parts():
    ledger = Ledger()
    ledger.book(("rent", 70), ("power", 30), ("cash", -100))
    assert ledger.balances()["cash"] == -100

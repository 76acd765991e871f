import pytest

from ledger import Ledger


def test_books():
    ledger = Ledger()
    ledger.book(("cash", 5), ("sales", -5))
    assert ledger.entries == [("cash", 5), ("sales", -5)]


def test_balances():
    ledger = Ledger()
    ledger.book(("cash", 5), ("sales", -5))
    ledger.book(("cash", -2), ("food", 2))
    assert ledger.balances() == {"cash": 3, "sales": -5, "food": 2}


def test_differs():
    ledger = Ledger()
    with pytest.raises(ValueError):
        ledger.book(("cash", 1))
    assert ledger.entries == []

import pytest

from bank_account import Account, Overdrawn


def test_deposit():
    account = Account()
    account.deposit(5)
    assert account.balance == 5


def test_withdraw():
    account = Account(10)
    account.withdraw(3)
    assert account.balance == 7
    assert account.history == [("out", 3)]


def test_too_much():
    with pytest.raises(Overdrawn):
        Account(1).withdraw(2)


def test_transfer():
    mine, yours = Account(5), Account()
    mine.transfer(yours, 5)
    assert (mine.balance, yours.balance) == (0, 5)

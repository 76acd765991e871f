import pytest

from bank_account import Account, Overdrawn


def test_a_failed_transfer_changes_nothing():
    mine, yours = Account(1), Account(1)
    with pytest.raises(Overdrawn):
        mine.transfer(yours, 2)
    assert (mine.balance, yours.balance, mine.history) == (1, 1, [])


def test_many():
    account = Account(100)
    for amount in (10, 20, 30):
        account.withdraw(amount)
    account.deposit(5)
    assert account.balance == 45
    assert len(account.history) == 4

"""Entries of a ledger: (account, amount), debits above zero, credits below."""


def balanced(entries):
    return sum(amount for _, amount in entries) == 0


def by_account(entries):
    sums = {}
    for account, amount in entries:
        sums[account] = sums.get(account, 0) + amount
    return sums

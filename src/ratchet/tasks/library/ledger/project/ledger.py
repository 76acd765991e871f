"""A ledger of transactions."""

from entries import balanced, by_account


class Ledger:
    def __init__(self):
        self.entries = []

    def book(self, *entries):
        """Raises ValueError where debits and credits differ; then nothing is booked."""
        if not balanced(entries):
            raise ValueError("debits and credits differ")
        self.entries.append(entries)

    def balances(self):
        return by_account(self.entries)

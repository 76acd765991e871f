"""An account that keeps a list of what happened."""


class Overdrawn(Exception):
    """Less money is there than was asked for."""


class Account:
    def __init__(self, balance=0):
        self.balance = balance
        self.history = []

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount must be above 0")
        self.balance += amount
        self.history.append(("in", amount))

    def withdraw(self, amount):
        if amount > self.balance:
            raise Overdrawn(amount)
        self.balance += amount
        self.history.append(("out", amount))

    def transfer(self, other, amount):
        self.withdraw(amount)
        other.deposit(amount)

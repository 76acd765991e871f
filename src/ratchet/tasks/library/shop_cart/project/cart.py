"""A shopping cart."""

from pricing import discount, price


class Cart:
    def __init__(self):
        self.items = {}

    def add(self, name, count=1):
        self.items[name] = self.items.get(name, 0) + count

    def total(self):
        """From ten euros on, five percent are taken off."""
        full = sum(price(name) * count for name, count in self.items.items())
        return discount(full, 5) if full >= 1000 else full

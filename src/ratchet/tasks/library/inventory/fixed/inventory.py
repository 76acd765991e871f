"""How many of each article are in stock."""


class Inventory:
    def __init__(self, stock=None):
        self.stock = dict(stock or {})

    def add(self, name, count=1):
        self.stock[name] = self.stock.get(name, 0) + count

    def take(self, name, count=1):
        """Raises KeyError where so many are not there."""
        if self.stock.get(name, 0) < count:
            raise KeyError(name)
        self.stock[name] -= count
        if self.stock[name] == 0:
            del self.stock[name]

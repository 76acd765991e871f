"""A book of contacts."""

import normalise


class Contacts:
    def __init__(self):
        self._numbers = {}

    def add(self, name, number):
        self._numbers[normalise.name(name)] = normalise.number(number)

    def find(self, part):
        """(name, number) pairs whose name holds the part, by name."""
        wanted = part.lower()
        return sorted((n, number) for n, number in self._numbers.items() if wanted in n.lower())

"""Counting functions made on demand."""


def counter(start=0, step=1):
    """A function that returns the next number at every call, the first being `start`."""
    current = start - step

    def following():
        nonlocal current
        current = current + step
        return current

    return following


def adders(numbers):
    """One function for every number, which adds it to its argument."""
    return [lambda value, number=number: value + number for number in numbers]

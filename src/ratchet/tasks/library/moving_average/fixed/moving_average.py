"""Averages over a window that moves along."""

from collections import deque


def averages(values, size):
    """One average for every value from the `size`-th on."""
    window = deque()
    total = 0
    for value in values:
        window.append(value)
        total += value
        if len(window) > size:
            total -= window.popleft()
        if len(window) == size:
            yield total / size

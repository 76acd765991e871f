"""Paying with coins of given values, as many of each as one likes."""


def ways(amount, values):
    """How many ways there are, order not counting."""
    count = [1] + [0] * amount
    for value in values:
        for part in range(value, amount + 1):
            count[part] += count[part - value]
    return count[amount]


def fewest(amount, values):
    """The least number of coins; None where it cannot be paid."""
    best = [0] + [None] * amount
    for part in range(1, amount + 1):
        options = [best[part - v] for v in values if v <= part and best[part - v] is not None]
        if options:
            best[part] = min(options) + 1
    return best[amount]

"""A few figures about numbers."""


def mean(values):
    return sum(values) / len(values)


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def variance(values):
    """Of a sample: divided by one less than there are."""
    centre = mean(values)
    return sum((value - centre) ** 2 for value in values) / (len(values) - 1)

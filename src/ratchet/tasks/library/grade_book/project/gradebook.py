"""The marks of a class."""

from marks import mark


def average(points):
    return sum(points) / len(points) if points else 0.0


def report(pupils):
    """Name -> mark of the average of all points."""
    return {name: mark(average(points)) for name, points in sorted(pupils.items())}


def best(pupils):
    """The name with the highest average."""
    return max(pupils, key=lambda name: average(pupils[name]))

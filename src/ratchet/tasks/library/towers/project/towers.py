"""The towers of Hanoi, by the moves of single disks."""


def moves(disks, source="A", spare="B", goal="C"):
    """Pairs of (from, to) that bring `disks` disks from source to goal."""
    if disks == 0:
        return []
    first = moves(disks - 1, source, goal, spare)
    last = moves(disks - 1, source, spare, goal)
    return first + [(source, goal)] + last

"""All subsets of some numbers that add up to a target."""


def subsets(numbers, target):
    """Lists in the order of `numbers`; the empty one makes 0."""
    if not numbers:
        return [] if target == 0 else []
    first, rest = numbers[0], numbers[1:]
    with_first = [[first, *each] for each in subsets(rest, target - first)]
    return with_first + subsets(rest, target)

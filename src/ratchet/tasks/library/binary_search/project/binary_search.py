"""Searching in sorted lists."""


def first_at_least(items, wanted):
    """The first place whose item is not below `wanted`; len(items) where there is none."""
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < wanted:
            low = middle
        else:
            high = middle
    return low


def contains(items, wanted):
    place = first_at_least(items, wanted)
    return place < len(items) and items[place] == wanted

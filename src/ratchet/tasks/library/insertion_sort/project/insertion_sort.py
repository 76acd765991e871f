"""Sort by inserting each item where it belongs."""


def insertion_sort(items, key=lambda item: item):
    """A new list; items of equal keys keep their order."""
    ordered = []
    for item in items:
        place = len(ordered)
        while place > 0 and key(ordered[place - 1]) >= key(item):
            place -= 1
        ordered.insert(place, item)
    return ordered

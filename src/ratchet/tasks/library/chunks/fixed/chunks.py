"""Pieces of a list, all of one size but perhaps the last."""


def chunks(items, size):
    if size < 1:
        raise ValueError("size must be at least 1")
    return [items[start : start + size] for start in range(0, len(items), size)]

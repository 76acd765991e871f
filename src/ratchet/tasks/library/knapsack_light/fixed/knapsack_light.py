"""The best that fits: each thing at most once."""


def best_value(things, room):
    """things: (weight, value) pairs; the greatest total value whose weight is at most `room`."""
    best = [0] * (room + 1)
    for weight, value in things:
        for space in range(room, weight  - 1, -1):
            best[space] = max(best[space], best[space - weight] + value)
    return best[room]

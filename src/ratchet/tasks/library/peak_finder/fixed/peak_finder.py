"""Peaks of a row of heights."""


def peaks(heights):
    """Places that are higher than both neighbours; the ends have one neighbour only."""
    found = []
    for place, height in enumerate(heights):
        left = heights[place - 1] if place > 0 else float("-inf")
        right = heights[place + 1] if place + 1 < len(heights) else float("-inf")
        if left < height > right:
            found.append(place)
    return found


def highest(heights):
    """The first place of the greatest height."""
    return max(range(len(heights)), key=heights.__getitem__)

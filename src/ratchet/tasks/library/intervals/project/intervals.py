"""Closed spans as (start, end)."""


def merged(spans):
    """The same points with as few spans as possible, in order."""
    result = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], end)
        else:
            result.append((start, end))
    return result


def length(spans):
    """How much the spans cover together."""
    return sum(end - start for start, end in spans)

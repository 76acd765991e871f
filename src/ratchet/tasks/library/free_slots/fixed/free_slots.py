"""Free times between meetings."""


def free(meetings, opens, closes):
    """Gaps as (start, end) between `opens` and `closes`; meetings are (start, end) in any order."""
    gaps = []
    at = opens
    for start, end in sorted(meetings):
        if start > at:
            gaps.append((at, start))
        at = max(at, end)
    if at < closes:
        gaps.append((at, closes))
    return gaps

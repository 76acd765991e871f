"""Take out doubles, keeping the first of each."""


def unique(items, key=None):
    """Items whose key was not seen before, in order."""
    seen = set()
    kept = []
    for item in items:
        mark = item if key is None else key(item)
        if mark not in seen:
            seen.add(mark)
            kept.append(item)
    return kept

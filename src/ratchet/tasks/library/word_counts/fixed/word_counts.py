"""Counting words."""

import re


def counts(text):
    """Word -> how often, in small letters."""
    found = {}
    for word in re.findall(r"[a-z']+", text.lower()):
        found[word] = found.get(word, 0) + 1
    return found


def most_common(text, limit):
    """The words that occur most, those of equal counts by name."""
    ordered = sorted(counts(text).items(), key=lambda pair: (-pair[1], pair[0]))
    return [word for word, _ in ordered[:limit]]

"""Words by which anything that was done can be found again. Pure.

A row keeps its words and its marks (what it is about: an agent, a tool, a month) in one list of terms; a search asks
for all of some.
"""

from __future__ import annotations

import re
import time

from ratchet import ids

MOST_WORDS = 100
"""Distinct words that are kept of one text: a command, an error's first lines, a path."""
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LEAST, _LONGEST = 2, 40  # letters; longer ones are hashes and encoded data, which nobody types


def words_in(text: str, most: int = MOST_WORDS) -> list[str]:
    """The distinct words of a text in their order, folded; a name in camel case counts whole and by its parts."""
    found: dict[str, None] = {}
    for match in _WORD.finditer(text):
        word = match[0]
        if len(word) > _LONGEST:
            continue
        parts = _CAMEL.findall(word) if word.isascii() and not (word.islower() or word.isupper()) else ()
        for each in (word, *(parts if len(parts) > 1 else ())):
            folded = each.casefold()
            if len(folded) >= _LEAST and folded.isalnum():
                found[folded] = None
        if len(found) >= most:
            break
    return list(found)[:most]


def mark(name: str, value: str) -> str:
    """A term that says what a row is about; no word looks like it."""
    return "q" + ids.hex_of(f"{name}\0{value}")[:15]


def month_mark(at: float) -> str:
    """The mark of a month (UTC)."""
    moment = time.gmtime(max(at, 0.0))
    return mark("month", f"{moment.tm_year}-{moment.tm_mon}")


def month_marks(since: float, until: float) -> list[str]:
    """The marks of the months that a stretch of time touches, newest first."""
    first, last = time.gmtime(max(since, 0.0)), time.gmtime(max(until, 0.0))
    start, end = first.tm_year * 12 + first.tm_mon - 1, last.tm_year * 12 + last.tm_mon - 1
    return [mark("month", f"{month // 12}-{month % 12 + 1}") for month in range(end, start - 1, -1)]

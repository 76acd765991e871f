"""Words by which anything that was done can be found again. Pure.

A row keeps its words and its marks (what it is about: an agent, a tool, a month) in one list of terms; a search asks
for all of some.
"""

from __future__ import annotations

import re
import time
from functools import lru_cache
from itertools import chain

from ratchet import ids

MOST_WORDS = 100
"""Distinct words that are kept of one text: a command, an error's first lines, a path."""
_HEAD = 1_500  # characters in which most texts have so many words
_WORD = re.compile(r"[^\W_]+")
_APART = {code: " " for code in range(128) if not chr(code).isalnum()}  # in ASCII, in half the time
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LATEST = 253_402_300_799.0  # the end of the year 9999
_LEAST, _LONGEST = 2, 40  # letters; longer ones are hashes and encoded data, which nobody types


def words_in(text: str, most: int = MOST_WORDS) -> list[str]:
    """The distinct words of a text in their order, folded; a name in camel case counts whole and by its parts."""
    if len(text) > _HEAD:  # most long texts say enough at their beginning, whose last word may be cut
        found = _terms_in(_words_of(text[:_HEAD])[:-1], most)
        if len(found) >= most:
            return found
    return _terms_in(_words_of(text), most)


def _words_of(text: str) -> list[str]:
    return text.translate(_APART).split() if text.isascii() else _WORD.findall(text)


def _terms_in(words: list[str], most: int) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(map(_terms_of, dict.fromkeys(words)))))[:most]


@lru_cache(maxsize=8192)  # the words of one project's steps are the same over and over
def _terms_of(word: str) -> tuple[str, ...]:
    """The terms by which one word is found."""
    if len(word) > _LONGEST:
        return ()
    parts = _CAMEL.findall(word) if word.isascii() and not (word.islower() or word.isupper()) else ()
    folded = [each.casefold() for each in (word, *(parts if len(parts) > 1 else ()))]
    return tuple([each for each in folded if len(each) >= _LEAST and each.isalnum()])


@lru_cache(maxsize=1024)  # of a session's steps most are about the same
def mark(name: str, value: str) -> str:
    """A term that says what a row is about; no word looks like it."""
    return "q" + ids.hex_of(f"{name}\0{value}")[:15]


def month_mark(at: float) -> str:
    """The mark of a month (UTC)."""
    return _mark_of(_month(at))


def month_marks(since: float, until: float, most: int) -> list[str] | None:
    """The marks of the months that a stretch of time touches, newest first; None where there are more than `most`."""
    months = range(_month(until), _month(since) - 1, -1)
    return None if len(months) > most else list(map(_mark_of, months))


def _month(at: float) -> int:
    """The number of a month, whatever the moment: outside of what a calendar has, its first or last one."""
    moment = time.gmtime(min(max(0.0, at), _LATEST))  # in this order, so that a NaN is 0
    return moment.tm_year * 12 + moment.tm_mon - 1


def _mark_of(month: int) -> str:
    return mark("month", f"{month // 12}-{month % 12 + 1}")

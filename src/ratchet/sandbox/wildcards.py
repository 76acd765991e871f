"""Match paths against shell patterns that strangers wrote: every pattern compiles, and none takes long.

`*` and `?` stay within a name, `[...]` is a set of characters (ranges, `!` or `^`, `[:alpha:]`), a backslash takes the
next character as it is, and `**` between slashes crosses folders, as in gitignore(5). A pattern that is not whole (a
set without its end, a backslash at the end) matches nothing; a range from high to low holds its first alone.

What follows a wildcard is sought once, where it comes first, and never again (atomic groups): a later place could not
help, since another wildcard follows, or the end is part of what is sought. Time grows with the square of a path's
length at most.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_LONGEST = 65_536  # characters; no path is as long
_NOTHING = "(?!)"
_STAR, _ALL, _FOLDERS = "*", "**", "**/"
_SPECIAL = re.compile(r"[*?[\\]")
_CLASSES = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "blank": "\t\t  ",
    "cntrl": "\0\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\n\r\r  ",
    "upper": "AZ",
    "xdigit": "09AFaf",
}
"""Name -> pairs of the first and the last of a range."""


@lru_cache(maxsize=4096)
def compiled(pattern: str, *, loose: bool = False) -> re.Pattern[str]:
    """A pattern of whole paths, for `fullmatch`. `loose`, as people write them: `**` crosses folders wherever it
    stands, and what is not whole is taken as it is."""
    steps = _steps(pattern, loose=loose) if len(pattern) <= _LONGEST else None
    return re.compile(_NOTHING if steps is None else _joined(steps), re.DOTALL)


def _joined(steps: Sequence[str]) -> str:
    """The steps as one regular expression."""
    made, opened = "", []  # type: tuple[str, list[str]]
    for step in (*steps, r"\Z"):
        if step not in (_STAR, _ALL, _FOLDERS):
            made += step
            continue
        # A wildcard within a name ends what the one before it seeks, one across folders what every one before seeks.
        kept = 1 if step == _STAR and opened and opened[0] != _STAR else 0
        made += ")" * (len(opened) - kept)
        del opened[kept:]
        made += {_STAR: "(?>[^/]*?", _ALL: "(?>.*?", _FOLDERS: "(?>(?:[^/]*/)*?"}[step]
        opened.append(step)
    return made + ")" * len(opened)


def _steps(pattern: str, *, loose: bool) -> list[str] | None:
    """Wildcards, and between them regular expressions of one character each; None for a pattern that is not whole."""
    found: list[str] = []
    first = _SPECIAL.search(pattern)
    at, whole = 0, True
    while at < len(pattern):
        letter = pattern[at]
        if letter == "*":
            end = at
            while pattern[end : end + 1] == "*":
                end += 1
            # To git, what precedes the first wildcard is no part of the pattern any more.
            left = at == 0 or pattern[at - 1] == "/" or (not loose and first is not None and first.start() == at)
            step, at = _wildcard(pattern, at, end, left=left, loose=loose)
            found.append(step)
        elif letter == "[" and whole and (read := _set(pattern, at + 1)) is not None:
            made, at = read
            found.append(made)
        elif letter == "\\" and at + 1 < len(pattern):
            found.append(re.escape(pattern[at + 1]))
            at += 2
        elif letter in "[\\" and not loose:
            return None
        else:
            whole = whole and letter != "["  # what never ended is not read to the end again
            found.append("[^/]" if letter == "?" else re.escape(letter))
            at += 1
    return found


def _wildcard(pattern: str, at: int, end: int, *, left: bool, loose: bool) -> tuple[str, int]:
    """Read what the stars from `at` to `end` mean, and where the pattern goes on."""
    if end - at < 2:
        return _STAR, end
    rest = pattern[end : end + 2]
    if left and rest[:1] == "/":
        return _FOLDERS, end + 1
    bounded = left and (not rest or rest == "\\/")
    return (_ALL if bounded or loose else _STAR), end


def _set(pattern: str, at: int) -> tuple[str, int] | None:
    """A set of characters that begins behind its bracket, and where the pattern goes on; None where it never ends."""
    negated = pattern[at : at + 1] in ("!", "^") and at < len(pattern)
    at += negated
    ranges, before, begun = "", "", at
    while at < len(pattern) and (pattern[at] != "]" or at == begun):
        letter, following = pattern[at], pattern[at + 1 : at + 2]
        if letter == "\\":
            at += 1
            if at == len(pattern):
                return None
            letter = pattern[at]
            ranges += letter * 2
        elif letter == "-" and before and following and following != "]":
            at += 1 + (following == "\\")
            if at == len(pattern):
                return None
            ranges += before + pattern[at]
            letter = ""
        elif letter == "[" and following == ":":
            end = pattern.find("]", at + 2)
            if end < 0:
                return None
            if end > at + 2 and pattern[end - 1] == ":":
                named = _CLASSES.get(pattern[at + 2 : end - 1])
                if named is None:
                    return None
                ranges, at, letter = ranges + named, end, ""
            else:
                ranges += letter * 2
        else:
            ranges += letter * 2
        before = letter
        at += 1
    if at >= len(pattern):
        return None
    within = "".join(
        f"{re.escape(low)}-{re.escape(high)}"
        for low, high in zip(ranges[::2], ranges[1::2], strict=True)
        if low <= high
    )
    if negated:
        return f"[^/{within}]", at + 1
    return f"(?!/)[{within}]" if within else _NOTHING, at + 1

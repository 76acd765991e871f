"""Names the rule of a linter, or the sentence of a compiler, by which failing runs are one pattern."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import NamedTuple

from ratchet.failures.diagnostics import diagnostics, masked
from ratchet.failures.signature import template_of

_UNNAMED = ("e:", "t:", "w:", "py:")
"""Keys of findings that no rule has: any error line, a test's own message, a warning, an exception."""


def is_rule(key: str) -> bool:
    """Tell whether a finding's key names a rule."""
    return not key.startswith(_UNNAMED)


class BrokenRule(NamedTuple):
    """The key of a finding, as facts and lessons count it, and the masked sentence that tells it to a person."""

    key: str
    template: str


def named_by(key: str, message: str) -> str:
    """Put the name of the linter, or of the rule where no linter is known, before a finding's message, unless it says
    it."""
    tool, _, rule = key.partition(":")
    owner = rule if tool == "rule" else tool
    return message if owner in ("c", "t", "e", "w", "py", "") or owner in message else f"{owner}: {message}"


def shared(one: str, other: str) -> str:
    """Reduce two titles of one rule to what they have in common, `<name>` where they differ, so that it tells of no
    instance alone; the first where they share less than half of it."""
    said, compared = one.split(), other.split()
    kept: list[str] = []
    at, beside = 0, 0
    for start, began, size in SequenceMatcher(None, said, compared, autojunk=False).get_matching_blocks():
        if start > at or began > beside:
            kept.append(_HOLE)
        if size > 1 or not start:  # a word alone between two holes is there by chance
            kept += said[start : start + size]
        at, beside = start + size, began + size
    kept = [each for n, each in enumerate(kept) if each != _HOLE or kept[n - 1 : n] != [_HOLE]]
    return " ".join(kept) if 2 * sum(each != _HOLE for each in kept) >= len(said) else one


_HOLE = "<name>"


def keys_titled(title: str) -> list[str]:
    """The keys of findings that may be named by such a line (`named_by`), as lists of patterns and lessons print it."""
    owner, colon, message = title.strip().partition(": ")
    if not colon or "\n" in message or not owner.replace("-", "").isalnum():
        return []
    return [f"{owner}:{masked(message)}", f"{owner}:{message.partition(': ')[0]}", owner]


def first_rule(message: str) -> BrokenRule | None:
    """The rule of the first finding in a failing output that breaks one; None of any other output."""
    for each in diagnostics(message) if message else ():
        if is_rule(each.key):
            return BrokenRule(each.key, template_of(named_by(each.key, each.message)))
    return None

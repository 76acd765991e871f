"""Tells advice that only repeats what the failure's own message says: there it is noise. Lean: hooks import it."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ratchet.records import Row

_USAGE = r"(?im)^\s*usage\b"
_MARKS = ".,:;()'\"`<>[]"


def restates(lesson: Row, message: str) -> bool:
    """Tell whether a mined lesson says at this failure what its message says. What a person wrote never does."""
    if not lesson.get("group"):
        return False
    if lesson.get("rule") == "edit":  # a rule's message is always the same: it was asked of all sightings
        return bool(lesson.get("says_itself"))
    return says(str(lesson.get("text") or ""), message)


def says(advice: str, message: str) -> bool:
    """Tell whether a message holds every word that an advice quotes; its usage text, which lists all there is,
    aside."""
    quoted = _words(" ".join(advice.split("`")[1::2]))
    usage = re.search(_USAGE, message)
    return bool(quoted) and quoted <= _words(message[: usage.start()] if usage is not None else message)


def _words(text: str) -> set[str]:
    return {word.strip(_MARKS) for word in text.split()} - {""}

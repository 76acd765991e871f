"""Names lessons, and tells error texts that name a cause from those that only say that something failed."""

from __future__ import annotations

import hashlib
import re

_HEADER = re.compile(r"(?:Exit code|Process exited with code) \S+")
_TELLING = re.compile(r"[A-Za-z]{3,}")
_WORDS_AT_LEAST = 2  # a trigger with fewer words of its own says only that something failed: it would match anything


def tells(template: str) -> bool:
    """Tell whether a masked error text has words of its own, beyond that something failed."""
    words = {word.lower() for word in _TELLING.findall(_HEADER.sub("", re.sub(r"<\w+>", "", template)))}
    return len(words - _SAYS_NOTHING) >= _WORDS_AT_LEAST


_SAYS_NOTHING = frozenset("error errors failed failure fail exit code command task status with the and".split())  # noqa: SIM905


def lesson_id_of(*parts: str) -> str:
    """The id of the lesson that these parts make: the same on every machine."""
    return "l" + hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:24]

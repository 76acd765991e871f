"""Which lesson a resolution speaks for, and the row under which the resolution is kept as evidence."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict
from typing import cast

from ratchet.lessons.mining.mining import Resolution
from ratchet.lessons.ranking import THRESHOLD, similarity
from ratchet.ports import Store
from ratchet.records import Row

_HEADER = re.compile(r"(?:Exit code|Process exited with code) \S+")
_TELLING = re.compile(r"[A-Za-z]{3,}")
_WORDS_AT_LEAST = 2  # a trigger with fewer words of its own says only that something failed: it would match anything
# Remedies that answer what a tool says in its own fixed words: the words that follow are the case's.
_FIXED_WORDING = frozenset(("read", "fields", "found"))


def lesson_key(store: Store, found: Resolution, pattern: str) -> str:
    """The id of the lesson that a resolution speaks for, "" for none.

    The same remedy for the same command head or tool is one lesson, unless its failures have different causes.
    """
    if not found.text or not tells(found.template):
        return ""
    if not (found.reusable or found.reason or "\n" in found.text):
        return ""
    head = found.tool if found.rule in _FIXED_WORDING else found.head
    lesson_id = lesson_id_of("mined", head, found.form)
    if found.rule in _FIXED_WORDING or found.reason:
        return lesson_id
    held = store.get("lessons", lesson_id)
    same = held is None or held.get("pattern") == pattern or _alike(found.template, str(held.get("when_text") or ""))
    return lesson_id if same else lesson_id_of("mined", head, found.form, pattern or found.signature)


def keep(found: Resolution, lesson_id: str, pattern: str) -> Row:
    """The resolution as a row. One that did not work carries no signature of its own: it cost nothing that is not
    counted already, and resolves nothing."""
    row = cast(Row, asdict(found))
    row["avoid"] = list(found.avoid)
    row["trigger_signature"], row["trigger_pattern"] = found.signature, pattern
    row["lesson_id"] = lesson_id
    row["pattern"] = pattern if found.worked else ""
    if not found.worked:
        row["signature"] = ""
    return row


def tells(template: str) -> bool:
    """Whether a masked error text has words of its own, beyond that something failed."""
    words = {word.lower() for word in _TELLING.findall(_HEADER.sub("", re.sub(r"<\w+>", "", template)))}
    return len(words - _SAYS_NOTHING) >= _WORDS_AT_LEAST


_SAYS_NOTHING = frozenset("error errors failed failure fail exit code command task status with the and".split())  # noqa: SIM905


def _alike(one: str, other: str) -> bool:
    return similarity(one, other) >= THRESHOLD or similarity(other, one) >= THRESHOLD


def lesson_id_of(*parts: str) -> str:
    """The id of the lesson that these parts make: the same on every machine."""
    return "l" + hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:24]

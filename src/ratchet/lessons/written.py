"""Lessons that people write for one failure: wordings of one remedy are one lesson, and of two that contradict each
other the newer counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from ratchet.lessons.parts import parts_of
from ratchet.ports import Store
from ratchet.records import Json, Row

_WORD = re.compile(r"[^\W_]{3,}")
_ALIKE = 0.7  # of the words of two sentences: said again, not said otherwise
_NOT = re.compile(r"\b(?:not|never|no longer|don't|avoid|instead of|without|nicht|nie|ne|jamais|no)\b", re.IGNORECASE)


def rivals(store: Store, row: Row) -> list[Row]:
    """Lessons by people for the same failure where this one counts, too, oldest first."""
    found = store.find("lessons", {"signature": row["signature"], "state": ("in", ["active", "candidate"])}).rows
    own = [
        each
        for each in found
        if each["id"] != row["id"]
        and not any(each.get(name) for name in ("group", "foreign", "quote"))
        and _same_names(each, row)
        and (
            each.get("scope") == row["scope"] == "global" or set(_list(each, "projects")) & set(_list(row, "projects"))
        )
    ]
    return sorted(own, key=lambda each: (cast("float", each["created_at"]), str(each["id"])))


def same_remedy(one: str, other: str) -> bool:
    """Tell whether two advices are wordings of one remedy: the same commands, neither of them forbidden by one and told
    by the other; of prose, mostly the same words."""
    if bool(_NOT.search(one)) != bool(_NOT.search(other)):
        return False
    mine, others = _commands(one), _commands(other)
    if mine or others:
        return mine == others
    words, more = _words(one), _words(other)
    return len(words & more) >= _ALIKE * max(len(words), len(more), 1)


def _commands(advice: str) -> frozenset[str]:
    told = parts_of(advice) or tuple(parts_of(advice.partition(":")[2].strip()))
    return frozenset(" ".join(each.split()) for each in told)


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _same_names(one: Row, other: Row) -> bool:
    """Tell whether two lessons of one signature are about the same quoted names (two modules that are missing share
    it)."""
    return _list(one, "names") == _list(other, "names")


def _list(row: Row, name: str) -> Sequence[str]:
    return [str(each) for each in cast("list[Json]", row.get(name) or [])]

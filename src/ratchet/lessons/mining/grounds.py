"""Find what a failure must name before a step that answered others answers it, too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ratchet.failures.excerpt import error_lines
from ratchet.lessons.grounding import names
from ratchet.lessons.mining.calls import pieces_of
from ratchet.lessons.mining.generalise import KNOWN
from ratchet.lessons.mining.mining import Resolution

_AS_WRITTEN = frozenset(("first", "instead", "stand_in"))  # remedies that hold the operands of a command
_PLACEHOLDER = re.compile(r"<[a-z]+\d?>")
_NAME = re.compile(r"[\w./@~-]*[A-Za-z][\w./@~-]*")
_NO_WORD = re.compile(r"[A-Z\d./@_~-]")  # behind its first letter: a plain word is no name
_NAME_CHARS = 3
_USAGE = re.compile(r"^\s*usage\b", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """Words that a failure must hold for a lesson to be about it: all of `named` in its error or command, all of `ran`
    in its command, and one of `subjects`, if there are any."""

    named: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()


def grounds_of(group: str, text: str, seen: Sequence[Resolution]) -> Grounds:
    """The grounds of the remedy of one group. An operand that each sighting's failure names is bound to that failure;
    one that comes from none of them is the project's own, and said only where the error is about what they share."""
    own = [each for each in seen if each.worked] or list(seen)
    rule = own[-1].rule
    if rule == "made":
        return Grounds(named=(group.removeprefix("step make ").partition(" \0")[0],))
    if group.startswith("step adds "):
        return Grounds(ran=tuple(own[-1].head.split()))
    if rule not in _AS_WRITTEN:
        return Grounds()
    named, ran, free = [], [], False
    for word in _literals(text):
        if all(names(error_lines(_without_usage(each.said)), word) for each in own):
            named.append(word)
        elif all(names(each.failed_input, word) for each in own):
            ran.append(word)
        else:
            free = True
    subjects = set.intersection(*map(_subjects, own)) if free else set[str]()
    return Grounds(named=tuple(named), ran=tuple(ran), subjects=tuple(sorted(subjects)))


def _literals(text: str) -> list[str]:
    """The operands of the command that an advice says to run, without placeholders and what every project has."""
    command = text.partition("`")[2].partition("`")[0]
    words = [word for piece in pieces_of(command) for word in piece.operands]
    return [
        word for word in dict.fromkeys(words) if not _PLACEHOLDER.search(word) and word not in KNOWN and word != "."
    ]


def _without_usage(said: str) -> str:
    """An output without the usage text, which is the same whatever failed."""
    usage = _USAGE.search(said)
    return said[: usage.start()] if usage is not None and usage.start() else said


def _subjects(each: Resolution) -> set[str]:
    """The names in the lines of an error that its template or its keys mask."""
    kept = set(_NAME.findall(each.template)) & set(_NAME.findall(" ".join(each.keys) or each.template))
    found = {word.rstrip(".-") for word in _NAME.findall(error_lines(_without_usage(each.said)))}
    return {word for word in found - kept if len(word) >= _NAME_CHARS and _NO_WORD.search(word[1:])}

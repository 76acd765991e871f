"""Fills in what a masked error text leaves out and all who met it share: a mask fits every path, a lesson only one."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MASK = re.compile(r"<([a-z_]+)\d?>")
_NUMBERS = frozenset(("num", "dur", "size", "time", "hex", "id", "hash", "port", "pid"))
_MARKS = "'\"`.,:;()[]"
_SESSIONS = 2  # from which on what they share is no chance
_CHARS = 80  # of what is filled in


def filled(template: str, met: Sequence[tuple[str, str]], advice: str) -> str:
    """The first line of a masked error text with those masks filled in for which every sighting, as (session, message),
    has the same text; of a single session only what the advice names, too. Numbers say nothing. Linear in the texts."""
    line, *below = template.split("\n")
    masks, between = _MASK.findall(line), [" ".join(each.split()) for each in _MASK.sub("\0", line).split("\0")]
    found = [values for _, said in met if (values := _values(between, said))]
    if not masks or not found or len(found) < len(met):
        return template
    several = len({session for session, _ in met}) >= _SESSIONS
    shared = [each[0] if len(set(each)) == 1 else "" for each in zip(*found, strict=True)]
    told = [
        text if 0 < len(text) <= _CHARS and mask not in _NUMBERS and (several or _names(advice, text)) else ""
        for mask, text in zip(masks, shared, strict=True)
    ]
    return "\n".join([_MASK.sub(lambda mask: told.pop(0) or mask[0], line), *below])


def _values(between: Sequence[str], said: str) -> list[str]:
    """The texts where a line is masked; [] where no line is of this form."""
    for each in said.split("\n"):
        line = " ".join(each.split())
        if not line.startswith(between[0]) or not line.endswith(between[-1]):
            continue
        at, values = len(between[0]), []
        for number, literal in enumerate(between[1:], 2):
            end = len(line) - len(literal) if number == len(between) else line.find(literal or " ", at + 1)
            if end <= at:
                break
            values.append(line[at:end].strip())
            at = end + len(literal)
        else:
            return values
    return []


def _names(advice: str, text: str) -> bool:
    bare = text.strip(_MARKS)
    return bool(bare) and re.search(rf"(?<![\w/.-]){re.escape(bare)}(?![\w/-])", advice) is not None

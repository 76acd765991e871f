"""Fills in what a masked error text leaves out and all who met it share: a mask fits every path, a lesson only one."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MASK = re.compile(r"<([a-z_]+)\d?>")
_NUMBERS = frozenset(("num", "dur", "size", "time", "hex", "id", "hash", "port", "pid"))
_SESSIONS = 2  # from which on what they share is no chance
_CHARS = 80  # of what is filled in


def filled(template: str, met: Sequence[tuple[str, str]], advice: str) -> str:
    """The first line of a masked error text with those masks filled in for which every sighting, as (session, message),
    has the same text; of a single session only what the advice names, too. Numbers say nothing."""
    line = template.split("\n")[0]
    if not _MASK.search(line):
        return template
    pattern = re.compile("".join(_expression(part) for part in re.split(r"(<[a-z_]+\d?>|\s+)", line)))
    found = [(session, fit.groups()) for session, said in met if (fit := _matched(pattern, said)) is not None]
    if not found or len(found) < len(met):
        return template
    several = len({session for session, _ in found}) >= _SESSIONS
    shared = [values[0] if len(set(values)) == 1 else "" for values in zip(*(each for _, each in found), strict=True)]

    def value(mask: re.Match[str]) -> str:
        text = shared.pop(0)
        told = several or re.search(rf"(?<![\w/.-]){re.escape(text.strip(_MARKS))}(?![\w/-])", advice) is not None
        fits = 0 < len(text) <= _CHARS and mask[1] not in _NUMBERS and text.strip(_MARKS)
        return text if fits and told else mask[0]

    return "\n".join([_MASK.sub(value, line), *template.split("\n")[1:]])


_MARKS = "'\"`.,:;()[]"


def _expression(part: str) -> str:
    if _MASK.fullmatch(part):
        return "(.+?)"
    return r"\s+" if part.isspace() else re.escape(part)


def _matched(pattern: re.Pattern[str], said: str) -> re.Match[str] | None:
    return next((fit for line in said.split("\n") if (fit := pattern.fullmatch(line.strip())) is not None), None)

"""Finds JSON in what a model or a program wrote between sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ratchet.records import Json

_JSON_PARTS = re.compile(r'"(?:[^"\\]|\\.)*"|["{}\[\]]', re.DOTALL)
_CLOSED_BY = {"{": "}", "[": "]"}
_TRIED_OPENINGS = 64  # braces from which it is looked for; a program has thousands


def until_it_circled(text: str) -> str:
    """The object that was begun in a text which was broken off as it said the same again and again: up to its last
    whole part, closed, each element of its lists once; "" where no part is whole."""
    begin = max(0, text.find("{"))
    still_open: list[str] = []
    whole, closing = 0, ""
    for token in _JSON_PARTS.finditer(text, begin):
        if token[0] == '"':  # of a string that never ended
            break
        if token[0] in _CLOSED_BY:
            still_open.append(_CLOSED_BY[token[0]])
        elif still_open and token[0] == still_open[-1]:
            still_open.pop()
            whole, closing = token.end(), "".join(reversed(still_open))
    found = next(objects_within(text[begin:whole] + closing), None) if whole else None
    return json.dumps(_each_once(found)) if found else ""


def _each_once(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _each_once(each) for key, each in value.items()}
    if isinstance(value, list):
        return list({json.dumps(each): _each_once(each) for each in value}.values())
    return value


def objects_within(text: str) -> Iterator[dict[str, Json]]:
    """JSON objects that the text holds, the outermost first."""
    decoder = json.JSONDecoder(strict=False)  # models write line ends inside strings
    at, tried = text.find("{"), 0
    while at >= 0 and tried < _TRIED_OPENINGS:
        tried += 1
        end = at + 1
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            yield found
        at = text.find("{", end)

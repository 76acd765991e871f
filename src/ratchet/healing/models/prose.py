"""Finds JSON in what a model or a program wrote between sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ratchet.records import Json

_TRIED_OPENINGS = 64  # braces from which it is looked for; a program has thousands


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

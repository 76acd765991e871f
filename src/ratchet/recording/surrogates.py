"""Half a letter in a text of JSON costs that letter, not the text.

Whoever cuts a text in JavaScript may cut a letter in two, and `JSON.stringify` writes the half as `\\ud83d` (ECMA-262,
25.5.2.3). No UTF-8 holds it, so a strict reader refuses all that stands around it: a batch of 500 outcomes, or a
request whose sender then waits for its answer.
"""

from __future__ import annotations

import re

_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALVES = re.compile(  # an even number of backslashes before it: else its own one is a letter
    rb"(?<!\\)((?:\\\\)*)" + _HIGH + rb"(?!" + _LOW + rb")|(?<!\\)(?<!" + _HIGH + rb")((?:\\\\)*)" + _LOW
)
_UNKNOWN = rb"\1\2\\ufffd"


def mended(text: bytes) -> bytes:
    """JSON with U+FFFD in the place of each half letter; anything else as it is. Linear in its length."""
    if b"\\ud" not in text and b"\\uD" not in text:
        return text
    return _HALVES.sub(_UNKNOWN, text)

"""Ids of traces and spans as one spelling: OTLP/JSON writes hex in any case, protobuf's own JSON base64."""

from __future__ import annotations

import base64
import binascii
import re

_HEX = re.compile(r"[0-9a-fA-F]+")
TRACE_BYTES, SPAN_BYTES = 16, 8
PARENT = "parent"
"""Key of an outcome's context: the outcome of the span around it."""


def hex_id(text: str, size_bytes: int) -> str:
    """The id in lower-case hex; as it came where it is none of this size."""
    text = text.strip()
    bare = text.removeprefix("0x").replace("-", "")  # as UUIDs and debuggers write it
    if len(bare) == 2 * size_bytes and _HEX.fullmatch(bare):
        return bare.lower()
    try:
        held = base64.b64decode(text.translate(_URL_SAFE) + "=" * (-len(text) % 4), validate=True)
    except (ValueError, binascii.Error):
        return text
    return held.hex() if len(held) == size_bytes else text


_URL_SAFE = str.maketrans("-_", "+/")

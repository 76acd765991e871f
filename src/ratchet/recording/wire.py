"""JSON as the journal, the hooks and their look-ups write and read it: compact, without NaN, in UTF-8.

By the C half of `json`: its Python half loads `re`, a quarter of the time that a hook has, and makes a new encoder for
every record, a tenth of the time that one takes. Lean: hook processes import this.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from ratchet.records import Json

_BLANK = " \t\n\r"


def _refuse(value: object) -> NoReturn:
    raise TypeError(f"{type(value).__name__} is no JSON")


class _Rules:
    """Rules that `_json`'s scanner asks of its decoder: plain JSON, as `json.loads` reads it."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


try:
    from _json import (
        encode_basestring,
        encode_basestring_ascii,
        make_encoder,
        make_scanner,
    )

    _pieces, _pieces_in_ascii = (
        make_encoder(None, _refuse, letters, None, ":", ",", False, False, False)
        for letters in (encode_basestring, encode_basestring_ascii)
    )
    _scan = make_scanner(_Rules)  # type: ignore[arg-type]  # any object with these names will do
except (ImportError, TypeError, AttributeError):  # another implementation of Python, or one to come
    import json

    _encode, _encode_in_ascii = (
        json.JSONEncoder(ensure_ascii=is_ascii, allow_nan=False, check_circular=False, separators=(",", ":")).encode
        for is_ascii in (False, True)
    )

    def _decode(s: str) -> Json:
        value: Json = json.loads(s)
        return value
else:

    def _encode(o: object) -> str:
        return "".join(_pieces(o, 0))

    def _encode_in_ascii(o: object) -> str:
        return "".join(_pieces_in_ascii(o, 0))

    def _decode(s: str) -> Json:
        text = s.strip(_BLANK)
        try:
            value, end = _scan(text, 0)
        except StopIteration:
            raise ValueError("the text is no JSON") from None
        if end != len(text):
            raise ValueError(f"the JSON ends at character {end}, the text goes on")
        return value  # type: ignore[no-any-return]


def written(value: object) -> str:
    """The value as JSON. Raises TypeError, ValueError (NaN), RecursionError (too deep, or a cycle)."""
    return _encode(value)


def written_in_ascii(value: object) -> str:
    """`written`, other characters escaped: as the store keeps a row's body, and as no terminal can garble it."""
    return _encode_in_ascii(value)


def read(text: str) -> Json:
    """The value that a JSON text holds. Raises ValueError, RecursionError."""
    return _decode(text)

"""Pydantic's decoder of JSON, where it is there: it takes half the time of Python's own, and means the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from ratchet.records import Json

Decoder: TypeAlias = "Callable[[bytes], Json]"
"""Reads one whole JSON text. Raises ValueError for one that it does not take, Python's own may."""

_LARGE = 1 << 20  # bytes: to import it takes as long as it saves on so many


def quick_decoder(size_bytes: int) -> Decoder | None:
    """Choose it for so many bytes; None where it is not there, or has not paid yet."""
    if size_bytes <= _LARGE and "pydantic_core" not in sys.modules:
        return None
    try:
        from pydantic_core import from_json
    except ImportError:
        return None
    return cast("Decoder", partial(from_json, allow_inf_nan=False, cache_strings="keys"))

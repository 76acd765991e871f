"""Long lists, a page at a time: `?limit=` and the `next` cursor of the page before."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Query

from ratchet.errors import UsageError
from ratchet.serving.shapes.served import PageShape

T = TypeVar("T")
S = TypeVar("S")
MOST = 1_000

Limit = Annotated[int, Query(ge=1, le=MOST, description="How many at most.")]
Cursor = Annotated[
    str | None, Query(max_length=2_000, description="`next` of the page before; it continues after that page.")
]


def paged(
    found: Sequence[T], key: Callable[[T], str], shape: Callable[[T], S], *, limit: int, cursor: str | None
) -> PageShape[S]:
    """A page of a list that is computed whole. The cursor names the last one seen: what moved in front of it since is
    not repeated, and where it is gone its place counts. Raises UsageError for a cursor that is none."""
    start = 0 if cursor is None else _after(found, key, cursor)
    part = found[start : start + limit]
    more = start + limit < len(found)
    return PageShape(
        items=[shape(each) for each in part],
        next=_packed(f"{start + len(part)} {key(part[-1])}") if more and part else None,
        total=len(found),
    )


def _after(found: Sequence[T], key: Callable[[T], str], cursor: str) -> int:
    place, _, last = _unpacked(cursor).partition(" ")
    if not (place.isascii() and place.isdigit()):
        raise UsageError("this cursor is none of ours; take `next` of the page before, or leave it out")
    at = min(int(place), len(found))
    near = [*range(at - 1, -1, -1), *range(at, len(found))]
    return next((index + 1 for index in near if key(found[index]) == last), at)


def _packed(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def _unpacked(cursor: str) -> str:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True).decode("utf-8", "surrogatepass")
    except (binascii.Error, ValueError):
        return ""

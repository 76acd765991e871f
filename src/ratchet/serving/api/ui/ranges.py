"""Ranges and orders that a page may be asked for, as links of that very page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlencode

from fastapi import Request

from ratchet.lessons.failing import RANGES

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RangeLink:
    """One range to choose."""

    name: str
    said: str
    address: str


def range_links(request: Request) -> list[RangeLink]:
    """Links to this page in every range."""
    return [RangeLink(name, name, with_query(request, range=name)) for name in RANGES]


def with_query(request: Request, **changed: str) -> str:
    """The address of this page with some of its query changed; "" takes a part out, and a list begins anew."""
    asked = {name: value for name, value in request.query_params.items() if name not in ("from", "after")}
    query = urlencode({name: value for name, value in (asked | changed).items() if value})
    return f"{request.url.path}?{query}" if query else request.url.path


@dataclass(frozen=True, slots=True)
class Order:
    """Order of a table: by which column, and whether the least comes first."""

    request: Request
    by: str
    up: bool

    def address(self, column: str) -> str:
        """The page with this column leading; turned round where it leads already."""
        turned = self.by == column and not self.up
        return with_query(self.request, sort=f"{'' if turned else '-'}{column}")


def ordered(
    request: Request, rows: Sequence[T], columns: dict[str, Callable[[T], float | str]], usual: str
) -> tuple[list[T], Order]:
    """The rows in the order that the address asks for (`?sort=-count`), as they are where it names none of `columns`;
    `usual` names the column that they are ordered by then."""
    asked = request.query_params.get("sort", "")
    name = asked.lstrip("-")
    if name not in columns:
        return list(rows), Order(request, usual, up=False)
    up = not asked.startswith("-")
    return sorted(rows, key=columns[name], reverse=not up), Order(request, name, up)

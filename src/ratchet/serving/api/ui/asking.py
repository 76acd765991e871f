"""Parts that every page shares: who may see it, forms, and long lists a part at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, TypeVar
from urllib.parse import parse_qs, quote, urlencode

from fastapi import APIRouter, Depends, Query, Request
from markupsafe import escape
from starlette.responses import RedirectResponse, Response

from ratchet.errors import UsageError
from ratchet.serving.api.problems import HttpProblem

T = TypeVar("T")
ROWS = 50
"""Rows of one part of a list: what a browser draws at once."""
_FORM_BYTES = 65_536
_FORM_FIELDS = 150  # all rows of a part, ticked
Start = Annotated[int, Query(alias="from", ge=0, le=10_000_000)]


def router() -> APIRouter:
    """Routes for eyes: not in the OpenAPI document."""
    return APIRouter(include_in_schema=False)


def part(request: Request, found: Sequence[T], start: int) -> tuple[Sequence[T], str]:
    """The rows of this part, and the address of the next one ("" for none)."""
    rows = found[start : start + ROWS]
    return rows, following(request, "from", str(start + ROWS)) if start + ROWS < len(found) else ""


def following(request: Request, named: str, place: str) -> str:
    """The address of the part of this list that begins at a place: escaped, and shown as it is, since a cursor looks
    like a key and is none."""
    asked = [(name, value) for name, value in request.query_params.multi_items() if name != named]
    return escape(f"{_path(request)}?{urlencode([*asked, (named, place)])}")


def here(request: Request) -> str:
    """The address of this page, as it was asked for."""
    return f"{_path(request)}?{request.url.query}" if request.url.query else _path(request)


def _path(request: Request) -> str:
    """The path that was asked for, as an address holds it: an id may hold a `?`, a `#` or blanks."""
    return quote(request.scope["path"], safe="/:@")


async def form(request: Request) -> dict[str, str]:
    """The fields of a form, the first of each name. Raises Problem for a body that is no form."""
    return {name: values[0] for name, values in (await _fields(request)).items()}


async def ids(request: Request) -> list[str]:
    """The rows of a list that were ticked. Raises Problem for a body that is no form."""
    return (await _fields(request)).get("id", [])


Form = Annotated[dict[str, str], Depends(form)]


async def _fields(request: Request) -> dict[str, list[str]]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if body and kind != "application/x-www-form-urlencoded":
        raise HttpProblem(415, "media-type", f"a form is due, not {kind[:80] or 'nothing'}", "Use the page's own form.")
    if len(body) > _FORM_BYTES:
        raise HttpProblem(413, "too-large", "this form is too large", "Use the page's own form.")
    try:
        return parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_FORM_FIELDS)
    except ValueError as error:
        raise HttpProblem(422, "invalid", f"this form cannot be read: {error}", "Use the page's own form.") from error


def back(address: str) -> Response:
    """Go and see what became of it."""
    return RedirectResponse(address, 303)


def own(address: str) -> str:
    """An address on this very site; the first page for any other."""
    return address if address.startswith("/") and not address.startswith(("//", "/\\")) else "/"


def moment_of(said: str) -> float | None:
    """Read a day (2026-01-31), a time, or Unix seconds as the API has them; None for "". Raises UsageError."""
    if not said.strip():
        return None
    try:
        if re.fullmatch(r"\d{5,12}(\.\d+)?", said.strip()):
            return float(said)
        found = datetime.fromisoformat(said.strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"{said[:40]!r} is no day: write it as 2026-01-31") from None

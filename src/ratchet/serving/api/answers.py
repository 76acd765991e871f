"""Answers as they are sent: JSON, with an ETag where a client comes back for the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from fastapi import Request
from starlette.responses import Response

from ratchet.recording import wire
from ratchet.serving.shapes.shape import Shape, json_of

MEDIA_TYPE = "application/json"


def answer(value: Shape | Sequence[Shape], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer of shapes. Encoded here and not by a model: a page of patterns costs a few milliseconds instead of
    ten."""
    return Response(wire.written(json_of(value)), status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def tagged(request: Request, value: Shape | Sequence[Shape], tag: str = "") -> Response:
    """A JSON answer with an ETag (its content's, unless given), or 304 where the client has it already."""
    text = wire.written(json_of(value)).encode()
    tag = tag or f'W/"{hashlib.sha256(text).hexdigest()[:24]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie"}
    if knows(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=headers)
    return Response(text, headers=headers, media_type=MEDIA_TYPE)


def knows(asked: str, tag: str) -> bool:
    """Tell whether an If-None-Match names this tag (RFC 9110, 13.1.2: compared weakly)."""
    if asked.strip() == "*":
        return True
    return tag.removeprefix("W/") in [each.strip().removeprefix("W/") for each in asked.split(",")]

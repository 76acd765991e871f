"""Errors as RFC 9457 problem documents: what happened, where, and what to do next. Never a secret."""

from __future__ import annotations

import errno
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import cast

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException as PlainException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.routing import compile_path

from ratchet.errors import BackendError, Conflict, ModelError, NotFound, RatchetError, Refused, UsageError
from ratchet.failures.redaction.text import clean
from ratchet.records import Json
from ratchet.serving.api.heads import has_end

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_S = 5
"""When to come back to a store that is down: long enough not to hammer it, short enough for a person who waits."""
_MOST_ERRORS = 20  # of a wrong body that are named: a batch of 500 wrong outcomes is wrong in one way


class HttpProblem(HTTPException):
    """Problem of a request. `name` identifies the kind of problem, `remedy` says what to do next.

    An HTTPException, since FastAPI lets nothing else pass that is raised while it reads a body.
    """

    def __init__(
        self,
        status: int,
        name: str,
        detail: str,
        remedy: str,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Json] | None = None,
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.name = name
        self.remedy = remedy
        self.more = dict(more or {})

    def response(self, path: str) -> Response:
        """The problem as it is sent."""
        said: dict[str, Json] = {
            "type": f"urn:ratchet:problem:{self.name}",
            "title": HTTPStatus(self.status_code).phrase,
            "status": self.status_code,
            "detail": clean(str(self.detail)),
            "remedy": self.remedy,
            "instance": clean(path, 500),
            **self.more,
        }
        return JSONResponse(said, self.status_code, headers=dict(self.headers or {}), media_type=MEDIA_TYPE)


_OF_ERRORS: tuple[tuple[type[RatchetError], int, str, str], ...] = (
    (NotFound, 404, "not-found", "Check the name in the message: it means nothing that is known here."),
    (UsageError, 422, "invalid", "Mend the request as the detail says; GET /openapi.json tells what is expected."),
    (Conflict, 409, "conflict", "Read it again and repeat the request on what it is now."),
    (Refused, 409, "refused", "Ratchet will not do this; the detail says what to do instead."),
    (ModelError, 503, "model", "Check the model's settings with `ratchet doctor`, then try again."),
    (BackendError, 503, "backend", "Wait and try again; `ratchet doctor` on the server says what is broken."),
)


def problem_of(error: RatchetError) -> HttpProblem:
    """The problem that an error of ours is."""
    for kind, status, name, remedy in _OF_ERRORS:
        if isinstance(error, kind):
            headers = {"Retry-After": str(RETRY_S)} if status == 503 else {}
            return HttpProblem(status, name, str(error), remedy, headers)
    return HttpProblem(500, "fault", str(error), "Look into the server's log.")


_PLAIN: dict[int, tuple[str, str]] = {
    400: ("malformed", "Send well-formed HTTP and JSON; GET /openapi.json tells what is expected."),
    404: ("no-route", "GET /openapi.json lists every route; the pages for people are below /ui."),
    405: ("method", "The Allow header names the methods of this path."),
}


def add_handlers(app: FastAPI) -> None:
    """Have every error of the app answered as a problem."""

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, RatchetError)
        found = problem_of(error)
        if found.status_code >= 500:
            log.warning("request.failed", extra={"path": request.url.path, "why": clean(str(error))})
        return found.response(request.url.path)

    async def problem(request: Request, error: Exception) -> Response:
        assert isinstance(error, HttpProblem)
        return error.response(request.url.path)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return invalid_of(error.errors(), _keys(request)).response(request.url.path)

    async def plain(request: Request, error: Exception) -> Response:
        assert isinstance(error, PlainException)
        name, remedy = _PLAIN.get(error.status_code, ("http", "GET /openapi.json tells what is expected."))
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["Allow"] = ", ".join(_methods(request))
        return HttpProblem(error.status_code, name, str(error.detail), remedy, headers).response(request.url.path)

    async def gone(request: Request, error: Exception) -> Response:
        log.info("request.cut_off", extra={"path": request.url.path, "why": clean(str(error))})
        return HttpProblem(400, "cut-off", "the body ended before its end", "Send it again.").response(request.url.path)

    async def machine(request: Request, error: Exception) -> Response:
        assert isinstance(error, OSError)
        if error.errno == errno.ENAMETOOLONG:  # whoever asks chose the name
            return problem_of(UsageError("a path in it is longer than paths may be")).response(request.url.path)
        log.error("request.machine", exc_info=error, extra={"path": request.url.path})
        detail = f"the server's machine failed: {error.strerror or 'see its log'}"
        return problem_of(BackendError(detail)).response(request.url.path)

    async def fault(request: Request, error: Exception) -> Response:
        log.error("request.fault", exc_info=error, extra={"path": request.url.path})
        detail = "an unexpected fault of the server; nothing is known about its cause here"
        return HttpProblem(500, "fault", detail, "Look into the server's log, and report it.").response(
            request.url.path
        )

    app.add_exception_handler(RatchetError, ours)
    app.add_exception_handler(HttpProblem, problem)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(PlainException, plain)
    app.add_exception_handler(ClientDisconnect, gone)
    app.add_exception_handler(OSError, machine)
    app.add_exception_handler(Exception, fault)


def _methods(request: Request) -> list[str]:
    """Those of a path: each of its methods is a route of its own, of which the router names the first only."""
    found: set[str] = set()
    for context in iter_route_contexts(request.app.routes):
        if context.path and compile_path(str(context.path))[0].match(request.url.path):
            found |= getattr(context, "methods", None) or set()
    if "GET" in found and has_end(request.url.path):
        found.add("HEAD")
    return sorted(found)


def _keys(request: Request) -> list[str]:
    """The keys of the body that a route takes; none where it is no object."""
    field = getattr(request.scope.get("route"), "body_field", None)
    return [*getattr(field.field_info.annotation, "model_fields", ())] if field is not None else []


def invalid_of(errors: Sequence[Mapping[str, object]], keys: Sequence[str] = ()) -> HttpProblem:
    """Say what is wrong with a request, by place; with `keys` those of its body, where what was sent has others, or is
    no object. What was sent is not repeated: it may hold a secret."""
    found: list[Json] = []
    for each in errors:
        at = cast("Sequence[object]", each.get("loc") or ("body",))
        what = str(each.get("msg", ""))
        is_unknown = each.get("type") == "extra_forbidden"
        if keys and at[0] == "body" and (len(at) == 1 or (is_unknown and len(at) == 2)):
            what = f"{'no such key' if is_unknown else what}; the body's keys are {', '.join(keys)}"
        found.append({"where": clean(".".join(map(str, at)), 200), "what": clean(what, 300)})
    first = found[0] if found else {"where": "body", "what": "is not understood"}
    assert isinstance(first, dict)
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return HttpProblem(
        422,
        "invalid",
        f"{first['where']}: {first['what']}{more}",
        "Mend what `errors` names; GET /openapi.json tells what is expected.",
        more={"errors": found[:_MOST_ERRORS]},
    )


def unreadable(error: ValueError) -> HttpProblem:
    """A body that is no JSON. What was sent is not repeated."""
    return HttpProblem(422, "invalid", f"body: no JSON: {error}", "Send a JSON body; GET /openapi.json tells which.")


SCHEMA: dict[str, object] = {
    "type": "object",
    "title": "HttpProblem",
    "description": "RFC 9457, with what to do next.",
    "required": ["type", "title", "status", "detail", "remedy", "instance"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "remedy": {"type": "string"},
        "instance": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"where": {"type": "string"}, "what": {"type": "string"}},
            },
        },
    },
}

_SAID = {
    400: "The request is not well-formed",
    401: "No token, or one that does not count",
    403: "The token lacks the scope, or the Origin is another site",
    404: "There is no such record",
    409: "It is in another state, or Ratchet refuses; the detail says why",
    412: "The version in force is not the expected one",
    413: "The body is larger than the server takes",
    421: "The Host is not one of this server",
    422: "The request is not what is expected",
    429: "Too many requests; Retry-After says when to come back",
    503: "The store, or something else that Ratchet stands on, is down",
}


def said(*statuses: int) -> dict[int | str, dict[str, object]]:
    """Problem responses for the OpenAPI document."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {each: {"description": _SAID[each], "content": {MEDIA_TYPE: {"schema": schema}}} for each in statuses}


EVERYWHERE = said(400, 401, 403, 413, 421, 422, 429, 503)
"""What any route may answer."""

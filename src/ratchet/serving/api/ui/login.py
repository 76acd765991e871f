"""Logging in with a token: a browser keeps it as a cookie that no script reads and no other site sends."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from ratchet.serving.api.access import COOKIE
from ratchet.serving.api.serving import Shared
from ratchet.serving.api.ui import asking
from ratchet.serving.api.ui.asking import Form, back, own
from ratchet.serving.api.ui.rendering import drawn

router = asking.router()
_KEPT_S = 14 * 86_400


@router.get("/ui/login")
def page(request: Request, to: str = "/") -> Response:
    """The form."""
    return drawn(request, "login.html", wrong="", to=own(to))


@router.post("/ui/login")
def login(request: Request, given: Form, held: Shared) -> Response:
    """Take a token that counts."""
    secret = given.get("token", "").strip()
    if not secret or held.access.caller(secret) is None:
        wrong = "This token is not known, or was revoked."
        return drawn(request, "login.html", 401, wrong=wrong, to=own(given.get("to", "/")))
    answer = back(own(given.get("to", "/")))
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, secret, max_age=_KEPT_S, httponly=True, samesite="strict", secure=secure)
    return answer


@router.post("/ui/logout")
def logout() -> Response:
    """Forget it."""
    answer = back("/ui/login")
    answer.delete_cookie(COOKIE)
    return answer

"""Live settings of agents. Their ETag is the version: a PUT with If-Match changes only what it has seen."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from starlette.responses import Response

from ratchet.errors import Conflict
from ratchet.improving.settings.book import SettingsView
from ratchet.serving.api import inputs
from ratchet.serving.api.access import READS, Caller, Needs
from ratchet.serving.api.answers import answer, tagged
from ratchet.serving.api.problems import HttpProblem, said
from ratchet.serving.api.serving import Operations
from ratchet.serving.shapes.tasks import redacted
from ratchet.serving.shapes.trials import SettingsShape, VersionShape

router = APIRouter(prefix="/v1/settings", tags=["settings"])
# `:path`, since agents are called "team/agent", too; so what stands below one comes before it.


@router.get("", response_model=list[SettingsShape], dependencies=[READS])
def settings(request: Request, runtime: Operations) -> Response:
    """The settings of every agent that declared some."""
    return tagged(request, [redacted(SettingsShape.built(each)) for each in runtime.settings.list()])


@router.get("/{agent:path}/history", response_model=list[VersionShape], dependencies=[READS], responses=said(404))
def history(agent: str, request: Request, runtime: Operations) -> Response:
    """All versions, newest first: what, who, when, why."""
    return tagged(request, [redacted(VersionShape.built(each)) for each in runtime.settings.history(agent)])


@router.get("/{agent:path}", response_model=SettingsShape, dependencies=[READS], responses=said(404))
def show(agent: str, request: Request, runtime: Operations) -> Response:
    """Show what is in force."""
    found = runtime.settings.show(agent)
    return tagged(request, redacted(SettingsShape.built(found)), _tag(found))


@router.put("/{agent:path}", response_model=SettingsShape, responses=said(404, 409, 412))
def put(
    agent: str,
    asked: inputs.SetSettings,
    runtime: Operations,
    caller: Annotated[Caller, Depends(Needs("write"))],
    if_match: Annotated[str | None, Header(max_length=200, description="The ETag that was seen.")] = None,
) -> Response:
    """Set knobs; running processes follow within a second. With If-Match only if nobody else changed them."""
    runtime.settings.show(agent)
    try:
        runtime.settings.set(
            agent,
            asked.values,
            why=asked.why,
            who=f"api:{caller.name}",
            unset=asked.unset,
            expected=_expected(if_match),
        )
    except Conflict as error:
        if if_match is None:
            raise
        raise HttpProblem(
            412, "changed", str(error), f"GET /v1/settings/{agent} again, and repeat the change on what it is now."
        ) from error
    found = runtime.settings.show(agent)
    return answer(redacted(SettingsShape.built(found)), 200, {"ETag": _tag(found)})


def _tag(found: SettingsView) -> str:
    return f'"{found.version.number}"'


def _expected(if_match: str | None) -> int | None:
    """The version that an If-Match names; one that is none of ours is nobody's (-1)."""
    if if_match is None or if_match.strip() == "*":
        return None
    named = if_match.strip().removeprefix("W/").strip('"')
    return int(named) if named.isascii() and named.isdigit() and len(named) < 16 else -1

"""Live settings: what is in force, its history, and a way back."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response

from ratchet.improving.settings.shown import masked, masked_version
from ratchet.serving.api.access import READS, Caller, Needs
from ratchet.serving.api.problems import HttpProblem
from ratchet.serving.api.serving import Operations
from ratchet.serving.api.ui import asking
from ratchet.serving.api.ui.asking import Form, back
from ratchet.serving.api.ui.rendering import drawn, plain_value, quoted

router = asking.router()
Writer = Annotated[Caller, Depends(Needs("write"))]
_KNOB = "knob:"


@router.get("/ui/settings", dependencies=[READS])
def settings(request: Request, runtime: Operations) -> Response:
    """The settings of every agent that declared some."""
    return drawn(request, "settings.html", rows=[masked(each) for each in runtime.settings.list()])


# `:path`, since agents are called "team/agent", too; so what stands below one comes before it.
@router.post("/ui/settings/{agent:path}/revert")
def revert(agent: str, given: Form, runtime: Operations, caller: Writer) -> Response:
    """Bring a version back, as a new one."""
    to = given.get("to", "")
    if not (to.isascii() and to.isdigit()) or len(to) > 9:
        raise HttpProblem(422, "invalid", f"{to[:40]!r} is no version", "Use a button of the page.")
    runtime.settings.revert(agent, to=int(to), why="brought back on the page", who=f"page:{caller.name}")
    return back(f"/ui/settings/{quoted(agent)}")


@router.get("/ui/settings/{agent:path}", dependencies=[READS])
def setting(agent: str, request: Request, runtime: Operations) -> Response:
    """One agent's settings, with all their versions."""
    versions = [masked_version(each) for each in runtime.settings.history(agent)[: asking.ROWS]]
    return drawn(request, "setting.html", held=masked(runtime.settings.show(agent)), versions=versions)


@router.post("/ui/settings/{agent:path}")
def change(agent: str, given: Form, runtime: Operations, caller: Writer) -> Response:
    """Set the knobs that were changed; a version that came meanwhile is not overwritten."""
    held = {knob.name: plain_value(knob.value) for knob in masked(runtime.settings.show(agent)).knobs}
    asked = {name.removeprefix(_KNOB): value.strip() for name, value in given.items() if name.startswith(_KNOB)}
    moved = [f"{name}={value}" for name, value in asked.items() if held.get(name) != value]
    expected = given.get("expected", "")
    if moved:
        runtime.settings.set(
            agent,
            runtime.settings.read_assignments(agent, moved),
            why=given.get("why", ""),
            who=f"page:{caller.name}",
            expected=int(expected) if expected.isascii() and expected.isdigit() and len(expected) < 10 else None,
        )
    return back(f"/ui/settings/{quoted(agent)}")

"""Tools about what fails: counted by command, file, model or hour, and what people decide about a pattern."""

from __future__ import annotations

from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field, RootModel

from ratchet.lessons.failing import By
from ratchet.records import Decided
from ratchet.runtime import Runtime
from ratchet.serving.mcp.answers import answer, fenced, told
from ratchet.serving.shapes.failures import FailsShape, PatternShape

_ROWS = 20


class FailingTools:
    """The tools over what fails in one runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @told
    def what_fails(
        self,
        by: By = "command",
        range: Annotated[
            str, Field(description="24h, 7d, 14d, 30d, 90d or all; empty: where the data is.", max_length=10)
        ] = "all",
        project: Annotated[str, Field(description="Only this project, by its name.", max_length=4_000)] = "",
    ) -> Annotated[CallToolResult, RootModel[FailsShape]]:
        """Count calls and failures by command, tool, file, project, model or hour of the day. Call it when you are
        asked what keeps failing in a project, or when."""
        rows = self._runtime.failing.by(by, span=range, project=project)
        lines = [(f"{each.failures} of {each.runs} runs failed: ", each.name) for each in rows[:_ROWS]]
        return answer(fenced(lines) if lines else "Nothing ran.", FailsShape.built(None, by=by, rows=rows))

    @told
    def triage_pattern(
        self,
        id: Annotated[str, Field(description="As list_patterns gives it.", min_length=1, max_length=100)],
        state: Annotated[Decided | None, Field(description="A resolved pattern that fails again is regressed.")] = None,
        until: Annotated[float | None, Field(gt=0, lt=1e11, description="When a mute ends, in Unix seconds.")] = None,
        assigned: Annotated[str | None, Field(max_length=200, description="Who looks after it.")] = None,
        note: Annotated[str | None, Field(max_length=2_000)] = None,
    ) -> Annotated[CallToolResult, RootModel[PatternShape]]:
        """Resolve, ignore, mute or open a pattern, assign it, leave a note. Call it when the person asked for it."""
        found = self._runtime.failing.triage(id, state=state, until=until, assigned=assigned, note=note)
        return answer(f"{found.id} is {found.triage.state}.", PatternShape.built(found))

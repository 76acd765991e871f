"""Tools about sessions: find what was done before, and read it step by step."""

from __future__ import annotations

from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field, RootModel

from ratchet.runtime import Runtime
from ratchet.serving.mcp.answers import answer, fenced, told
from ratchet.serving.shapes.sessions import SessionDetailShape
from ratchet.serving.shapes.used import SearchFoundShape

_LINE_CHARS = 200


class SessionTools:
    """The tools over one runtime, which the caller closes."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @told
    def search_sessions(
        self,
        query: Annotated[
            str, Field(description="Words that all must be there; none, if a filter says it all.", max_length=100_000)
        ] = "",
        project: Annotated[str, Field(description="The project's folder, absolute; empty searches all.")] = "",
        agent: Annotated[str, Field(description="Only this agent's steps.")] = "",
        tool: Annotated[str, Field(description="Only calls of this tool.")] = "",
        kind: Annotated[str, Field(description="Only failures of this kind.")] = "",
        command: Annotated[str, Field(description="Only failed runs of this command.")] = "",
        file: Annotated[str, Field(description="Only edits of this file, and failed commands that named it.")] = "",
        failed: Annotated[bool, Field(description="Only steps that failed.")] = False,
        limit: Annotated[int, Field(ge=1, le=50, description="How many of each kind at most.")] = 8,
    ) -> Annotated[CallToolResult, RootModel[SearchFoundShape]]:
        """Find earlier steps, edits, words of people, patterns and lessons by their words, over all sessions of all
        agents. Call it when you want to know whether something was done here before, and how."""
        found = self._runtime.sessions.search(
            query,
            project=project or None,
            agent=agent,
            tool=tool,
            kind=kind,
            command=command,
            file=file,
            failed=failed,
            limit=limit,
        )
        lines = [
            (f"{each.noun} {each.outcome or each.id}: ", f"{each.title}: {each.text[:_LINE_CHARS]}")
            for each in found.hits
        ]
        prose = fenced(lines) if lines else "Nothing was found."
        return answer(prose, SearchFoundShape.built(found))

    @told
    def get_session(
        self,
        id: Annotated[str, Field(description="A session, as search_sessions names it; its beginning is enough.")],
        at: Annotated[str, Field(description="A step's id: the steps from there on.")] = "",
        limit: Annotated[int, Field(ge=1, le=100, description="Steps at most.")] = 20,
        cursor: Annotated[str, Field(description="`next` of the part before.")] = "",
    ) -> Annotated[CallToolResult, RootModel[SessionDetailShape]]:
        """One session step by step: what was called, what came of it, what fixed what failed. Call it when
        search_sessions found a step and you want to know what was done about it."""
        found = self._runtime.sessions.show(id, at=at, limit=limit, cursor=cursor or None)
        lines = [
            (
                f"{each.number}. {'ok' if each.outcome.ok else 'failed'} ",
                each.outcome.step.input[:_LINE_CHARS] if each.outcome.step else each.outcome.task,
            )
            for each in found.steps
        ]
        return answer(fenced(lines) if lines else "It has no steps.", SessionDetailShape.shown(found))

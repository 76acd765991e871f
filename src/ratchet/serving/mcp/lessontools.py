"""Lessons as tools beyond finding them: what replay says, what a lesson could become, what a model would be sent.

An agent proposes only: a change is made by a person, and evidence leaves this machine only where the person's own
configuration says so; an agent's word is no consent.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field, RootModel

from ratchet.errors import Refused, UsageError
from ratchet.failures.redaction.text import redact
from ratchet.healing.distilling import items
from ratchet.lessons.backtest.telling import said
from ratchet.lessons.fence import enclosed
from ratchet.runtime import Runtime
from ratchet.serving.mcp.answers import answer, told
from ratchet.serving.mcp.tasktools import Place
from ratchet.serving.shapes.lessons import BacktestShape, CureShape, DistilledShape, DistillPlanShape
from ratchet.serving.shapes.served import CuresShape
from ratchet.serving.shapes.tasks import redacted

Kinds = Annotated[tuple[items.Place, ...], Field(description="Only these kinds of evidence; empty: all.", max_length=4)]
Project = Annotated[str, Field(description="Only of this project's folder, absolute; empty: of all.")]


class LessonTools:
    """The tools over the lessons of one runtime."""

    def __init__(self, runtime: Runtime, place: Place) -> None:
        self._runtime = runtime
        self._place = place

    @told
    def get_backtest(self) -> Annotated[CallToolResult, RootModel[BacktestShape]]:
        """Tell from past sessions how often lessons would have been right and wrong, and what they would have saved."""
        found = self._runtime.lessons.replayed() or self._runtime.lessons.backtest()
        return answer(said(found), BacktestShape.built(found))

    @told
    def propose_cures(
        self,
        project: Annotated[str, Field(description="The project's folder, absolute.", min_length=1)],
        lesson: Annotated[str, Field(description="Only of this lesson; empty: of all active ones.")] = "",
    ) -> Annotated[CallToolResult, RootModel[CuresShape]]:
        """List permanent changes that lessons could become (a line in the notes, a git setting, a check), as diffs.
        Changes nothing: a person makes one."""
        folder = Path(self._place.allowed(project))
        if not folder.is_absolute():
            raise UsageError(f"{project!r} is no absolute path: name the project's folder from the root on")
        book = self._runtime.cures
        found = book.show(lesson, folder) if lesson else book.list(folder)
        lines = [
            redact(f"{each.kind} in {each.file}: {each.problem}\n" if each.problem else f"{_how(each)}\n{each.diff}")
            for each in map(CureShape.built, found)
        ]
        prose = (
            enclosed("\n".join(lines), verbatim=True)
            if lines
            else "No lesson of this project could become a permanent change."
        )
        return answer(prose, redacted(CuresShape.built(None, cures=found)))

    @told
    def plan_distilling(
        self, project: Project = "", places: Kinds = ()
    ) -> Annotated[CallToolResult, RootModel[DistillPlanShape]]:
        """Say how much evidence the person's model would be sent to put it into rules, and what that may cost. Sends
        nothing."""
        found = self._runtime.distillery.plan(places=places, project=project or None)
        cost = "at an unknown price" if found.usd is None else f"for at most {found.usd:.2f} USD"
        return answer(
            f"{found.asked} questions, {found.bytes:,} bytes, would go to {found.model} {cost}; "
            f"{found.known} were answered before.",
            DistillPlanShape.built(found),
        )

    @told
    def distill(
        self,
        agreed: Annotated[bool, Field(description="True says that the person wants it sent.")],
        project: Project = "",
        places: Kinds = (),
        budget_usd: Annotated[float, Field(ge=0, le=100)] = 0.5,
    ) -> Annotated[CallToolResult, RootModel[DistilledShape]]:
        """Send the evidence of plan_distilling to the person's model; what replay bears out becomes candidates. Only
        where the person's configuration allows it, too (RATCHET_DISTILL=1)."""
        if not agreed:
            raise Refused("nothing was sent: say agreed=true once the person wants it; plan_distilling tells how much")
        distillery = self._runtime.distillery
        planned = distillery.plan(places=places, project=project or None)
        found = distillery.run(planned, places=places, project=project or None, budget_usd=budget_usd)
        ended = f" It ended early: {found.stopped}" if found.stopped else ""
        return answer(
            f"{found.answered} answers, {found.verified} of them borne out by replay.{ended}",
            DistilledShape.built(found),
        )


def _how(cure: CureShape) -> str:
    return f"{cure.kind}: a person makes it with `ratchet lessons cure {cure.lesson} --as {cure.kind}`"

"""Tools of an agent: each tool translates one operation of the `Runtime`.

Texts that tools return are data from earlier runs, fenced as such where they are prose.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from mcp_types import CallToolResult
from pydantic import Field, RootModel

from ratchet.errors import UsageError
from ratchet.failures.redaction.text import clean
from ratchet.lessons.facts import for_agents as named
from ratchet.lessons.fence import enclosed, fence
from ratchet.lessons.prediction import told_in_words
from ratchet.lessons.recall import RecalledLesson
from ratchet.lessons.rows import for_agents
from ratchet.records import Lesson, Row
from ratchet.runtime import Runtime
from ratchet.sandbox.command import Command, Limits, View
from ratchet.serving.mcp.answers import answer, fenced, is_cancelled, told
from ratchet.serving.shapes.failures import HealthShape
from ratchet.serving.shapes.lessons import LessonShape, ProjectsFactsShape, RecalledShape
from ratchet.serving.shapes.prediction import PredictionShape
from ratchet.serving.shapes.served import PatternsShape, RecordedShape
from ratchet.serving.shapes.tasks import RanShape
from ratchet.serving.shapes.trials import ReportShape

_PROSE_CHARS = 8_000
_PROJECTS = 3  # of which facts are told at once
_WHY = {
    "ambiguous": "several remedies fit equally well",
    "unproven": "what fits worked in one session only",
    "itself": "it is known, and the text itself says what to do",
    "looked_up": "what to do is worked out where the step fails, from the project's files",
    "others": "it is known, but others wrote it, and none of it may be shown until a person approves it",
}


class Tools:
    """The tools over one runtime, which the caller closes. `allowed` is the folder that it is given, where commands may
    work in it, or raises a RatchetError; `leaving` a lesson as it leaves the home."""

    def __init__(self, runtime: Runtime, allowed: Callable[[str], str], leaving: Callable[[Lesson], Lesson]) -> None:
        self._runtime = runtime
        self._allowed = allowed
        self._leaving = leaving

    @told
    def search_memory(
        self,
        query: Annotated[str, Field(description="The error's text, as it came.", min_length=1)],
        limit: Annotated[int, Field(ge=1, le=50)] = 5,
        project: Annotated[str, Field(description="The project's folder, absolute; empty searches all.")] = "",
    ) -> Annotated[CallToolResult, RootModel[RecalledShape]]:
        """Search memory for what fixed an error like this one, best first; nothing rather than a guess. Call it when a
        command, a test or a tool call failed, before trying again."""
        if not self._runtime.exists:
            self._runtime.init()
        found = self._runtime.recall(query, limit=limit, project=project or None)
        seen, more = (
            tuple(replace(each, lesson=self._leaving(each.lesson)) for each in told)
            for told in (found.lessons, found.possibly)
        )
        shape = RecalledShape.built(replace(found, lessons=seen, possibly=more))
        if found.abstained:
            why = _WHY.get(found.silent, "nothing known is surely it")
            listed = f"; {len(more)} that may be about it are listed under `possibly`" if more else ""
            return answer(f"No answer: {why} ({found.counted}){listed}.", shape)
        return answer(lessons_fenced([_with_place(each) for each in seen]), shape)

    @told
    def get_lesson(
        self, id: Annotated[str, Field(description="As search_memory gives it.")]
    ) -> Annotated[CallToolResult, RootModel[LessonShape]]:
        """One lesson whole: when it applies, what to do, with its evidence. Call it when search_memory found one and
        you want to know how sure it is."""
        found = self._leaving(self._runtime.lessons.show(id))
        return answer(lessons_fenced([found]), LessonShape.built(for_agents(found)))

    @told
    def record_outcome(
        self,
        agent: Annotated[str, Field(min_length=1, max_length=200, description="Who ran it.")],
        task: Annotated[str, Field(description="What was run: a tool, a step, a job.")] = "",
        ok: Annotated[
            bool | None, Field(description="Whether it worked; without it, an error says it did not.")
        ] = None,
        error: Annotated[str, Field(description="The error's text, as it came; empty for none.")] = "",
        session: str = "",
        id: Annotated[str, Field(description="A key of yours: the same twice is one outcome.")] = "",
        duration_s: Annotated[float | None, Field(ge=0)] = None,
        cost_usd: Annotated[float | None, Field(ge=0)] = None,
        tokens: Annotated[int | None, Field(ge=0)] = None,
    ) -> Annotated[CallToolResult, RootModel[RecordedShape]]:
        """Record one finished run, so that failures are grouped and what fixes them is learnt. Call it after a step
        that failed or worked, where no hook of Ratchet records your tool calls."""
        given: dict[str, Any] = {"task": task, "error": error, "session": session, "id": id}
        given = {name: value for name, value in given.items() if value}
        numbers = {"ok": ok, "duration_s": duration_s, "cost_usd": cost_usd, "tokens": tokens}
        given |= {name: value for name, value in numbers.items() if value is not None}
        recorded = self._runtime.record(agent, **given, source="mcp")
        held = self._runtime.sessions.outcome(recorded)
        failure = held.failure
        said = f"Recorded {held.id}" + (f" as {failure.kind}." if failure else ".")
        return answer(said, RecordedShape.built(held))

    @told
    def list_patterns(
        self,
        agent: str = "",
        kind: Annotated[str, Field(description="A kind of failure, such as rate_limit or test_failure.")] = "",
        limit: Annotated[int, Field(ge=1, le=200)] = 8,
    ) -> Annotated[CallToolResult, RootModel[PatternsShape]]:
        """List what keeps failing, what several sessions met lately first, with what is known to fix it. Call it
        before long work in a project."""
        found = self._runtime.patterns(agent=agent or None, kind=kind or None, limit=limit)
        lines = [(f"{each.count}x {each.kind} ({each.id}, {each.trend}): ", each.template) for each in found]
        shape = PatternsShape.built(found, patterns=found, total=self._runtime.pattern_count())
        return answer(fenced(lines) if lines else "Nothing keeps failing.", shape)

    @told
    def get_health(
        self,
    ) -> Annotated[CallToolResult, RootModel[HealthShape]]:
        """Rate each agent's recent runs, from 0 to 1. Call it when you are asked how well an agent does."""
        found = self._runtime.health()
        lines = [(f"{score:.2f} ", name) for name, score in sorted(found.agents.items())]
        return answer(fenced(lines) if lines else "No outcomes yet.", HealthShape.built(found))

    @told
    def project_facts(
        self,
        project: Annotated[str, Field(description="The project's folder, absolute; empty: the busiest ones.")] = "",
    ) -> Annotated[CallToolResult, RootModel[ProjectsFactsShape]]:
        """Count what happens in a project: what its commands end in, what people refuse there, what never works."""
        found = [named(each) for each in self._runtime.lessons.facts(project=project or None, limit=_PROJECTS)]
        lines = [("", f"{each.project}: {line}") for each in found for line in each.lines]
        shape = ProjectsFactsShape.built(None, projects=found)
        return answer(fenced(lines) if lines else "Nothing ran there.", shape)

    @told
    def predict_failures(
        self,
        project: Annotated[str, Field(description="The project's folder, absolute.", min_length=1)],
        command: Annotated[str, Field(description="A command line that is about to run.")] = "",
        file: Annotated[str, Field(description="A file that is about to be changed.")] = "",
        diff: Annotated[str, Field(description="A unified diff; the project's checks after it are predicted.")] = "",
        plan: Annotated[str, Field(description="A text that names commands and files.")] = "",
        session: Annotated[str, Field(description="Your session's id; empty: the one that ran there last.")] = "",
    ) -> Annotated[CallToolResult, RootModel[PredictionShape]]:
        """Tell how likely a step fails in this project, from what ran there, why, and what to do. Call it before a long
        check, a risky command or a large change, with one of command, file, diff and plan."""
        if not self._runtime.exists:
            self._runtime.init()
        folder, by = self._allowed(project), session or None
        found = self._runtime.lessons.predict(
            command=command, file=file, diff=diff, plan=plan, project=folder, session=by
        )
        return answer(fenced(("", line) for line in told_in_words(found).splitlines()), PredictionShape.built(found))

    @told
    def get_report(
        self,
    ) -> Annotated[CallToolResult, RootModel[ReportShape]]:
        """Tell whether lessons help, measured: before the step, and in the failing turn."""
        found = self._runtime.report()
        return answer("\n".join(found.lines), ReportShape.built(found))

    @told
    def run_sandboxed(
        self,
        argv: Annotated[list[str], Field(min_length=1, description="The command and its arguments; no shell.")],
        folder: Annotated[
            str, Field(description="The working folder, absolute, changed in place; empty: an empty one, thrown away.")
        ] = "",
        stdin: str = "",
        wall_s: Annotated[
            float, Field(gt=0, le=600, description="Ended after so long.")
        ] = 40.0,  # clients wait a minute
        memory_mb: Annotated[int, Field(ge=16, le=8192)] = 1024,
    ) -> Annotated[CallToolResult, RootModel[RanShape]]:
        """Run a command without network, where it reaches nothing but its folder; then nothing of it is left. Call it
        for code that nobody has read yet."""
        if folder and not (Path(self._allowed(folder)).is_absolute() and os.path.isdir(folder)):  # noqa: PTH112  (never raises)
            raise UsageError(f"{folder!r} is no folder here: give an absolute path, or none")
        with tempfile.TemporaryDirectory() as empty:
            limits = Limits(wall_s=wall_s, cpu_s=wall_s, memory_mb=memory_mb)
            command = Command(
                argv=tuple(argv), view=View(folder=Path(folder or empty)), limits=limits, stdin=stdin.encode()
            )
            shape = RanShape.built(self._runtime.sandboxes.run(command, cancelled=is_cancelled)).mapped(_clean)
        ended = f"killed: {shape.killed}" if shape.killed else f"exit code {shape.exit_code}"
        return answer(enclosed(f"{ended}\n{shape.stdout}{shape.stderr}", verbatim=True), shape)


def lessons_fenced(lessons: Sequence[Lesson]) -> str:
    """Lessons as prose that says what it is; those that read as an instruction are left out of it."""
    rows: list[Row] = [asdict(each) for each in lessons]
    return fence(rows, _PROSE_CHARS) or "What is known reads as an instruction, so it is shown as data only."


def _with_place(found: RecalledLesson) -> Lesson:
    """A lesson whose source is the projects that it counts in, where there are such: the asker may work in another; and
    which says what the command must have had, where the text does not show it."""
    known, where = found.lesson, ", ".join(found.learnt_in)
    known = replace(known, met=f"the command has `{found.needs}`: {known.met}") if found.needs else known
    return replace(known, provenance=f"learnt in {where}") if where else known


def _clean(value: object) -> object:
    return clean(value, 100_000) if isinstance(value, str) else value

"""Write what a model is told about a failing check: the task, the failure, the files, what is remembered, what was
tried."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from ratchet.failures.excerpt import error_lines
from ratchet.failures.redaction.text import cap, clean
from ratchet.healing.episode import Attempt, Memo
from ratchet.healing.job import SolveJob
from ratchet.healing.models.quoting import output_excerpt, quoted
from ratchet.healing.planning.steps import NOW
from ratchet.healing.solvers.edits import FileEdit
from ratchet.healing.solvers.survey import ShownFile
from ratchet.lessons.fence import fence
from ratchet.records import Lesson, Row

ROOMS = (24_000, 9_000, 3_500)
"""Characters of a prompt's files and outputs: a usual window, a small one, and a local model's with 4,096 tokens."""
_LESSONS_SHARE, _OUTPUT_SHARE, _TRIED_SHARE = 8, 6, 6  # a room's part that each may take: an eighth, a sixth, a sixth
_TRIED_SHOWN = 3
_MEMOS_SHOWN = 2
_INSTRUCTION = 4_000
_HINTS = 1_200
_NAMED = 20
_SHORT_FILE = 6_000  # characters
_REWRITING_OUTPUT = 800
_LINES_AROUND = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class EditProposal:
    """The answer that is asked for."""

    cause: str = ""
    fix: str = ""
    edits: tuple[FileEdit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Material of a prompt. `summary` stands for the check's output where a model has summarised it."""

    job: SolveJob
    files: Sequence[ShownFile]
    room: int
    summary: str = ""
    objections: Sequence[str] = field(default_factory=tuple)
    """Why the answer just before could not be used."""


def prompt(material: Material) -> str:
    """The whole text, its parts in the order of their weight: what is asked, what fails, the files, what is known."""
    job = material.job
    parts = [
        _task(job),
        _failure(material),
        *map(_file, material.files),
        _known(job.lessons, material.room // _LESSONS_SHARE),
        _passed_before(job.memos, job.failure.signature),
        _found(job.hints),
        _tried(job.tried, material.room // _TRIED_SHARE),
        _objections(material.objections),
        _changeable(material.files),
    ]
    return "\n\n".join(part for part in parts if part)


def telling(job: SolveJob) -> tuple[str, ...]:
    """Texts that name files, the most telling first."""
    failed = job.failure.tests.failed_ids if job.failure.tests else ()
    return job.failure.output, "\n".join(failed), shlex.join(job.task.check), job.task.instruction


def lesson_row(lesson: Lesson) -> Row:
    """A lesson as the fence takes it."""
    return {
        "id": lesson.id,
        "text": lesson.text,
        "when_text": lesson.when,
        "met": lesson.met,
        "example": lesson.example,
        "tried": lesson.tried,
        "worked": lesson.worked,
        "provenance": lesson.provenance,
        "kind": lesson.kind,
        "foreign": lesson.foreign,
        "parts": [*lesson.parts],
        "skill": lesson.skill,
        "steps": [*lesson.steps],
    }


def _task(job: SolveJob) -> str:
    asked = clean(job.task.instruction, _INSTRUCTION) or "Make the check pass."
    protected = f"\nRead-only: {', '.join(job.task.protected[:20])}" if job.task.protected else ""
    return f"# Task\n{asked}\nCheck: {cap(shlex.join(job.task.check), 500)}{protected}"


def _failure(material: Material) -> str:
    verdict = material.job.failure
    room = material.room // _OUTPUT_SHARE
    lines = material.summary or output_excerpt(verdict.output, room)
    failed = f"\nFailing tests: {', '.join(verdict.tests.failed_ids[:10])}" if verdict.tests else ""
    return f"# What fails\n{cap(verdict.reason, 300)}{cap(failed, 800)}\n{quoted(lines)}"


def _file(shown: ShownFile) -> str:
    marks = [] if shown.may_change else ["read-only"]
    marks += [] if shown.whole else ["in part"]
    marked = f" ({', '.join(marks)})" if marks else ""
    return f"# File {shown.path}{marked}\n{quoted(shown.text)}"


def _known(lessons: Sequence[Lesson], room: int) -> str:
    fenced = fence(map(lesson_row, lessons), room)
    return f"# From earlier work\n{fenced}" if fenced else ""


def _passed_before(memos: Sequence[Memo], signature: str) -> str:
    """Edits that passed for this very failure elsewhere: data from a model, shown as such."""
    same = [memo for memo in memos if memo.signature == signature and memo.note.get("edits")]
    if not same:
        return ""
    edits = [quoted(cap(json.dumps(memo.note["edits"], ensure_ascii=False), 800)) for memo in same[:_MEMOS_SHOWN]]
    return "# Edits that passed when another program failed this way\n" + "\n".join(edits)


def _found(hints: Sequence[str]) -> str:
    """Write what a search over small edits found out, as the data that it is."""
    return "# What a search over small edits found\n" + quoted(cap("\n".join(hints), _HINTS)) if hints else ""


def _tried(tried: Sequence[Attempt], room: int) -> str:
    tried = [attempt for attempt in tried if attempt.answered]
    if not tried:
        return ""
    each = max(200, room // _TRIED_SHOWN)
    said = [
        f"## Attempt {attempt.n}: {attempt.status}. {cap(attempt.reason, 300)}\n"
        + (quoted(cap(attempt.shown, each)) if attempt.diff else "(changed nothing)")
        for attempt in tried[-_TRIED_SHOWN:]
    ]
    return "# What was tried and did not pass: do something else\n" + "\n".join(said)


def rewriting(job: SolveJob, file: ShownFile) -> str:
    """The question in its plainest form, for models that cannot answer with edits: one short file, to be written anew.

    Measured with a model of 0.5 billion parameters: asked this way it mended some of the shipped programs, asked for
    edits, or for the same file within JSON, none of them. With the file before the words it mends some; after them, it
    writes down again what it was shown.
    """
    said = output_excerpt(job.failure.output, _REWRITING_OUTPUT)
    asked = _asked_now(job)
    wanted = f"Change {file.path}: {asked}" if asked else f"{file.path} has a mistake: correct it."
    return (
        f"{file.path}:\n{quoted(file.text)}\n\n{wanted}\nNow its check fails:\n"
        f"{error_lines(said, _REWRITING_OUTPUT)}\nWrite the new {file.path}, all of it."
    )


def rewriting_line(job: SolveJob, file: ShownFile, at: int) -> str:
    """The smallest question: what one line (from 0) must be instead.

    Measured with the model of `rewriting`: it wrote a short file down again as it was, and mended its line.
    """
    lines = file.text.split("\n")
    begin = next((n for n in range(at, -1, -1) if lines[n][:1].strip()), 0)  # of the definition around it
    end = next((n for n in range(at + 1, len(lines)) if lines[n][:1].strip()), len(lines))
    around = lines[max(begin, at - _LINES_AROUND) : min(end, at + _LINES_AROUND)]
    said = error_lines(output_excerpt(job.failure.output, _REWRITING_OUTPUT), _REWRITING_OUTPUT)
    return (
        f"{quoted(chr(10).join(around).rstrip())}\n\n{_asked_now(job)}\n"
        f"Now its check fails:\n{said.rstrip().rpartition(chr(10))[2]}\n"
        f"What must the line `{lines[at].strip()}` be instead? Write the new line."
    )


def _asked_now(job: SolveJob) -> str:
    """The words of the step that is worked on, without those of the whole task: one thing at a time."""
    return clean(job.task.instruction.rpartition(NOW)[2], _REWRITING_OUTPUT)


def short_file(files: Sequence[ShownFile], named: Sequence[str]) -> ShownFile | None:
    """The file that is most likely meant, where it is short: one that the last answer named, else the first."""
    short = [each for each in files if each.may_change and each.whole and len(each.text) <= _SHORT_FILE]
    return next((each for each in short if each.path in named), short[0] if short else None)


def _objections(objections: Sequence[str]) -> str:
    if not objections:
        return ""
    told = "\n".join(f"- {cap(each, 400)}" for each in objections[:8])
    return f"# Your last answer could not be used\n{told}\nAnswer again with edits that can be made."


def _changeable(files: Sequence[ShownFile]) -> str:
    """Last, where a small model still sees it: which of the files the answer is about."""
    names = [each.path for each in files if each.may_change][:_NAMED]
    return f"You may change: {', '.join(names)}" if names else ""

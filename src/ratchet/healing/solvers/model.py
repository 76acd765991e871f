"""Asks a language model for edits, makes them in the workspace, and leaves the judging to the check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from ratchet.errors import ModelError, Refused
from ratchet.failures.redaction.text import clean, redact
from ratchet.healing.episode import Attempt, Memo
from ratchet.healing.job import Solved, SolveJob, SolverOptions
from ratchet.healing.judges.protection import may_change, objection
from ratchet.healing.models.prompts import Prompts
from ratchet.healing.models.question import Model, ModelAnswer, Question
from ratchet.healing.solvers import survey
from ratchet.healing.solvers.definitions import with_definitions
from ratchet.healing.solvers.edits import FileEdit, Misfit, changes_of, code_lines, in_fences, one_line_of
from ratchet.healing.solvers.prompting import (
    ROOMS,
    EditProposal,
    Material,
    prompt,
    rewriting,
    rewriting_line,
    short_file,
    telling,
)
from ratchet.healing.solvers.repair import suspects
from ratchet.healing.solvers.survey import ShownFile
from ratchet.records import Json
from ratchet.sandbox.command import FileChange

T = TypeVar("T")

ROUNDS = 3
"""Answers in one attempt, while edits cannot be made: the second is asked for with the reason, the third as a file;
where it came to that before, the first as a file, the others as a line each."""
_UNUSABLE, _WHOLE, _LINE = "no edits that can be made", "as a whole file", "rewrote line"
_FIRST_TEMPERATURE, _STEP, _HOTTEST = 0.2, 0.3, 1.0
_LONG_OUTPUT = 6_000  # characters of a check's output from which a fast model is asked to summarise it
_SUMMARY_TOKENS = 1_024
_MEMO_CHARS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A fast model's summary of a long output."""

    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Round:
    """One answer, as far as it came: changes that can be made, or what is wrong with it."""

    answer: ModelAnswer[EditProposal] | ModelAnswer[str]
    cause: str = ""
    fix: str = ""
    edits: tuple[FileEdit, ...] = ()
    changes: tuple[FileChange, ...] = ()
    wrong: str = ""
    unfit: bool = False
    """Wrong in form: what it wants to change may be right."""


class ModelSolver:
    """Port `Solver` over a language model."""

    name = "model"

    def __init__(self, model: Model, prompts: Prompts | None = None) -> None:
        self._model = model
        self._prompts = prompts or Prompts()

    def solve(self, job: SolveJob) -> Solved:
        paths = survey.listing(job.workspace, job.sandbox, job.limits)
        texts = telling(job)
        read = {path: survey.text_of(job.workspace, path) for path in survey.ranked(paths, texts, {})[:20]}
        order = survey.ranked(paths, texts, read)
        changeable = frozenset(path for path in order if may_change(path, job.task.protected))
        held = suspects(job)
        order = [*(path for path in held if path in paths and path not in order), *order]
        summary, remark = self._summary(job)
        done, files = self._rounds(job, order, changeable, summary, held)
        return _solved(job, done, remark, files)

    def _rounds(
        self,
        job: SolveJob,
        order: Sequence[str],
        changeable: frozenset[str],
        summary: str,
        held: Mapping[str, Sequence[int]],
    ) -> tuple[list[_Round], Sequence[ShownFile]]:
        """Ask until the edits can be made; a model whose window is too small is asked with less."""
        done: list[_Round] = []
        rooms = iter(ROOMS)
        room = next(rooms)
        while len(done) < ROUNDS and not job.cancelled():
            files = survey.shown(job.workspace, order, job.failure.output, room, may_change=changeable, suspects=held)
            job.note(f"asking {self._model.named('reasoning')} about {len(files)} files")
            last = self._round(Material(job=job, files=files, room=room, summary=summary), done, held)
            if last.answer.kind == "context_overflow" and (smaller := next(rooms, 0)):
                room = smaller
                continue
            done.append(last)
            if last.changes or last.answer.kind in ("refusal", "content_filter", "context_overflow"):
                break
        return done, files if done else ()

    def _round(self, material: Material, done: Sequence[_Round], held: Mapping[str, Sequence[int]]) -> _Round:
        """Ask for edits, for one short file as a whole, or for one line of it."""
        job, files = material.job, material.files
        named = [each.file for each in done[-1].edits] if done else []
        meant = short_file(files, named)
        if meant is not None and _as_file(job, done):
            code = code_lines(meant.text)
            lines = [each for each in held.get(meant.path, ()) if each in code]
            tried = _lines_tried(job, done)
            if done and _is_whole(done[-1].answer) and tried < len(lines):
                return self._line(job, meant, lines[tried] - 1, done)
            rules = self._prompts.text("rewrite")
            # Asked the same, it would write the same file down again.
            question = _question(job, str, rules, rewriting(job, meant), len(done), _STEP * len(done))
            answered = self._model.ask(question, job.purse)
            return _rewritten(job, answered, meant)
        wrong = tuple(done[-1].wrong.split("\n")) if done else ()
        rules = self._prompts.text("repair")
        text = prompt(replace(material, objections=wrong))
        answer = self._model.ask(_question(job, EditProposal, rules, text, len(done)), job.purse)
        return _edited(job, answer, files)

    def _line(self, job: SolveJob, file: ShownFile, at: int, done: Sequence[_Round]) -> _Round:
        """Ask what one line must be: where a model writes down a whole file as it was."""
        rules = self._prompts.text("rewrite_line")
        answer = self._model.ask(_question(job, str, rules, rewriting_line(job, file, at), len(done)), job.purse)
        before = file.text.split("\n")
        new = one_line_of(answer.value or "")
        depth = before[at][: len(before[at]) - len(before[at].lstrip())]
        text = "\n".join([*before[:at], depth + new, *before[at + 1 :]])
        edits = (FileEdit(file=file.path, new=text),) if new else ()
        return _made(
            job, _Round(answer=answer, fix=f"{_LINE} {at + 1} of {file.path}", edits=edits), {file.path: file.text}
        )

    def _summary(self, job: SolveJob) -> tuple[str, str]:
        """A long output in a few lines, where there is a model for that; and a remark where it failed."""
        fast = self._model.named("fast")
        if len(job.failure.output) <= _LONG_OUTPUT or fast == self._model.named("reasoning"):
            return "", ""
        question = Question(
            shape=Summary,
            role="fast",
            rules=self._prompts.text("summarise"),
            text=job.failure.output[-ROOMS[0] :],
            output_tokens=_SUMMARY_TOKENS,
        )
        try:
            answer = self._model.ask(question, job.purse)
        except ModelError as error:  # the planner reads the excerpt instead
            return "", f"{fast} did not summarise: {error}"
        return (answer.value.summary, "") if answer.value else ("", f"{fast} did not summarise: {answer.problem}")


def create(options: SolverOptions) -> ModelSolver:
    """The solver `model`, or `model:NAME`. Raises Refused where no model is named, or its extra is not installed."""
    if options.models is None:
        raise Refused("no models are at hand here: the solver `model` is made by `ratchet run`")
    return ModelSolver(options.models(options.argument), Prompts(options.prompts))


def temperature_of(tried: Sequence[Attempt], signature: str, memos: Sequence[Memo] = ()) -> float:
    """The temperature at which this failure was mended before, at first; it then rises with each attempt in a row that
    ended in the failure that is faced now: the same question would bring the same answer."""
    repeats = 0
    for attempt in reversed(tried):
        if attempt.signature != signature:
            break
        repeats += 1
    known = next(
        (found for each in memos if each.signature == signature and (found := each.note.get("temperature"))), 0
    )
    if repeats == 0 and isinstance(known, int | float) and 0 < known <= _HOTTEST:
        return float(known)
    return min(_HOTTEST, _FIRST_TEMPERATURE + _STEP * repeats)


def _question(job: SolveJob, shape: type[T], rules: str, text: str, rounds: int, hotter: float = 0.0) -> Question[T]:
    return Question(
        shape=shape,
        text=text,
        rules=rules,
        temperature=min(_HOTTEST, temperature_of(job.tried, job.failure.signature, job.memos) + hotter),
        seed=(job.seed + rounds) % 2**31,
    )


def _as_file(job: SolveJob, done: Sequence[_Round]) -> bool:
    """Tell whether to ask for one whole file now: at last, where edits did not fit; always, where it came to that in an
    earlier attempt."""
    if any(_UNUSABLE in each.reason or _WHOLE in each.note for each in job.tried):
        return True
    return len(done) == ROUNDS - 1 and done[-1].unfit


def _is_whole(answer: ModelAnswer[EditProposal] | ModelAnswer[str]) -> bool:
    return isinstance(answer.value, str)


def _lines_tried(job: SolveJob, done: Sequence[_Round]) -> int:
    """Count the lines that were asked for so far: the next is the next suspect."""
    return sum(_LINE in each.note for each in job.tried) + sum(each.fix.startswith(_LINE) for each in done)


def _edited(job: SolveJob, answer: ModelAnswer[EditProposal], files: Sequence[ShownFile]) -> _Round:
    """An answer of edits; where it is none, whole files between its fences."""
    shown = {each.path: each.text for each in files if each.may_change}
    if answer.value is not None:
        said = answer.value
        found = _Round(answer=answer, cause=said.cause, fix=said.fix, edits=said.edits)
    else:
        whole = {each.path: each.text for each in files if each.may_change and each.whole}
        found = _Round(answer=answer, edits=_whole_files(answer.text, whole))
    return _made(job, found, shown)


def _rewritten(job: SolveJob, answer: ModelAnswer[str], meant: ShownFile) -> _Round:
    """An answer that is one whole file, in a fence or as it stands."""
    text = answer.value or ""
    edits = _whole_files(text, {meant.path: meant.text}, only=meant.path)
    return _made(job, _Round(answer=answer, fix=f"rewrote {meant.path}", edits=edits), {meant.path: meant.text})


def _whole_files(text: str, files: Mapping[str, str], only: str = "") -> tuple[FileEdit, ...]:
    """The files between the fences of an answer; where it holds some definitions of a Python file, the others stay."""
    edits = in_fences(text, files, only=only)
    return tuple(
        replace(each, new=with_definitions(files[each.file], each.new)) if each.file.endswith(".py") else each
        for each in edits
    )


def _made(job: SolveJob, found: _Round, shown: Mapping[str, str]) -> _Round:
    """Make the edits in memory, and hold them against what may be changed."""
    if not found.edits:
        return replace(found, wrong=found.answer.problem or "it holds no edits", unfit=True)
    try:
        changes = changes_of(found.edits, lambda path: survey.content(job.workspace, path), shown)
    except Misfit as fault:
        return replace(found, wrong=str(fault), unfit=True)
    reason = objection(changes, job.task)
    if reason or not changes:
        return replace(found, wrong=reason or "the edits leave every file as it is")
    return replace(found, changes=changes, fix=found.fix or "rewrote " + ", ".join(each.path for each in changes))


def _solved(job: SolveJob, done: Sequence[_Round], remark: str, files: Sequence[ShownFile]) -> Solved:
    """Write the last round's changes, and tell what was asked and answered."""
    if not done:
        return Solved(status="proposed", reason="cancelled before a model answered")
    last = done[-1]
    notes = [
        f"asked {last.answer.model}: {sum(each.answer.calls for each in done)} calls, {len(files)} files shown",
        f"answered {_WHOLE}" if _is_whole(last.answer) else "",
        next((each.fix for each in done if each.fix.startswith(_LINE)), ""),
        last.answer.note,
        remark,
    ]
    note = "; ".join(filter(None, notes))
    if not last.changes:
        return Solved(status="proposed", cause=last.cause, reason=clean(f"{_UNUSABLE}: {last.wrong}", 1_000), note=note)
    try:
        survey.change(job.workspace, job.sandbox, last.changes)
    except Refused as error:
        return Solved(status="proposed", reason=f"the edits cannot be made: {error}", note=note)
    return Solved(
        status="proposed", cause=last.cause, fix=last.fix, candidates=1, note=note, memo=_memo(job, last.edits)
    )


def _memo(job: SolveJob, edits: Sequence[FileEdit]) -> dict[str, Json]:
    """The temperature that was asked at, and the edits as they may be shown when the same failure comes again, unless
    they are long."""
    asked: dict[str, Json] = {"temperature": temperature_of(job.tried, job.failure.signature, job.memos)}
    kept: list[Json] = [
        {"file": redact(each.file), "old": redact(each.old), "new": redact(each.new)} for each in edits if each.old
    ]
    size = sum(len(cast("str", value)) for each in kept for value in cast("dict[str, Json]", each).values())
    return asked | {"edits": kept} if kept and size <= _MEMO_CHARS else asked

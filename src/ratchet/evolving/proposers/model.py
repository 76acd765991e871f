"""Asks a language model for a change of the agent: a hypothesis, the gain that it expects, edits and settings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TypeVar

from ratchet.errors import Refused
from ratchet.evolving.bench.agents import may_change
from ratchet.evolving.job import ProposalJob, Proposed, ProposerOptions
from ratchet.evolving.proposers.answers import fixed, gain_of, hypothesis_of, nothing, refused, settings_of
from ratchet.evolving.proposers.evidence import HEADINGS, told
from ratchet.failures.redaction.text import cap
from ratchet.healing.judges.protection import is_harness, is_test
from ratchet.healing.models.prompts import Prompts
from ratchet.healing.models.question import Model, ModelAnswer, Question
from ratchet.healing.models.quoting import quoted
from ratchet.healing.solvers import survey
from ratchet.healing.solvers.edits import FileEdit, Misfit, changes_of, in_fences
from ratchet.healing.solvers.survey import ShownFile
from ratchet.records import Json
from ratchet.sandbox.command import FileChange

T = TypeVar("T")

ROUNDS = 3
"""Answers to one asking, while none can be used: the second is asked for with the reason, the third as a file; the
first as a file, where an earlier asking of the run came to nothing."""
ROOMS = (24_000, 9_000, 3_500)
"""Characters of a prompt's files and evidence: a usual window, a small one, and a local model's with 4,096 tokens."""
_FILES_SHARE = 2  # half of a room is for the agent's files
_SHORT_FILE = 6_000  # characters of a file that is asked for as a whole
_SHORT_EVIDENCE = 2_000  # and of what is told with it: small models copy what they read last, or most
_FIRST_TEMPERATURE, _STEP, _HOTTEST = 0.4, 0.1, 1.0
_PROSE = frozenset((".md", ".txt", ".prompt", ".jinja", ".jinja2", ".j2", ".tmpl"))
_HOTTER = 0.4  # for a whole file, which small models else copy as it is
_UNUSABLE = "no change that can be made"
_DECLINED = ("refusal", "content_filter", "context_overflow")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingValue:
    """A declared setting and what it shall be, as JSON."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Idea:
    """The answer that is asked for."""

    hypothesis: str = ""
    expected: float = 0.0
    edits: tuple[FileEdit, ...] = ()
    settings: tuple[SettingValue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIdea:
    """The same of an agent that declares no settings."""

    hypothesis: str = ""
    expected: float = 0.0
    edits: tuple[FileEdit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingIdea:
    """The same of an agent no file of which may change."""

    hypothesis: str = ""
    expected: float = 0.0
    settings: tuple[SettingValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProposalRound:
    """One answer, as far as it came: a change that can be made, or what is wrong with it."""

    kind: str = ""
    model: str = ""
    hypothesis: str = ""
    expected: float = 0.0
    changes: tuple[FileChange, ...] = ()
    settings: dict[str, Json] = field(default_factory=dict)
    named: tuple[str, ...] = ()
    """Files that its edits were about."""
    wrong: str = ""

    @property
    def usable(self) -> bool:
        return not self.wrong and bool(self.changes or self.settings)


class ModelProposer:
    """Port `AgentProposer` over a language model."""

    name = "model"

    def __init__(self, model: Model, prompts: Prompts | None = None) -> None:
        self._model = model
        self._prompts = prompts or Prompts()

    def propose(self, job: ProposalJob) -> Proposed:
        """Ask until an answer can be used, three times at most. Raises ModelError where no model answers, Refused where
        the purse does not reach."""
        if (answer := fixed(job)) is not None:
            return answer
        paths = [path for path in survey.listing(job.workspace, job.sandbox, job.limits) if _may_change(path, job)]
        if not paths and not job.agent.knobs:
            return refused(f"no file of this agent matches what may change: {', '.join(job.agent.changes)}")
        last = self._rounds(job, paths)
        if last is None:
            return nothing("cancelled before a model answered")
        if not last.usable:
            return nothing(f"{last.model}: {_UNUSABLE}: {last.wrong}")
        return _made(job, last)

    def _rounds(self, job: ProposalJob, paths: Sequence[str]) -> _ProposalRound | None:
        """Ask until a change can be made; a model whose window is too small is asked with less."""
        last: _ProposalRound | None = None
        rooms = iter(ROOMS)
        room = next(rooms)
        done = 0
        while done < ROUNDS and not job.purse.cancelled():
            files = _files(job, paths, room // _FILES_SHARE)
            job.note(f"asking {self._model.named('reasoning')} about {len(files)} files")
            answered = self._round(job, files, room, last, done)
            if answered.kind == "context_overflow" and (smaller := next(rooms, 0)):
                room = smaller
                continue
            last, done = answered, done + 1
            if last.usable or last.kind in _DECLINED:
                break
        return last

    def _round(
        self, job: ProposalJob, files: Sequence[ShownFile], room: int, last: _ProposalRound | None, done: int
    ) -> _ProposalRound:
        missed = [each for each in job.tried if _UNUSABLE in each.reason]
        meant = _short(files, last.named if last else (), len(missed))
        if meant is not None and done == (0 if missed else ROUNDS - 1):
            text = f"{told(job, min(room, _SHORT_EVIDENCE))}\n\n{_file(meant)}\n\nWrite all of {meant.path}, changed."
            question = _question(job, str, self._prompts.text("improve"), text, done)
            hotter = replace(question, temperature=min(_HOTTEST, question.temperature + _HOTTER))
            rewritten = self._model.ask(hotter, job.purse)
            return _rewritten(job, rewritten, meant)
        text = _text(job, files, room, last.wrong if last else "")
        rules = self._prompts.text("propose")
        if not files:
            settled = self._model.ask(_question(job, SettingIdea, rules, text, done), job.purse)
            return _settled(job, settled)
        if not job.agent.knobs:
            edited = self._model.ask(_question(job, FileIdea, rules, text, done), job.purse)
            return _edited(job, edited, files)
        whole = self._model.ask(_question(job, Idea, rules, text, done), job.purse)
        return _both(job, whole, files)


def create(options: ProposerOptions) -> ModelProposer:
    """The proposer `model`, or `model:NAME`. Raises Refused where no model is named, or its extra is not installed."""
    if options.models is None:
        raise Refused("no models are at hand here: the proposer `model` is made by `ratchet evolve`")
    return ModelProposer(options.models(options.argument), Prompts(options.prompts))


# -- asking ------------------------------------------------------------------------------------------------------------


def temperature_of(job: ProposalJob) -> float:
    """It rises with each proposal in a row that was not kept: the same question would bring the same answer."""
    missed = 0
    for each in reversed(job.tried):
        if each.state == "kept":
            break
        missed += 1
    return min(_HOTTEST, _FIRST_TEMPERATURE + _STEP * missed)


def _question(job: ProposalJob, shape: type[T], rules: str, text: str, done: int) -> Question[T]:
    # The same proposer is asked again and again within a run: no two askings have one seed.
    seed = (job.seed * 1_009 + len(job.tried) * ROUNDS + done) % 2**31
    return Question(shape=shape, text=text, rules=rules, temperature=temperature_of(job), seed=seed)


def _text(job: ProposalJob, files: Sequence[ShownFile], room: int, wrong: str) -> str:
    changeable = [each.path for each in files]
    parts = [
        told(job, room // _FILES_SHARE),
        *map(_file, files),
        f"# Your last answer could not be used\n{quoted(cap(wrong, 800))}\nAnswer again." if wrong else "",
        f"You may change: {', '.join(changeable)}" if changeable else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _file(shown: ShownFile) -> str:
    return f"# File {shown.path}{'' if shown.whole else ' (in part)'}\n{quoted(shown.text)}"


def _files(job: ProposalJob, paths: Sequence[str], room: int) -> list[ShownFile]:
    """The files that may change: those that the evidence names, then prompts, then the rest."""
    texts = [run.output for weak in job.weakest for run in weak.examples] + [each.template for each in job.patterns]
    evidence = "\n".join(texts)[-ROOMS[0] :]
    order = dict.fromkeys(survey.mentioned(paths, evidence))
    order |= dict.fromkeys(path for path in paths if PurePosixPath(path).suffix in _PROSE)
    order |= dict.fromkeys(paths)
    return survey.shown(job.workspace, [*order], evidence, room, may_change=frozenset(paths))


def _may_change(path: str, job: ProposalJob) -> bool:
    return may_change(job.agent, path) and not is_harness(path) and not is_test(path)


def _short(files: Sequence[ShownFile], named: Sequence[str], turn: int) -> ShownFile | None:
    """A short file to be asked for as a whole: one that the last answer named, else each in its turn."""
    short = [each for each in files if each.whole and len(each.text) <= _SHORT_FILE]
    return next((each for each in short if each.path in named), short[turn % len(short)] if short else None)


# -- what came back ----------------------------------------------------------------------------------------------------


def _both(job: ProposalJob, answer: ModelAnswer[Idea], files: Sequence[ShownFile]) -> _ProposalRound:
    said = answer.value
    if said is None:
        return _with_edits(job, _unread(answer), _fenced(answer, files), files)
    found = _begun(answer, said.hypothesis, said.expected)
    return _with_settings(job, _with_edits(job, found, said.edits, files), said.settings)


def _edited(job: ProposalJob, answer: ModelAnswer[FileIdea], files: Sequence[ShownFile]) -> _ProposalRound:
    said = answer.value
    if said is None:
        return _with_edits(job, _unread(answer), _fenced(answer, files), files)
    return _with_edits(job, _begun(answer, said.hypothesis, said.expected), said.edits, files)


def _settled(job: ProposalJob, answer: ModelAnswer[SettingIdea]) -> _ProposalRound:
    said = answer.value
    if said is None:
        return _unread(answer)
    return _with_settings(job, _begun(answer, said.hypothesis, said.expected), said.settings)


def _rewritten(job: ProposalJob, answer: ModelAnswer[str], meant: ShownFile) -> _ProposalRound:
    """An answer that is one whole file, in a fence or as it stands."""
    if answer.value is None:
        return _unread(answer)
    edits = in_fences(answer.value, {meant.path: meant.text}, only=meant.path)
    found = _begun(answer, f"{meant.path}, rewritten", 0.0)
    return _with_edits(job, replace(found, wrong="it holds no file"), edits, [meant])


def _begun(answer: ModelAnswer[T], hypothesis: str, expected: float) -> _ProposalRound:
    return _ProposalRound(
        kind=answer.kind,
        model=answer.model,
        hypothesis=hypothesis_of(hypothesis),
        expected=gain_of(expected),
        wrong="it changes nothing",
    )


def _unread(answer: ModelAnswer[T]) -> _ProposalRound:
    return _ProposalRound(kind=answer.kind, model=answer.model, wrong=answer.problem or "it holds no answer")


def _fenced(answer: ModelAnswer[T], files: Sequence[ShownFile]) -> tuple[FileEdit, ...]:
    """Whole files between the fences of an answer that is none."""
    return in_fences(answer.text, {each.path: each.text for each in files if each.whole})


def _with_edits(
    job: ProposalJob, found: _ProposalRound, edits: Sequence[FileEdit], files: Sequence[ShownFile]
) -> _ProposalRound:
    """Make the edits in memory, and hold them against what may change."""
    if not edits:
        return found
    found = replace(found, named=tuple(each.file for each in edits))
    told_of = [*HEADINGS[1:], *(f"## {each.task.id} ({each.task.kind})" for each in job.weakest)]
    if any(heading in each.new for each in edits for heading in told_of):
        # Seen of a model of 0.5 billion parameters: the tasks would stand in the agent's prompt.
        return replace(found, wrong="it repeats what it was told instead of changing the file")
    try:
        changes = changes_of(
            edits, lambda path: survey.content(job.workspace, path), {each.path: each.text for each in files}
        )
    except Misfit as fault:
        return replace(found, wrong=str(fault))
    for change in changes:
        if not _may_change(change.path, job):
            return replace(found, wrong=f"{change.path} may not change: only {', '.join(job.agent.changes)} may")
    if not changes:
        return replace(found, wrong="the edits leave every file as it is")
    hypothesis = found.hypothesis or f"{', '.join(each.path for each in changes)}, rewritten"
    return replace(found, changes=changes, wrong="", hypothesis=hypothesis)


def _with_settings(job: ProposalJob, found: _ProposalRound, given: Sequence[SettingValue]) -> _ProposalRound:
    settings, wrong = settings_of(job, {each.name: _value(each.value) for each in given})
    if found.changes and found.wrong == "":
        return replace(found, settings=settings)  # the edits are a change; a setting that is none is left out
    if settings and not found.named:
        return replace(found, settings=settings, wrong="")
    return replace(found, wrong="; ".join((found.wrong, *wrong)))


def _value(text: str) -> object:
    """A value as JSON, or the text itself where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _made(job: ProposalJob, last: _ProposalRound) -> Proposed:
    """Write the changes."""
    try:
        survey.change(job.workspace, job.sandbox, last.changes)
    except Refused as error:
        return nothing(f"{last.model}: the edits cannot be made: {error}")
    return Proposed(status="proposed", hypothesis=last.hypothesis, expected=last.expected, settings=dict(last.settings))

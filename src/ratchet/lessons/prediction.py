"""Predict how likely steps fail here before they run: a command, a file to edit, a diff, or a plan that names them.

All of it is counted: the odds are those of the project's own steps (`lessons.odds`), the reasons its facts, the advice
its proven lessons about such a step (`lessons.ahead`), and what its active ones say of the failure that it may end in.
Where nothing was counted, there is no basis, and no number.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

from ratchet.failures.intent import is_shell
from ratchet.failures.searching import words_in
from ratchet.failures.tool_call import step_row
from ratchet.lessons.ahead import trigger
from ratchet.lessons.ahead.making import never_worked, triggers
from ratchet.lessons.ahead.sighted import is_mined, sightings, tells_what_ran
from ratchet.lessons.fact_lines import fails_of
from ratchet.lessons.facts import ProjectFacts, facts_of, for_agents
from ratchet.lessons.fence import occasion, says_when
from ratchet.lessons.grounding import answers
from ratchet.lessons.mining.calls import ToolCall, calls_of, pieces_of
from ratchet.lessons.mining.circumstances import NEW, UNKNOWN, Trail
from ratchet.lessons.mining.facts import file_of
from ratchet.lessons.odds import SESSIONS, STEPS, Chance, Circumstance, Odds, odds_of
from ratchet.lessons.repositories import known_as
from ratchet.lessons.rests import folder_of, stale
from ratchet.lessons.rows import for_agents as for_agents_of
from ratchet.lessons.rows import lesson_of
from ratchet.lessons.standing import LessonStanding, place
from ratchet.ports import Store
from ratchet.records import Json, Row, number_in, text_in, whole_in

Asked: TypeAlias = Literal["command", "file", "diff", "plan"]

_RECENT_S = 3_600.0  # a session whose last call is older is over, or waits for a person
_CALLS = 500  # newest calls of a session that are looked at
_WORDS_ASKED, _SAME_WORDS = 8, 200  # of a line, and the newest steps that have them: among these it is looked for
_STEPS_NAMED = 20  # of a plan
_SHOWN_CHARS = 300
_FEW = 5  # runs below which a command's own rate says little
_REASONS = 3
_FAILURES = 3  # lessons about failures of a step
_CODE = re.compile(
    r"```[^\n]*\n(.*?)```|`([^`\n]{1,300})`|^\s*\$ ([^\n]+)$|^\s*(?:\d{1,3}[.)]|[-*+])\s+([^`\n]{1,300})$",
    re.DOTALL | re.MULTILINE,
)
_NO_PROSE = re.compile(r"(?:^|\s)-|[/=$*|&:.]\S")
_NONE_NAMED = "no command and no file of this project stands in it; put commands in `backticks`"
_DIFF = re.compile(r"^(?:diff --git |--- .*\n\+\+\+ |@@ -\d)", re.MULTILINE)
_DIFF_FILE = re.compile(r"^\+\+\+ (?:b/)?(\S[^\t\n]*)", re.MULTILINE)
_DIFF_ADDED = re.compile(r"^\+(?!\+\+ )", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLesson:
    """A lesson about a step that has not run yet: a proven one, or what is known of a failure that comes `when`;
    `counted` where the number rests on it."""

    id: str
    text: str
    when: str = ""
    counted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedStep:
    """The odds that one step fails. `probability` is None where there is no basis; `basis` says what it rests on.
    `runs` and `failures` are its command's in this project, `why` the circumstances that count and what it fails of."""

    step: str
    name: str
    probability: float | None
    basis: str
    runs: int
    failures: int
    why: tuple[str, ...]
    lessons: tuple[StepLesson, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The steps that were asked about, in their order. `session` is the one whose calls so far were counted in, "" for
    none; `note` says why there is no step."""

    project: str
    session: str
    steps: tuple[PredictedStep, ...]
    note: str = ""


def predict(
    store: Store, asked: Asked, text: str, *, folder: str, session: str = "", here: bool = True, now: float = 0.0
) -> Prediction:
    """Predict the steps that `text` stands for, in the project of `folder`, which is looked at where it is `here`.
    Without a session it is the one that ran there in the last hour. Raises StoreError."""
    project = known_as(store, folder)
    session = session or _running(store, project, now or time.time())
    room = _Room(store, project, folder, session, here=here)
    forms: Mapping[Asked, Callable[[str], list[PredictedStep]]]
    forms = {"command": room.command, "file": room.file, "diff": room.diff, "plan": room.plan}
    steps = forms[asked](text)
    note = "" if steps else _NONE_NAMED if room.known else room.no_basis
    return Prediction(project=project, session=session, steps=tuple(steps), note=note)


def asked_of(store: Store, text: str, *, folder: str, here: bool = True) -> Asked:
    """Tell what a text is: a diff, a file that is there, a command, else a plan."""
    if _DIFF.search(text):
        return "diff"
    bare = text.strip()
    if "\n" in bare:
        return "plan"
    if here and " " not in bare and Path(folder, bare).is_file():
        return "file"
    heads = {
        each.head.partition(" ")[0] for each in facts_of(store, known_as(store, folder)).ran if is_shell(each.tool)
    }
    return "command" if _runs(bare, heads) else "plan"


def _running(store: Store, project: str, now: float) -> str:
    """The session that ran last in a project, if that is not long ago."""
    rows = store.find("outcomes", {"started_at": (">=", now - _RECENT_S)}, order=("-started_at",), limit=50).rows
    named = (row for row in rows if row.get("session") and known_as(store, text_in(row, "project")) == project)
    return next((text_in(row, "session") for row in named), "")


def _runs(line: str, heads: Iterable[str]) -> bool:
    """Tell whether a line is a command: its program ran here, or is on this machine."""
    pieces = pieces_of(line)
    programs = [piece.words[0] for piece in pieces]
    return bool(programs) and all(each in heads or (len(pieces) == 1 and shutil.which(each)) for each in programs)


class _Room:
    """A project as one that is about to take a step finds it."""

    def __init__(self, store: Store, project: str, folder: str, session: str, *, here: bool) -> None:
        self._store, self._project, self._folder, self._here = store, project, folder, here
        self._odds: Odds = odds_of(store, project)
        self._facts: ProjectFacts = for_agents(facts_of(store, project))
        self._triggers, self._never = triggers(store, project), never_worked(store, project)
        active = store.find("lessons", {"project": project, "state": "active"}).rows
        seen = sightings(store, active)
        self._active = [row for row in active if tells_what_ran(row, seen)]
        made = store.find("outcomes", {"session": session or "-"}, order=("-started_at",), limit=_CALLS)
        self._calls = calls_of(made.rows)
        self._trail = Trail(self._calls)

    @property
    def known(self) -> bool:
        return self._odds.known

    @property
    def no_basis(self) -> str:
        found = self._odds
        known = f"{found.steps:,} steps in {found.sessions} sessions known here"
        return f"no basis: {known}; it takes {STEPS} steps in {SESSIONS} sessions"

    def command(self, text: str, more_lines: int | None = 0) -> list[PredictedStep]:
        tool = self._tool(lambda tool, _: is_shell(tool), "Bash")
        return [self._step(self._call(tool, {"command": text}), more_lines)]

    def file(self, path: str) -> list[PredictedStep]:
        """An edit of the file, and the project's checks after it."""
        target = str(Path(self._folder, path))
        is_known = self._is_known(target)
        head = "edit" if is_known else "write"
        tool = self._tool(lambda _, used: used == head, head.capitalize())
        step = self._step(self._call(tool, {"file_path": target}))
        new = () if is_known else (f"no {path} is known here: it is taken for a new file",)
        return [replace(step, why=(*new, *step.why)), *self._checks(None, {path})]

    def diff(self, text: str) -> list[PredictedStep]:
        """The project's checks after the diff."""
        return self._checks(len(_DIFF_ADDED.findall(text)), set(_DIFF_FILE.findall(text)))

    def plan(self, text: str) -> list[PredictedStep]:
        """The commands and files that a plan names, each once."""
        ran = {each.head for each in self._facts.ran if is_shell(each.tool)}
        heads = {each.partition(" ")[0] for each in ran}
        found: dict[str, list[PredictedStep]] = {}
        for block, inline, prompted, item in _CODE.findall(text):
            for line in (block or prompted or inline or item).splitlines():
                said = line.strip().removeprefix("$ ")
                if not said or said in found or len(found) >= _STEPS_NAMED or (item and not self._ran(said, ran)):
                    continue
                if " " not in said and "." in said and self._is_known(str(Path(self._folder, said))):
                    found[said] = self.file(said)[:1]
                elif _runs(said, heads):
                    found[said] = self.command(said)
        return [step for steps in found.values() for step in steps]

    def _ran(self, item: str, ran: set[str]) -> bool:
        """Tell whether an item of a list is a command that ran here, and no words that begin as one does."""
        head = self._call(self._tool(lambda tool, _: is_shell(tool), "Bash"), {"command": item}).head
        return head in ran and (item == head or " " in head or _NO_PROSE.search(item) is not None)

    def _checks(self, more_lines: int | None, files: set[str]) -> list[PredictedStep]:
        steps = [
            replace(step, why=(f"this project's usual {way.check}, which comes after a change", *step.why))
            for way in self._facts.ways
            for step in self.command(way.usual.head, more_lines)
        ]
        left = [f"`{each.finding}` in {each.file} is not yours" for each in self._facts.left if each.file in files]
        return [replace(step, why=(*step.why, *left)) for step in steps]

    def _tool(self, is_it: Callable[[str, str], bool], otherwise: str) -> str:
        """The tool that the project's agents use most for it."""
        calls: dict[str, int] = {}
        for each in self._facts.ran:
            if is_it(each.tool, each.head):
                calls[each.tool] = calls.get(each.tool, 0) + each.calls
        return max(calls, key=lambda tool: (calls[tool], tool), default=otherwise)

    def _call(self, tool: str, given: Json) -> ToolCall:
        row: Row = {"id": "", "ok": True, "started_at": 0.0, "project": self._folder, "step": step_row(tool, given)}
        return calls_of([row])[0]

    def _step(self, call: ToolCall, more_lines: int | None = 0) -> PredictedStep:
        """The odds of a call after so many more lines; None: after a change of which the size is not known."""
        chance = self._odds.chance(call.tool, call.head, self._around(call, more_lines))
        why = [_reason(each) for each in (chance.reasons if chance else ())[:_REASONS]]
        fails = fails_of(self._facts, call.head)
        if fails:
            why.append(f"fails most of (sessions): {', '.join(fails[:6])}")
        surroundings = (trigger.Surroundings if self._here else _Elsewhere)(
            self._calls[-1].project if self._calls else self._folder,
            self._folder,
            lambda head: self._trail.added_since(head) + (1 if more_lines is None else more_lines),
        )
        given: Json = call.input if call.shell else {**call.fields}
        met = trigger.met(self._triggers, call.tool, given, surroundings)
        proven = [StepLesson(id=each.lesson, text=each.text) for each in met]
        basis = _basis(chance, call.head, is_new=self._is_new(call)) if chance else self.no_basis
        probability = chance.probability if chance else None
        never = self._never_worked(trigger.met(self._never, call.tool, given, surroundings)) if chance else None
        if chance and never is not None:
            lesson, runs, since = never
            proven = [lesson, *(each for each in proven if each.id != lesson.id)]
            probability = max(chance.probability, (runs + 1) / (runs + 2))  # Laplace's rule of succession
            why.insert(0, basis)
            basis = f"failed each time so far ({runs} of {runs}), since {since}"
        return PredictedStep(
            step=(call.input if call.shell else f"{call.head} {call.target}")[:_SHOWN_CHARS],
            name=call.head,
            probability=probability,
            basis=basis,
            runs=chance.runs if chance else 0,
            failures=chance.failures if chance else 0,
            why=tuple(why),
            lessons=(*proven, *self._of_failures(call, {each.id for each in proven})),
        )

    def _never_worked(self, met: Iterable[trigger.Trigger]) -> tuple[StepLesson, int, str] | None:
        """Find an option or a tool of this very step that never worked, with its runs, and since when."""
        for each in met:
            rows = self._store.find("habits", {"project": self._project, "head": each.head or each.tool}).rows
            options = ({word.partition("=")[0] for word in text_in(row, "form").split()} for row in rows)
            rows = [row for row, had in zip(rows, options, strict=True) if each.kind != "flag" or each.word in had]
            failed = sum(whole_in(row, "failed") for row in rows)
            if failed and not any(whole_in(row, "ok") for row in rows):
                since = datetime.fromtimestamp(min(number_in(row, "at") for row in rows), UTC).date().isoformat()
                return StepLesson(id=each.lesson, text=each.text, counted=True), failed, since
        return None

    def _is_new(self, call: ToolCall) -> bool:
        """Tell whether a command line, word for word, is none of the newest steps here that have its first words."""
        words = words_in(call.input, _WORDS_ASKED) if call.shell else []
        found = self._store.having("steps", words, limit=_SAME_WORDS) if words else ()
        ids: list[Json] = [text_in(row, "id") for row in found]
        ran = self._store.find("outcomes", {"id": ("in", ids)}).rows if ids else ()
        own = [row for row in ran if known_as(self._store, text_in(row, "project")) == self._project]
        return bool(words) and all(each.input != call.input for each in calls_of(own))

    def _of_failures(self, call: ToolCall, told: set[str]) -> list[StepLesson]:
        """Lessons about the failures that this very command had here, or one with the option that it has."""
        rows = [row for row in self._active if row["id"] not in told and _is_about(row, call)]
        rows.sort(key=lambda row: (place(LessonStanding(row)), text_in(row, "id")))
        seen = [(for_agents_of(lesson_of(row)), row) for row in rows[:_FAILURES]]
        when = [
            occasion(row) or ("" if says_when(row) else f"`{call.head}` fails")
            if is_mined(row)
            else f"it fails of `{each.met}`"
            for each, row in seen
        ]
        return [
            StepLesson(id=each.id, text=each.text, when=at)
            for (each, _), at in zip(seen, when, strict=True)
            if each.text
        ]

    def _around(self, call: ToolCall, more_lines: int | None) -> Iterator[str]:
        """The circumstances that are known: without a session, those of the file and of the lines alone."""
        for each in self._trail.around(call, more_lines or 0):
            if more_lines is None and each.startswith("added:"):
                continue
            if each == NEW and not self._is_known(call.target):
                yield UNKNOWN
            elif self._calls or (more_lines and each.startswith("added:")):
                yield each

    def _is_known(self, path: str) -> bool:
        return file_of(path, self._folder) in self._odds.files or (self._here and Path(self._folder, path).exists())


def _is_about(row: Row, call: ToolCall) -> bool:
    """Tell whether a lesson's failing step is this command, the ends of its output aside, or needs an option of it."""
    heads = {piece.head for piece in call.pieces}
    if not call.shell or row.get("rule") in ("place", "edit") or text_in(row, "head") not in heads:
        return False
    failed = {piece.plain for piece in pieces_of(text_in(row, "failed"))}
    is_same = bool(text_in(row, "needs")) or any(piece.plain in failed for piece in call.pieces)
    if not is_same or stale(row, folder_of(row)):
        return False
    return answers(row, message=text_in(row, "said"), tool=call.tool, asked=call.input)


class _Elsewhere(trigger.Surroundings):
    """Surroundings on another machine: nothing is said to be missing there."""

    def exists(self, folder: str, path: str) -> bool:
        del folder, path
        return True


def _basis(chance: Chance, head: str, *, is_new: bool) -> str:
    counted = f"{chance.failures:,} of {chance.runs:,} runs of `{head}` here failed"
    counted += "; no run of this very line is known" if is_new else ""
    usual = f"{100 * chance.mean:.0f} %"
    if chance.runs >= _FEW:
        return f"{counted}; weighed with this project's other commands, of which {usual} fail"
    ran = counted if chance.runs else "never ran here"
    return f"{ran}; the project's {chance.heads} commands fail in {usual} on average"


def _reason(each: Circumstance) -> str:
    usual = f"{each.expected:,.0f}" if each.expected >= _ROUND else f"{each.expected:g}"
    counted = f"{each.failures:,} of {each.runs:,} steps failed then, about {usual} at the usual rate"
    return f"{_PHRASES.get(each.name, each.name)}: {counted}"


_ROUND = 10  # failures from which a tenth of one tells nothing


_PHRASES = {
    "last:none": "its first run in this session",
    "last:ok": "its last run in this session worked",
    "last:failed": "its last run in this session failed",
    "added:0": "nothing was added since its last run",
    "added:1": "after 1 to 7 added lines",
    "added:8": "after 8 to 63 added lines",
    "added:64": "after 64 to 127 added lines",
    "added:128": "after 128 or more added lines",
    "change:new": "a change of a file that this session did not open",
    "change:ok": "a change of a file that this session opened",
    "change:failed": "a change of a file, the step on it before failed",
    "read:new": "a file that earlier sessions opened",
    "read:unknown": "a file that nobody opened yet",
    "read:ok": "a file that this session opened",
    "read:failed": "a file that this session could not open",
    "previous:ok": "the last five steps worked",
    "previous:lately": "one of the last five steps failed, the last one worked",
    "previous:failed": "the step before failed",
    "recent:0": "the last 20 steps worked",
    "recent:1": "one of the last 20 steps failed",
    "recent:2": "two or three of the last 20 steps failed",
    "recent:4": "four or more of the last 20 steps failed",
}


def told_in_words(found: Prediction) -> str:
    """The prediction in words, a step a paragraph; reasons that several steps share are said once, at the end."""
    share: dict[str, list[str]] = {}
    for step in found.steps:
        for line in dict.fromkeys(step.why):
            share.setdefault(line, []).append(step.step.strip())
    told = [line for step in found.steps for line in _told(step, [why for why in step.why if len(share[why]) == 1])]
    told += [f"{', '.join(steps)}: {line}" for line, steps in share.items() if len(steps) > 1]
    return "\n".join(told) or (f"No prediction: {found.note}." if found.note == _NONE_NAMED else found.note)


def _told(step: PredictedStep, why: Sequence[str]) -> Iterator[str]:
    likely = "" if step.probability is None else f"{100 * step.probability:.0f} % likely to fail "
    yield f"{step.step.strip()}: {likely}({step.basis})" if likely else f"{step.step.strip()}: {step.basis}"
    for each in sorted(step.lessons, key=lambda each: (bool(each.when), not each.counted)):
        apart = "" if each.counted or each.when or not likely else "; the number does not count it"
        said = f"if {each.when}" if each.when else "first"
        yield from f"  {said}: {each.text} ({each.id}{apart})".split("\n")
    yield from (f"  {line}" for line in why)

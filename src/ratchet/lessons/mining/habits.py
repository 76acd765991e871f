"""Count what a session ran: for each simple command or tool how often it worked and failed.

It vouches for what a project's own successful runs use, and it speaks against a lesson whose plain step works again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ratchet.lessons.mining.calls import Piece, ToolCall
from ratchet.lessons.mining.causes import forms_of
from ratchet.lessons.mining.generalise import without_prose
from ratchet.lessons.mining.hunks import hunks_of
from ratchet.lessons.mining.imported import added_imports
from ratchet.lessons.mining.silencing import suppressions

_FORM_CHARS = 160
_REASONED = re.compile(r"the user said:|reason|because", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.-])\d+(?![\w.])")
USED_SESSIONS = 3
"""Sessions whose successful runs make an option, a wrapper or a command the project's own."""


@dataclass(slots=True)
class HeadRun:
    """One simple command, or one tool, in one session; with the head "" one way to write a command line or a file."""

    head: str
    form: str
    ok: int = 0
    failed: int = 0
    refused: int = 0
    last_ok: float = 0.0
    last_refused: float = 0.0


def runs(calls: Iterable[ToolCall]) -> list[HeadRun]:
    """List what a session ran, each form once. Of a chain that failed nobody knows which part did: only the one that it
    was for counts as failed."""
    held: dict[tuple[str, str], HeadRun] = {}
    for call in calls:
        if call.ok and (call.writes or call.patches):
            for form in sorted(_ways(call)):
                _count(held, "", form, call)
        if call.shell:
            for form in forms_of(call.input):
                _count(held, "", form, call)
            for piece in call.pieces:
                if piece.noise != 2 and (call.ok or call.excused or piece is call.piece):
                    _count(held, piece.head, form_of(piece), call)
        elif not call.writes and call.head != "read":
            _count(held, call.tool, call.tool, call)
    return list(held.values())


def _ways(call: ToolCall) -> set[str]:
    """List the rules that an edit switches off at a place, with a reason, and the names that it imports."""
    hunks = hunks_of(call)
    off = {form for hunk in hunks for form in suppressions(hunk.removed, hunk.added) if form.startswith("suppress ")}
    return off | {f"{key} {module}" for hunk in hunks for key, module in added_imports(hunk)}


def form_of(piece: Piece) -> str:
    """A simple command as it is compared: without the text of messages, numbers as `#`."""
    return " ".join(_NUMBER.sub("#", without_prose(piece.raw)).split())[:_FORM_CHARS]


def _count(held: dict[tuple[str, str], HeadRun], head: str, form: str, call: ToolCall) -> None:
    run = held.setdefault((head, form), HeadRun(head, form))
    if call.ok:
        run.ok += 1
        run.last_ok = max(run.last_ok, call.at)
    elif call.kind == "user_denied":
        if _REASONED.search(call.message):
            run.refused += 1
            run.last_refused = max(run.last_refused, call.at)
    else:
        run.failed += 1


@dataclass(frozen=True, slots=True)
class Vouched:
    """Forms that a project's successful runs use in at least `USED_SESSIONS` sessions."""

    options: AbstractSet[tuple[str, str]] = frozenset()  # (head, option)
    programs: AbstractSet[str] = frozenset()  # first words
    commands: AbstractSet[str] = frozenset()  # whole forms
    heads: AbstractSet[str] = frozenset()
    words: AbstractSet[str] = frozenset()


class ProjectRuns:
    """All that a project's sessions ran, by form and by head; grows a session at a time."""

    def __init__(self) -> None:
        self._worked: dict[str, list[tuple[float, str]]] = {}
        self._refused: dict[str, list[tuple[float, str]]] = {}
        self.imported: dict[str, list[tuple[float, str, str]]] = {}
        """Names that edits imported, as `imported.import_sources` takes them; grows as sessions are added."""
        self._sessions: Counter[tuple[str, str, str]] = Counter()
        self._options: set[tuple[str, str]] = set()
        self._named: dict[str, set[str]] = {"program": set(), "form": set(), "head": set(), "word": set()}
        self.vouched = Vouched(self._options, *self._named.values())
        """Forms that the runs of `USED_SESSIONS` sessions vouch for; grows as sessions are added."""

    def add(self, session: str, ran: Iterable[HeadRun]) -> None:
        """Count one session, once."""
        met: set[tuple[str, str, str]] = set()
        for run in ran:
            if run.refused:
                self._refused.setdefault(run.head, []).append((run.last_refused, session))
            if not run.ok:
                continue
            self._worked.setdefault(run.form, []).append((run.last_ok, session))
            if run.form.startswith("import ") and not run.head:
                _, ending, name, module = run.form.split(" ", 3)
                self.imported.setdefault(f"import {ending} {name}", []).append((run.last_ok, session, module))
            if not run.head:
                continue
            words = run.form.split()
            for flag in {word.partition("=")[0] for word in words if word[:1] == "-"}:
                self._worked.setdefault(f"flag {run.head} {flag}", []).append((run.last_ok, session))
            met |= {("form", run.form, ""), ("head", run.head, "")}
            if words:
                met.add(("program", words[0], ""))
            met |= {("option", run.head, word.partition("=")[0]) for word in words if word[:1] == "-"}
            met |= {("word", word, "") for word in words[1:] if word[:1] != "-"}
        for key in met:
            self._sessions[key] += 1
            if self._sessions[key] == USED_SESSIONS:
                what, name, option = key
                if what == "option":
                    self._options.add((name, option))
                else:
                    self._named[what].add(name)

    def worked(self, forms: Iterable[str]) -> list[tuple[float, str]]:
        """(time, session) of the sessions in which one of these forms worked: commands, ways to write them or a file
        (`suppress nolint:gosec`, or `suppress nolint`), and options as remedies name them (`flag git show --stat`)."""
        return [when for form in forms for when in self._worked.get(form, ())]

    def refused(self, head: str) -> list[tuple[float, str]]:
        """(time, session) of those in which a person refused such a command and said why."""
        return self._refused.get(head, [])

"""Count what a session ran: for each simple command or tool how often it worked and failed.

It vouches for what a project's own successful runs use, and it speaks against a lesson whose plain step works again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ratchet.lessons.mining.calls import Piece, ToolCall
from ratchet.lessons.mining.generalise import without_prose

_FORM_CHARS = 160
_REASONED = re.compile(r"the user said:|reason|because", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.-])\d+(?![\w.])")
USED_SESSIONS = 3
"""Sessions whose successful runs make an option, a wrapper or a command the project's own."""


@dataclass(slots=True)
class HeadRun:
    """One simple command, or one tool, in one session."""

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
        if call.shell:
            for piece in call.pieces:
                if piece.noise != 2 and (call.ok or call.excused or piece is call.piece):
                    _count(held, piece.head, form_of(piece), call)
        elif not call.writes and call.head != "read":
            _count(held, call.tool, call.tool, call)
    return list(held.values())


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

    options: frozenset[tuple[str, str]] = frozenset()  # (head, option)
    programs: frozenset[str] = frozenset()  # first words
    commands: frozenset[str] = frozenset()  # whole forms
    heads: frozenset[str] = frozenset()
    words: frozenset[str] = field(default_factory=frozenset)


def vouched(sessions: Iterable[Sequence[HeadRun]]) -> Vouched:
    """Collect what the runs of a project's sessions vouch for."""
    counts: dict[tuple[str, str, str], int] = {}
    for each in sessions:
        met: set[tuple[str, str, str]] = set()
        for run in each:
            if run.ok:
                words = run.form.split()
                met.add(("form", run.form, ""))
                met.add(("head", run.head, ""))
                if words:
                    met.add(("program", words[0], ""))
                met |= {("option", run.head, word.partition("=")[0]) for word in words if word[:1] == "-"}
                met |= {("word", word, "") for word in words[1:] if word[:1] != "-"}
        for key in met:
            counts[key] = counts.get(key, 0) + 1
    used = [key for key, count in counts.items() if count >= USED_SESSIONS]

    def named(kind: str) -> frozenset[str]:
        return frozenset(name for what, name, _ in used if what == kind)

    options = frozenset((head, option) for what, head, option in used if what == "option")
    return Vouched(options, named("program"), named("form"), named("head"), named("word"))

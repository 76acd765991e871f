"""An agent's call of a tool as mining looks at it: a stored row with its input taken apart once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from ratchet.failures import programs
from ratchet.failures.diagnostics import Diagnostic, diagnostics
from ratchet.failures.intent import commands, head_of, is_shell
from ratchet.records import Json, Row, number_in, text_in, whole_in

EXCUSED = frozenset(("cascade", "user_denied", "cancelled"))
"""Kinds of failure that were not the step's own."""

# The operators between simple commands, and what must be stepped over to find them: escapes and quoted parts.
_BETWEEN = re.compile(r"\\.|'[^']*'?|\"(?:[^\"\\]|\\.)*\"?|(&&|\|\|?&?|;;?|\n|(?<![<>&])&(?![>&]))", re.DOTALL)
_TRIMMED = re.compile(r"\s*(?:\d?>&\d|2>>?\s*/dev/null|&>\s*/dev/null)\s*$")
_SPACES = re.compile(r"\s+")
_MESSAGE_OPTIONS = frozenset(("-m", "--message", "-F", "--file", "-b", "--body", "-t", "--title", "-am"))


@dataclass(frozen=True)
class Piece:
    """One simple command of a command line: its own bytes, and its words without wrappers and quotes."""

    exact: str  # as it stood
    raw: str  # without redirections at its end
    line: str  # with the commands that it is fed by, as in `lsof -ti:3000 | xargs kill`
    words: tuple[str, ...]
    head: str
    target: str
    piped: bool

    @property
    def plain(self) -> str:
        """Reduce a command to what two writings of it share."""
        return _SPACES.sub(" ", self.raw).strip()

    @property
    def noise(self) -> int:
        """0: it acts; 1: it looks at something; 2: it sets the scene or trims output."""
        if self.words[0] in ("sed", "gsed") and any(word[:2] == "-i" for word in self.words):
            return 0
        return programs.NOISE.get(self.words[0].rpartition("/")[2], 0)

    @property
    def options(self) -> frozenset[str]:
        return frozenset(word for word in self.words if word[:1] == "-" and len(word) > 1)

    @cached_property
    def said(self) -> tuple[str, ...]:
        """The words without the text of a commit or pull request."""
        if not self.head.startswith(("git ", "gh ")):
            return self.words
        return tuple(
            word for at, word in enumerate(self.words) if at == 0 or self.words[at - 1] not in _MESSAGE_OPTIONS
        )

    @property
    def bare(self) -> str:
        return " ".join(self.said)

    @property
    def operands(self) -> tuple[str, ...]:
        """The words behind the head that are no options."""
        return tuple(word for word in self.said[len(self.head.split(" ")) :] if word[:1] != "-")


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """One call. Times are Unix seconds; `message` is the failure's redacted text, "" of a success."""

    id: str
    session: str
    thread: str
    agent: str
    project: str
    at: float
    duration_s: float
    tokens: int
    ok: bool
    kind: str
    message: str
    signature: str
    template: str
    tool: str
    head: str
    target: str
    input: str
    change: str
    model: str = ""

    @property
    def failed(self) -> bool:
        """Tell whether it failed by itself."""
        return not self.ok and self.kind not in EXCUSED

    @property
    def excused(self) -> bool:
        return not self.ok and self.kind in EXCUSED

    @property
    def ended(self) -> float:
        return self.at + self.duration_s

    @cached_property
    def shell(self) -> bool:
        """Tell whether it ran shell commands (a patch handed to a shell is an edit)."""
        return is_shell(self.tool) and not self.patches

    @property
    def patches(self) -> bool:
        return "*** Begin Patch" in self.input

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The simple commands of a shell call, in order."""
        return tuple(pieces_of(self.input)) if self.shell else ()

    @cached_property
    def findings(self) -> Sequence[Diagnostic]:
        """The findings of a failing call."""
        return diagnostics(self.message) if self.failed else ()

    @cached_property
    def piece(self) -> Piece | None:
        """The simple command that a shell call is for."""
        for each in reversed(self.pieces):
            if each.head == self.head and each.target == self.target:
                return each
        return None

    @cached_property
    def fields(self) -> Row:
        """The named inputs of a call of another tool; {} where they were capped or are no object."""
        if self.shell or self.input[:1] != "{":
            return {}
        try:
            value = json.loads(self.input)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @cached_property
    def old_text(self) -> str:
        """Return what an edit was to replace."""
        return "\n".join(line[2:] for line in self.change.split("\n") if line[:1] == "-")

    @cached_property
    def new_text(self) -> str:
        """Return what an edit was to put there."""
        return "\n".join(line[2:] for line in self.change.split("\n") if line[:1] == "+")

    @property
    def writes(self) -> bool:
        """Tell whether it changed a file (or would have)."""
        return self.head in ("edit", "write") and not self.shell

    def reads(self, path: str) -> bool:
        """Tell whether it shows what stands in the file at `path`."""
        if not path or not self.ok:
            return False
        if not self.shell:
            return self.head == "read" and same_path(self.target, path)
        return any(piece.noise == 1 and any(same_path(word, path) for word in piece.operands) for piece in self.pieces)


def calls_of(rows: Iterable[Row]) -> list[ToolCall]:
    """The calls of tools among `rows`, ordered by (started_at, id); rows without a step are left out."""
    found = [_call_of(row) for row in rows if isinstance(row.get("step"), dict)]
    found = [call for call in found if call.kind != "loop_detected"]  # an analysis of calls, not one of them
    found.sort(key=lambda call: (call.at, call.id))
    return found


def _call_of(row: Row) -> ToolCall:
    step = cast(Row, row["step"])
    held = row.get("failure")
    failure: Row = held if isinstance(held, dict) else {}

    said = text_in

    return ToolCall(
        id=said(row, "id"),
        session=said(row, "session"),
        thread=said(row, "thread"),
        agent=said(row, "agent"),
        project=said(row, "project"),
        at=number_in(row, "started_at"),
        duration_s=number_in(row, "duration_s"),
        tokens=whole_in(row, "tokens"),
        ok=bool(row.get("ok")),
        kind=said(failure, "kind"),
        message=said(failure, "message"),
        signature=said(failure, "signature"),
        template=said(failure, "template"),
        tool=said(step, "tool"),
        head=said(step, "head"),
        target=said(step, "target"),
        input=said(step, "input"),
        change=said(step, "change"),
        model=said(row, "model"),
    )


def pieces_of(command: str) -> list[Piece]:
    """The simple commands of a command line. One with a here-document or an opened `bash -c` counts as a whole."""
    cuts: list[tuple[str, bool]] = []
    if "<<" in command:
        cuts.append((command, False))
    else:
        start, piped = 0, False
        for found in _BETWEEN.finditer(command):
            if found.group(1):
                cuts.append((command[start : found.start()], piped))
                start, piped = found.end(), found.group(1) in ("|", "|&")
        cuts.append((command[start:], piped))
    pieces: list[Piece] = []
    line = ""
    for text, fed in cuts:
        raw = trimmed(text)
        line = f"{line} | {raw}" if fed and line else raw
        for words, inner in commands(text):
            head, target = head_of(words)
            pieces.append(Piece(text.strip(), raw, line, tuple(words), head, target, fed or inner))
    return pieces


def trimmed(raw: str) -> str:
    """A command's bytes without what only shapes its output: space around it and redirections at its end."""
    bare = raw.strip().removeprefix("\\\n").strip()  # a line that goes on
    text = bare.strip("()").strip() if bare.count("(") == bare.count(")") and bare[:1] == "(" else bare
    while True:
        shorter = _TRIMMED.sub("", text)
        if shorter == text:
            return text
        text = shorter


def same_path(one: str, other: str) -> bool:
    """Tell whether two spellings name the same file: equal, or one relative to a folder of the other."""
    if one == other:
        return bool(one)
    shorter, longer = sorted((one.removeprefix("./"), other.removeprefix("./")), key=len)
    return bool(shorter) and "/" not in shorter[:1] and longer.endswith("/" + shorter)


def value_text(value: Json) -> str:
    """A field's value as it is shown in advice."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

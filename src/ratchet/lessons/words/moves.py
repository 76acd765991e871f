"""Reads a person's words by what happened around them: which step they met, and what the agent did next.

Structure comes first, since it is the same in every language: who typed after an interruption, after a refused call,
after an act that others see, and about the project's own notes. Words (`weights`) come second. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ratchet.lessons.mining.calls import ToolCall
from ratchet.lessons.words import weights

Way = Literal["refused", "interrupted", "typed", "review"]

QUOTE_CHARS = 400
"""Characters of a person's words that are kept as a quote; what is longer is a task, not a correction."""
_LEAST_WORDS = 2  # `6` answers a question, `stop` stops
_NEXT_CALLS = 20  # after the words in which the agent obeys them, if it does
_LINE_CHARS = 8  # a shorter line (`}`, `return`) is nobody's in particular
# What a client writes before the reason of a refused call. Each is that client's own wording.
_REASON = re.compile(r"(?:the user said|the user provided the following reason[^:\n]{0,60}|Reason):\s*(.+)", re.DOTALL)
_WORD = re.compile(r"\w[\w./:-]*\w|\w")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A person's words as they were kept: `after` is the outcome that ended last before them."""

    id: str
    way: Way
    at: float
    text: str
    chars: int
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A person's words with the step that they met.

    `undone` counts lines of the agent's own that it took back in the calls after them, `obeyed` the names in the words
    that stand in those calls and stood in none before; `points` is how much speaks for a rule (`weights`), `why` what.
    """

    id: str
    way: Way
    at: float
    quote: str
    step: str
    tool: str
    head: str
    target: str
    failed: str
    undone: int
    obeyed: tuple[str, ...]
    points: int
    why: tuple[str, ...]


def moves(heard: Iterable[Heard], calls: Sequence[ToolCall]) -> list[Move]:
    """The words of one session that met a step of its main thread, oldest first. Words before any step ask for
    something; words that repeat the ones before them, and longer ones than a quote, are tasks."""
    thread = [call for call in calls if not call.thread]
    said = [*heard, *_reasons(thread)]
    said.sort(key=lambda each: (each.at, each.id))
    by_id = {call.id: call for call in thread}
    ended = sorted(thread, key=lambda call: (call.ended, call.id))
    starts, ends = [call.at for call in thread], [call.ended for call in ended]
    found: list[Move] = []
    for place, each in enumerate(said):
        over = bisect_right(ends, each.at)
        met = by_id.get(each.after) or (ended[over - 1] if over else None)  # what it followed may stand in another file
        before = said[place - 1] if place else None
        no_rule = each.chars > QUOTE_CHARS or len(words_of(each.text)) < _LEAST_WORDS
        if met is None or no_rule or (before is not None and _retyped(before.text, each.text)):
            continue
        end = said[place + 1].at if place + 1 < len(said) else float("inf")
        since = before.at if before is not None else 0.0
        later = thread[bisect_left(starts, each.at) : bisect_left(starts, end)]
        then = [call for call in later if call.id != met.id][:_NEXT_CALLS]
        turn = sorted(ended[bisect_left(ends, since) : over], key=lambda call: (call.at, call.id))
        found.append(_move(each, met, turn, then))
    return found


def _reasons(calls: Iterable[ToolCall]) -> list[Heard]:
    """List what people said when they refused a call."""
    found = []
    for call in calls:
        reason = _REASON.search(call.message) if call.kind == "user_denied" else None
        if reason is not None:
            text = reason[1].strip()
            found.append(
                Heard(id=f"w{call.id}", way="refused", at=call.ended, text=text, chars=len(text), after=call.id)
            )
    return found


def _retyped(before: str, text: str) -> bool:
    """Tell whether words only say again what was asked for."""
    one, other = words_of(before), words_of(text)
    return bool(one) and len(one & other) >= 0.8 * len(one)


def words_of(text: str) -> frozenset[str]:
    """The words of a text, in lower case; of a script without blanks its pairs of characters."""
    found: set[str] = set()
    for word in _WORD.findall(text.lower()):
        if word.isascii() or len(word) <= 3:
            found.add(word)
        else:
            found |= {word} if word.isalpha() and _has_blanks(text) else {word[at : at + 2] for at in range(len(word))}
    return frozenset(found)


def _has_blanks(text: str) -> bool:
    return text.count(" ") * 12 >= len(text)


def _move(each: Heard, met: ToolCall, turn: Sequence[ToolCall], then: Sequence[ToolCall]) -> Move:
    own = {line.strip() for call in turn for line in call.new_text.split("\n")}
    taken = (line.strip() for call in then for line in call.old_text.split("\n"))
    undone = sum(line in own for line in taken if len(line) > _LINE_CHARS)
    before = " ".join(call.input for call in turn).lower()
    after = " ".join(f"{call.input} {call.change}" for call in then).lower()
    names = sorted(name for name in words_of(each.text) if len(name) > 3 and name in after and name not in before)
    points, why = weights.points(each.way, each.text, met, then)
    return Move(
        id=each.id,
        way=each.way,
        at=each.at,
        quote=each.text,
        step=met.id,
        tool=met.tool,
        head=met.head,
        target=met.target,
        failed=met.input[:QUOTE_CHARS] if met.shell else "",
        undone=undone,
        obeyed=tuple(names[:8]),
        points=points,
        why=why,
    )

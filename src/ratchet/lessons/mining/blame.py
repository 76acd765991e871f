"""Tells which command of a failed chain or pipe failed: the one that its output names."""

from __future__ import annotations

import re

from ratchet.lessons.mining.calls import Piece, ToolCall
from ratchet.lessons.mining.selections import checks_in

_OWN = re.compile(
    r"^(?:\(eval\)|(?:[\w/.-]*/)?(?:ba|z|da|k)?sh): ?(?:[\w-]+:)?(?:(?:line )?\d+:)?(?: |$)"
)  # how a shell begins what it says itself: `(eval):1: `, `(eval):cd:1: `, `bash: line 1: `, `sh: 1: `
_SAYS = re.compile(r"^(?:[\w/.-]*/)?([\w.+-]+): ?\S")
_EXIT = re.compile(r"^(?:Exit code \d+|\W*)$")
_WORDS = re.compile(r"[\s:`'\"]+")
_LINES = 40


def blamed(call: ToolCall) -> str:
    """The head of the command that failed; "" where the shell did before any ran. Where the output does not tell, the
    main command."""
    if not call.shell or not call.failed or not call.pieces:
        return call.head
    lines = [line for line in call.message.split("\n", _LINES)[:_LINES] if not _EXIT.match(line)]
    placed = [each for each in call.findings if each.path]
    if placed:
        return _of_findings(call, compiles=all(each.key[:2] == "c:" for each in placed))
    own = next((line for line in (*lines[:1], *lines[-1:]) if _OWN.match(line)), "")
    if own:
        words = _WORDS.split(own)
        return next((piece.head for piece in call.pieces if piece.words[0] in words), "")
    saying = {found[1] for line in lines if (found := _SAYS.match(line))}
    named = [piece.head for piece in call.pieces if _program(piece) in saying]
    return call.head if not named or call.head in named else named[0]


def _of_findings(call: ToolCall, *, compiles: bool) -> str:
    """The command that found something: where it does not compile, and the main command checks nothing, the one that
    builds."""
    main = call.piece
    if not compiles or main is None or checks_in(main.words):
        return call.head
    builds = {piece.head for piece in call.pieces if "build" in checks_in(piece.words[:6])}
    return builds.pop() if len(builds) == 1 else call.head


def _program(piece: Piece) -> str:
    return piece.words[0].rpartition("/")[2]

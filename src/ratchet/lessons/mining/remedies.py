"""Put into advice what made the difference between a call that failed and the one that worked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ratchet.failures.expressions import compiled
from ratchet.lessons.mining.calls import Piece, ToolCall
from ratchet.lessons.mining.causes import named_cause
from ratchet.lessons.mining.checks import drops_check, forbidden
from ratchet.lessons.mining.generalise import without_prose
from ratchet.lessons.mining.remedy import ADVICE_CHARS, Remedy, Rule, evidence, is_code
from ratchet.lessons.mining.shell_remedies import shell_remedy
from ratchet.lessons.mining.tool_remedies import by_shell, fields_remedy
from ratchet.lessons.rests import IN_A_HOME

__all__ = ["Remedy", "Rule", "remedy"]

_NEXT_COMMAND = re.compile(r"&&|\n|;(?!\s*(?:true|:|exit 0))")


def remedy(
    failed: ToolCall,
    worked: ToolCall,
    between: Sequence[ToolCall],
    piece: Piece | None,
    *,
    stand_in: bool = False,
    root: str = "",
) -> Remedy:
    """The remedy that led from `failed` to `worked`, with what ran `between` them. `piece` is the simple command of
    `worked` that does what failed (shells only); `root` the folder in which the session began."""
    if stand_in and piece is not None and not failed.shell:
        return by_shell(failed, worked, piece)
    if not (worked.shell and failed.shell and piece is not None):
        tool = not (failed.shell or worked.shell or failed.writes or stand_in)
        found = fields_remedy(failed, worked) if tool else evidence("unclear", worked.input)
        return replace(found, reason=forbidden(found.text))
    named = named_cause(failed, worked, between, piece, root=root)
    found = named or shell_remedy(failed, worked, between, piece, stand_in=stand_in)
    return _checked(found, failed, worked, piece)


def _checked(found: Remedy, failed: ToolCall, worked: ToolCall, piece: Piece) -> Remedy:
    """The remedy with the reason that forbids it, looked for in all that it consists of."""
    if not found.text or found.rule == "place":
        return found
    if compiled(IN_A_HOME).search(found.text):  # the project's own paths have a placeholder
        return evidence("unclear", found.do)
    fits = found.reusable and len(found.text) <= ADVICE_CHARS and "\n" not in found.text
    reason = forbidden(found.do, failed.input) or forbidden(found.text, failed.input)
    if reason:
        return replace(found, reason=reason)
    ran = _ran_with(worked, piece)
    reason = forbidden(ran, failed.input)
    if reason and forbidden(failed.input) == reason:
        reason = ""  # the step that failed did so, too: it is not what helped
    if not reason and found.rule in ("instead", "stand_in"):
        reason = drops_check(failed.input, worked.input)
    if reason:
        return _culprit(worked, ran, reason)
    return found if fits else evidence("unclear", found.do)


def _culprit(worked: ToolCall, ran: str, reason: str) -> Remedy:
    """Find the check that the call switched off, where that and not the change let it pass."""
    flagged = next((piece for piece in worked.pieces if forbidden(piece.bare)), None)
    do = flagged.exact if flagged is not None and not is_code(flagged.exact) else ran
    text = f"Run `{' '.join(without_prose(do).split())[: ADVICE_CHARS - 10]}`."
    return Remedy(rule="instead", text=text, do=do, reusable=False, reason=reason)


def _ran_with(call: ToolCall, piece: Piece) -> str:
    """Return what a shell call ran up to `piece` and what that one's end hangs on (`| tail`, `|| true`), without the
    messages of commits and the bodies of here-documents: those say, not do."""
    if "<<" in call.input:
        return " && ".join(each.bare for each in call.pieces)
    end = call.input.rfind(piece.exact) + len(piece.exact)
    behind = _NEXT_COMMAND.search(call.input, end)
    return without_prose(call.input[: behind.start() if behind else len(call.input)])

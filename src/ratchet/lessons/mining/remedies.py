"""What made the difference between a call that failed and the one that worked, put as advice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ratchet.lessons.mining.calls import Call, Piece
from ratchet.lessons.mining.checks import drops_check, is_ignore_list, switches_off
from ratchet.lessons.mining.generalise import without_prose
from ratchet.lessons.mining.remedy import ADVICE_CHARS, Remedy, Rule, is_code
from ratchet.lessons.mining.shell_remedies import shell_remedy
from ratchet.lessons.mining.tool_remedies import edit_remedy, fields_remedy, other_tool

__all__ = ["Remedy", "Rule", "remedy"]

_NEXT_COMMAND = re.compile(r"&&|\n|;(?!\s*(?:true|:|exit 0))")


def remedy(
    failed: Call, worked: Call, between: Sequence[Call], piece: Piece | None, *, stand_in: bool = False
) -> Remedy:
    """The remedy that led from `failed` to `worked`, with what ran `between` them. `piece` is the simple command of
    `worked` that does what failed (shells only)."""
    if worked.shell and failed.shell and piece is not None:
        found = shell_remedy(failed, worked, between, piece, stand_in=stand_in)
    elif stand_in:
        found = other_tool(failed, worked)
    elif failed.writes:
        found = edit_remedy(failed, worked, between)
    else:
        found = fields_remedy(failed, worked, between)
    return _checked(found, failed, worked, between, piece)


def _checked(found: Remedy, failed: Call, worked: Call, between: Sequence[Call], piece: Piece | None) -> Remedy:
    """The remedy with the reason that forbids it, looked for in all that it consists of."""
    reusable = found.reusable and len(found.text) <= ADVICE_CHARS and "\n" not in found.text
    if found.rule in ("read", "fields", "found"):
        # Its example is a file's text or path: what stands there was not what helped.
        do = "" if switches_off(found.do) else found.do
        return replace(found, reusable=reusable, do=do, reason=switches_off(found.text))
    failed_input = failed.input if failed.shell else ""
    reason = switches_off(found.do, failed_input) or switches_off(found.text, failed_input)
    if reason:
        return replace(found, reusable=reusable, reason=reason)
    if failed.shell and worked.shell:
        ran = _ran_with(worked, piece)
        reason = switches_off(ran, failed.input) or drops_check(failed.input, worked.input)
        if reason:
            return _culprit(worked, ran, reason)
    if found.rule in ("edit", "unclear"):
        reason, name = _weakened(between)
        if reason:
            text = f"Edit `{name}` so that it {reason.partition(':')[0]}."
            return replace(found, rule="edit", text=text, reusable=False, reason=reason)
    return replace(found, reusable=reusable)


def _culprit(worked: Call, ran: str, reason: str) -> Remedy:
    """What let the step pass was not the change that looks like it, but a check that the same call switched off."""
    flagged = next((piece for piece in worked.pieces if switches_off(piece.bare)), None)
    do = flagged.exact if flagged is not None and not is_code(flagged.exact) else ran
    text = f"Run `{' '.join(without_prose(do).split())[: ADVICE_CHARS - 10]}`."
    return Remedy(rule="instead", text=text, do=do, reusable=False, reason=reason)


def _ran_with(call: Call, piece: Piece | None) -> str:
    """What a shell call ran up to `piece` and what that one's end hangs on (`| tail`, `|| true`), without the messages
    of commits and the bodies of here-documents: those say, not do."""
    if "<<" in call.input:
        return " && ".join(each.bare for each in call.pieces)
    end = call.input.rfind(piece.exact) + len(piece.exact) if piece is not None else len(call.input)
    behind = _NEXT_COMMAND.search(call.input, end)
    return without_prose(call.input[: behind.start() if behind else len(call.input)])


def _weakened(between: Sequence[Call]) -> tuple[str, str]:
    """Why the edits made meanwhile must not be advice, and in which file a check was switched off; ("", "") if none."""
    for call in between:
        if not (call.ok and call.writes):
            continue
        name = call.target.rpartition("/")[2]
        if is_ignore_list(call.target):
            return f"silences a checker: `{name}`", name
        reason = switches_off(call.new_text)
        # Of code only what looks away from it counts, and only if it did not stand there before.
        if reason.startswith(("silences", "skips tests", "weakens")) and not switches_off(call.old_text):
            return reason, name
    return "", ""

"""Tell whether a finished tool call failed, and what then stands in its Failure: by its client's flag, by an exit code,
or by what the text says.

The same for a hook that meets the call live and for a reader that finds it in a history. Lean: hook processes import
this, and load the rules for text only where no flag decides.
"""

from __future__ import annotations

from ratchet.failures import programs
from ratchet.failures import tool_call as toolcall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ratchet.records import Row

# These exit with 1 to say "nothing found" or "they differ": an answer, not a failure (their manual pages).
_ANSWERS_BY_EXIT = frozenset(
    ("grep", "egrep", "fgrep", "rg", "ag", "ack", "git grep", "diff", "git diff", "cmp", "test", "[")
)


def failure_row(
    said: str,
    *,
    flag: bool | None,
    tool: str,
    head: str,
    given: str,
    exit_code: int | None = None,
    kind: str = "",
    judged: bool = True,
    is_error_wording: bool = False,
) -> Row | None:
    """The Failure of a call whose result is `said`, as a row with `message`, `kind`, `exit_code` and `flagged`; None
    where nothing went wrong.

    `flag` is the client's own (None: it has none), `head` the command head of a shell step, `given` its command. A
    result that is not to be `judged` is not by what it says; `is_error_wording`: no flag, but the client's own way to
    word an error.
    """
    text = toolcall.untagged(said)
    kind = kind or toolcall.certain_kind(text)
    if flag is None and exit_code is None and programs.is_shell(tool):
        exit_code = _exit_told(text)
    if flag is None and exit_code and not (exit_code == 1 and head in _ANSWERS_BY_EXIT):
        flag = True
    if not flag and not kind and not is_error_wording and text is said:
        if not judged:
            return None
        from ratchet.failures.unflagged import says_failure

        if not says_failure(toolcall.ends(text, toolcall.JUDGED_CHARS), tool=tool, head=head, given=given):
            return None
    if not kind and "ratchet" in f"{tool} {head} {given}":
        from ratchet.failures import ours

        is_own = ours.is_ours(tool, given, head)
        text = ours.own_words(text) if is_own else ours.of_others(text, tool, given) or text
    if not programs.is_shell(tool):
        from ratchet.failures.wordings import in_one_wording

        text = in_one_wording(text)
    return {"message": toolcall.message_text(text), "kind": kind, "exit_code": exit_code or None, "flagged": bool(flag)}


def _exit_told(text: str) -> int | None:
    """The exit code that a client wrote into the text of a shell's result, on a line of its own, at the start or the
    end of what the command printed."""
    lines = [
        line
        for line in text[:400].split("\n")[:2] + text[-400:].split("\n")[-5:]
        if "xit" in line or "XIT" in line or "eturn" in line
    ]
    if not lines:
        return None
    import re

    shape = re.compile(
        r"\A[\[(<]?(?:(?:the )?(?:command|process|shell|script) )?(?:finished with |exited with |returned )?"
        r"(?:exit(?:ed with)?[ _]?|return ?)?(?:code|status)[:=>]? {0,2}(\d{1,3})(?:\.?[\])]?|</\w{4,12}>)\s*\Z",
        re.IGNORECASE,
    )
    return next((int(found[1]) for line in lines if (found := shape.match(line.strip()))), None)

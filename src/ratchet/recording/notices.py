"""Claude Code's notices of commands that ended in the background, as they stand in a prompt and in a history.

Lean: hook processes import this.
"""

from __future__ import annotations

TOLD = "<task-notification>"
ENDED = "ended"
"""Behind the id of a call that went on in the background: names its end, which is another outcome than its start."""


class EndNotice:
    """Notice of the end of a call: its id, what the client says of it, and the file that holds what it printed."""

    __slots__ = ("exit_code", "key", "output_file", "summary")

    def __init__(self, key: str, summary: str, output_file: str) -> None:
        self.key, self.summary, self.output_file = key, summary, output_file
        digits = summary.rpartition("exit code ")[2].strip()
        self.exit_code = int(digits) if digits.isdecimal() and len(digits) <= 3 else None

    def said(self, printed: str) -> str:
        """Word the end as the same command words it in the foreground."""
        if self.exit_code and printed:
            return f"Exit code {self.exit_code}\n{printed}"
        return printed or self.summary


def failed(text: str) -> list[EndNotice]:
    """The notices in a text of calls that failed."""
    found = []
    for part in text.split(TOLD)[1:]:
        told = part.partition("</task-notification>")[0]
        key = _element(told, "tool-use-id")
        if key and _element(told, "status") == "failed":
            found.append(EndNotice(key, _element(told, "summary"), _element(told, "output-file")))
    return found


def _element(notice: str, tag: str) -> str:
    return notice.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip()

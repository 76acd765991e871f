"""A script of ours in a folder from which a coding agent runs what it finds there: a plugin, an executable hook."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ratchet.errors import Refused
from ratchet.records import Json

BEGIN, END = "ratchet: begin", "ratchet: end"
"""In the first and the last line of what is ours; the person's own lines may stand around it."""


@dataclass(frozen=True, slots=True)
class ScriptForm:
    """The lines between our two marks, comments in whatever language, with the line of the interpreter ahead of them.
    The entry is that text."""

    def held(self, path: Path, text: str) -> Json:  # noqa: ARG002
        """Our lines."""
        ahead, ours, _ = _parted(text)
        return _interpreter(ahead) + ours if ours else None

    def with_ours(self, path: Path, text: str, wanted: Json) -> str:
        """Our lines, and below them what the text holds. Raises Refused for an executable of somebody else's: of two,
        one would not run."""
        left = text.removeprefix(_interpreter(text))
        if left is not text and left.strip():
            raise Refused(f"{path} is somebody else's; it is left as it is: move it away, then install again")
        return str(wanted) + left

    def without_ours(self, path: Path, text: str, original: str | None) -> str:  # noqa: ARG002
        """The lines around ours; nothing where they are only the one of the interpreter."""
        ahead, _, behind = _parted(text)
        left = ahead + behind
        return left if left.removeprefix(_interpreter(left)).strip() else ""


SCRIPT = ScriptForm()


def _parted(text: str) -> tuple[str, str, str]:
    """(lines ahead of ours, ours, lines behind)."""
    lines = text.splitlines(keepends=True)
    starts = [at for at, line in enumerate(lines) if BEGIN in line]
    ends = [at for at, line in enumerate(lines) if END in line]
    if not starts or not ends or ends[-1] < starts[0]:
        return text, "", ""
    return (
        "".join(lines[: starts[0]]),
        "".join(lines[starts[0] : ends[-1] + 1]),
        "".join(lines[ends[-1] + 1 :]),
    )


def _interpreter(text: str) -> str:
    """The first line, where it names the interpreter."""
    return text.partition("\n")[0] + "\n" if text.startswith("#!") else ""

"""Shows changes of files without their secrets. A hunk holds only some lines of a file, and whether one of them is a
secret may stand far above it (`kind: Secret`, the beginning of a private key): so the whole files are read.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from ratchet.failures.redaction.text import redact
from ratchet.healing.patches import file_diff
from ratchet.sandbox.command import FileChange

_HIDDEN = "[redacted:secret]"
_MOST_BYTES = 2_000_000  # of one side of a file: a second for each half of that, after every attempt
_BINARY = re.compile(r"^GIT binary patch\n(?:literal \d+\n(?:\S+\n)*\n){2}", re.MULTILINE)


def shown_text(changes: Iterable[FileChange]) -> str:
    """The changes as they may be shown: `diff_text`, line for line, with secrets hidden. A line that is a secret before
    or after the change is hidden on both sides. Not for `git apply`."""
    return redact("".join(map(_shown, changes)))


def _shown(change: FileChange) -> str:
    sides = [side for side in (change.before, change.after) if side is not None]
    if any(len(side) > _MOST_BYTES for side in sides):
        emptied = replace(change, before=change.before and b"", after=change.after and b"")
        return file_diff(emptied) + "The file is too large to be shown without secrets.\n"
    diff = _BINARY.sub("Binary files differ\n", file_diff(change))
    hidden: dict[str, str] = {}
    for side in sides:
        hidden |= _hidden_lines(side.decode(errors="replace"))
    return "\n".join(_line(line, hidden) for line in diff.split("\n")) if hidden else diff


def without_secrets(part: str, text: str) -> str:
    """Some lines of a file, line for line, with the secrets hidden that the whole `text` of the file tells."""
    hidden = _hidden_lines(text)
    lines = [
        line.replace(bare, hidden[bare]) if (bare := line.strip()) in hidden else line for line in part.split("\n")
    ]
    return redact("\n".join(lines)) if hidden else part


def _line(line: str, hidden: dict[str, str]) -> str:
    bare = line[1:].strip()
    return line[:1] + line[1:].replace(bare, hidden[bare]) if bare in hidden else line


def _hidden_lines(text: str) -> dict[str, str]:
    """Lines of a file that hold secrets, and how each is shown; both without what they are indented by."""
    redacted = redact(text)
    if redacted == text:
        return {}
    old, new = text.split("\n"), redacted.split("\n")
    kept = frozenset(new)
    pairs: Iterable[tuple[str, str]] = (
        zip(old, new, strict=True)
        if len(old) == len(new)
        else ((line, line if line in kept else redact(line)) for line in old)
    )
    found: dict[str, str] = {}
    for line, shown in pairs:
        bare, seen = line.strip(), shown.strip()
        if bare != seen and any(map(str.isalnum, bare)):  # a bracket alone is no secret
            found[bare] = seen or _HIDDEN
        elif line not in kept:  # one of several that became one
            found[bare] = _HIDDEN
    return found

"""Close a database that was made before services had passwords: its rules let everybody in."""

from __future__ import annotations

import os
import re
from pathlib import Path

_OPEN, _CLOSED = "trust", "scram-sha-256"


def let_in(rules: Path) -> str:
    """The text of a pg_hba.conf with rules that let everybody in, "" where it has none or is not there. No link is
    followed: the folder may be another user's."""
    try:
        opened = os.open(rules, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return ""
    with os.fdopen(opened, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    return text if text != asking(text) else ""


def asking(text: str) -> str:
    """Return the rules with a password asked for where everybody was let in."""
    return "".join(_line(line) for line in text.splitlines(keepends=True))


def _line(line: str) -> str:
    """A rule names its method last, but for options, which are NAME=VALUE."""
    fields = [each for each in re.finditer(r"\S+", line.partition("#")[0]) if "=" not in each[0]]
    if not fields or not fields[0][0].startswith(("local", "host")) or fields[-1][0] != _OPEN:
        return line
    return f"{line[: fields[-1].start()]}{_CLOSED}{line[fields[-1].end() :]}"

"""Foreign text as a prompt or a sentence holds it: between marks that it cannot close, as much as there is room for."""

from __future__ import annotations

import json
import re

from ratchet.failures.excerpt import error_lines
from ratchet.lessons.fence import REMOVED, harmless


def quoted(text: str) -> str:
    """The text between fences longer than any it holds."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}\n{text.rstrip()}\n{marks}"


def on_a_line(text: str, limit: int = 200) -> str:
    """A program's words within a sentence of ours: in quotation marks that they cannot close, and only where they do
    not read as an instruction."""
    return json.dumps(harmless(text, limit) or REMOVED, ensure_ascii=False)


def output_excerpt(output: str, room: int) -> str:
    """A program's output where it fits; else its lines that carry the error, and its end."""
    if len(output) <= room:
        return output.strip()
    errors = error_lines(output, max(200, room // 2))
    return f"{errors}\n[...]\n{output[-(room // 2) :].strip()}"

"""Foreign text as a prompt holds it: between fences that it cannot close, as much of it as there is room for."""

from __future__ import annotations

import re

from ratchet.failures.excerpt import error_lines


def quoted(text: str) -> str:
    """The text between fences longer than any it holds."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}\n{text.rstrip()}\n{marks}"


def output_excerpt(output: str, room: int) -> str:
    """A program's output where it fits; else its lines that carry the error, and its end."""
    if len(output) <= room:
        return output.strip()
    errors = error_lines(output, max(200, room // 2))
    return f"{errors}\n[...]\n{output[-(room // 2) :].strip()}"

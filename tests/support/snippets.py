"""Code that stands in the pages of other packages: found by its first and the following line, run with one import line
changed."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

FROM = re.compile(r"^(\s*(?:from|import) )(rsi_loop|self_improving_loop|reloop)\b", flags=re.MULTILINE)


def snippet(page: Path, first: str, after: str) -> str:
    """The lines of a page from `first` up to the line `after`, as code over `ratchet.compat`."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.strip() == first)
    end = next(number for number, line in enumerate(lines) if number > start and line.strip() == after)
    return FROM.sub(r"\1ratchet.compat.\2", inspect.cleandoc("\n".join(["", *lines[start:end]])))

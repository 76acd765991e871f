"""Name the file that the interpreter of the check cannot read as Python: no small edit of another place mends that."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath

from ratchet.healing.episode import Verdict
from ratchet.healing.models.quoting import on_a_line

_FOUND = re.compile(
    r'File "([^"\n]{1,400}\.py)", line (\d+)\n(?:(?!.*File ").*\n){1,3}?.*?'
    r"\b((?:Syntax|Indentation|Tab)Error): (.{1,200})"
)


def unreadable(verdict: Verdict, read: Callable[[str], str]) -> str:
    """The file of the project that is no Python, in one line that ends in what to do; "" where there is none. `read`
    gives a file of the project, "" where it has no such."""
    for path, line, kind, message in _FOUND.findall(verdict.output):
        parts = PurePosixPath(path).parts
        within = ("/".join(parts[at:]) for at in range(int(path.startswith("/")), len(parts)))
        own = next((each for each in within if read(each)), "")
        if own:
            python = f"Python {verdict.python}" if verdict.python else "the Python of the check"
            how = "correct it by hand or with --solver model, or name a Python that reads it in --check"
            return f"{own} cannot be read by {python} (line {line}, {kind}: {on_a_line(message)}); {how}"
    return ""

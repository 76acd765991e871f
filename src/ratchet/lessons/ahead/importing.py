"""Tells whether a file uses a name that it neither imports nor defines. Lean: hook processes import this.

Read as text: a name counts as used where it is called or asked for a member outside of quotes and comments, and as
known where any line could give it a meaning. In doubt it is known, and nothing is said.
"""

from __future__ import annotations

import os
import re

_LIMIT_BYTES = 400_000
_COMMENT = re.compile(r"(?:^\s*(?://|#|\*|--)|\s(?://|#) ).*$")
_QUOTED = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`\n]*`")


def lacks(path: str, name: str, module: str) -> bool:
    """Tell whether the file at `path` uses `name`, and no line of it imports `module` or gives the name a meaning. A
    file that cannot be read, or is very large, lacks nothing."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LIMIT_BYTES:
            return False
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
    except OSError:
        return False
    known, used = _meaning(name, module), re.compile(rf"(?<![\w.$@/-]){name}(?=[.(:\[])")
    uses = False
    for line in lines:
        if name not in line and module not in line:
            continue
        if known.search(line):
            return False
        uses = uses or used.search(_QUOTED.sub("", _COMMENT.sub("", line))) is not None
    return uses


def _meaning(name: str, module: str) -> re.Pattern[str]:
    """An import of the module, or of the name; a definition, an assignment, a parameter."""
    word = rf"(?<![\w.$]){name}\b"
    return re.compile(
        rf"\b(?:import|from|use|using|require|include|alias)\b.*[\"'< (]{re.escape(module)}(?![\w/])"
        rf"|^\s*[\w.]*\s*[\"'<]{re.escape(module)}[\"'>]"
        rf"|\b(?:import|from|use|using|require|include|alias|global|nonlocal|as)\b.*{word}"
        rf"|\b(?:var|let|const|def|func|function|fn|class|type|struct|enum|for|package|namespace|module)\b[^=({{]*{word}"
        rf"|{word}\s*(?::=|=(?![=>])|,[^=()]*(?::=|=(?!=)))|,\s*{name}\s*(?:,[^=()]*)?(?::=|=(?!=))"
        rf"|[(,]\s*{name}\s*(?:[:,)=]|[\w*\[&])"
    )

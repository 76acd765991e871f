"""Tells whether a file uses a name that it neither imports nor defines. Lean: hook processes import this.

Read as text: a name counts as used where it is called or asked for a member outside of quotes and comments, and as
known where any line could give it a meaning. In doubt it is known, and nothing is said. No expression looks at a part
of a line twice: a file is anybody's, and a hook must not wait for it.
"""

from __future__ import annotations

import os
import re

_LIMIT_BYTES = 400_000
_COMMENT = re.compile(r"(?:^(?://|#|\*|--)|\s(?://|#) ).*$")
_QUOTED = re.compile(r"\"(?:[^\"\\\n]|\\.){0,400}\"|'(?:[^'\\\n]|\\.){0,400}'|`[^`\n]{0,400}`")
_IMPORTS = re.compile(r"\b(?:import|from|use|using|require|include|alias)\b")
_BRINGS = re.compile(r"\b(?:import|from|use|using|require|include|alias|global|nonlocal|as)\b")
_DECLARES = re.compile(
    r"\b(?:var|let|const|def|func|function|fn|class|type|struct|enum|for|package|namespace|module)\b"
)


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
    said = _NameInLine(name, module)
    used = re.compile(rf"(?<![\w.$@/-]){re.escape(name)}(?=[.(:\[])")
    uses = False
    for line in lines:
        if name not in line and module not in line:
            continue
        line = line.strip()
        if said.is_known(line):
            return False
        uses = uses or used.search(_QUOTED.sub("", _COMMENT.sub("", line))) is not None
    return uses


class _NameInLine:
    """A name and the module that brings it, as a line may give them a meaning."""

    def __init__(self, name: str, module: str) -> None:
        word, brought = re.escape(name), re.escape(module)
        self._name = re.compile(rf"(?<![\w.$]){word}\b")
        self._module = re.compile(rf"[\"'< (]{brought}(?![\w/])")
        self._alone = re.compile(rf"[\w.]*\s*[\"'<]{brought}[\"'>]")
        self._target = re.compile(rf"(?:^|[^\w.$]){word}\s*(?:,|$)")
        self._parameter = re.compile(rf"[(,]\s*{word}\s*(?:[:,)=]|[\w*\[&])")

    def is_known(self, line: str) -> bool:
        """An import of the module, or of the name; a definition, an assignment, a parameter."""
        return (
            self._alone.match(line) is not None
            or _follows(_IMPORTS, self._module, line)
            or _follows(_BRINGS, self._name, line)
            or any(_follows(_DECLARES, self._name, part) for part in re.split(r"[=({]", line))
            or self._is_assigned(line)
            or self._parameter.search(line) is not None
        )

    def _is_assigned(self, line: str) -> bool:
        """Tell whether it stands among the targets before an assignment."""
        since = 0
        for found in re.finditer(r"[()]|[:=!<>]?=+>?", line):
            if found[0] in ("=", ":=") and self._target.search(line[since : found.start()]):
                return True
            since = found.end()
        return False


def _follows(first: re.Pattern[str], then: re.Pattern[str], line: str) -> bool:
    """Tell whether one expression is met behind another."""
    found = first.search(line)
    return found is not None and then.search(line, found.end()) is not None

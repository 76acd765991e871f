"""Make edits again that fixed the very same failure before."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from .marks import alike, is_same
from .program import Program
from .templates import edits


def repeated(marks: Sequence[Mapping[str, str]], sources: Sequence[str], root: str) -> dict[str, bytes]:
    """The files after these edits; empty where one of them has no place here."""
    files: dict[str, bytes] = {}
    for each in marks:
        for path in alike(sources, each["path"], root):
            try:
                program = Program(path, files.get(path) or _content(os.path.join(root, path)))
            except (OSError, SyntaxError, ValueError, RecursionError):
                continue
            found = [edit for edit in edits(program, lambda _lines: True) if is_same(edit, each)]
            if found:
                best = min(found, key=lambda edit: abs(edit.start - int(each.get("start") or 0)))
                files[path] = program.encoded((best,))
                break
        else:
            return {}
    return files


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()

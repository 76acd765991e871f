"""Make edits again that fixed the very same failure before."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from .marks import alike, is_same, mark
from .program import Program
from .templates import edits


def needed(
    marks: Sequence[Mapping[str, str]], sources: Sequence[str], root: str, passes: Callable[[Mapping[str, bytes]], bool]
) -> tuple[dict[str, bytes], tuple[Mapping[str, str], ...]]:
    """Those of these edits without which the tests do not pass, as `repeated` makes them; none where they do not pass
    with all of them, or nothing is left to make."""
    files, made = repeated(marks, sources, root)
    if not files or not passes(files):
        return {}, ()
    for each in made if len(made) > 1 else ():
        fewer, left = repeated([mark for mark in made if mark["start"] != each["start"]], sources, root)
        if fewer and passes(fewer):
            files, made = fewer, left
    return files, made


def repeated(
    marks: Sequence[Mapping[str, str]], sources: Sequence[str], root: str
) -> tuple[dict[str, bytes], tuple[Mapping[str, str], ...]]:
    """The files after these edits, and the edits where they are now; both empty where one of them has no place here."""
    files: dict[str, bytes] = {}
    made: list[Mapping[str, str]] = []
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
                made.append(mark(best))
                break
        else:
            return {}, ()
    return files, tuple(made)


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()

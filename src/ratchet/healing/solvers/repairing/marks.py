"""An edit as it is remembered, and what is said of it without the program that it was made in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from .program import SourceEdit
from .recollection import common


def mark(edit: SourceEdit) -> dict[str, str]:
    """An edit as it is remembered: enough to find it again in the same program, and its class for others."""
    return {
        "path": edit.path, "function": edit.function, "family": edit.family, "shape": edit.shape,
        "site": edit.site, "before": edit.before, "text": edit.text, "start": str(edit.start),
        "line": str(edit.lines[0]),
    }  # fmt: skip


def is_same(edit: SourceEdit, held: Mapping[str, str]) -> bool:
    return all(getattr(edit, name) == held.get(name) for name in ("function", "family", "before", "text"))


def alike(sources: Sequence[str], path: str, root: str) -> list[str]:
    """That path here, else files of the same name."""
    here = [os.path.relpath(each, root) for each in sources]
    return [path] if path in here else [each for each in here if os.path.basename(each) == os.path.basename(path)]


def size_of(marks: Sequence[Mapping[str, str]]) -> int:
    """Characters that differ: what is put around a text, or taken off it, does not count the text."""
    return sum(_differing(each["before"], each["text"]) for each in marks)


def _differing(before: str, after: str) -> int:
    if before in after or after in before:
        return abs(len(after) - len(before))
    start = common(before, after)
    end = common(before[start:][::-1], after[start:][::-1])
    return max(len(before), len(after)) - start - end

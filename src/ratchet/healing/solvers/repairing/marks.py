"""An edit as it is remembered, and what is said of it without the program that it was made in."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence

from .program import SourceEdit
from .recollection import common
from .wanted import Patch


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


def changed(patch: Patch, old: Mapping[str, bytes]) -> Iterator[tuple[str, int, bool]]:
    """The lines of the old files that a patch changes (path, line), and whether it only adds something there. An edit
    on top of another one knows the lines of that text only, and one after a donor may reach over many: theirs are those
    that differ in the end."""
    marks: Sequence[Mapping[str, str]] = patch.marks
    if len(marks) > 1 or any(each["site"] == "function" for each in marks):
        marks = [each for path, content in patch.files.items() for each in differences(path, old[path], content)]
    return ((each["path"], int(each["line"]), not each["before"]) for each in marks)


def fewer(
    marks: Sequence[Mapping[str, str]], texts: Mapping[str, str]
) -> Iterator[tuple[dict[str, str], tuple[Mapping[str, str], ...]]]:
    """The texts after edits, each of which was made in what those before it left, but for one of them (not the last:
    that was tried); with the edits that are left."""
    for at, gone in enumerate(marks[:-1]):
        made, kept = dict(texts), list[Mapping[str, str]]()
        for later, each in ((n > at, each) for n, each in enumerate(marks) if n != at):
            moved = later and each["path"] == gone["path"] and int(each["start"]) > int(gone["start"])
            start = int(each["start"]) - (len(gone["text"]) - len(gone["before"]) if moved else 0)
            text, end = made[each["path"]], start + len(each["before"])
            if text[start:end] != each["before"]:
                break  # it changes what that one brought
            made[each["path"]] = text[:start] + each["text"] + text[end:]
            kept.append({**each, "start": str(start)})
        else:
            yield made, tuple(kept)


def differences(path: str, before: bytes, after: bytes) -> list[dict[str, str]]:
    """Marks for a change that no template made: one for each line that goes or stands beside what is new, the text with
    the first of a hunk."""
    old, new = (each.decode(errors="replace").splitlines() for each in (before, after))
    found: list[dict[str, str]] = []
    for kind, i, to, j, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        gone, come = "\n".join(old[i:to]), "\n".join(new[j:last])
        beside = range(i, to) if gone.strip() else [_full(old, i - 1, -1), _full(old, to, 1)]
        places = [at for at in beside if 0 <= at < len(old) and old[at].strip()] or [0]
        family = "deletion" if not come.strip() else "guarding" if _adds_case(gone, come) else "rewriting"
        for n, at in enumerate(places):
            texts = ("", "") if n else (gone, come)
            found.append(
                {"path": path, "function": "", "family": family, "shape": "", "site": "", "before": texts[0],
                 "text": texts[1], "start": "0", "line": str(at + 1)}
            )  # fmt: skip
    return found


def _full(lines: Sequence[str], at: int, step: int) -> int:
    """The next line that holds something."""
    while 0 <= at < len(lines) and not lines[at].strip():
        at += step
    return at


def _adds_case(gone: str, come: str) -> bool:
    """Tell whether lines that are only added begin with a condition."""
    return not gone.strip() and come.lstrip().startswith(("if ", "elif "))


def _differing(before: str, after: str) -> int:
    if before in after or after in before:
        return abs(len(after) - len(before))
    start = common(before, after)
    end = common(before[start:][::-1], after[start:][::-1])
    return max(len(before), len(after)) - start - end

"""Reads an answer: files as a whole, and edits of files that are there."""

from __future__ import annotations

from pathlib import Path

WHOLE, OLD, NEW, END, GONE = "WHOLE", "OLD", "NEW", "END", "GONE"


def files_of(answer: str, folder: Path) -> dict[str, str]:
    """The files that an answer makes, by path; "" for one that it removes. An edit that does not fit leaves its file
    as it is."""
    made: dict[str, str] = {}
    path, mark = "", ""
    parts: dict[str, list[str]] = {OLD: [], NEW: [], WHOLE: []}
    for line in answer.split("\n"):
        if line.startswith("@@ "):
            mark, _, name = line[3:].partition(" ")
            if mark == "FILE":
                path = name
            elif mark == GONE:
                made[path] = ""
            elif mark == END:
                made[path] = finished(parts, made.get(path), folder / path)
                parts = {OLD: [], NEW: [], WHOLE: []}
        elif mark in parts:
            parts[mark].append(line.strip() if mark != WHOLE else line)
    return made


def finished(parts: dict[str, list[str]], made: str | None, file: Path) -> str:
    """The text of a file after one edit of it."""
    if parts[WHOLE]:
        return "\n".join(parts[WHOLE])
    text = made if made is not None else file.read_bytes().decode(errors="surrogateescape")
    old, new = "\n".join(parts[OLD]), "\n".join(parts[NEW])
    if text.count(old) != 1:
        print(f"{file.name}: the edit does not fit")
        return text
    return text.replace(old, new)

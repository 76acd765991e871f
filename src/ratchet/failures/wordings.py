"""Says an error of an agent's own tools in one wording, whichever client ran them, so that it has one signature.

The wordings are Claude Code's. What a client adds (the path, how to go on) stands in the step, or is no part of the
cause. Lean: hook processes import this.
"""

from __future__ import annotations

UNREAD = "File has not been read yet. Read it first before writing to it."
CHANGED = "File has been modified since read, either by the user or by a linter. Read it again before writing to it."
ABSENT = "String to replace not found in file."
MISSING = "File does not exist."
_BEGINNINGS = {
    UNREAD: ("You must read file ", "You must read the file "),
    ABSENT: (
        *("Could not find an exact match for 'old_string'", "Failed to edit, could not find the string"),
        *("Failed to edit, 0 occurrences found", "Could not find oldString in the file", "oldString not found"),
        *("Could not find the exact text in ", "Editor operation failed: No replacement performed: text not found"),
    ),
    MISSING: ("File not found: ", "Error reading file: ENOENT", "ENOENT: no such file or directory, "),
}
_STARTED = "spawn '"  # Node's name of the call that failed: it is a program that is not there, and no file
_WHOLE = {"No match found": ABSENT, "Path does not exist": MISSING}
_OF_A_FILE = {" has not been read in this session": UNREAD, " has been modified since ": CHANGED}
"""What is said of a file behind its path: "File PATH has not been read in this session"."""


def in_one_wording(text: str) -> str:
    """The text, or Claude Code's wording of it where it is an error that clients' tools word each in their way."""
    bare = text.strip().removeprefix("Error: ")
    line = bare.partition("\n")[0]
    if _STARTED in line:
        return text
    for said, beginnings in _BEGINNINGS.items():
        if line.startswith(beginnings):
            return said
    if line.startswith("File /") or line[6:8] == ":\\":
        for words, said in _OF_A_FILE.items():
            if words in line:
                return said
    return _WHOLE.get(bare, text)

"""A history of Claude Code in a small shop: a build that fails and is mended, an edit, a refusal, a subagent."""

from __future__ import annotations

from pathlib import Path

from ratchet.records import Json, Row
from support.histories import claude, lines, result, use

SECRET = "sk-ant-api03-" + "a1B2" * 20
SHOP = "/home/dev/shop"


def key(name: str) -> str:
    """A provider's own key of a call, unique by itself."""
    return f"toolu_01{name:a<22}"


def words(text: str, second: float) -> Row:
    """Words of a person."""
    return claude("user", second, message={"role": "user", "content": text})


def thinking(second: float, message: str, tokens: int) -> Row:
    """An answer without a call."""
    body: Json = {
        "id": message,
        "role": "assistant",
        "model": "claude-opus-4",
        "content": [{"type": "text", "text": "Done."}],
        "usage": {"input_tokens": tokens, "output_tokens": 1},
    }
    return claude("assistant", second, message=body)


def shell(name: str, command: str, said: str, second: float, *, failed: bool = False, tokens: int = 100) -> list[Row]:
    """A call of Bash with its result a second later."""
    return [
        use(key(name), "Bash", {"command": command}, second, message=f"m-{name}", tokens=tokens),
        result(key(name), f"Exit code 2\n{said}" if failed else said, second + 1, is_error=True if failed else None),
    ]


def edit(name: str, path: str, before: str, old: str, new: str, second: float) -> list[Row]:
    """An edit of a file, whose result has the whole file as it was."""
    given: Json = {"file_path": path, "old_string": old, "new_string": new}
    patch: Json = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": [f"-{old}", f"+{new}"]}]
    detail: Json = {"filePath": path, "originalFile": before, "structuredPatch": patch}
    return [
        use(key(name), "Edit", given, second, message=f"m-{name}", tokens=100),
        result(key(name), "The file was updated.", second + 1, toolUseResult=detail),
    ]


HISTORY: list[Row] = [
    words("make the shop build, its connection pool leaks", 0),
    *shell("one", "make build", "make: *** No rule to make target 'build'.  Stop.", 1, failed=True),
    *shell("two", "make build", "make: *** No rule to make target 'build'.  Stop.", 3, failed=True),
    *shell("three", "make all", f"built with {SECRET}", 5),
    *edit("four", f"{SHOP}/pool.py", "POOL = 3\nSIZE = 1\n", "POOL = 3", "POOL = 5", 7),
    *edit("five", f"{SHOP}/pool.py", "POOL = 5\nSIZE = 1\n", "SIZE = 1", "SIZE = 2", 9),
    thinking(11, "m-last", 50),
]
"""Three calls of make, of which two failed alike, two edits, and an answer that no call follows."""


def history(path: Path) -> Path:
    """The history as a file."""
    return lines(path, HISTORY)

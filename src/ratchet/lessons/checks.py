"""A check that a person put into an agent's settings: it denies a step that a lesson speaks against, before it runs.

The only hook of ours that may deny. It knows its rule from its own command line, opens no store, and says in each
denial how to take it out. Whatever is broken, it exits with 0 and denies nothing. Lean: a hook process imports this.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ratchet.records import Json, Row

MARK = "ratchet.lessons.checks"
"""What every command of a check holds."""
_STDIN_BYTES = 16_000_000
_TEXT_KEYS = ("new_string", "content", "new_source", "file_text")
_PATH_KEYS = ("file_path", "path", "absolute_path", "notebook_path")


def violates(check: Mapping[str, Json], tool: str, given: Json) -> bool:
    """Tell whether a step is one that a check stops. `given` is the tool's input as its agent names it.

    A check of commands has a `head`, and either a `part` that the command holds or a `without` that it lacks, or
    neither; one of edits has a `path` or a `text`.
    """
    from ratchet.failures.intent import is_shell

    head = str(check.get("head") or "")
    if head:
        return is_shell(tool) and _command_violates(check, head, _command(given))
    if is_shell(tool) or not isinstance(given, dict):
        return False
    path, text = str(check.get("path") or ""), str(check.get("text") or "")
    if path:
        return any(_below(str(given.get(key) or ""), path) for key in _PATH_KEYS)
    return bool(text) and any(text in str(given.get(key) or "") for key in _TEXT_KEYS)


def _command(given: Json) -> str:
    from ratchet.failures.tool_call import input_text

    return input_text("bash", given)


def _command_violates(check: Mapping[str, Json], head: str, command: str) -> bool:
    from ratchet.failures.intent import commands, head_of

    part, without = str(check.get("part") or ""), str(check.get("without") or "")
    for words, _ in commands(command):
        found, _ = head_of(words)
        if not f"{found} ".startswith(f"{head} "):
            continue
        if part:
            if _holds(words, part):
                return True
        elif not without or without not in command:
            return True
    return False


def _holds(words: Sequence[str], part: str) -> bool:
    """Tell whether a command holds a word, also with a value (`--flag=x`), or several words in a row."""
    wanted = part.split()
    if len(wanted) == 1:
        return any(word == part or word.startswith(part + "=") for word in words)
    return any([*words[at : at + len(wanted)]] == wanted for at in range(len(words)))


def _below(path: str, wanted: str) -> bool:
    """Tell whether a path is the wanted one or lies in it, wherever that is."""
    return f"/{path.strip('/')}/".find(f"/{wanted.strip('/')}/") >= 0


def run() -> None:
    """The installed command: the event on standard input, a denial on standard output, or nothing."""
    try:
        answer = answered(sys.argv[1], sys.stdin.buffer.read(_STDIN_BYTES))
        if answer:
            os.write(1, answer.encode("ascii"))
    finally:
        os._exit(0)  # also after a fault: a check that is broken stops nobody


def answered(check_text: str, event_text: bytes) -> str:
    """The answer to one event as JSON, "" where the step may run. Raises ValueError for what is no JSON."""
    import json

    check: Row = json.loads(check_text)
    event: Row = json.loads(event_text)
    if not violates(check, str(event.get("tool_name") or ""), event.get("tool_input")):
        return ""
    lesson = str(check.get("lesson") or "")
    reason = f"{check.get('say')} (a check that a person put here; it goes by: ratchet lessons cure {lesson} --undo)"
    told = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}
    return json.dumps({"hookSpecificOutput": told})

"""Tell whether a later call of an agent tries the same thing as one that failed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ratchet.failures.programs import INTERPRETERS, TEST_RUNNERS
from ratchet.lessons.grounding import missing_in
from ratchet.lessons.mining.calls import Piece, ToolCall, same_path, value_text
from ratchet.lessons.mining.causes import missing_program
from ratchet.lessons.mining.selections import checks_in, shows

_WORDS = re.compile(r"\w{2,}")
# Two writings of one thing share this much of their words. Measured on the real histories: what was meant as the same
# command again shares 0.7 and more, other uses of one program under 0.5.
_ALIKE = 0.6
_COVERED = 0.3  # of a tool's inputs that a command in its place names: the rest are options of the tool
# Kinds of failure after which another program may do the job: this one is not here, or may not.
_REPLACEABLE = frozenset(("tool_not_found", "dependency_missing", "permission"))
_NOT_STARTED = re.compile(r"ENOENT|\bspawn\b|not (?:found|installed|available)|[Nn]o such file")  # its own program
_NO_STAND_IN = frozenset(("rm", "mv", "rmdir", "chmod", "kill", "pkill", "cd", "git rm"))


def retries(failed: ToolCall, later: ToolCall) -> Piece | bool:
    """Tell whether `later` tries what `failed` tried; for a shell the simple command in which it does."""
    if failed.shell != later.shell:
        return False
    if failed.shell:
        return next((piece for piece in reversed(later.pieces) if _same_try(failed, piece)), False)
    if failed.head in ("edit", "write"):
        return later.head in ("edit", "write") and same_path(failed.target, later.target)
    if failed.head == "read":
        return later.head == "read" and same_path(failed.target, later.target)
    return failed.tool == later.tool and _same_fields(failed, later)


def stands_in(failed: ToolCall, later: ToolCall) -> Piece | bool:
    """Tell whether `later` does by another program or tool what `failed` could not: on the same operands, after a
    failure that means "not here" or "not like this"."""
    if not later.ok or not later.shell or failed.kind not in _REPLACEABLE:
        return False
    if not failed.shell:
        if failed.kind == "permission" or not _NOT_STARTED.search(failed.message):
            return False  # who may not use a tool, or asked it for what it does not know, is told no way around it
        wanted = {word for value in failed.fields.values() for word in _WORDS.findall(value_text(value))}
        return next((each for each in later.pieces if each.noise == 1 and _covers(each, wanted)), False)
    missing = missing_program(failed)
    lost = next((piece for piece in failed.pieces if missing and piece.words[0] == missing), failed.piece)
    if lost is None:
        return False
    # What it was to work on, or the script that could not be run itself.
    wanted = {word for word in (*lost.operands, lost.words[0]) if len(word) > 2 and ("/" in word or "." in word[1:])}
    for piece in later.pieces:
        named = wanted.intersection(piece.operands) or (lost.operands and set(lost.operands) <= set(piece.operands))
        if piece.words[0] != lost.words[0] and named and piece.head not in _NO_STAND_IN:
            return piece
    return False


def _covers(piece: Piece, wanted: set[str]) -> bool:
    """Tell whether a command names enough of what a tool was to look for."""
    return len(wanted.intersection(_WORDS.findall(piece.raw))) > _COVERED * len(wanted)


def _same_try(failed: ToolCall, piece: Piece) -> bool:
    mine = failed.piece
    if mine is None:
        return False
    if piece.head != mine.head:
        return _as_module(mine, piece)
    if mine.head in TEST_RUNNERS:
        return _shows(failed, mine, piece) or moved(failed, mine.target, piece.target)
    if mine.head.split(" ")[0] in INTERPRETERS and not mine.target:
        return alike(mine.raw, piece.raw)
    same = mine.target == piece.target or moved(failed, mine.target, piece.target)
    if not (same and _same_operands(failed, mine, piece)):
        return False
    ran = "test" in checks_in(mine.words) and any(each.path for each in failed.findings)
    return not ran or _shows(failed, mine, piece)


def _shows(failed: ToolCall, mine: Piece, piece: Piece) -> bool:
    """Tell whether a later run of tests would have shown what failed: what does not compile, whatever is picked out."""
    said = failed.findings
    return shows(failed, mine, piece, compiles=bool(said) and all(each.key[:2] == "c:" for each in said))


def moved(failed: ToolCall, was: str, now: str) -> bool:
    """Tell whether a file that the error does not find was named where it is."""
    here = was != now and _basename(was) == _basename(now)
    return here and any(same_path(was, path) for path in missing_in(failed.message))


def _as_module(script: Piece, piece: Piece) -> bool:
    """Tell whether a script of Python's was run as the module that it is."""
    if script.words[0][:6] != "python" or "-m" not in piece.words[:-1] or script.target[-3:] != ".py":
        return False
    module = piece.words[piece.words.index("-m") + 1]
    return same_path(module.replace(".", "/") + ".py", script.target)


def _same_operands(failed: ToolCall, mine: Piece, piece: Piece) -> bool:
    """Tell whether two uses of one command head are about the same thing, seen from what they are given."""
    was, now = mine.operands, piece.operands
    if was == now:
        return True
    lost = [word for word in was if word not in now]
    new = [word for word in now if word not in was]
    if not lost:
        # Something was added: of a look-up that makes another question.
        return mine.noise == 0 and (" " in mine.head or bool(was))
    if not new:
        return all(_named(word, failed.message) for word in lost)
    if len(lost) == len(new) and all(
        names(failed.message, after) or _basename(before) == _basename(after)
        for before, after in zip(lost, new, strict=True)
    ):
        return True
    return mine.noise == 0 and share(mine.words, piece.words) >= _ALIKE + 0.1


def names(message: str, value: str) -> bool:
    """Tell whether a message names this very value, not a longer one that begins or ends with it."""
    return bool(value) and re.search(rf"(?<![\w/.-]){re.escape(value)}(?![\w/:-])", message) is not None


def _named(word: str, message: str) -> bool:
    """Tell whether an error message speaks of `word`, or of a folder above it."""
    if word in message:
        return True
    parts = word.rstrip("/").split("/")
    return any("/".join(parts[:count]) in message for count in range(2, len(parts)))


def _same_fields(failed: ToolCall, later: ToolCall) -> bool:
    """Tell whether two calls of one tool share their main input: the longest text of the first, or most fields."""
    mine, other = failed.fields, later.fields
    if not mine or not other:
        return bool(failed.input) and failed.input == later.input
    if mine.keys() == other.keys() and sum(mine[name] != other[name] for name in mine) == 1 < len(mine):
        return True
    texts = [(len(value), name) for name, value in mine.items() if isinstance(value, str)]
    if texts:
        name = max(texts)[1]
        value, after = mine[name], other.get(name)
        return isinstance(value, str) and isinstance(after, str) and (value == after or alike(value, after))
    return 2 * sum(other.get(name) == value for name, value in mine.items()) > len(mine)


def alike(one: str, other: str) -> bool:
    """Tell whether two texts share most of their words."""
    return share(_WORDS.findall(one[:4000]), _WORDS.findall(other[:4000])) >= _ALIKE


def share(one: Iterable[str], other: Iterable[str]) -> float:
    """Jaccard's index of two bags taken as sets: 1 the same, 0 nothing in common."""
    a, b = set(one), set(other)
    return len(a & b) / len(a | b) if a or b else 1.0


def _basename(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]

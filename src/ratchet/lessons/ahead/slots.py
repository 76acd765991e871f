"""Checks what may stand in a sentence that is said before a step: sentences are ours, and their slots hold commands,
options, paths and names only, each of its shape. What does not fit is not said: a history that somebody forged, or a
text that a tool printed, never speaks here.
"""

from __future__ import annotations

import re

from ratchet.failures.features import STOP
from ratchet.lessons.fence import harmless
from ratchet.lessons.mining.checks import forbidden
from ratchet.lessons.mining.fix_texts import INSTRUCTIONS

TEXT_CHARS = 240
_FLAG = re.compile(r"--?[A-Za-z][\w-]{0,40}", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][\w.:/@-]{0,80}", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{0,60}", re.ASCII)
_PATH = re.compile(r"(?=.*[/.])[\w./@+~-]{2,120}", re.ASCII)
_PROGRAM = re.compile(r"[\w./@+][\w./@+-]{0,60}", re.ASCII)
_WORD = re.compile(r"[\w./:=@%+,~^-]{1,60}", re.ASCII)
_FINDING = re.compile(r"[a-z][\w-]{1,40}(?::[\w-]{1,40})?", re.ASCII)
_FIX = re.compile(r"(?:add|import|mode|suppress|use) [\w.%:/-]{1,80}", re.ASCII)
_WORDS, _BARE_WORDS, _PARTS = 12, 4, 2  # of a command; of its words in a row that are letters alone; joined by &&
_LETTERS = re.compile(r"[A-Za-z]+", re.ASCII)


def flag(text: str) -> bool:
    """Tell whether a text is an option."""
    return _FLAG.fullmatch(text) is not None


def name(text: str) -> bool:
    """Tell whether a text is the name of a tool, a field or one of its values."""
    return _NAME.fullmatch(text) is not None


def identifier(text: str) -> bool:
    """Tell whether a text is one name of a program: a package, a function, a file's ending."""
    return _IDENTIFIER.fullmatch(text) is not None


def path(text: str) -> bool:
    """Tell whether a text is a path."""
    return _PATH.fullmatch(text) is not None


def program(text: str) -> bool:
    """Tell whether a text is a program, or a few words that run one."""
    words = text.split(" ")
    return len(words) <= 3 and all(_PROGRAM.fullmatch(word) for word in words) and harmless(text, TEXT_CHARS) == text


def finding(text: str) -> bool:
    """Tell whether a text is the rule of a linter."""
    return _FINDING.fullmatch(text) is not None


def fix(text: str) -> bool:
    """Tell whether a text is the feature of a fix as `mining.hunks` finds it: a verb of ours and one mark of code."""
    return text in INSTRUCTIONS or _FIX.fullmatch(text) is not None


def command(text: str) -> bool:
    """Tell whether a text is a short command that nobody could read as a sentence, and that may be advice at all."""
    parts = text.split(" && ")
    if len(parts) > _PARTS or forbidden(text) or harmless(text, TEXT_CHARS) != text:
        return False
    return all(map(_is_simple, parts))


def _is_prose(word: str) -> bool:
    """Tell whether a word joins or ends a clause of a sentence, which no word of a short command does."""
    return word[-1] in ",:" or word.lower() in STOP


def _is_simple(part: str) -> bool:
    words = part.split(" ")
    if len(words) > _WORDS or not all(map(_WORD.fullmatch, words)) or any(map(_is_prose, words)):
        return False
    in_a_row = 0
    for word in words:
        in_a_row = in_a_row + 1 if _LETTERS.fullmatch(word) else 0
        if in_a_row > _BARE_WORDS:
            return False
    return True
